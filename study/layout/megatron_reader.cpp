// Names differ from program to program, rules do not.
#include "study/layout/megatron_reader.h"

#include <functional>

namespace sgdsim {
namespace {

constexpr const char* as_text = "give it as text, as in \"Et*3|(tt|)*29,m|L\"";

}  // namespace

void MegatronReader::set_expert_parts(const SettingNames& names, int64_t usual) {
  Layout& layout = found_.layout;
  if (!model_.experts) return;
  layout.expert_tensor = size(names, usual);
  if (layout.expert_tensor > 1 && !settings_.has_any(names))
    found_.notes.emplace_back("experts are split like other matrices (etp" +
                              std::to_string(layout.expert_tensor) + "), because " + names.front() +
                              " says nothing else");
}

// The dispatcher "flex" has DeepEP or HybridEP, whichever is named, below it.
void MegatronReader::set_dispatch(const SettingNames& types) {
  Layout& layout = found_.layout;
  const auto type = settings_.find_any(types);
  if (!type || !model_.experts || layout.expert_ranks() == 1) return;
  const SettingNames known = {"allgather", "alltoall", "alltoall_seq", "flex"};
  if (std::find(known.begin(), known.end(), *type) == known.end())
    settings_.fail(name_of(types), unknown_name("dispatcher", *type, known));
  if (*type == "flex") layout.dispatch = Dispatch::node;
  if (*type == "allgather")
    found_.notes.push_back(as_said(types) +
                           " allgather is priced as alltoall: only tokens of its experts go to a "
                           "rank");
}

// 0 says something of a model that has such layers by itself.
void MegatronReader::set_predictions(const SettingNames& names) {
  const auto count = whole(names, 0, most_predictions);
  if (count && (*count > 0 || model_.predictions > 0)) found_.layout.predictions = count;
}

std::string MegatronReader::given_of(const std::vector<SettingNames>& all) const {
  for (const SettingNames& names : all)
    if (const auto value = settings_.find_any(names); value && *value != "none")
      return name_of(names);
  return "";
}

std::string MegatronReader::as_said(const SettingNames& names) const {
  return (settings_.kind() == FlatSettings::Kind::flags ? "--" : "") + name_of(names);
}

void MegatronReader::set_stages_of(const StageNames& names) {
  Layout& layout = found_.layout;
  const bool has_embedding = flag(names.embedding) && layout.pipeline > 1;
  const bool has_loss = flag(names.loss) && layout.pipeline > 1;
  layout.ends_are_layers = has_embedding && has_loss;
  const std::string ends = given_of({names.first, names.last});
  const std::string end = has_embedding ? name_of(names.embedding) : name_of(names.loss);
  if ((has_embedding || has_loss) && !ends.empty())
    settings_.fail(end, "contradicts " + ends + "; leave one of them out");
  if (const auto text = settings_.find_any(names.layout); text && *text != "none") {
    const std::string other = given_of({names.first, names.last, names.chunk_layers});
    if (!other.empty() || has_embedding || has_loss)
      settings_.fail(name_of(names.layout),
                     "contradicts " + (other.empty() ? end : other) + "; leave one of them out");
    return set_stages_of_text(names, *text);
  }
  if (settings_.has_any(names.chunk_layers)) {
    if (!ends.empty())
      settings_.fail(
          ends, "goes with " + as_said(names.chunks) + ", not with " + as_said(names.chunk_layers));
    layout.chunks = chunks_of(names.chunk_layers, has_embedding + has_loss);
  }
  if (given_of({names.first}) != "") layout.stages.first = whole(names.first, 1, most_chunk_layers);
  if (given_of({names.last}) != "") layout.stages.last = whole(names.last, 1, most_chunk_layers);
  if (has_embedding != has_loss)
    set_chunks(end, stages_with_end(model_.layers, chunks_in_all(), has_loss));
}

void MegatronReader::set_stages_of_text(const StageNames& names, const std::string& text) {
  Layout& layout = found_.layout;
  const std::string name = name_of(names.layout);
  if (text.front() == '[') settings_.fail(name, "is a list; " + std::string(as_text));
  const ForeignStages stages = stages_of_megatron(text);
  if (stages.wrong.empty()) {
    const auto chunks = static_cast<int64_t>(stages.layers.size());
    const int64_t of_rank = chunks / layout.pipeline;
    if (chunks % layout.pipeline != 0)
      settings_.fail(name, "has " + std::to_string(chunks) + " stages, which do not divide by pp" +
                               std::to_string(layout.pipeline));
    if (settings_.has_any(names.chunks) && of_rank != layout.chunks)
      settings_.fail(name, "has " + std::to_string(of_rank) + " stages a rank, but " +
                               name_of(names.chunks) + " is " + std::to_string(layout.chunks));
    layout.chunks = of_rank;
  }
  if (stages.predictions > most_predictions)
    settings_.fail(name, "has " + std::to_string(stages.predictions) +
                             " layers m; expected at most " + std::to_string(most_predictions));
  if (stages.predictions > 0) {
    layout.predictions = stages.predictions;
    found_.notes.emplace_back(
        "layers m, which predict further tokens, are taken to be on the last stage");
  }
  set_chunks(name, stages);
}

int64_t MegatronReader::chunks_of(const SettingNames& names, int64_t ends) {
  const std::string name = name_of(names);
  const int64_t layers = *whole(names);
  return quotient(name, quotient(name, model_.layers + ends, found_.layout.pipeline), layers);
}

int MegatronReader::zero_of_sharding(const SettingNames& names, int usual) {
  const auto strategy = settings_.find_any(names);
  if (!strategy) return usual;
  if (*strategy == "optim_grads_params") return 3;
  if (*strategy == "optim_grads") return 2;
  if (*strategy == "optim") return 1;
  if (*strategy == "no_shard") return 0;
  settings_.fail(name_of(names),
                 unknown_name("strategy", *strategy,
                              {"no_shard", "optim", "optim_grads", "optim_grads_params"}));
}

void MegatronReader::exchange_context(const SettingNames& names) {
  const auto how = settings_.find_any(names);
  if (!how || found_.layout.context == 1) return;
  const auto all = settings_.list(name_of(names)).value_or(std::vector<std::string>{});
  const bool are_alike =
      std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
  const std::string kind = are_alike && !all.empty() ? all.front() : *how;
  if (kind == "all_gather" || kind == "allgather")
    found_.layout.context_by = ContextBy::gather;
  else if (kind == "a2a")
    found_.layout.context_by = ContextBy::ulysses;
  else if (kind != "p2p")
    settings_.fail(name_of(names),
                   unknown_name("exchange that is modelled", kind, {"p2p", "all_gather", "a2a"}));
}

// Modules that the model does not have are nothing to compute again.
void MegatronReader::recompute_some(const SettingNames& modules) {
  Layout& layout = found_.layout;
  const auto all = settings_.list(name_of(modules)).value_or(SettingNames{"core_attn"});
  std::string others;
  Layout chosen = layout;
  for (const auto& [name, module] : recomputed_modules) {
    if (std::find(all.begin(), all.end(), name) == all.end()) continue;
    Layout one = layout;
    one.recompute = chosen.recompute = Recompute::modules;
    one.recompute_modules.set(module);
    if (modules_misfit(model_, one).empty()) chosen.recompute_modules.set(module);
  }
  if (chosen.recomputes(RecomputedModule::moe))
    for (const RecomputedModule part :
         {RecomputedModule::moe_act, RecomputedModule::shared_experts})
      chosen.recompute_modules.set(part, false);
  for (const std::string& module : all)
    if (std::none_of(recomputed_modules.begin(), recomputed_modules.end(),
                     [&](const auto& one) { return one.first == module; }))
      others += (others.empty() ? "" : ", ") + module;
  if (!others.empty())
    found_.notes.push_back("recomputation of " + others +
                           " alone is not priced: it is not computed again, and memory is "
                           "overestimated");
  RecomputedModules only_scores;
  only_scores.set(RecomputedModule::core_attn);
  if (chosen.recompute_modules == only_scores) {
    layout.recompute = Recompute::selective;
  } else if (!chosen.recompute_modules.are_none()) {
    layout.recompute = Recompute::modules;
    layout.recompute_modules = chosen.recompute_modules;
  } else if (others.empty()) {
    found_.notes.emplace_back(
        all != SettingNames{"core_attn"}
            ? "selective recomputation has no effect: the model has no such modules"
            : "selective recomputation has no effect: attention is taken to be fused");
  }
}

void MegatronReader::recompute(const RecomputeNames& names) {
  const std::string value = settings_.find_any(names.granularity).value_or(names.usual);
  if (value.empty() || value == "none") return;
  if (value == "selective") return recompute_some(names.modules);
  if (value != "full")
    settings_.fail(name_of(names.granularity),
                   unknown_name("granularity", value, {"full", "selective"}));
  const int64_t count = whole(names.layers).value_or(1);
  const std::string how = settings_.find_any(names.method).value_or(names.method_if);
  if (how == "block")
    recompute_layers(Recompute::block, count);
  else if (how == "uniform")
    recompute_layers(count > 1 ? Recompute::uniform : Recompute::full, count);
  else
    settings_.fail(name_of(names.method), unknown_name("method", how, {"uniform", "block"}));
}

}  // namespace sgdsim
