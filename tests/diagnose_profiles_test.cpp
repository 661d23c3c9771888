// Folders with a profile of PyTorch for each rank: a slow rank, files that are missing, cut off or
// of another run, and clocks that are apart.
//
// The steps of KinetoWriter last 50 ms: forward 10 ms, then gradients 1 ms apart with kernels of
// 0.6 ms; two buckets of two gradients, which take 3 and 0.7 ms. The forward pass of rank 2 takes
// 15 ms, so that the others wait 5 ms for their first bucket:
//   rank 2     forward 0-15   bucket 1 ready 16.6   bucket 2 ready 18.6
//   exchanges  16.6-19.6 and 19.6-20.3; the rest of the 50 ms is update and idle time: 29.7
// If rank 2 were as quick as the others, all that would be 5 ms earlier.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "study/diagnose/diagnose_answer.h"
#include "study/diagnose/record_source.h"
#include "tests/kineto_writer.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

constexpr int slow_rank = 2;

KinetoWriter writer_of(int rank, int ranks) {
  KinetoWriter writer;
  writer.rank = rank;
  writer.ranks = ranks;
  writer.steps = 5;
  writer.clock_ahead_ns = (rank * 37 % 21 - 10) * 1'000'000;  // up to 10 ms either way
  if (rank == slow_rank)
    writer.forward_ns = 15'000'000;
  else
    writer.waiting_ns = [](int, int bucket) { return bucket == 0 ? 5'000'000 : 0; };
  return writer;
}

void write_rank(const Temporary& folder, int rank, const std::string& text) {
  std::ofstream(folder.name() + "/rank" + std::to_string(rank) + ".json") << text;
}

DiagnoseAnswer answer_for(const Temporary& folder) {
  return answer_diagnose(read_record(folder.name()), diagnose::ClockRule::by_record, {});
}

TEST_CASE("diagnose profiles: the slow rank of eight, by clocks that are apart") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 8; ++rank) write_rank(folder, rank, writer_of(rank, 8).text());
  const DiagnoseAnswer answer = answer_for(folder);
  CHECK(answer.work.replicas == 8);
  CHECK(answer.work.steps.size() == 4);  // the first is a cold one
  CHECK(answer.diagnosis.played_s == doctest::Approx(0.050).epsilon(1e-6));
  REQUIRE(!answer.diagnosis.parts.empty());
  CHECK(answer.diagnosis.parts[0].kind == diagnose::PartKind::worker);
  CHECK(answer.diagnosis.parts[0].worker == slow_rank);
  CHECK(answer.diagnosis.parts[0].saved_s == doctest::Approx(0.005).epsilon(1e-6));
  CHECK(part_words(answer, answer.diagnosis.parts[0]) ==
        "computing of replica 2 (rank 2, rank2.json)");
  CHECK(has_note(answer, "clocks of workers were aligned"));
}

TEST_CASE("diagnose profiles: a sentence for each file that does not fit") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 8; ++rank) {
    if (rank == 6) continue;  // nobody kept it
    KinetoWriter writer = writer_of(rank, 8);
    std::string text = writer.text();
    if (rank == 1) text.resize(text.size() / 10);  // before its second step ends
    if (rank == 3) {
      writer.elements = {1000, 2000, 3000, 500};  // another model
      text = writer.text();
    }
    if (rank == 4) {
      writer.clock_ahead_ns = 3'600'000'000'000;  // an hour later
      text = writer.text();
    }
    if (rank == 5) {
      writer.ranks = 4;
      text = writer.text();
    }
    write_rank(folder, rank, text);
  }
  std::ofstream(folder.name() + "/notes.json") << R"({"traceEvents": [], "schemaVersion": 1})";
  const DiagnoseAnswer answer = answer_for(folder);
  CHECK(answer.work.replicas == 3);  // 0, 2 and 7
  REQUIRE(!answer.diagnosis.parts.empty());
  CHECK(part_words(answer, answer.diagnosis.parts[0]) ==
        "computing of replica 1 (rank 2, rank2.json)");
  for (const char* note :
       {"rank1.json", "rank3.json is left out: it is of another run: its buckets",
        "rank4.json is left out: it is of another run, or its clock is wrong: its step 5 began "
        "3600 s after",
        "rank5.json is left out: it is of another run: of a job of 4 ranks",
        "5 are missing (1, 3, 4, 5, 6)"}) {
    CAPTURE(note);
    CHECK(has_note(answer, note));
  }
}

TEST_CASE("diagnose profiles: a file of few steps does not cost the others theirs") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    KinetoWriter writer = writer_of(rank, 4);
    if (rank == 0) writer.steps = 2;
    if (rank == 1) writer.steps = 4;
    write_rank(folder, rank, writer.text());
  }
  const DiagnoseAnswer answer = answer_for(folder);
  CHECK(answer.work.replicas == 3);
  CHECK(answer.work.steps == std::vector<int64_t>{5, 6, 7});
  CHECK(has_note(answer, "rank0.json is left out: it has 1 of the 3 steps that most ranks have"));
  CHECK(has_note(answer, "step 8 is left out: not all ranks have it"));
}

// 100 s between clocks may be another run, if nobody says otherwise.
TEST_CASE("diagnose profiles: clocks that are far apart are taken where they are asked for") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 4; ++rank) {
    KinetoWriter writer = writer_of(rank, 4);
    if (rank == 1) writer.clock_ahead_ns = 100'000'000'000;
    write_rank(folder, rank, writer.text());
  }
  const DiagnoseAnswer without = answer_for(folder);
  CHECK(without.work.replicas == 3);
  CHECK(has_note(without,
                 "100 s after that of most ranks; sgdsim diagnose --clocks aligned takes it"));
  const Ran ran =
      run_sgdsim({"diagnose", folder.name(), "--clocks", "aligned", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  CHECK(holds(ran.out, "\"replicas\": 4"));
  CHECK(holds(ran.out, "they differed by up to 100 s"));
}

TEST_CASE("diagnose profiles: steps that are not there") {
  const Temporary folder(Temporary::Kind::folder);
  for (int rank = 0; rank < 2; ++rank) write_rank(folder, rank, writer_of(rank, 2).text());
  RecordWords words;
  words.steps = "999";
  // Five steps from 4 on, of which the first is a cold one.
  CHECK(holds(refusal_of([&] { read_record(folder.name(), words); }),
              "has no step 999; it has 4 steps from 5 to 8"));
}

TEST_CASE("diagnose profiles: one rank is not enough") {
  const Temporary folder(Temporary::Kind::folder);
  CHECK(holds(refusal_of([&] { answer_for(folder); }), "holds no profile of PyTorch, no log"));
  write_rank(folder, 0, writer_of(0, 8).text());
  CHECK(holds(refusal_of([&] { answer_for(folder); }), "fewer than two files"));
  CHECK(holds(refusal_of([&] { read_record(folder.name() + "/rank0.json"); }),
              "is the profile of one rank; expected the folder"));
}

}  // namespace
}  // namespace sgdsim
