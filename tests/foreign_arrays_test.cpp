// Elements of arrays, names of names, powers and patterns of scripts: what bash has for each by its
// manual, or a sentence where the script alone does not tell.
#include <doctest/doctest.h>

#include "study/layout/flat_settings.h"
#include "tests/script_sizes.h"
#include "tests/texts.h"

namespace sgdsim {
TEST_CASE("foreign arrays: elements by number and by name") {
  check_sizes_of({
      {"A=(2 4 8)\nrun --size ${A[1]}", "4"},
      {"A=(2 4 8)\nI=2\nrun --size \"${A[$I]}\"", "8"},
      {"A=(2 4 8)\nI=2\nrun --size ${A[I - 1]}", "4"},
      {"A=(2 4 8)\nI=2\nrun --size ${A[$((I - 1))]}", "4"},
      {"A=(2 4 8)\nrun --size ${A[-1]}", "8"},
      {"A=(2 4 8)\nrun --size $((A[1] * ${A[2]}))", "32"},
      {"A=(2 4 8)\nrun --size ${#A[@]}", "3"},
      {"A=(2 4 8)\nB=$A\nrun --size $((A + 1)) --y ${B}", "3"},
      {"A=(\"2 3\" 4)\nrun --size ${A[1]}", "4"},
      {"A=(2 [5]=4 8)\nrun --size ${A[6]}", "8"},
      {"A=(2 4)\nA[1]=8\nA+=(16)\nrun --size $((A[1] + A[2]))", "24"},
      {"declare -A A=([tp]=2 [\"pp\"]=4)\nrun --size ${A[pp]}", "4"},
      {"declare -A A\nA[x]=2\nK=y\nA[$K]=4\nrun --size ${A[y]}", "4"},
      {"declare -A A=([x]=2)\nrun --size ${A[z]:-8}", "8"},
      {"declare -A A=([s]=\"--y 1 --size 2\" [l]=\"--y 2 --size 8\")\nM=l\nrun ${A[$M]}", "8"},
      {"A=(--size 4)\nrun \"${A[@]}\"", "4"},
      {"f() { local -A A=([x]=4); B=${A[x]}; }\ndeclare -A A=([x]=2)\nf\nrun --size $((B * A[x]))",
       "8"},
      {"f() { local -A A; A[y]=4; B=${A[x]:-8}; }\ndeclare -A A=([x]=2)\nf\nrun --size $B", "8"},
      {"A=4\nexport -n A\nrun --size $A", "4"},
  });
}

TEST_CASE("foreign arrays: names of names, powers and shifts") {
  check_sizes_of({
      {"TP_8B=2\nTP_70B=8\nN=TP_70B\nrun --size ${!N}", "8"},
      {"N=\"A[1]\"\nA=(2 4)\nrun --size ${!N}", "4"},
      {"N=A\nrun --size ${!N:-8}", "8"},
      {"N=3\nrun --size $((2**N))", "8"},
      {"run --size $((2 ** 3 ** 2 / 64))", "8"},
      {"run --size $((3 * 2 ** 2))", "12"},
      {"N=8\nrun --size $(((N << 2) + (N >> 1)))", "36"},
  });
}

TEST_CASE("foreign arrays: patterns of case") {
  const auto taken = [](const std::string& word, const std::string& pattern) {
    return flag_in(
        "M=" + word + "\ncase $M in " + pattern + ") B=8 ;;\n  *) B=4 ;;\nesac\nrun --size $B",
        "size");
  };
  const std::vector<std::pair<std::string, std::string>> fit = {
      {"70b-chat", "70*|405b"}, {"405b", "70*|405b"},   {"llama3-8b", "*-8b"},
      {"abcbc", "a*bc"},        {"7b", "?b"},           {"13b", "[0-9][!a-z]b"},
      {"a]", "a[]x]"},          {"x.y.z", "x*.*[xyz]"}, {"7b", "(7b)"},
  };
  for (const auto& row : fit) {
    INFO(row.first, " ", row.second);
    CHECK(taken(row.first, row.second) == "8");
  }
  const std::vector<std::pair<std::string, std::string>> unfit = {
      {"8b", "70*|405b"}, {"1405b", "70*|405b"}, {"70b", "?b"}, {"xb", "[0-9]b"}, {"abcb", "a*bc"}};
  for (const auto& row : unfit) {
    INFO(row.first, " ", row.second);
    CHECK(taken(row.first, row.second) == "4");
  }
  // Quotes within a pattern, groups and classes are not read, and nothing is taken for them.
  for (const std::string pattern : {"\"7\"*", "7\\*", "+([0-9])b", "[[:digit:]]b"}) {
    INFO(pattern);
    CHECK(holds(refusal_of([&] { taken("7b", pattern); }), "is set below an if"));
  }
}

// Why a value is not known is what stands there.
TEST_CASE("foreign arrays: what the script does not tell, and why") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"run --size ${A[0]}", "is ${A[0]}, which is not known without running it"},
      {"A=(2 4)\nrun --size ${A[5]}", "is ${A[5]}, which"},
      {"A=($(seq 3) 4)\nrun --size ${A[1]}", "is ${A[1]}, which"},
      {"A=({2..4})\nrun --size ${A[1]}", "is ${A[1]}, which"},
      {"A=(2 4)\nB=(\"${A[@]}\" 8)\nrun --size ${B[1]}", "is ${B[1]}, which"},
      {"declare -n R=A\nA=(2 4)\nrun --size ${R[0]}", "is ${R[0]}, which"},
      {"run --size ${!N}", "is ${!N}, which"},
      {"N=\"a b\"\nrun --size ${!N}", "is ${!N}, which"},
      {"run --size $((010))", "is $((010)), which"},
      {"run --size $((2 ** 100))", "is $((2 ** 100)), which"},
      {"A=(2 4)\nif $X; then A=(8 16); fi\nrun --size ${A[0]}", "is set below an if"},
      {"A=(2)\nfor i in 1 2; do A[0]=$((A[0] * 2)); done\nrun --size ${A[0]}", "changes in a loop"},
      {"for B in 2 4; do run --size $B; done", "changes in a loop"},
      {"B=2\nfor i in 1 2; do B=$((B * 2)); done\nrun --size $B", "changes in a loop"},
      {"read B < file\nrun --size $B", "is set by a command that would have to be run"},
      {"B=2\n((B *= 2))\nrun --size $B", "is set by a command that would have to be run"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    const std::string sentence = refusal_of([&] {
      const FlatSettings all = FlatSettings::read(row.first, "f");
      all.whole("size", *all.find("size"), 1, 1000);
    });
    CHECK(holds(sentence, row.second));
    CHECK(holds(sentence, "write its value there"));
  }
}

}  // namespace sgdsim
