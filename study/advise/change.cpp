// The list of changes. What depends on the experiment (its links, its nodes) is derived from it.
#include "study/advise/change.h"

#include <charconv>

#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/foreign_json.h"
#include "sim/core/whole_number.h"
#include "study/import/profile_trace.h"
#include "study/step/collective_field.h"
#include "study/step/override.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using Kind = ChangeKind;

struct Known {
  const char* name;
  Kind kind;
  const char* setting;
  const char* how;
  const char* assumes = "";
  const char* how_with_horovod = how;  // where the training uses that
};

constexpr char published_code[] = "the code that its authors published";

// ByteScheduler costs more than its messages: with four GPUs in one node, where all communication
// takes a tenth of a step, it was measured at 1.45 to 1.58 times one GPU alone.
constexpr Known software[] = {
    {"one message per layer, when it is ready", Kind::strategy, "strategy=wfbp", ""},
    {"everything in one message after backward", Kind::strategy, "strategy=sync_easgd", ""},
    {"merging by the rule of MG-WFBP", Kind::strategy, "strategy=mg_wfbp", published_code},
    {"bound: the best merging there is", Kind::strategy, "strategy=optimal", "",
     "no program plans its messages so: it says what rules and buckets can gain at most"},
    {"DDP, buckets of 1 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"1 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=1)"},
    {"DDP, buckets of 5 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"5 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=5)"},
    {"DDP, buckets of 10 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"10 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=10)"},
    {"DDP, buckets of 25 MiB", Kind::strategy, "strategy=ddp",
     "DistributedDataParallel(model), as it comes"},
    {"DDP, buckets of 50 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"50 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=50)"},
    {"DDP, buckets of 100 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"100 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=100)"},
    {"DDP, buckets of 250 MiB", Kind::strategy, R"(strategy={"name":"ddp","bucket":"250 MiB"})",
     "DistributedDataParallel(model, bucket_cap_mb=250)"},
    {"Horovod, as it comes", Kind::strategy, "strategy=horovod", "horovod.torch, as it comes"},
    {"Horovod, fusion of 32 MiB", Kind::strategy,
     R"(strategy={"name":"horovod","threshold":"32 MiB"})", "HOROVOD_FUSION_THRESHOLD=33554432"},
    {"Horovod, cycles of 5 ms", Kind::strategy, R"(strategy={"name":"horovod","cycle":"5 ms"})",
     "HOROVOD_CYCLE_TIME=5"},
    {"ByteScheduler", Kind::strategy, "strategy=bytescheduler", published_code,
     "ByteScheduler slows the computation by 1.52, the mean of 1.45 to 1.58 that was measured with "
     "ResNet-50 in nodes of 4 GPUs (repository HKBU-HPML/ddl-benchmarks)"},
    {"slices by priority (P3)", Kind::strategy, "strategy=p3", published_code},
    {"half of the bits of each gradient", Kind::compression, "compression=truncate16",
     "model.register_comm_hook(None, default_hooks.bf16_compress_hook)", "",
     "hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.fp16)"},
    {"gradients in 8 bits", Kind::compression, "compression=quantize8", ""},
    {"the largest 1 % of each gradient", Kind::compression,
     R"(compression={"name":"topk","density":0.01})", ""},
    {"the largest 0.1 % of all gradients (gTop-k)", Kind::compression,
     R"(compression={"name":"gtopk","density":0.001})", published_code},
    {"factors of rank 4 (PowerSGD)", Kind::compression,
     R"(compression={"name":"powersgd","rank":4})",
     "model.register_comm_hook(PowerSGDState(process_group=None, matrix_approximation_rank=4), "
     "powerSGD_hook)",
     "", ""},
    {"sums one iteration late (Pipe-SGD)", Kind::staleness, "synchronization=pipe_sgd", ""},
    {"an average every fourth step (local SGD)", Kind::staleness, "synchronization=local_sgd",
     "model.register_comm_hook(PostLocalSGDState(process_group=None, subgroup=None, "
     "start_localSGD_iter=100, post_local_gradient_allreduce=False), post_localSGD_hook); "
     "PostLocalSGDOptimizer(optim=optimizer, averager=PeriodicModelAverager(period=4, "
     "warmup_steps=100))",
     "", ""},
};

constexpr char horovod[] = "horovod";

// `strategy`: what the training sends its gradients by.
std::string how_to(std::string_view algorithm, std::string_view strategy) {
  if (algorithm == "ring") return "NCCL_ALGO=Ring";
  if (algorithm == "double_binary_tree") return "NCCL_ALGO=Tree";
  if (algorithm == "hierarchical" && strategy == horovod) return "HOROVOD_HIERARCHICAL_ALLREDUCE=1";
  return "";
}

// Of the layers that send gradients; 0 where their parameters are not known.
double bytes_per_parameter(const Trace& trace) {
  double gradients_B = 0;
  double parameters = 0;
  for (const Layer& layer : trace.layers) {
    if (layer.gradient.count() == 0) continue;
    if (layer.parameters == 0) return 0;
    gradients_B += static_cast<double>(layer.gradient.count());
    parameters += static_cast<double>(layer.parameters);
  }
  return parameters > 0 ? gradients_B / parameters : 0;
}

class Lister {
 public:
  Lister(const ResolvedExperiment& base, const Experiment& experiment)
      : base_(base), experiment_(experiment) {
    has_curve_ = base.json.value("collective", Json::object()).contains("samples");
    has_constants_ = !has_curve_ && gives_costs(base.json);
  }

  ChangeList list() {
    for (const Known& known : software) {
      if (is_left_out(known)) continue;
      Change change{known.name, {known.kind}, {known.setting}, how_of(known), known.assumes};
      change.is_bound = std::string_view(known.setting) == "strategy=optimal";
      if (known.kind == Kind::strategy) keep_fields(change);
      // Which send everything at once, whatever the strategy.
      if (known.kind == Kind::staleness) change.settings.emplace_back("strategy=sync_easgd");
      if (std::string_view(known.setting) == "strategy=bytescheduler") slow_down(change);
      add(std::move(change));
    }
    for (const auto& [field, name] :
         {std::pair("compression", "gradients as they are"),
          std::pair("synchronization", "every step waits for its sums")})
      if (base_.json.contains(field) && base_.json[field] != "none")
        add({name,
             {std::string_view(field) == "compression" ? Kind::compression : Kind::staleness},
             {std::string(field) + "=none"},
             "",
             ""});
    add_algorithms();
    add_links();
    add_nodes();
    add_compute();
    return std::move(list_);
  }

 private:
  // A code for values of 32 bits, where the gradients have fewer.
  bool is_left_out(const Known& known) {
    const std::string_view setting = known.setting;
    const bool is_code = setting == "compression=truncate16" || setting == "compression=quantize8";
    const double bytes = bytes_per_parameter(experiment_.trace);
    if (!is_code || bytes == 0 || bytes >= 3) return false;  // BF16 and FP16 have 2
    list_.left_out.emplace_back(known.name, "the gradients have " + rounded(bytes, 2) +
                                                " bytes a parameter already, and the code is for "
                                                "4");
    return true;
  }
  std::string how_of(const Known& known) const {
    const bool has_horovod = own_strategy() == horovod;
    const std::string how = has_horovod ? known.how_with_horovod : known.how;
    const bool is_variable = how.starts_with("HOROVOD_");
    return is_variable && !has_horovod ? "horovod.torch in place of what there is, with " + how
                                       : how;
  }
  std::string own_strategy() const {
    return text_member(fields_of(base_.json.value("strategy", Json(experiment_.strategy.name))),
                       "name");
  }
  void add(Change change) {
    Json now = base_.json;
    if (!now.contains("strategy")) now["strategy"] = experiment_.strategy.name;
    Json changed = now;
    apply_settings(changed, change.settings);
    change.strategy = text_member(fields_of(changed["strategy"]), "name");
    if (changed != now) list_.changes.push_back(std::move(change));
  }
  void leave_out(const char* what, const char* why) { list_.left_out.emplace_back(what, why); }

  // Another size of the same strategy's messages does not change its other fields.
  void keep_fields(Change& change) const {
    const Json own = fields_of(base_.json.value("strategy", Json(experiment_.strategy.name)));
    Json changed = {{"strategy", Json()}};
    apply_settings(changed, change.settings);
    const Json other = fields_of(changed["strategy"]);
    if (own["name"] != other["name"]) return;
    change.kinds = {Kind::buckets};
    if (own.size() == 1) return;
    Json merged = own;
    // As it comes is without sizes of one's own.
    if (other.size() == 1)
      for (const char* size : {"bucket", "first_bucket", "sizes", "threshold", "cycle"})
        merged.erase(size);
    merged.update(other);
    change.settings = {"strategy=" + merged.dump()};
  }
  static Json fields_of(const Json& strategy) {
    return strategy.is_object() ? strategy : Json({{"name", strategy}});
  }

  void slow_down(Change& change) const { change.settings.push_back(with_computing(1.52)); }
  // That takes so many times as long, for every worker.
  std::string with_computing(double factor) const {
    const double scale = base_.json["trace"].value("compute_scale", 1.0);
    return "trace.compute_scale=" + Json(scale * factor).dump();
  }

  void add_algorithms() {
    if (has_curve_ || has_constants_)
      return leave_out("other algorithms",
                       "what an exchange costs was given, not which messages it consists of");
    const Json given = base_.json.value("collective", Json::object());
    if (given.contains("parameter_server"))
      return leave_out("other algorithms", "parameter servers exchange the gradients");
    const std::string own = given.value("algorithm", experiment_.collective);
    if (own == "nccl")
      return leave_out("other algorithms",
                       "NCCL's model has constants of its own, which are not those of the links");
    // What holds for messages of any algorithm stays.
    Json options = Json::object();
    const Json all = given.value("options", Json::object());
    for (const auto& [name, value] : all.items())
      if (is_general_option(name)) options[name] = value;
    for (const Algorithm& algorithm : algorithms()) {
      if (!algorithm.offers(Operation::allreduce) || algorithm.name == own) continue;
      if (experiment_.fidelity == Fidelity::closed_form && !algorithm.closed_form_note.empty()) {
        list_.left_out.emplace_back("all-reduce by " + std::string(algorithm.name),
                                    "no program reaches its closed form; --fidelity message "
                                    "simulates it");
        continue;
      }
      Json collective = {{"algorithm", algorithm.name}};
      if (!options.empty()) collective["options"] = options;
      Change change{"all-reduce by " + std::string(algorithm.name),
                    {Kind::algorithm},
                    {"collective=" + collective.dump()},
                    how_to(algorithm.name, own_strategy()),
                    ""};
      change.algorithm = algorithm.name;
      add(std::move(change));
    }
  }

  // A quantity times a factor: "10 Gbps" twice is "20 Gbps".
  static std::string times(const std::string& quantity, double factor) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(quantity.data(), quantity.data() + quantity.size(), value);
    if (error != std::errc()) return quantity;
    return Json(value * factor).dump() + std::string(end, quantity.data() + quantity.size());
  }
  // Fields of these names, in segments too.
  static void scale(Json& json, const std::vector<std::pair<std::string, double>>& factors) {
    if (json.is_array())
      for (Json& one : json) scale(one, factors);
    if (!json.is_object()) return;
    for (const auto& [field, factor] : factors)
      if (json.contains(field) && json[field].is_string())
        json[field] = times(json[field].get<std::string>(), factor);
    for (const char* list : {"segments", "lines"})
      if (json.contains(list)) scale(json[list], factors);
  }
  // More settings that belong to it stand before its own.
  void add_scaled(const std::string& path, const Json& before, const std::string& name, Kind kind,
                  const std::vector<std::pair<std::string, double>>& factors,
                  std::vector<std::string> settings = {}) {
    Json after = before;
    scale(after, factors);
    if (after == before) return;
    settings.push_back(path + "=" + after.dump());
    add({name, {kind}, std::move(settings), "", ""});
  }
  // What else describes the cards: ports with a rate of their own. Uplinks that are said as a part
  // of what the cards send stay as they are.
  std::vector<std::string> beside_cards(
      const std::vector<std::pair<std::string, double>>& factors) const {
    const Json& cluster = base_.json["cluster"];
    std::vector<std::string> settings;
    if (cluster.contains("ports")) {
      Json ports = cluster["ports"];
      scale(ports, factors);
      if (ports != cluster["ports"]) settings.push_back("cluster.ports=" + ports.dump());
    }
    for (const auto& [field, factor] : factors)
      if (field == "bandwidth" && cluster.contains("oversubscription"))
        settings.push_back(with_oversubscription(factor));
    return settings;
  }
  std::string with_oversubscription(double factor) const {
    const double now = base_.json["cluster"]["oversubscription"].get<double>();
    return "cluster.oversubscription=" + Json(now * factor).dump();
  }

  void add_links() {
    if (has_curve_)
      return leave_out("other links", "the curve of `collective` was measured on these");
    if (has_constants_) {
      const Json& constants = base_.json["collective"];
      add_scaled("collective", constants, "twice the bandwidth", Kind::bandwidth,
                 {{"per_byte", 0.5}});
      add_scaled("collective", constants, "half the start-up", Kind::latency, {{"start_up", 0.5}});
      return;
    }
    add_links_of("cluster", base_.json["cluster"]);
    if (base_.json["cluster"].contains("links"))
      add_links_of("cluster.links", base_.json["cluster"]["links"]);
  }
  void add_links_of(const std::string& path, const Json& links) {
    for (const auto& [name, link] : links.items()) {
      if (!link.is_object() || !(link.contains("bandwidth") || link.contains("per_byte"))) continue;
      if (name.find_first_of(".=") != std::string::npos) continue;  // no setting can name it
      const std::string field = path + "." + name;
      const std::vector<std::pair<std::string, double>> faster{{"bandwidth", 2}, {"per_byte", 0.5}};
      const std::vector<std::pair<std::string, double>> sooner{{"latency", 0.5}};
      const bool are_cards = field == "cluster.nic";
      const std::vector<std::string> none;
      add_scaled(field, link, "twice the bandwidth of " + name, Kind::bandwidth, faster,
                 are_cards ? beside_cards(faster) : none);
      add_scaled(field, link, "half the latency of " + name, Kind::latency, sooner,
                 are_cards ? beside_cards(sooner) : none);
    }
    if (path == "cluster" && links.contains("oversubscription"))
      add({"twice the bandwidth of uplink",
           {Kind::bandwidth},
           {with_oversubscription(0.5)},
           "",
           ""});
  }

  void add_nodes() {
    if (has_curve_ || has_constants_)
      return leave_out("other numbers of nodes",
                       "what an exchange costs was given for this number of workers");
    const Json& cluster = base_.json["cluster"];
    const auto nodes = whole_number_in(cluster.value("nodes", Json()));
    if (!nodes)
      return leave_out("other numbers of nodes", "the cluster's shape does not say how it grows");
    for (const int factor : {2, 4})
      add({factor == 2 ? "twice the nodes" : "four times the nodes",
           {Kind::nodes},
           {"cluster.nodes=" + std::to_string(*nodes * factor)},
           "",
           "every worker keeps its batch, so that a step has more samples"});
  }

  void add_compute() {
    const double faster = base_.recorded ? without_half_of_kernels() : 0.5;
    const std::string assumes =
        base_.recorded ? "only the time in which kernels compute becomes shorter, and every layer "
                         "alike"
                       : "every layer becomes faster alike";
    add({"GPUs twice as fast", {Kind::compute}, {with_computing(faster)}, "", assumes});
  }
  // Of a recorded step: gaps, copies and other communication stay as they are.
  double without_half_of_kernels() const {
    const Trace& trace = experiment_.trace;
    const Duration all = trace.forward() + trace.backward() + trace.update;
    const Duration kernels = base_.recorded->recording.part(profiler::PartKind::computing);
    return all > kernels ? 1 - 0.5 * (kernels / all) : 0.5;
  }

  const ResolvedExperiment& base_;
  const Experiment& experiment_;
  bool has_curve_ = false;
  bool has_constants_ = false;
  ChangeList list_;
};

}  // namespace

ChangeList changes_of(const ResolvedExperiment& base, const Experiment& experiment) {
  return Lister(base, experiment).list();
}

Change both(const Change& first, const Change& second) {
  Change change = first;
  const auto join = [](std::string& text, const std::string& more) {
    if (!text.empty() && !more.empty()) text += "; ";
    text += more;
  };
  change.name += ", and " + second.name;
  change.kinds.insert(change.kinds.end(), second.kinds.begin(), second.kinds.end());
  change.settings.insert(change.settings.end(), second.settings.begin(), second.settings.end());
  join(change.how,
       second.algorithm.empty() ? second.how : how_to(second.algorithm, first.strategy));
  join(change.assumes, second.assumes);
  return change;
}

}  // namespace sgdsim
