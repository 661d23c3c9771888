// GPU files from measured products, copies and kernels, by hand.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/output.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// An H100 has 989 TFLOP/s and 3.35 TB/s: a product of n rows at half of it takes n^3 / 247.25e12 s.
double product_us(double rows, double part) { return 2 * rows * rows * rows / (989e6 * part); }

Json point(double size_B, double time_us) {
  return {{"size_B", static_cast<int64_t>(size_B)}, {"time_us", time_us}};
}
Json series(const char* operation, const char* algorithm, const char* type, Json points) {
  Json one = {{"operation", operation}, {"type", type}, {"ranks", 1}, {"points", points}};
  if (*algorithm != '\0') one["algorithm"] = algorithm;
  return one;
}
Json products(const char* type = "bfloat16") {
  return series("product", "", type,
                Json::array({point(6.0 * 1024 * 1024, product_us(1024, 0.5)),
                             point(6.0 * 4096 * 4096, product_us(4096, 0.7))}));
}
Json copies() {
  return series("copy", "within a rank", "bfloat16",
                Json::array({point(1e6, 0.1), point(1e9, 2e9 / 2.68e6)}));
}
Json kernels() { return series("overhead", "launch", "float32", Json::array({point(0, 2.5)})); }

// Attention that reaches a part of the peak with so many GFLOP, and a tenth with a tenth of them.
Json attention(const char* pass, double gflop, double part, const char* type = "bfloat16") {
  const auto time_us = [](double giga, double of_peak) { return giga / (989e-3 * of_peak); };
  Json small = point(1e6, time_us(gflop / 10, 0.1));
  Json large = point(2e6, time_us(gflop, part));
  small["flop"] = gflop * 1e8;
  large["flop"] = gflop * 1e9;
  return series("attention", pass, type, Json::array({large, small}));
}

Ran fitted(const std::vector<Json>& all, std::vector<std::string> more) {
  const Temporary file(Temporary::Kind::file);
  write_file(Json{{"schema", "sgdsim/measurement/1"}, {"device", "a GPU"}, {"series", all}}.dump(),
             file.name());
  more.insert(more.begin(), {"fit", file.name()});
  return run_sgdsim(more);
}

}  // namespace

TEST_CASE("fit gpu: what was measured stands in the place of the base's figures") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/mine.json";
  const Ran ran =
      fitted({products(), copies(), kernels()}, {"--gpu", "h100", "--name", "mine", "--out", out});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.log.empty());
  const Json json = Json::parse(read_text(out));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/gpu/1", json) == std::vector<std::string>{});
  const Gpu mine = load_gpu(out);
  const Gpu base = load_gpu("h100");
  CHECK(mine.name == "mine");
  REQUIRE(mine.gemm.size() == 2);
  CHECK(mine.gemm[0].gflop == doctest::Approx(2.147483648));
  CHECK(mine.gemm[0].part == doctest::Approx(0.5).epsilon(1e-5));
  CHECK(mine.gemm[1].gflop == doctest::Approx(137.438953472));
  CHECK(mine.gemm[1].part == doctest::Approx(0.7).epsilon(1e-5));
  CHECK(mine.memory_part == doctest::Approx(0.8).epsilon(1e-5));
  CHECK(mine.kernel == Duration::ps(2'500'000));
  CHECK(mine.bf16_flops == base.bf16_flops);
  CHECK(mine.any_attention.forward == base.any_attention.forward);
  CHECK(ran.out.find("memory  2680 GB/s") != std::string::npos);
  const Ran layout = run_sgdsim({"layout", "llama3.1_8b", "-c", "topologies/data/dgx_h100_4.json",
                                 "--gpu", out, "--layout", "tp8 dp4 zero1"});
  CHECK(layout.exit_code == 0);
  // What was not measured is kept, and said.
  const Ran some = fitted({products()}, {"--gpu", "h100", "--format", "json"});
  CHECK(Json::parse(some.out)["kernel"] == "3 us");
  CHECK(Json::parse(some.out)["name"] == "h100_measured");
  CHECK(some.log.find("memory: not measured, and taken from h100") != std::string::npos);
}

// 110 us beside NCCL where 100 are alone, and NCCL 75 where it takes 50; copy engines disturb
// nothing, within the error of a measurement; of multiprocessors one half is missing.
TEST_CASE("fit gpu: products and exchanges beside each other become interference") {
  const auto overlap = [](const char* what, double time_us) {
    return series("overlap", what, "bfloat16",
                  Json::array({point(1e6, 3 * time_us), point(64e6, time_us)}));
  };
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/mine.json";
  const Ran ran = fitted(
      {overlap("product alone", 100), overlap("nccl alone", 50), overlap("copy engines alone", 40),
       overlap("product beside nccl", 110), overlap("nccl beside product", 75),
       overlap("product beside copy engines", 99), overlap("copy engines beside product", 44),
       overlap("product beside multiprocessors", 130)},
      {"--gpu", "h100", "--name", "mine", "--out", out});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(read_text(out));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/gpu/1", json) == std::vector<std::string>{});
  const Gpu mine = load_gpu(out);
  REQUIRE(mine.interference.size() == 2);
  CHECK(mine.beside_exchanges().products == doctest::Approx(1.1));
  CHECK(mine.beside_exchanges().exchange == doctest::Approx(1.5));
  CHECK(mine.interference[1].products == 1);
  CHECK(mine.interference[1].exchange == doctest::Approx(1.1));
  CHECK(ran.out.find("beside nccl  products 1.100 times as long, the exchange 1.500 times") !=
        std::string::npos);
  // A layout takes it, and is slower by it than where nothing slows down; what exchanges lose
  // counts in closed form only, which is said.
  const auto step_of = [&](const std::string& gpu, std::vector<std::string> more) {
    std::vector<std::string> words = {
        "layout",   "llama3.1_8b", "-c",       "topologies/data/dgx_h100_4.json",
        "--gpu",    gpu,           "--layout", "tp8 dp4 zero1",
        "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran layout = run_sgdsim(words);
    CAPTURE(layout.log);
    REQUIRE(layout.exit_code == 0);
    return Json::parse(layout.out);
  };
  Json quiet = json;
  quiet["interference"] = Json::array();
  const Temporary alone(Temporary::Kind::file, quiet.dump());
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(std::string(fidelity));
    const Json slowed = step_of(out, {"--fidelity", fidelity});
    const auto step_us = [](const Json& answer) {
      return answer["layouts"][0]["step_us"].get<double>();
    };
    CHECK(step_us(slowed) > 1.001 * step_us(step_of(alone.name(), {"--fidelity", fidelity})));
    const bool is_formula = fidelity == std::string("closed_form");
    CHECK((slowed.value("warnings", Json()).dump().find("times as long beside products") ==
           std::string::npos) == is_formula);
  }
  Json twice = json;
  twice["interference"].push_back(twice["interference"][0]);
  const Temporary as_file(Temporary::Kind::file, twice.dump());
  CHECK_THROWS_WITH_AS(load_gpu(as_file.name()), doctest::Contains("each kind of exchange once"),
                       InputError);
}

TEST_CASE("fit gpu: types, and products that are none of a curve") {
  const Json slower = series("product", "", "float32",
                             Json::array({point(12.0 * 1024 * 1024, product_us(1024, 0.05))}));
  const auto parts_of = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--gpu", "h100", "--format", "json"});
    const Ran ran = fitted({slower, products()}, more);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["gemm_efficiency"].size();
  };
  CHECK(parts_of({}) == 2);
  CHECK(parts_of({"--type", "float32"}) == 1);
  CHECK(fitted({slower}, {"--gpu", "h100"}).log.find("related to the peak of BF16") !=
        std::string::npos);
  const Ran curve = fitted({products()}, {});
  CHECK(curve.exit_code == 2);
  CHECK(curve.log.find("no series is left to fit") != std::string::npos);
}

TEST_CASE("fit gpu: the largest attention counts, each pass by itself") {
  const Json forward = attention("forward", 500, 0.35);
  const Json backward = attention("backward", 1250, 0.34);
  const Ran both = fitted({products(), copies(), kernels(), forward, backward},
                          {"--gpu", "h100", "--format", "json"});
  REQUIRE(both.exit_code == 0);
  CHECK(both.log.empty());
  const Json json = Json::parse(both.out);
  CHECK(json["attention_forward"].get<double>() == doctest::Approx(0.35).epsilon(1e-6));
  CHECK(json["attention_backward"].get<double>() == doctest::Approx(0.34).epsilon(1e-6));
  CHECK(json["source"].get<std::string>().starts_with(
      "Measured (products, memory, kernels, attention forward, attention backward): "));
  // 40 % of 989 TFLOP/s.
  const Ran table = fitted({attention("backward", 500, 0.4)}, {"--gpu", "h100"});
  CHECK(table.out.find("attention backward") == 0);
  CHECK(table.out.find("395.6 TFLOP/s  40.0 % of the peak") != std::string::npos);
  // One pass alone, with another type; a placement is that of the others.
  const Ran one = fitted({attention("forward", 500, 0.35, "float16"), products()},
                         {"--gpu", "h100", "--format", "json"});
  REQUIRE(one.exit_code == 0);
  CHECK(Json::parse(one.out)["attention_backward"] == 0.45);
  CHECK(one.log.find("attention (forward) is of float16, and is related to the peak of BF16") !=
        std::string::npos);
  CHECK(one.log.find("only its forward pass was measured; the other is taken from h100") !=
        std::string::npos);
  Json placed = products();
  placed["placement"] = "GPUs";
  const Ran chosen = fitted({placed, forward, backward},
                            {"--gpu", "h100", "--placement", "GPUs", "--format", "json"});
  CHECK(Json::parse(chosen.out)["attention_forward"] == json["attention_forward"]);
}

TEST_CASE("fit gpu: attention that says too little, or too much") {
  const auto said = [](const std::vector<Json>& all) {
    const Ran ran = fitted(all, {"--gpu", "h100"});
    CHECK(ran.exit_code == 2);
    return ran.log;
  };
  const Json good = attention("forward", 500, 0.35);
  Json other = good;
  other["algorithm"] = "sideways";
  CHECK(said({other}).find("/series/0: expected attention with the algorithm \"forward\" or") !=
        std::string::npos);
  other = good;
  other["points"][0].erase("flop");
  CHECK(said({other}).find("expected \"flop\" in every point of attention") != std::string::npos);
  for (const Json& flop : {Json(0), Json(-1), Json(1e30), Json("many")}) {
    other = good;
    other["points"][0]["flop"] = flop;
    CHECK(said({other}).find("/series/0/points/0/flop") != std::string::npos);
  }
  other = good;
  other["note"] = "another kernel";
  CHECK(said({good, other}).find("attention (forward, bfloat16) was measured in 2 ways") !=
        std::string::npos);
  CHECK(said({attention("backward", 500, 1.25)})
            .find("products of attention (backward) reach 1.250 of what h100 has at most") !=
        std::string::npos);
  CHECK(said({attention("backward", 500, 0.005)})
            .find("attention (backward) reaches less than a hundredth of the peak of h100") !=
        std::string::npos);
  // Where sizes are alike and FLOP are not, both points are kept.
  other = good;
  other["points"][1]["size_B"] = 2'000'000;
  const Ran both = fitted({other}, {"--gpu", "h100", "--format", "json"});
  CHECK(Json::parse(both.out)["attention_forward"].get<double>() ==
        doctest::Approx(0.35).epsilon(1e-6));
}

TEST_CASE("fit gpu: several GPUs of a kind are one device") {
  const Temporary file(Temporary::Kind::file);
  write_file(Json{{"schema", "sgdsim/measurement/1"},
                  {"device", "a GPU, a GPU"},
                  {"series", {attention("forward", 500, 0.35)}}}
                 .dump(),
             file.name());
  const Ran ran = fitted({products()}, {file.name(), "--gpu", "h100", "--format", "json"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find(", on a GPU. ") != std::string::npos);
}

TEST_CASE("fit gpu: what is refused") {
  struct Row {
    Json series;
    std::vector<std::string> more;
    const char* sentence;
  };
  const auto one_product = [](double size_B, double time_us) {
    return series("product", "", "bfloat16", Json::array({point(size_B, time_us)}));
  };
  for (const Row& row : std::vector<Row>{
           {one_product(6.0 * 4096 * 4096, product_us(4096, 1.25)),
            {},
            "--gpu: products reach 1.250 of what h100 has at most; its bf16_tflops"},
           {one_product(6.0 * 4096 * 4096, product_us(4096, 1e-4)),
            {},
            "--gpu: no product reaches a thousandth of the peak of h100"},
           {one_product(1e6, 10), {}, "is not of three square matrices of bfloat16"},
           {series("copy", "within a rank", "float32", Json::array({point(1e9, 100)})),
            {},
            "copies reach 5.970 of what h100 has at most; its memory_bandwidth"},
           {series("copy", "within a rank", "float32", Json::array({point(1e3, 1e6)})),
            {},
            "less than a hundredth of the memory_bandwidth"},
           {kernels(), {}, "neither products, copies within a rank, overlaps nor attention"},
           {products(), {"--type", "float32"}, "--type: no products of \"float32\" were measured"},
           {products(),
            {"--type", "bfloat61"},
            "--type: no products of \"bfloat61\" were measured"},
           {products(), {"--segments", "2"}, "--segments: has no effect with --gpu"},
           {products(), {"--from-collective", "ring"}, "--from-collective: has no effect"},
           {products(), {"--case", "x.json"}, "--case: has no effect with --gpu"}}) {
    std::vector<std::string> more = {"--gpu", "h100"};
    more.insert(more.end(), row.more.begin(), row.more.end());
    const Ran ran = fitted({row.series}, more);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
  // Of several files, all are named, and of one device only.
  const Temporary other(Temporary::Kind::file);
  const auto write = [&](const char* device) {
    write_file(
        Json{{"schema", "sgdsim/measurement/1"}, {"device", device}, {"series", {copies()}}}.dump(),
        other.name());
  };
  write("a GPU");
  const Ran both = fitted({products()}, {other.name(), "--gpu", "h100", "--format", "json"});
  CHECK(both.exit_code == 0);
  CHECK(both.out.find(", " + other.name() + ", on a GPU") != std::string::npos);
  write("another GPU");
  const Ran mixed = fitted({products()}, {other.name(), "--gpu", "h100"});
  CHECK(mixed.exit_code == 2);
  CHECK(mixed.log.find("a GPU file is of one device") != std::string::npos);
  const Ran unknown = fitted({products()}, {"--gpu", "h1000"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.log.find("unknown GPU \"h1000\"") != std::string::npos);
}

}  // namespace sgdsim
