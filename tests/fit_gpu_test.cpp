// GPU files from measured products, copies and kernels, by hand.
#include <doctest/doctest.h>

#include "app/layout/layout_files.h"
#include "app/schema_check.h"
#include "sim/core/output.h"
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
  CHECK(mine.attention_forward == base.attention_forward);
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
           {kernels(), {}, "neither products nor copies within a rank were measured"},
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
