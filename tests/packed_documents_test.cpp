// Documents that are packed into sequences: attention of each by itself.
#include "models/training/packed_documents.h"

#include <doctest/doctest.h>

#include "models/training/hybrid_step.h"
#include "models/training/training_flop.h"
#include "study/layout/layout_files.h"
#include "tests/free_gpu.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

PackedDocuments packed(const Transformer& model, const std::string& text, int64_t batch = 64) {
  return {model, parse_documents(text, "--documents"), 2048, batch, "--documents"};
}

// Four documents of 512 have a quarter of the pairs of one of 2,048.
TEST_CASE("documents: lengths that divide a sequence") {
  const Transformer model = small_model();
  const PackedDocuments four = packed(model, "512");
  CHECK(four.pieces() == 4);
  CHECK(four.pairs_part() == 0.25);
  CHECK(four.slowest(8) == 1);
  CHECK(four.slowest(3) == 1);
  for (const FlopConvention convention : {FlopConvention::halved, FlopConvention::whole})
    CHECK(four.core_flop(Mixing::full, convention) ==
          doctest::Approx(4 * attention_core_flop(model, Mixing::full, 512, convention)));
  // Longer than a sequence: nothing but it is in one.
  const PackedDocuments one = packed(model, "8192");
  CHECK(one.pieces() == 1);
  CHECK(one.pairs_part() == 1);
  // 3,072 goes on in the next sequence, where another one begins: 2048, 1024 + 1024, 2048, ...
  const PackedDocuments cut = packed(model, "3072", 2);
  CHECK(cut.pieces() == 1.5);
  CHECK(cut.pairs_part() == 0.75);
  CHECK(cut.slowest(2) == doctest::Approx(1 / 0.75));
  CHECK(cut.slowest(1) == 1);
}

// Documents of 1 and 2,047 tokens, as often: half of the pieces that the long ones are cut into lie
// anywhere, so that only the mean of pieces is drawn.
TEST_CASE("documents: of two lengths, and of distributions") {
  const Transformer model = small_model();
  const PackedDocuments equal = packed(model, "256x1,768x1", 4096);
  // 512 tokens a document; each cut makes one piece more, and hits a document in most sequences.
  CHECK(equal.pieces() > 4);
  CHECK(equal.pieces() < 5);
  // Squares of whole documents: (256^2 + 768^2) / 2 for each 512 tokens; cuts take some.
  const double uncut = (256.0 * 256 + 768.0 * 768) / 2 * 4 / (2048.0 * 2048);
  CHECK(equal.pairs_part() < uncut);
  CHECK(equal.pairs_part() > 0.8 * uncut);
  CHECK(equal.slowest(64) > 1);
  CHECK(equal.slowest(64) > equal.slowest(2));
  const PackedDocuments drawn = packed(model, "exponential:64", 4096);
  CHECK(drawn.pieces() == doctest::Approx(2048 / 64.0 + 1).epsilon(0.02));
  CHECK(drawn.pairs_part() == doctest::Approx(2 * 64.0 / 2048).epsilon(0.05));
  CHECK(packed(model, "lognormal:128:0").pieces() == 16);
  // Equal draws: the seed is fixed.
  CHECK(packed(model, "lognormal:100:1").pairs_part() ==
        packed(model, "lognormal:100:1").pairs_part());
}

TEST_CASE("documents: windows, linear attention, and files") {
  Transformer model = small_model();
  model.window = Window{.size = 256};
  model.mixing_pattern = {Mixing::window};
  const PackedDocuments four = packed(model, "512");
  CHECK(
      four.core_flop(Mixing::window, FlopConvention::halved) ==
      doctest::Approx(4 * attention_core_flop(model, Mixing::window, 512, FlopConvention::halved)));
  CHECK(four.core_flop(Mixing::full, FlopConvention::halved) == 0);
  const DocumentLengths read =
      read_documents("length,count\n# of a crawl\n512,3\n\n1024\t2\r\n2048\n", "lengths.csv");
  REQUIRE(read.counts.size() == 3);
  CHECK(read.counts[1].length == 1024);
  CHECK(read.counts[1].count == 2);
  CHECK(read.counts[2].count == 1);
}

TEST_CASE("documents: what is none is refused") {
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"x", "expected lengths with counts"},
           {"512x", "expected lengths with counts"},
           {"512y3", "expected lengths with counts"},
           {"0x3", "a document of 0 tokens"},
           {"-5", "a document of -5 tokens"},
           {"512x-1", "-1 documents"},
           {"512x0", "it has no document"},
           {",", "expected lengths with counts"},
           {"99999999999999999999", "expected lengths with counts"},
           {"4294967297", "expected 1 to 4294967296"},
           {"lognormal:600", "expected lengths with counts"},
           {"lognormal:600:11", "a sigma of 11"},
           {"lognormal:nan:1", "a median of nan"},
           {"exponential:0.5", "a mean of 0.5"},
           {"gamma:1:2", "expected lengths with counts"}})
    CHECK(holds(refusal_of([&] { parse_documents(row.first, "--documents"); }), row.second));
  CHECK(holds(refusal_of([&] { read_documents("512 3 4\n", "f"); }), "f: line 1"));
  CHECK(holds(refusal_of([&] { read_documents("\n", "f"); }), "it has no document"));
  const Transformer model = small_model();
  CHECK(holds(refusal_of([&] {
                PackedDocuments(model, parse_documents("1", ""), 2048, 100'000, "--documents");
              }),
              "more than 10000000 documents"));
}

// Half the attention where two documents fill each sequence; products stay.
TEST_CASE("documents: time and FLOP of a step") {
  const Transformer model = small_model();
  const Gpu gpu = free_gpu();
  const Cluster cluster = free_cluster(2);
  GroupTimes groups(cluster, 2);
  const Layout layout = parse_layout("dp2 ga4", "");
  const PackedDocuments two = packed(model, "1024", 8);
  const TrainingStep whole{model, layout, 2048, gpu, Precision::bf16};
  const TrainingStep halves{model, layout, 2048, gpu, Precision::bf16, &two};
  const HybridStep a = hybrid_step(whole, groups);
  const HybridStep b = hybrid_step(halves, groups);
  CHECK(b.parts.products == a.parts.products);
  CHECK(b.parts.attention == doctest::Approx(a.parts.attention / 2));
  const double core = 48 * attention_core_flop(model, Mixing::full, 2048, FlopConvention::halved);
  CHECK(training_flop(halves, FlopConvention::halved) ==
        doctest::Approx(training_flop(whole, FlopConvention::halved) - 3 * core / 2));
  // One replica has 2,048 alone, the other one 1,024 twice: the first one is waited for.
  const PackedDocuments uneven = packed(model, "3072", 2);
  const Layout one = parse_layout("dp2 ga1", "");
  const TrainingStep waits{model, one, 2048, gpu, Precision::bf16, &uneven};
  CHECK(hybrid_step(waits, groups).parts.attention == doctest::Approx(a.parts.attention / 4));
}

TEST_CASE("documents: commands that ask for layouts take them") {
  const std::string box = "topologies/data/dgx_h100_4.json";
  const std::vector<std::string> words = {"layout", "llama3.1_8b", "-c",       box,
                                          "--gpus", "8",           "--format", "json"};
  const auto answer = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    const Ran ran = run_sgdsim(more);
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  };
  const Json whole =
      answer({"--layout", "dp8 ga2 zero3", "--sequence", "32768", "--memory", "2TB"});
  const Json parts = answer({"--layout", "dp8 ga2 zero3", "--sequence", "32768", "--memory", "2TB",
                             "--documents", "lognormal:600:1.2"});
  CHECK(parts["documents"]["pairs_part"] < 0.2);
  CHECK(parts["layouts"][0]["step_us"] < whole["layouts"][0]["step_us"]);
  const Json found = answer({"--documents", "512x3,4096"});
  CHECK(found["documents"]["of_a_sequence"] > 5);
  const Ran refused = run_sgdsim({"layout", "vit_large", "-c", box, "--documents", "512"});
  CHECK(refused.exit_code == 2);
  CHECK(holds(refused.log, "images"));
}

}  // namespace
}  // namespace sgdsim
