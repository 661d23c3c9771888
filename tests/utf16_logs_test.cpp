// Logs that `>` of Windows PowerShell wrote: UTF-16 with a mark of the byte order.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/repository.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/utf16.h"

namespace sgdsim {
namespace {

std::string shipped_log(const std::string& name) { return "tests/data/" + name; }

// What a command answers, without the name of its file.
std::string answer_of(const std::vector<std::string>& words, const std::string& file) {
  std::vector<std::string> all = words;
  all.push_back(file);
  const Ran ran = call_sgdsim(all);
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  std::string text = ran.out;
  for (std::size_t at = 0; (at = text.find(file, at)) != std::string::npos;)
    text.replace(at, file.size(), "FILE");
  return text;
}

}  // namespace

TEST_CASE("UTF-16: logs are read as those in UTF-8 are, with or without the name of a format") {
  struct Row {
    std::vector<std::string> words;
    std::string file;
  };
  for (const Row& row : std::vector<Row>{
           {{"import", "training-log", "--format", "json"}, "nemo_log.txt"},
           {{"import", "--format", "json"}, "nemo_log.txt"},
           {{"import", "mllog", "--format", "json"}, "mllog.txt"},
           {{"import", "b-caffe-log", "--name", "x"}, "b_caffe.log"},
           {{"import", "osu-log", "--name", "x", "--ranks", "4"}, "osu_allreduce.log"},
           {{"import", "--name", "x"}, "nccl_tests.log"},
           {{"import", "perftest-log", "--name", "x"}, "perftest_write_bw.log"},
           {{"import", "layers-csv", "--name", "x"}, "layers.csv"},
           {{"fit", "--name", "x", "--ranks", "4", "--format", "json"}, "osu_allreduce.log"}}) {
    const std::string plain = in_repository(shipped_log(row.file));
    const std::string expected = answer_of(row.words, plain);
    for (const bool is_big : {false, true}) {
      INFO(row.words.front(), " ", row.file, " ", is_big);
      const Temporary file(Temporary::Kind::file, utf16(read_text(plain), is_big));
      CHECK(answer_of(row.words, file.name()) == expected);
    }
  }
}

TEST_CASE("UTF-16: letters beyond ASCII, pairs, and what is broken") {
  CHECK(is_utf16("\xff\xfe"));
  CHECK(!is_utf16("\xef\xbb\xbf"));
  using namespace std::string_literals;
  // U+E4, U+20AC and U+1F600, which are two, three and four bytes of UTF-8.
  CHECK(as_utf8("\xff\xfe\xe4\x00\xac\x20\x3d\xd8\x00\xde"s, "f") ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(as_utf8("\xef\xbb\xbfplain", "f") == "plain");
  CHECK(holds(refusal_of([] {
                as_utf8(
                    "\xff\xfe"
                    "a",
                    "f");
              }),
              "half a character at its end"));
  CHECK(holds(refusal_of([] { as_utf8("\xff\xfe\x3d\xd8", "f"); }), "half of a pair"));
}

}  // namespace sgdsim
