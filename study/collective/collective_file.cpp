// A field is an option by its long name; a list is one, too, or the option said several times.
#include "study/collective/collective_file.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/beside.h"

namespace sgdsim {
namespace {

constexpr char question_schema[] = "sgdsim/collective-question/1";

// A text or a number as a word of the command line.
std::string word_of(const Value& value) {
  const Json& json = value.json();
  if (json.is_number() || json.is_boolean()) return json.dump();
  const std::string& text = value.text();
  if (text.empty()) value.fail("expected some text, got an empty string");
  return text;
}

// One word, or the words of a list.
std::vector<std::string> words_of(const Value& value) {
  if (!is_list(value.json())) return {word_of(value)};
  std::vector<std::string> words;
  for (const Value& item : value.items()) words.push_back(word_of(item));
  if (words.empty()) value.fail("expected at least one entry, got none");
  return words;
}

std::string joined(const Value& value) {
  std::string text;
  for (const std::string& word : words_of(value)) text += (text.empty() ? "" : ",") + word;
  return text;
}

// {"duplex": "link"} as "duplex=link".
std::vector<std::string> pairs_of(const Value& value) {
  std::vector<std::string> pairs;
  if (!value.json().is_object()) value.fail("expected an object of keys and values");
  for (const auto& [key, entry] : value.json().items())
    pairs.push_back(key + "=" + (entry.is_string() ? entry.get<std::string>() : entry.dump()));
  return pairs;
}

class QuestionFile {
 public:
  QuestionFile(const Value& root, const std::set<std::string>& given)
      : fields_(root), given_(given) {
    const Value schema = fields_.at("schema");
    if (schema.text() != question_schema)
      schema.fail("expected " + std::string(question_schema) + ", got \"" + schema.text() + "\"");
    for (const char* name : {"name", "description", "source"})
      if (const auto value = fields_.find(name)) value->text();
  }

  template <class Take>
  void take(const std::string& name, const Take& taken) {
    const std::optional<Value> value = fields_.find(name);
    if (value && given_.count(name) == 0) taken(*value);
  }
  void take_text(const std::string& name, std::string& text) {
    take(name, [&](const Value& value) { text = joined(value); });
  }
  // The command line says some of them otherwise.
  void take_pairs(const std::string& name, std::vector<std::string>& pairs) {
    const std::optional<Value> value = fields_.find(name);
    if (!value) return;
    std::vector<std::string> all;
    for (const std::string& pair : pairs_of(*value)) {
      const auto is_said = [&](const std::string& said) {
        return option_key(said) == option_key(pair);
      };
      if (std::none_of(pairs.begin(), pairs.end(), is_said)) all.push_back(pair);
    }
    all.insert(all.end(), pairs.begin(), pairs.end());
    pairs = std::move(all);
  }
  void done() const { fields_.done(); }

 private:
  Object fields_;
  const std::set<std::string>& given_;
};

}  // namespace

void read_collective_file(const std::string& file, const std::set<std::string>& given,
                          CollectiveArguments& arguments) {
  const Document document = Document::read(file);
  QuestionFile question(document.root(), given);
  question.take_text("algorithm", arguments.algorithm);
  question.take_text("op", arguments.operation);
  question.take_text("ranks", arguments.ranks);
  question.take("bytes", [&](const Value& value) { arguments.bytes = words_of(value); });
  question.take_text("block", arguments.block);
  question.take_text("root", arguments.root);
  question.take("cluster",
                [&](const Value& value) { arguments.cluster = beside(file, value.text()); });
  question.take_pairs("set", arguments.settings);
  question.take_text("alpha", arguments.alpha);
  question.take_text("beta", arguments.beta);
  question.take_text("gamma", arguments.gamma);
  question.take_pairs("option", arguments.options);
  question.take_text("fidelity", arguments.fidelity);
  question.take_text("transport", arguments.transport);
  question.take("traffic", [&](const Value& value) {
    arguments.traffic = value.json().is_object() ? value.json().dump() : beside(file, value.text());
  });
  question.take_text("start", arguments.starts);
  question.take_text("jitter", arguments.jitter);
  question.take_text("seed", arguments.seed);
  question.done();
  arguments.sweep = true;
}

}  // namespace sgdsim
