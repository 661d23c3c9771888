// The house rules that a machine can check, checked on every source file: includes point downwards,
// every part is registered, files open with a comment and stay short, and words that would break
// determinism or print from the depths do not occur.
//
// The rules about rooms are the tables of docs/architecture.md; the banned words are the table
// below. Every rule is also shown an invented file that breaks it, so that no rule can silently
// stop applying.
#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "sim/core/json.h"
#include "tests/source_tree.h"

namespace sgdsim::house {
namespace {

using Breaches = std::vector<std::string>;

constexpr size_t longest_file_lines = 450;

// ---- the tables

struct House {
  std::vector<SourceFile> sources;
  TableRows rooms;       // room, rooms that it may include
  TableRows libraries;   // folder of a library, rooms that may include it
  TableRows registries;  // room, its registry, files that carry parts and are none
};

House read_house() {
  const std::filesystem::path root = SGDSIM_SOURCE_DIR;
  const std::string page = read_text((root / "docs/architecture.md").string());
  return {read_sources(root), markdown_table(page, "| room | may include |"),
          markdown_table(page, "| library | may be included by |"),
          markdown_table(page, "| room | registry | not parts |")};
}

std::set<std::string> names_in(const std::string& cell) {
  std::set<std::string> names;
  for (const std::string& name : split(cell, ',')) names.insert(trimmed(name));
  names.erase("");  // an empty cell names nothing
  return names;
}

// The room with the longest matching name, or nothing.
std::string room_of(const House& house, const std::string& path) {
  std::string room;
  for (const auto& row : house.rooms) {
    if (path.starts_with(row[0] + "/") && row[0].size() > room.size()) room = row[0];
  }
  return room;
}

const std::vector<std::string>* row_of(const TableRows& table, const std::string& first) {
  const auto found = std::ranges::find_if(table, [&](const auto& row) { return row[0] == first; });
  return found == table.end() ? nullptr : &*found;
}

std::string at(const SourceFile& file, size_t line) {
  return file.path + ":" + std::to_string(line + 1) + ": ";
}

// ---- words in a line

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where `word` stands by itself in `line`, from `from` on.
size_t find_word(const std::string& line, const std::string& word, size_t from = 0) {
  for (size_t at = line.find(word, from); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word_char(line[at - 1]) || !is_word_char(word.front());
    const size_t end = at + word.size();
    const bool ends = end == line.size() || !is_word_char(line[end]) || !is_word_char(word.back());
    if (starts && ends) return at;
  }
  return std::string::npos;
}

// ---- includes

// A room, or a room within it.
template <class Names>
bool is_in_one_of(const std::string& room, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return room == name || room.starts_with(name + "/");
  });
}

void check_include(const House& house, const SourceFile& file, size_t line, Breaches& breaches) {
  const std::string& text = file.lines[line];
  const size_t open = text.find_first_of("<\"");
  const size_t close = text.find_first_of(">\"", open + 1);
  const std::string target = text.substr(open + 1, close - open - 1);
  const std::string room = room_of(house, file.path);
  if (text[open] == '"') {
    const std::string other = room_of(house, target);
    if (other.empty()) {
      breaches.push_back(at(file, line) + "includes \"" + target + "\", which is in no room");
    } else if (!is_in_one_of(other, names_in((*row_of(house.rooms, room))[1]))) {
      breaches.push_back(at(file, line) + room + " may not include " + other);
    }
    return;
  }
  for (const auto& library : house.libraries) {
    const bool names_it = target.starts_with(library[0] + "/") || target == library[0] + ".h";
    if (names_it && !names_in(library[1]).contains(room)) {
      breaches.push_back(at(file, line) + room + " may not include " + library[0]);
    }
  }
}

Breaches include_breaches(const House& house) {
  Breaches breaches;
  for (const SourceFile& file : house.sources) {
    if (room_of(house, file.path).empty()) {
      breaches.push_back(file.path + ": is in no room");
      continue;
    }
    for (size_t line = 0; line < file.code.size(); ++line) {
      if (file.code[line].starts_with("#include")) check_include(house, file, line, breaches);
    }
  }
  return breaches;
}

// ---- registries

// Whether the registry names the part, as an identifier or as a name in quotes.
bool lists(const SourceFile& registry, const std::string& part) {
  const std::string name = '"' + part + '"';
  for (size_t line = 0; line < registry.lines.size(); ++line) {
    if (find_word(registry.code[line], part) != std::string::npos) return true;
    if (registry.lines[line].find(name) != std::string::npos) return true;
  }
  return false;
}

// Files that a row of the table excuses and that are not there: the table has grown old.
void check_excuses(const House& house, const std::vector<std::string>& row, Breaches& breaches) {
  for (const std::string& name : names_in(row[2])) {
    const std::string path = row[0] + "/" + name;
    const bool is_there =
        std::ranges::any_of(house.sources, [&](const auto& file) { return file.path == path; });
    if (!is_there) breaches.push_back("docs/architecture.md: excuses " + path + ", a missing file");
  }
}

Breaches registry_breaches(const House& house) {
  Breaches breaches;
  for (const SourceFile& registry : house.sources) {
    if (!registry.path.ends_with("/registry.h")) continue;
    const std::string room = registry.path.substr(0, registry.path.rfind('/'));
    const auto* row = row_of(house.registries, room);
    if (row == nullptr) {
      breaches.push_back(registry.path + ": missing in the table of docs/architecture.md");
      continue;
    }
    check_excuses(house, *row, breaches);
    for (const SourceFile& file : house.sources) {
      const std::filesystem::path path = file.path;
      if (path.parent_path() != room || path.extension() != ".cpp") continue;
      if (names_in((*row)[2]).contains(path.filename())) continue;
      if (!lists(registry, path.stem())) {
        breaches.push_back(file.path + ": is not in " + registry.path);
      }
    }
  }
  return breaches;
}

// ---- banned words

enum class Form {
  word,      // the word by itself
  call,      // a call of the C or std function of that name; a member of ours may bear it
  std_call,  // the same, but only when it is spelled with std:: or ::, as for common verbs
};

struct BannedWord {
  std::string word;
  Form form;
  std::set<std::string> allowed_in;  // rooms, and files
  std::string reason;
};

const std::set<std::string> programs = {"app", "bench", "calibrate", "tests"};
const std::set<std::string> telling = {"app", "bench", "calibrate", "study", "tests"};
const std::set<std::string> printing = {"app", "bench", "calibrate", "library", "tests"};

const std::vector<BannedWord> banned_words = {
    {"rand", Form::call, {}, "randomness is a generator passed as an argument"},
    {"srand", Form::call, {}, "randomness is a generator passed as an argument"},
    {"random_device", Form::word, {}, "seeds come from the experiment"},
    {"mt19937", Form::word, {}, "use the generator of sim/core"},
    {"mt19937_64", Form::word, {}, "use the generator of sim/core"},
    {"uniform_int_distribution", Form::word, {}, "differs between standard libraries"},
    {"uniform_real_distribution", Form::word, {}, "differs between standard libraries"},
    {"normal_distribution", Form::word, {}, "differs between standard libraries"},
    {"time", Form::std_call, {}, "no result may depend on a clock"},
    {"clock", Form::std_call, {}, "no result may depend on a clock"},
    {"system_clock", Form::word, programs, "no result may depend on a clock"},
    {"steady_clock", Form::word, telling, "no result may depend on a clock"},
    {"high_resolution_clock", Form::word, programs, "no result may depend on a clock"},
    {"getenv",
     Form::word,
     {"app", "tests", "calibrate/cuda/nccl.cu"},
     "inputs are arguments and files"},
    {"cout", Form::word, printing, "nothing below the programs prints"},
    {"cerr", Form::word, programs, "nothing below the programs prints"},
    {"printf", Form::call, programs, "nothing below the programs prints"},
    {"fprintf", Form::call, programs, "nothing below the programs prints"},
    {"puts", Form::call, programs, "nothing below the programs prints"},
    {"exit", Form::call, {}, "return from main"},
    {"abort", Form::call, {}, "throw InputError or assert"},
    {"unordered_map", Form::word, programs, "a hash order may reach the result"},
    {"unordered_set", Form::word, programs, "a hash order may reach the result"},
    {"ofstream", Form::word, {"bench", "tests"}, "files are written by sim/core/output.h"},
    {"fopen", Form::call, {}, "files are written by sim/core/output.h"},
    {"NDEBUG", Form::word, {}, "assertions stay on"},
};

// Whether the word at `at` is called, and is the function of the C library rather than a member.
bool is_call(const std::string& line, size_t at, size_t end, bool only_qualified) {
  const size_t open = line.find_first_not_of(' ', end);
  if (open == std::string::npos || line[open] != '(') return false;
  const std::string before = line.substr(0, at);
  if (before.ends_with("std::")) return true;
  if (before.ends_with("::")) {
    return before.size() == 2 || !is_word_char(before[before.size() - 3]);
  }
  if (before.ends_with(".") || before.ends_with("->")) return false;
  return !only_qualified || line.find_first_of("N&0", open) == open + 1 ||  // time(NULL), time(0)
         line.compare(open + 1, 7, "nullptr") == 0;
}

bool has_banned(const std::string& line, const BannedWord& ban) {
  size_t at = find_word(line, ban.word);
  while (at != std::string::npos) {
    const size_t end = at + ban.word.size();
    if (ban.form == Form::word) return true;
    if (is_call(line, at, end, ban.form == Form::std_call)) return true;
    at = find_word(line, ban.word, end);
  }
  return false;
}

Breaches word_breaches(const House& house) {
  Breaches breaches;
  for (const SourceFile& file : house.sources) {
    const std::string room = room_of(house, file.path);
    for (const BannedWord& ban : banned_words) {
      if (ban.allowed_in.contains(room) || ban.allowed_in.contains(file.path)) continue;
      for (size_t line = 0; line < file.code.size(); ++line) {
        if (!has_banned(file.code[line], ban)) continue;
        breaches.push_back(at(file, line) + "`" + ban.word + "`: " + ban.reason);
      }
    }
  }
  return breaches;
}

// ---- the shape of a file

Breaches shape_breaches(const House& house) {
  Breaches breaches;
  for (const SourceFile& file : house.sources) {
    if (!file.lines.front().starts_with("//")) {
      breaches.push_back(at(file, 0) + "opens without a comment that says what the file is");
    }
    if (file.lines.size() > longest_file_lines + 1) {  // the piece after the last newline counts
      breaches.push_back(at(file, longest_file_lines) + "is longer than " +
                         std::to_string(longest_file_lines) + " lines");
    }
    const bool is_header = file.path.ends_with(".h");
    if (is_header && std::ranges::find(file.code, "#pragma once") == file.code.end()) {
      breaches.push_back(at(file, 0) + "has no #pragma once");
    }
  }
  return breaches;
}

std::string listed(const Breaches& breaches) {
  std::string text;
  for (const std::string& breach : breaches) text += "\n  " + breach;
  return text;
}

// ---- the tests

TEST_CASE("architecture: the tables and the sources are found") {
  const House house = read_house();
  CHECK(house.rooms.size() >= 9);
  CHECK(house.libraries.size() >= 5);
  CHECK(house.sources.size() >= 10);
}

TEST_CASE("architecture: includes point downwards") {
  const Breaches breaches = include_breaches(read_house());
  CHECK_MESSAGE(breaches.empty(), listed(breaches));
}

TEST_CASE("architecture: every part is in the registry of its room") {
  const Breaches breaches = registry_breaches(read_house());
  CHECK_MESSAGE(breaches.empty(), listed(breaches));
}

TEST_CASE("architecture: no banned words") {
  const Breaches breaches = word_breaches(read_house());
  CHECK_MESSAGE(breaches.empty(), listed(breaches));
}

TEST_CASE("architecture: files open with a comment and stay short") {
  const Breaches breaches = shape_breaches(read_house());
  CHECK_MESSAGE(breaches.empty(), listed(breaches));
}

// One invented file, the rule that looks at it, and what the rule must say.
struct Invented {
  std::string reason;
  const char* path;
  const char* text;
  Breaches (*rule)(const House&);
  std::vector<std::string> expected;
};

const std::string long_text = "//\n" + std::string(longest_file_lines, '\n');

const std::vector<Invented> invented = {
    {"upwards",
     "sim/net/a.cpp",
     "//\n#include \"models/step/b.h\"",
     include_breaches,
     {"sim/net/a.cpp:2: sim/net may not include models/step"}},
    {"sideways",
     "models/step/a.h",
     "#include \"topologies/b.h\"",
     include_breaches,
     {"models/step/a.h:1: models/step may not include topologies"}},
    {"downwards", "app/a.h", "#include \"sim/core/units.h\"", include_breaches, {}},
    {"longest room counts",
     "sim/core/a.h",
     "#include \"sim/net/b.h\"",
     include_breaches,
     {"sim/core/a.h:1: sim/core may not include sim/net"}},
    {"within a room upwards",
     "models/collective/a.h",
     "#include \"models/step/b.h\"",
     include_breaches,
     {"models/collective/a.h:1: models/collective may not include models/step"}},
    {"a commented include", "sim/net/a.h", "// #include \"app/b.h\"", include_breaches, {}},
    {"no room", "utils/a.h", "", include_breaches, {"utils/a.h: is in no room"}},
    {"into no room",
     "sim/net/a.h",
     "#include \"b.h\"",
     include_breaches,
     {"sim/net/a.h:1: includes \"b.h\", which is in no room"}},
    {"library",
     "models/step/a.h",
     "#include <boost/graph/graph_traits.hpp>",
     include_breaches,
     {"models/step/a.h:1: models/step may not include boost"}},
    {"library at home", "topologies/a.h", "#include <boost/any.hpp>", include_breaches, {}},
    {"C random numbers",
     "models/a.cpp",
     "//\nint x = rand ();",
     word_breaches,
     {"models/a.cpp:2: `rand`: randomness is a generator passed as an argument"}},
    {"a longer word", "models/a.cpp", "int x = brand();", word_breaches, {}},
    {"a member", "app/a.cpp", "return app.exit(error);", word_breaches, {}},
    {"C clock",
     "sim/a.cpp",
     "seed(time(NULL)); std::time(x);",
     word_breaches,
     {"sim/a.cpp:1: `time`: no result may depend on a clock"}},
    {"our own time",
     "sim/a.cpp",
     "Duration time(Bytes size) { return x.time(0); }",
     word_breaches,
     {}},
    {"print",
     "traces/a.cpp",
     "std::cout << 1;",
     word_breaches,
     {"traces/a.cpp:1: `cout`: nothing below the programs prints"}},
    {"print at home", "app/a.cpp", "std::cout << 1;", word_breaches, {}},
    {"in a string",
     "sim/a.cpp",
     "auto s = \"std::cout\"; auto r = R\"(exit(1))\";",
     word_breaches,
     {}},
    {"after a string",
     "sim/a.cpp",
     "auto s = \"\\\"\"; std::exit(1);",
     word_breaches,
     {"sim/a.cpp:1: `exit`: return from main"}},
    {"after a digit separator",
     "sim/a.cpp",
     "f(1'000, 2); ::exit(1);",
     word_breaches,
     {"sim/a.cpp:1: `exit`: return from main"}},
    {"hash order",
     "models/a.h",
     "std::unordered_map<int, int> m;",
     word_breaches,
     {"models/a.h:1: `unordered_map`: a hash order may reach the result"}},
    {"no head",
     "sim/a.cpp",
     "int x;",
     shape_breaches,
     {"sim/a.cpp:1: opens without a comment that says what the file is"}},
    {"too long",
     "sim/a.cpp",
     long_text.c_str(),
     shape_breaches,
     {"sim/a.cpp:451: is longer than 450 lines"}},
    {"no guard", "sim/a.h", "// A header.", shape_breaches, {"sim/a.h:1: has no #pragma once"}},
};

TEST_CASE("architecture: every rule finds its breach and nothing else") {
  for (const Invented& row : invented) {
    INFO(row.reason);
    House house = read_house();
    house.sources = {source_from_text(row.path, row.text)};
    CHECK(row.rule(house) == row.expected);
  }
}

TEST_CASE("architecture: a part that is not registered is found") {
  House house = read_house();
  house.registries = {{"models/toy", "registry.h", "play.cpp"}};
  house.sources = {source_from_text("models/toy/registry.h", "{\"a rin\", ring},  // rin"),
                   source_from_text("models/toy/play.cpp", ""),
                   source_from_text("models/toy/ring.cpp", ""),
                   source_from_text("models/toy/rin.cpp", "")};
  CHECK(registry_breaches(house) ==
        Breaches{"models/toy/rin.cpp: is not in models/toy/registry.h"});
  house.sources.erase(house.sources.begin() + 1);
  CHECK(registry_breaches(house) ==
        Breaches{"docs/architecture.md: excuses models/toy/play.cpp, a missing file",
                 "models/toy/rin.cpp: is not in models/toy/registry.h"});
  house.registries.clear();
  CHECK(registry_breaches(house) ==
        Breaches{"models/toy/registry.h: missing in the table of docs/architecture.md"});
}

}  // namespace
}  // namespace sgdsim::house
