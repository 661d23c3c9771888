// Parts of sweeps as other programs, and other runs, leave them.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "sim/core/json.h"
#include "tests/command_words.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

Ran swept_with(const std::vector<std::string>& more) { return run_sgdsim(with(six_points, more)); }

void put(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string with_returns(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");
  return text;
}

const std::string mark = "\xef\xbb\xbf";

}  // namespace

TEST_CASE("merge: marks of UTF-8 and carriage returns are no part of points") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  const std::string whole = swept_with({}).out;
  const std::string even = swept_with({"--shard", "0/2"}).out;
  const std::string odd = swept_with({"--shard", "1/2"}).out;
  put(at + "0", mark + with_returns(even));
  put(at + "1", odd);
  CHECK((call_sgdsim({"merge", at + "0", at + "1"}).out == whole));
  put(at + "1", with_returns(odd));
  CHECK((call_sgdsim({"merge", at + "0", at + "1"}).out == whole));
  // As of `cat 0 1`, where the second one begins within the file.
  put(at + "both", mark + even + mark + odd);
  CHECK((call_sgdsim({"merge", at + "both"}).out == whole));
  const std::vector<std::string> table = {"merge", at + "0", at + "1", "--columns",
                                          "point,strategy"};
  CHECK(call_sgdsim(table).out.starts_with("point,strategy\n0,wfbp\n1,ddp\n"));
  // A file that is gone on with would keep them, beside lines that have none.
  for (const std::string& edited : {mark + even, with_returns(even)}) {
    put(at + "0", edited);
    const Ran ran = swept_with({"--shard", "0/2", "--resume", "--out", at + "0"});
    CHECK(ran.exit_code == 2);
    CHECK(holds(ran.log, ":1: has a byte-order mark or a carriage return"));
    const std::string command = "sed -i 's/^\\xef\\xbb\\xbf//; s/\\r$//' " + at + "0";
    CHECK(holds(ran.log, "take them out: " + command));
    CHECK(run_shell_line(command).exit_code == 0);
    CHECK(swept_with({"--shard", "0/2", "--resume", "--out", at + "0"}).exit_code == 0);
    CHECK((read_text(at + "0") == even));
  }
}

TEST_CASE("merge and --resume: packed parts are told of, with how to unpack them") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  put(at + "0.jsonl", swept_with({"--shard", "0/2"}).out);
  put(at + "1.jsonl", swept_with({"--shard", "1/2"}).out);
  REQUIRE(run_shell_line("gzip " + at + "1.jsonl").exit_code == 0);
  const std::string packed = at + "1.jsonl.gz";
  const std::string sentence =
      packed + ": is packed with gzip, as points are not; unpack it first: gunzip " + packed + "\n";
  const Ran merged = call_sgdsim({"merge", at + "0.jsonl", packed});
  CHECK(merged.exit_code == 2);
  CHECK(merged.log == "sgdsim: " + sentence);
  const Ran resumed = swept_with({"--shard", "1/2", "--resume", "--out", packed});
  CHECK(resumed.exit_code == 2);
  CHECK(resumed.log == "sgdsim: " + sentence);
  std::filesystem::rename(packed, at + "part");
  CHECK(holds(call_sgdsim({"merge", at + "0.jsonl", at + "part"}).log,
              "unpack it first: gunzip < " + at + "part > NAME"));
}

TEST_CASE("merge and --resume: parts that a script for other tasks left are named") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  const auto part = [&](int number) {
    return at + "a.db.part-" + std::to_string(number) + ".jsonl";
  };
  const auto play = [&](int number, int tasks) {
    return swept_with({"--shard", std::to_string(number) + "/" + std::to_string(tasks), "--resume",
                       "--out", part(number)});
  };
  for (int number = 0; number < 3; ++number) REQUIRE(play(number, 3).exit_code == 0);
  const std::string parts = "delete the parts (rm " + at + "a.db.part-*.jsonl), and run the script";
  // Of three tasks number 0 has the points 0 and 3, of two tasks 0, 2 and 4.
  const Ran resumed = play(0, 2);
  CHECK(resumed.exit_code == 2);
  CHECK(holds(resumed.log, "point 3 belongs to another shard; this is left over"));
  CHECK(holds(resumed.log, parts));
  // One task has all of them.
  std::filesystem::remove(part(0));
  REQUIRE(play(0, 1).exit_code == 0);
  const Ran merged = call_sgdsim({"merge", part(0), part(1), part(2)});
  CHECK(merged.exit_code == 2);
  CHECK(holds(merged.log, "point 1 occurs twice"));
  CHECK(holds(merged.log, "parts of a run with another --tasks are left over: " + parts));
  // Files of other names may be doubled for any reason.
  std::filesystem::copy(part(1), at + "copy.jsonl");
  CHECK(!holds(call_sgdsim({"merge", part(1), at + "copy.jsonl"}).log, "--tasks"));
  CHECK(!holds(call_sgdsim({"merge", part(1), part(1)}).log, "--tasks"));
}

}  // namespace sgdsim
