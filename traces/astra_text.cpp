// Workloads of ASTRA-sim 1 and SimAI as text: a line that says how the network is distributed, the
// number of layers, and for each layer in forward order
//
//   name dependency forward_compute forward_comm_type forward_comm_size
//        input_gradient_compute input_gradient_comm_type input_gradient_comm_size
//        weight_gradient_compute weight_gradient_comm_type weight_gradient_comm_size update_time
//
// Times are whole cycles of 1 ns. A trace is what one worker computes and which gradients it must
// sum with others: the ALLREDUCE of the weight gradients, or a REDUCESCATTER with its ALLGATHER, as
// AICB writes a distributed optimizer:
//
//   grad_gather     -1 1 NONE 0 1 NONE 0 1 ALLGATHER     2807758848 100    parameters of 2 bytes
//   grad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696 100    gradients of 4 bytes
//
// Other communication (tensor, expert or pipeline parallelism) is left out, and a note says so.
#include <algorithm>
#include <array>
#include <map>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/complete.h"
#include "traces/measurement/words.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

constexpr std::size_t fields_per_layer = 12;

struct Policy {
  std::string_view name;
  std::vector<std::string> keys;  // that must follow
};

const std::vector<std::string> megatron_keys = {"ep:", "pp:", "vpp:", "ga:", "all_gpus:"};

const std::vector<Policy>& policies() {
  static const std::vector<Policy> table = {
      {"DATA", {}},
      {"MODEL", {}},
      {"HYBRID_DATA_MODEL", {}},
      {"HYBRID_MODEL_DATA", {}},
      {"HYBRID_CUSTOMIZED", {}},
      {"MICRO", {}},
      {"HYBRID_DLRM", {"DLRM_LAST_BOTTOM_LAYER:"}},
      {"HYBRID_DLRM_ENHANCED", {"DLRM_LAST_BOTTOM_LAYER:"}},
      {"HYBRID_TRANSFORMER", {"model_parallel_NPU_group:"}},
      {"HYBRID_TRANSFORMER_FWD_IN_BCKWD",
       {"model_parallel_NPU_group:", "checkpoints:", "checkpoint_initiates:"}}};
  return table;
}

const Policy* policy_named(std::string_view name) {
  for (const Policy& policy : policies())
    if (policy.name == name) return &policy;
  return nullptr;
}

constexpr std::array<std::string_view, 5> comm_types{"NONE", "ALLREDUCE", "ALLGATHER",
                                                     "REDUCESCATTER", "ALLTOALL"};

struct Exchange {
  std::string_view type = "NONE";
  std::string_view group = "";  // "_DP_EP"
  int64_t bytes = 0;

  bool talks() const { return type != "NONE" && bytes > 0; }
};

struct LayerExchanges {
  Exchange forward;
  Exchange input;
  Exchange gradient;
};

// Whether an all-gather brings back what a reduce-scatter divided, perhaps in fewer bytes an
// element.
bool brings_back(const Exchange& gather, const Exchange& scatter) {
  if (gather.type != "ALLGATHER" || !gather.talks() || gather.group != scatter.group) return false;
  for (const int64_t times : {1, 2, 4})
    if (gather.bytes * times == scatter.bytes) return true;
  return false;
}

// "ALLREDUCE_DP_EP" is an ALLREDUCE among another group.
std::string_view comm_type_of(std::string_view word, const std::string& where) {
  for (const std::string_view type : comm_types) {
    const bool is_it =
        word == type || word == std::string(type) + "_EP" || word == std::string(type) + "_DP_EP";
    if (is_it) return type;
  }
  throw InputError(where,
                   "expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL (or one "
                   "of them with _EP or _DP_EP), got \"" +
                       std::string(word.substr(0, 40)) + "\"");
}

class AstraReader {
 public:
  explicit AstraReader(const LogText& log) : log_(log), lines_(lines_of(log)) {}
  Trace read();

 private:
  void read_head(const LogLine& line);
  std::map<std::string, int64_t> read_values(const LogLine& line,
                                             const std::vector<std::string_view>& words) const;
  Layer read_layer(const LogLine& line);
  void read_gradients(std::vector<Layer>& layers);
  Exchange* gather_of(std::size_t row);
  std::vector<std::string_view> words_of(const LogLine& line) const {
    std::vector<std::string_view> words;
    split_words(line.text, words);
    return words;
  }

  const LogText& log_;
  std::vector<LogLine> lines_;
  std::vector<std::string> notes_;
  Duration update_;
  std::vector<LayerExchanges> rows_;
  int64_t in_groups_ = 0;  // gradients of experts
  int64_t paired_ = 0;     // that are divided and gathered
};

// Keys and how many numbers follow: one, or of checkpoints a count and so many. What a pipeline
// sends is not used; it stands there without a colon, too, and as a fraction.
std::map<std::string, int64_t> AstraReader::read_values(
    const LogLine& line, const std::vector<std::string_view>& words) const {
  std::map<std::string, int64_t> values;
  for (std::size_t i = 1; i < words.size();) {
    const std::string key(words[i++]);
    const bool is_of_pipeline = key == "pp_comm" || key == "pp_comm:";
    if ((!key.ends_with(':') && !is_of_pipeline) || key.size() > 60)
      throw InputError(line.where,
                       "expected a key that ends with a colon, got \"" + key.substr(0, 60) + "\"");
    const auto next = [&] {
      if (i == words.size()) throw InputError(line.where, "\"" + key + "\" has no number");
      return words[i++];
    };
    const std::string what = "the number of \"" + key + "\"";
    const auto number = [&] { return whole_in(next(), what, 0, 1'000'000'000, line.where); };
    if (is_of_pipeline) {
      number_in(next(), what, line.where);
      continue;
    }
    const int64_t value = number();
    if (!values.emplace(key, value).second)
      throw InputError(line.where, "\"" + key + "\" occurs twice");
    if (key.starts_with("checkpoint"))
      for (int64_t k = 0; k < value; ++k) number();
  }
  return values;
}

void AstraReader::read_head(const LogLine& line) {
  const std::vector<std::string_view> words = words_of(line);
  const Policy* const policy = words.empty() ? nullptr : policy_named(words[0]);
  if (policy == nullptr) {
    std::vector<std::string> known;
    for (const Policy& one : policies()) known.emplace_back(one.name);
    throw InputError(line.where,
                     unknown_name("way of distributing",
                                  std::string(words.empty() ? "" : words[0].substr(0, 60)), known));
  }
  std::map<std::string, int64_t> values = read_values(line, words);
  std::vector<std::string> needed = policy->keys;
  const bool is_megatron = std::any_of(megatron_keys.begin(), megatron_keys.end(),
                                       [&](const auto& key) { return values.contains(key); });
  if (is_megatron) needed.insert(needed.end(), megatron_keys.begin(), megatron_keys.end());
  for (const std::string& key : needed)
    if (!values.contains(key))
      throw InputError(line.where,
                       "the header of " + std::string(policy->name) + " lacks \"" + key + "\"");
  for (const char* const key : {"pp:", "vpp:", "ga:"})
    if (const auto found = values.find(key); found != values.end() && found->second > 1)
      notes_.push_back("the header says " + std::string(key) + " " + std::to_string(found->second) +
                       ": the trace is one pass over the layers of the file");
  if (values["checkpoints:"] > 0)
    notes_.emplace_back("checkpoints: computing forward again within backward is left out");
}

Layer AstraReader::read_layer(const LogLine& line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != fields_per_layer)
    throw InputError(line.where,
                     "expected 12 fields for a layer, got " + std::to_string(words.size()));
  const auto time = [&](std::size_t i, const char* what) {
    whole_in(words[i], what, 0, INT64_MAX, line.where);
    return time_in(words[i], Duration::ns(1), what, line.where);
  };
  const auto size = [&](std::size_t i, const char* what) {
    return whole_in(words[i], what, 0, usual_bytes_per_parameter * most_parameters, line.where);
  };
  const auto exchange = [&](std::size_t i, const char* what) {
    const std::string_view type = comm_type_of(words[i], line.where);
    if (type == "NONE") return Exchange{};
    return Exchange{type, words[i].substr(type.size()), size(i + 1, what)};
  };
  Layer layer;
  layer.name = std::string(words[0]);
  whole_in(words[1], "the dependency", -1, INT64_MAX, line.where);
  LayerExchanges row;
  layer.forward = time(2, "the forward time");
  row.forward = exchange(3, "the forward size");
  layer.backward = time(5, "the input gradient's time");
  row.input = exchange(6, "the input gradient's size");
  layer.backward += time(8, "the weight gradient's time");
  row.gradient = exchange(9, "the weight gradient's size");
  rows_.push_back(row);
  update_ += time(11, "the update time");
  return layer;
}

// In the line before or behind, or in its own where nothing else gathers there; null: nowhere.
Exchange* AstraReader::gather_of(std::size_t row) {
  const Exchange& scatter = rows_[row].gradient;
  for (const std::size_t near : {row - 1, row + 1})
    if (near < rows_.size() && brings_back(rows_[near].gradient, scatter))
      return &rows_[near].gradient;
  const bool is_own = !rows_[row].input.talks() && brings_back(rows_[row].forward, scatter);
  return is_own ? &rows_[row].forward : nullptr;
}

void AstraReader::read_gradients(std::vector<Layer>& layers) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Exchange& gradient = rows_[i].gradient;
    if (gradient.type == "NONE") continue;
    const int64_t bytes = gradient.bytes;
    Exchange* const gather = gradient.type == "REDUCESCATTER" ? gather_of(i) : nullptr;
    if (gather != nullptr) {
      ++paired_;
      gradient.type = "ALLREDUCE";
      gradient.bytes = bytes - (bytes - gather->bytes) / 2;
      *gather = {};
    }
    if (gradient.type != "ALLREDUCE") continue;
    if (!gradient.group.empty()) ++in_groups_;
    layers[i].gradient = Bytes(gradient.bytes);
    layers[i].parameters = bytes / usual_bytes_per_parameter;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Exchange& left = rows_[i].gradient;
    if (!left.talks() || left.type == "ALLREDUCE") continue;
    throw InputError(lines_[i + 2].where,
                     "the weight gradient goes by " + std::string(left.type) +
                         std::string(left.group) +
                         "; a trace has gradients that all workers sum: by an ALLREDUCE, or a "
                         "REDUCESCATTER with the ALLGATHER of as many elements in the line before "
                         "or behind. Write an ALLREDUCE of half the bytes of both in its place");
  }
}

Trace AstraReader::read() {
  std::erase_if(lines_, [](const LogLine& line) { return line.text.empty(); });
  if (lines_.size() < 2)
    throw InputError(log_.file,
                     "expected a line on how the network is distributed, the number of "
                     "layers, and a line for each");
  read_head(lines_[0]);
  const int64_t count = whole_in(lines_[1].text, "the number of layers", 1,
                                 static_cast<int64_t>(most_layers), lines_[1].where);
  if (static_cast<std::size_t>(count) != lines_.size() - 2)
    throw InputError(lines_[1].where, "expected " + std::to_string(count) + " layers, got " +
                                          std::to_string(lines_.size() - 2));
  if (log_.forward)
    throw InputError(log_.file, "the workload has forward times; a total is one too many");
  Trace trace = trace_from(log_, "astra-text");
  for (std::size_t i = 2; i < lines_.size(); ++i) trace.layers.push_back(read_layer(lines_[i]));
  if (update_ > longest_step)
    throw InputError(log_.file, "the update times add up to more than 3600 s");
  read_gradients(trace.layers);
  trace.update = update_;
  trace.notes = notes_;
  const auto note = [&](int64_t layers, const std::string& text) {
    if (layers > 0)
      trace.notes.push_back(std::to_string(layers) + (layers == 1 ? " layer" : " layers") + text);
  };
  const auto left_out = std::count_if(rows_.begin(), rows_.end(), [](const LayerExchanges& row) {
    return row.forward.talks() || row.input.talks();
  });
  note(left_out, " also communicate in forward or for input gradients, which is left out");
  if (paired_ > 0)
    trace.notes.push_back(
        std::to_string(paired_) + (paired_ == 1 ? " gradient goes" : " gradients go") +
        " by a reduce-scatter and an all-gather: taken as an all-reduce of half of both sizes "
        "together, which moves as much");
  note(in_groups_,
       " sum gradients among another group (_EP, _DP_EP); all workers are taken instead");
  complete(trace, Forward::per_layer, {},
           {log_.file, [&](std::size_t i) { return lines_[i + 2].where; }});
  return trace;
}

}  // namespace

bool is_astra_text(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  std::vector<std::string_view> words;
  split_words(head.substr(0, head.find('\n')), words);
  if (!words.empty() && words.back().ends_with('\r')) words.back().remove_suffix(1);
  return !words.empty() && policy_named(words[0]) != nullptr;
}

Trace astra_text(const LogText& log) { return AstraReader(log).read(); }

}  // namespace sgdsim
