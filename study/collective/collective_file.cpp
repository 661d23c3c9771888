// A field is an option by its long name; a list is one, too, or the option said several times.
#include "study/collective/collective_file.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "study/beside.h"

namespace sgdsim {
namespace {

// Words of the command line, where a text or a number is one.
struct SaidWords {
  std::vector<std::string> words;
};

std::string word_of(const Value& value) {
  const Json& json = value.json();
  if (json.is_number() || json.is_boolean()) return json.dump();
  const std::string& text = value.text();
  if (text.empty()) value.fail("expected some text, got an empty string");
  return text;
}

void read_value(const Value& value, SaidWords& to) {
  if (!is_list(value.json())) {
    to.words = {word_of(value)};
    return;
  }
  for (const Value& item : value.items()) to.words.push_back(word_of(item));
  if (to.words.empty()) value.fail("expected at least one entry, got none");
}

Json schema_of_value(const SaidWords&) {
  const Json word = {{"type", {"string", "number"}}};
  return any_of({word, list_schema(word, 1)});
}

// {"duplex": "link"} as "duplex=link".
struct FilePairs {
  std::vector<std::string> pairs;
};

void read_value(const Value& value, FilePairs& to) {
  if (!value.json().is_object()) value.fail("expected an object of keys and values");
  for (const auto& [key, entry] : value.json().items())
    to.pairs.push_back(key + "=" + (entry.is_string() ? entry.get<std::string>() : entry.dump()));
}
Json schema_of_value(const FilePairs&) { return any_object_schema(); }

Json schema_of_root() { return {{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}}; }
Json schema_of_seed() { return {{"type", "integer"}, {"minimum", 0}, {"maximum", INT64_MAX}}; }
Json schema_of_jitter() { return {{"type", "number"}, {"minimum", 0}, {"maximum", most_jitter}}; }
Json schema_of_fidelity() { return one_of_schema({"closed_form", "message", "flow", "packet"}); }
Json schema_of_traffic_in() { return {{"type", {"string", "object"}}}; }

using MaybeWords = std::optional<SaidWords>;

struct CollectiveFile {
  FileHead head;
  MaybeWords algorithm, op, ranks, bytes, block, root, alpha, beta, gamma, fidelity, transport,
      start, jitter, seed;
  std::string cluster;
  FilePairs set, option;
  std::optional<Value> traffic;
};

Fields fields_of(CollectiveFile& o) {
  return {
      Field("schema", o.head.schema, "kind and version of this file")
          .needed()
          .constant("sgdsim/collective-question/1"),
      {"name", o.head.name, "for people"},
      {"description", o.head.description, "what it is for"},
      {"source", o.head.source, "where its figures come from"},
      {"algorithm", o.algorithm,
       "one of `sgdsim list algorithms`, or `all`; if not given, that of "
       "the command"},
      Field("op", o.op, "one of `sgdsim list operations`; allreduce if not given")
          .like(text_schema),
      {"ranks", o.ranks,
       "numbers of ranks, or ranges: `2..64` doubles, `2..8:1` adds one; all workers of the "
       "cluster "
       "if not given"},
      {"bytes", o.bytes, "sizes of the message with units, or ranges: `4 KiB..64 MiB`"},
      Field("block", o.block, "block size of pipelines; the best one if not given")
          .like(text_schema),
      Field("root", o.root, "the rank that holds or gets the result").like(schema_of_root),
      {"cluster", o.cluster, "a cluster file, as seen from this file"},
      {"set", o.set, "fields of the cluster that change, by their names"},
      Field("alpha", o.alpha, "instead of a cluster: the start-up of a message").like(text_schema),
      Field("beta", o.beta, "instead of a cluster: the time of a byte, or a bandwidth")
          .like(text_schema),
      Field("gamma", o.gamma, "instead of a cluster: the time of adding up a byte; 0 if not given")
          .like(text_schema),
      {"option", o.option, "options of `sgdsim list options`, as key: value"},
      Field("fidelity", o.fidelity, "how it is simulated; message if not given")
          .like(schema_of_fidelity),
      Field("transport", o.transport,
            "at fidelity packet: one of `sgdsim list transports`, or a file")
          .like(text_schema),
      Field("traffic", o.traffic,
            "what else is on the wires (fidelity message: at the ports), and links that change "
            "(flow and packet): a file, or what is in one, as in sgdsim/traffic/1")
          .like(schema_of_traffic_in),
      {"start", o.start, "when each rank starts, one time per rank"},
      Field("jitter", o.jitter, "sigma of a lognormal factor of mean 1 on every message")
          .like(schema_of_jitter),
      Field("seed", o.seed, "seed of what is drawn; 1 if not given").like(schema_of_seed)};
}

// What the file says, where the command line says nothing.
class UnsaidWords {
 public:
  explicit UnsaidWords(const std::set<std::string>& given) : given_(given) {}

  bool takes(const std::string& name) const { return given_.count(name) == 0; }
  void take(const std::string& name, const MaybeWords& words, std::string& text) const {
    if (!words || !takes(name)) return;
    text.clear();
    for (const std::string& word : words->words) text += (text.empty() ? "" : ",") + word;
  }
  // The command line says some of them otherwise.
  void take(const FilePairs& file, std::vector<std::string>& pairs) const {
    std::vector<std::string> all;
    for (const std::string& pair : file.pairs) {
      const auto is_said = [&](const std::string& said) {
        return option_key(said) == option_key(pair);
      };
      if (std::none_of(pairs.begin(), pairs.end(), is_said)) all.push_back(pair);
    }
    all.insert(all.end(), pairs.begin(), pairs.end());
    pairs = std::move(all);
  }

 private:
  const std::set<std::string>& given_;
};

}  // namespace

Json schema_of_collective_questions() { return schema_of_record<CollectiveFile>(); }

void read_collective_file(const std::string& file, const std::set<std::string>& given,
                          CollectiveArguments& arguments) {
  const Document document = Document::read(file);
  const auto said = read_record<CollectiveFile>(document.root());
  const UnsaidWords unsaid(given);
  unsaid.take("algorithm", said.algorithm, arguments.algorithm);
  unsaid.take("op", said.op, arguments.operation);
  unsaid.take("ranks", said.ranks, arguments.ranks);
  if (said.bytes && unsaid.takes("bytes")) arguments.bytes = said.bytes->words;
  unsaid.take("block", said.block, arguments.block);
  unsaid.take("root", said.root, arguments.root);
  if (!said.cluster.empty() && unsaid.takes("cluster"))
    arguments.cluster = beside(file, said.cluster);
  unsaid.take(said.set, arguments.settings);
  unsaid.take("alpha", said.alpha, arguments.alpha);
  unsaid.take("beta", said.beta, arguments.beta);
  unsaid.take("gamma", said.gamma, arguments.gamma);
  unsaid.take(said.option, arguments.options);
  unsaid.take("fidelity", said.fidelity, arguments.fidelity);
  unsaid.take("transport", said.transport, arguments.transport);
  if (said.traffic && unsaid.takes("traffic"))
    arguments.traffic = said.traffic->json().is_object() ? said.traffic->json().dump()
                                                         : beside(file, said.traffic->text());
  unsaid.take("start", said.start, arguments.starts);
  unsaid.take("jitter", said.jitter, arguments.jitter);
  unsaid.take("seed", said.seed, arguments.seed);
  arguments.sweep = true;
}

}  // namespace sgdsim
