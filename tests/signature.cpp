// Plays what ships and hashes the answers.
#include "tests/signature.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_point.h"
#include "study/validate/case_file.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// FNV-1a over 64-bit words: any word that differs gives another hash.
class SignatureHash {
 public:
  void add(int64_t word) {
    auto rest = static_cast<uint64_t>(word);
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ (rest & 0xff)) * 0x100000001b3;
      rest >>= 8;
    }
  }
  void add(Duration time) { add(time.ps()); }
  void add(std::string_view text) {
    for (const char one : text) add(static_cast<unsigned char>(one));
  }
  void refused() {
    add(int64_t{-1});
    ++refusals_;
  }
  void answered() { ++answers_; }
  // Of how many questions, how many were refused, and the hash.
  std::string line(const std::string& name) const {
    char text[64];
    std::snprintf(text, sizeof text, " %lld %lld %016llx", static_cast<long long>(answers_),
                  static_cast<long long>(refusals_), static_cast<unsigned long long>(value_));
    return name + text;
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
  int64_t answers_ = 0;
  int64_t refusals_ = 0;
};

void add(SignatureHash& hash, const Breakdown& breakdown) {
  for (const Duration part : {breakdown.forward, breakdown.backward, breakdown.update,
                              breakdown.communication, breakdown.waiting, breakdown.compression,
                              breakdown.exposed, breakdown.overlapped, breakdown.idle})
    hash.add(part);
}

void add(SignatureHash& hash, const StepResult& result) {
  for (const Duration one : result.iterations) hash.add(one);
  add(hash, result.mean);
  for (const MessageRecord& message : result.messages) {
    hash.add(message.first_layer);
    hash.add(message.last_layer);
    hash.add(message.size.count());
    for (const Duration time : {message.ready, message.start, message.end}) hash.add(time);
  }
  hash.add(result.message_count);
}

// Calls f, and notes if it refuses.
template <class F>
void add_answer(SignatureHash& hash, const F& f) {
  hash.answered();
  try {
    f();
  } catch (const InputError&) {
    hash.refused();
  }
}

std::vector<std::string> files_below(const std::string& folder) {
  const std::string root = std::string(SGDSIM_SOURCE_DIR) + "/" + folder;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

std::string stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

// Every strategy at both fidelities; as the file has it first.
std::string experiment_line(const std::string& file) {
  SignatureHash hash;
  const auto play = [&](const std::vector<std::string>& settings) {
    add_answer(hash, [&] {
      const Experiment experiment = read_experiment(resolve_experiment(file, settings));
      add(hash, simulate_step(experiment.question()));
    });
  };
  play({});
  for (const StrategyKind& kind : strategies())
    for (const char* const fidelity : {"closed_form", "message"})
      play({"strategy=" + std::string(kind.name), std::string("fidelity=") + fidelity,
            "iterations=3"});
  return hash.line("experiment " + stem(file));
}

std::string sweep_line(const std::string& file) {
  SignatureHash hash;
  const Sweep sweep = read_sweep(file, {}, {});
  PointReader reader(sweep);
  Points points(sweep, {});
  while (const auto point = points.next())
    add_answer(hash, [&] { add(hash, simulate_step(reader.read(point->choice).question())); });
  return hash.line("sweep " + stem(file));
}

std::string case_line(const std::string& file) {
  SignatureHash hash;
  for (const CaseRow& row : read_case_file(file).rows)
    add_answer(hash, [&] { hash.add(row.predict().time); });
  return hash.line("case " + stem(file));
}

// One algorithm with its default options: operations x counts of ranks x sizes x fidelities, on a
// uniform network and on the cluster files that ship.
class Collectives {
 public:
  explicit Collectives(const Algorithm& algorithm) : algorithm_(algorithm) {}

  std::string line() {
    for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 33}) {
      const Network network =
          Network::uniform(ranks, {Duration::us(45), PerByte::ps(800), PerByte::ps(50)});
      on({"", network, 1, {}, {}});
    }
    for (const std::string& file : files_below("topologies/data"))
      on(read_cluster_file(file).cluster);
    return hash_.line("collective " + std::string(algorithm_.name));
  }

 private:
  void on(const Cluster& cluster) {
    for (const Operation operation : algorithm_.operations)
      for (const int64_t size_B : {0, 1, 1'000, 65'537, 100'000'000})
        for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
          CollectiveQuestion question;
          question.algorithm = algorithm_.name;
          question.operation = operation;
          question.messages = {Bytes(size_B)};
          question.fidelity = fidelity;
          add_answer(hash_, [&] {
            const CollectiveAnswer answer = simulate_collective(question, cluster, "signature");
            hash_.add(answer.time);
            hash_.add(answer.traffic.messages);
          });
        }
  }

  const Algorithm& algorithm_;
  SignatureHash hash_;
};

// Numbers; of files that are written also the texts, since times are texts there.
void add(SignatureHash& hash, const Json& value, bool is_file) {
  if (value.is_number_float())
    hash.add(std::bit_cast<int64_t>(value.get<double>() + 0.0));
  else if (value.is_number())
    hash.add(value.get<int64_t>());
  else if (value.is_string() && is_file)
    hash.add(value.get<std::string>());
  else if (value.is_array())
    for (const Json& one : value) add(hash, one, is_file);
  else if (value.is_object())
    for (const auto& [name, one] : value.items())
      if (name != "source") add(hash, one, is_file);  // it names a file
}

std::string group_line(const SignatureGroup& group) {
  SignatureHash hash;
  for (const std::vector<std::string>& command : group.commands) {
    hash.answered();
    const Ran ran = call_sgdsim(command);
    if (ran.exit_code != 0) hash.refused();
    hash.add(ran.exit_code);
    add(hash, Json::parse(ran.out, nullptr, false), command.front() == "import");
  }
  return hash.line(group.name);
}

}  // namespace

std::vector<std::function<std::string()>> signature_questions() {
  std::vector<std::function<std::string()>> questions;
  for (const std::string& file : files_below("app/experiments"))
    questions.emplace_back([file] { return experiment_line(file); });
  for (const std::string& file : files_below("app/sweeps"))
    questions.emplace_back([file] { return sweep_line(file); });
  for (const char* const folder : {"models/collective/data", "models/strategy/data"})
    for (const std::string& file : files_below(folder))
      if (read_text(file).find(case_schema) != std::string::npos)
        questions.emplace_back([file] { return case_line(file); });
  for (const Algorithm& algorithm : algorithms())
    questions.emplace_back([&algorithm] { return Collectives(algorithm).line(); });
  for (const SignatureGroup& group : signature_groups())
    questions.emplace_back([group] { return group_line(group); });
  return questions;
}

}  // namespace sgdsim
