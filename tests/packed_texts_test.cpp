// Files that are packed with gzip, or begin with the mark of UTF-8, are read as what is in them, by
// every command that reads files of people; and folders of files, one a rank.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "sim/core/json.h"
#include "tests/kineto_writer.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

const std::string packed_source = std::string(SGDSIM_SOURCE_DIR) + "/";

// What a command says of a file, of the same packed, and of the same behind a mark.
void check_alike(std::vector<std::string> words, const std::string& file) {
  INFO(file);
  const std::string text = read_text(packed_source + file);
  words.emplace_back();
  const auto said_of = [&](const std::string& content) {
    const Temporary written(Temporary::Kind::file, content);
    words.back() = written.name();
    Ran ran = call_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    for (std::size_t at = ran.out.find(written.name()); at != std::string::npos;
         at = ran.out.find(written.name()))
      ran.out.replace(at, written.name().size(), "FILE");
    return ran.out;
  };
  const std::string plain = said_of(text);
  CHECK(!plain.empty());
  CHECK(said_of(packed_as_gzip(text)) == plain);
  CHECK(said_of("\xef\xbb\xbf" + text) == plain);
  CHECK(said_of(packed_as_gzip("\xef\xbb\xbf" + text)) == plain);
}

TEST_CASE("start of files: packed files and marks are read by every command") {
  check_alike({"import", "training-log", "--format", "json"}, "tests/data/nemo_log.txt");
  check_alike({"import", "layers-csv", "--name", "x"}, "tests/data/layers.csv");
  check_alike({"import", "nccl-inspector", "--name", "x"}, "tests/data/nccl_inspector_rank0.jsonl");
  check_alike({"import", "horovod", "--format", "json"}, "tests/data/horovod_timeline.json");
  check_alike({"fit", "--op", "allreduce", "--name", "x", "--format", "json"},
              "tests/data/nccl_tests.log");
  check_alike({"replay", "--L", "1us", "--G", "1"}, "app/schedules/ring_4.goal");
  check_alike({"trace", "show"}, "traces/data/googlenet_k80.json");
}

TEST_CASE("start of files: a packed file on standard input") {
  const Temporary packed(Temporary::Kind::file,
                         packed_as_gzip(read_text(packed_source + "tests/data/nemo_log.txt")));
  RunOptions options;
  options.input_file = packed.name();
  const Ran ran = run_sgdsim({"import", "training-log", "-", "--format", "json"}, options);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["runs"][0]["steps"] == 4);
}

// 4 MiB of blanks are 4 KB when they are packed.
TEST_CASE("start of files: what unpacks to too much, or is broken, is refused in a sentence") {
  const std::string packed = packed_as_gzip(std::string(4U << 20U, ' '));
  CHECK(packed.size() < 8192);
  const Temporary bomb(Temporary::Kind::file, packed);
  CHECK(refusal_of([&] { read_text(bomb.name(), 3U << 20U); }) ==
        bomb.name() + ": is packed with gzip, and unpacks to more than 3 MiB");
  CHECK(read_text(bomb.name(), 4U << 20U).size() == 4U << 20U);
  const Temporary cut(Temporary::Kind::file, packed.substr(0, packed.size() / 2));
  const std::string broken = cut.name() + ": is packed with gzip, and cut off or broken";
  CHECK(refusal_of([&] { read_text(cut.name()); }) == broken);
  CHECK(holds(call_sgdsim({"replay", cut.name(), "--L", "1us", "--G", "1"}).log, broken));
}

// The two files of the samples in a folder, with one that is no such file beside them.
void check_folder(const std::string& format, const std::vector<std::string>& files) {
  INFO(format);
  const Temporary folder(Temporary::Kind::folder);
  std::vector<std::string> named = {"import", format};
  for (const std::string& file : files) {
    const std::string to = folder.name() + "/" + file;
    std::filesystem::copy_file(packed_source + "tests/data/" + file, to);
    named.push_back(to);
  }
  std::ofstream(folder.name() + "/notes.txt") << "notes\n";
  named.insert(named.end(), {"--name", "x"});
  const Ran one_by_one = call_sgdsim(named);
  REQUIRE(one_by_one.exit_code == 0);
  const Ran together = call_sgdsim({"import", format, folder.name(), "--name", "x"});
  INFO(together.log);
  CHECK(together.exit_code == 0);
  CHECK(together.out == one_by_one.out);
  CHECK(together.log == one_by_one.log);
  const Ran detected = call_sgdsim({"import", folder.name(), "--name", "x"});
  CHECK(detected.out == one_by_one.out);
  CHECK(detected.log == "sgdsim: note: read as " + format + "\n" + one_by_one.log);
  const Ran fitted = call_sgdsim({"fit", folder.name(), "--op", "allreduce"});
  CHECK(fitted.exit_code == 0);
}

TEST_CASE("import: a folder stands for the files of all ranks in it") {
  check_folder("nccl-inspector", {"nccl_inspector_rank0.jsonl", "nccl_inspector_rank1.jsonl"});
  check_folder("flight-recorder", {"nccl_trace_rank_0", "nccl_trace_rank_1"});
  const Temporary empty(Temporary::Kind::folder);
  for (const std::string format : {"nccl-inspector", "flight-recorder"})
    CHECK(holds(call_sgdsim({"import", format, empty.name()}).log,
                empty.name() + ": holds no file of " + format + ", one a rank"));
  CHECK(
      holds(call_sgdsim({"import", empty.name()}).log,
            empty.name() + ": holds no profile of PyTorch (.json or .json.gz), no log of NCCL's"));
  CHECK(holds(call_sgdsim({"import", "osu-log", empty.name()}).log,
              "expected a file, found a folder"));
}

}  // namespace
}  // namespace sgdsim
