// The sentences by which combinations are refused (sim/core/refusal.h): docs/refusals.md lists them
// all, and there are not too many. "refusals: print" prints that file.
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

const std::filesystem::path root_of_sources = SGDSIM_SOURCE_DIR;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Without lines that are comments.
std::string code_of(const std::filesystem::path& file) {
  std::istringstream in(content_of(file));
  std::string code;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 2, "//") != 0) code += line + '\n';
  }
  return code;
}

std::vector<std::filesystem::path> source_files() {
  std::vector<std::filesystem::path> files;
  for (const char* room : {"sim", "models", "topologies", "traces", "study", "app", "calibrate"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root_of_sources / room)) {
      const auto extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".h") files.push_back(entry.path());
    }
  std::sort(files.begin(), files.end());
  return files;
}

// From the character behind a quote to the one that closes it.
std::size_t end_of_literal(const std::string& code, std::size_t from) {
  while (code[from] != '"') from += code[from] == '\\' ? 2U : 1U;
  return from;
}

// The arguments of a call, from the character behind its bracket on, as they are written.
std::vector<std::string> arguments_at(const std::string& code, std::size_t from) {
  std::vector<std::string> all(1);
  int depth = 1;
  for (std::size_t i = from; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '"') {
      const std::size_t end = end_of_literal(code, i + 1);
      all.back() += code.substr(i, end + 1 - i);
      i = end;
      continue;
    }
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && --depth == 0) return all;
    if (c == ',' && depth == 1)
      all.emplace_back();
    else
      all.back() += c;
  }
  return {};
}

// Whether a piece of code between literals puts anything into the text.
bool puts_in(std::string code) {
  if (const std::size_t at = code.find("std::string("); at != std::string::npos) code.erase(at, 11);
  return std::any_of(code.begin(), code.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

// The texts in an expression, in their order.
std::vector<std::string> texts_in(const std::string& expression) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] != '"') continue;
    const std::size_t end = end_of_literal(expression, i + 1);
    texts.push_back(expression.substr(i + 1, end - i - 1));
    i = end;
  }
  return texts;
}

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

// "..." stands for what is put in.
std::string sentence_in(const std::string& expression) {
  std::string sentence, between;
  const auto put = [&] {
    if (puts_in(between) && !sentence.ends_with("...")) sentence += "...";
    between.clear();
  };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] != '"') {
      between += expression[i];
      continue;
    }
    put();
    const std::size_t end = end_of_literal(expression, i + 1);
    sentence += expression.substr(i + 1, end - i - 1);
    i = end;
  }
  put();
  for (std::size_t at = 0; (at = sentence.find("\\\"", at)) != std::string::npos;)
    sentence.erase(at, 1);
  return sentence;
}

// What is said, by function, sentence and the words of which it is said.
using Sentences = std::map<std::string, std::map<std::string, std::set<std::string>>>;

// Whether a call of the function begins here.
bool is_call(const std::string& code, std::size_t at, const std::string& function) {
  const char before = at == 0 ? ' ' : code[at - 1];
  return std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_' &&
         code.compare(at + function.size(), 1, "(") == 0;
}

void add_calls(const std::string& code, const std::string& function, std::size_t words,
               std::size_t says, Sentences& all) {
  for (std::size_t at = 0; (at = code.find(function, at)) != std::string::npos; ++at) {
    if (!is_call(code, at, function)) continue;
    const std::vector<std::string> arguments = arguments_at(code, at + function.size() + 1);
    if (arguments.size() <= std::max(words, says)) continue;
    const std::string kind =
        function == "refuse_idle" || function == "idle_word" ? "no_effect" : function;
    std::set<std::string>& of = all[kind][sentence_in(arguments[says])];
    if (words != says)
      for (std::string word : texts_in(arguments[words])) {
        while (word.ends_with(' ')) word.pop_back();
        if (word.starts_with("-") || word.find('=') != std::string::npos ||
            word.starts_with("option "))
          of.insert(word);
      }
  }
}

Sentences all_sentences() {
  Sentences all;
  for (const std::filesystem::path& file : source_files()) {
    if (file.filename() == "refusal.h") continue;
    const std::string code = code_of(file);
    add_calls(code, "no_effect", 0, 1, all);
    add_calls(code, "refuse_idle", 0, 1, all);
    add_calls(code, "idle_word", 0, 1, all);
    add_calls(code, "needs", 0, 1, all);
    add_calls(code, "no_formula", 1, 1, all);
    add_calls(code, "not_modelled", 0, 1, all);
    add_calls(code, "not_together", 1, 1, all);
  }
  return all;
}

struct Section {
  const char* function;
  const char* title;
  const char* says;  // the sentence around what is listed
};
const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"no_effect", "What nothing reads", "has no effect ..."},
      {"needs", "What says too little alone", "needs ..."},
      {"no_formula", "What has no closed form",
       "no closed form is known for ...; use fidelity message"},
      {"not_modelled", "What is not modelled of some models", "is not modelled for ..."},
      {"not_together", "What is not simulated together", "..."}};
  return all;
}

std::string document() {
  std::ostringstream text;
  text << "# What is refused together\n\n"
          "Every sentence by which sgdsim refuses a combination whose parts are right by "
          "themselves, from the\nsources (`sim/core/refusal.h`); a test keeps this list. What the "
          "program says ends with what to type\ninstead, where that is not the word left out. "
          "`...` stands for what is put in.\n";
  const Sentences all = all_sentences();
  for (const Section& section : sections()) {
    const auto& sentences = all.at(section.function);
    const bool has_words = std::any_of(sentences.begin(), sentences.end(),
                                       [](const auto& one) { return !one.second.empty(); });
    text << "\n## " << section.title << "\n\n\"" << section.says << "\"\n\n"
         << (has_words ? "| sentence | said of |\n|---|---|\n" : "| sentence |\n|---|\n");
    for (const auto& [sentence, words] : sentences) {
      text << "| " << sentence;
      if (has_words)
        text << " | "
             << (words.empty()
                     ? "..."
                     : joined(std::vector<std::string>(words.begin(), words.end()), ", "));
      text << " |\n";
    }
  }
  text << "\nBesides, an efficiency of cards over the number of senders holds for collectives that "
          "are sent message by\nmessage, and is refused for schedules, layouts, parameter servers, "
          "NCCL's model and messages on wires\n(`crowding_is_for`).\n";
  return text.str();
}

}  // namespace

TEST_CASE("refusals: the document lists every sentence") {
  CHECK(content_of(root_of_sources / "docs/refusals.md") == document());
}

TEST_CASE("refusals: there are not too many") {
  const Sentences all = all_sentences();
  // One function, one sentence; what it ends with are the words that it is about.
  CHECK(all.size() == sections().size());
  CHECK(all.at("no_effect").size() + all.at("needs").size() < 60);
  // For the engine's sake: these, the two that are said by one function each, and crowding.
  CHECK(all.at("not_together").size() + 3 < 10);
}

TEST_CASE("refusals: nobody says so by himself") {
  // Warnings and notes, which refuse nothing; a plural; and a fit, which has no fidelity to choose.
  const std::set<std::string> others = {"models/step/step.cpp", "study/layout/megatron_reader.cpp",
                                        "models/training/stage_lengths.cpp",
                                        "models/link/from_collective.cpp"};
  for (const std::filesystem::path& file : source_files()) {
    const std::string name = file.lexically_relative(root_of_sources).string();
    if (others.contains(name) || file.filename() == "refusal.h") continue;
    const std::string code = code_of(file);
    for (const char* words :
         {"no effect", "no closed form is known", "not modelled for", "\"needs --", " needs --"}) {
      INFO(name);
      INFO(words);
      CHECK(code.find(words) == std::string::npos);
    }
  }
}

TEST_CASE("refusals: print" * doctest::skip()) { std::cout << document(); }
