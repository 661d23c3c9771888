// What must divide what, and which words of a layout go together.
#include <algorithm>
#include <type_traits>

#include "models/training/layer_matrices.h"
#include "models/training/layout.h"
#include "sim/core/refusal.h"

namespace sgdsim {
namespace {

// "126 layers do not divide by 8 ranks" with a value that would.
std::string no_divisor(const std::string& what, int64_t whole, const std::string& by,
                       int64_t divisor) {
  int64_t near = std::min(divisor, whole);
  while (near > 1 && whole % near != 0) --near;
  return "the " + std::to_string(whole) + " " + what + " do not divide by " + by +
         std::to_string(divisor) + "; the next smaller divisor is " + std::to_string(near);
}

std::string stage_misfit(const Transformer& model, const Layout& layout, int64_t units) {
  if (!layout.stages.are_even()) return unlike_stages_misfit(model.layers, layout);
  const int64_t chunks = layout.chunks_in_all();
  const auto spread = [&] {
    return can_be_spread(model.layers, chunks)
               ? "; stages=spread, where some have a layer less, would fit"
               : "";
  };
  const std::string layers = layout.ends_are_layers ? "layers with both ends" : "layers";
  if (chunks > units)
    return "there are more stages than layers: pp x vp is " + std::to_string(chunks) + ", and " +
           std::to_string(units) + " " + layers + " are to be spread" + spread();
  if (units % chunks != 0) {
    const bool ends_fit = !layout.ends_are_layers && (model.layers + 2) % chunks == 0;
    return no_divisor(layers, units, "pp x vp = ", chunks) +
           (ends_fit ? "; ends=layers, where embedding and loss count as a layer each, would fit"
                     : "") +
           spread();
  }
  return "";
}

std::string schedule_misfit(const Layout& layout) {
  const auto pp = std::to_string(layout.pipeline);
  if (layout.schedule != PipelineSchedule::one_f_one_b) {
    const std::string name(name_in(pipeline_schedules, layout.schedule));
    const bool is_v = layout.schedule == PipelineSchedule::zbv;
    if (is_v && layout.chunks != 2) return "schedule=zbv has two virtual stages on a rank; say vp2";
    if (layout.chunks > 1 && !is_v)
      return "virtual stages (vp) belong to schedule=1f1b, not to " + name;
    if (layout.pipeline == 1) return "schedule=" + name + " needs stages; give pp2 or more";
  }
  if (layout.chunks > 1 && layout.pipeline == 1) return "virtual stages (vp) need pp2 or more";
  if (layout.schedule == PipelineSchedule::zbv) {
    const int64_t least = 2 * layout.pipeline - 1;
    if (layout.micro_batches >= least) return "";
    return "zbv with pp" + pp + " needs at least " + std::to_string(least) +
           " micro-batches, not ga" + std::to_string(layout.micro_batches);
  }
  if (layout.chunks > 1 && layout.micro_batches % layout.pipeline != 0)
    return "with virtual stages the micro-batches go in groups of pp" + pp + ", but ga" +
           std::to_string(layout.micro_batches) + " does not divide by it";
  if (layout.schedule == PipelineSchedule::dualpipe) {
    if (layout.pipeline % 2 != 0) return "dualpipe needs an even number of stages, not pp" + pp;
    if (layout.micro_batches % 2 != 0 || layout.micro_batches < 2 * layout.pipeline)
      return "dualpipe needs an even number of micro-batches, at least twice pp" + pp + ", not ga" +
             std::to_string(layout.micro_batches);
  }
  return "";
}

std::string idle_beside(const std::string& word, const std::string& other) {
  return idle_word(word, "with " + other + "; leave it out");
}

std::string expert_misfit(const Transformer& model, const Layout& layout) {
  const std::string ep = "ep" + std::to_string(layout.expert);
  const std::string etp = "etp" + std::to_string(layout.expert_tensor);
  if (!model.experts && layout.expert_tensor > 1)
    return "the model has no experts to split by " + etp + "; leave it out";
  const std::string dispatch = "dispatch=" + std::string(name_in(dispatch_names, layout.dispatch));
  if (layout.dispatch != Dispatch::direct && !model.experts)
    return "the model has no experts to go to by " + dispatch + "; leave it out";
  if (layout.dispatch != Dispatch::direct && layout.expert_ranks() == 1)
    return idle_beside(dispatch, "ep1");
  if (!model.experts) return layout.expert > 1 ? "the model has no experts to spread by " + ep : "";
  if (model.experts->width % layout.expert_tensor != 0)
    return no_divisor("columns of an expert", model.experts->width, "etp", layout.expert_tensor);
  if (model.experts->count % layout.expert != 0)
    return no_divisor("experts", model.experts->count, "ep", layout.expert);
  const int64_t ranks = layout.tensor * layout.context * layout.replicas;
  if (ranks % layout.expert != 0)
    return no_divisor("ranks tp x cp x dp", ranks, "ep", layout.expert);
  if (ranks % layout.expert_ranks() != 0)
    return no_divisor("ranks tp x cp x dp", ranks, "ep x etp = ", layout.expert_ranks());
  if (layout.tensor > 1 && !layout.sequence_parallel)
    return "experts with tensor parallelism need sp: otherwise every rank would send the same "
           "tokens";
  return "";
}

// Tensor-parallel ranks have some of the heads of keys and values each, or several of them one.
std::string shared_heads_misfit(const AttentionWidths& widths, int64_t ranks) {
  const int64_t of_values = widths.kv_heads;
  int64_t near = ranks;
  do {
    --near;
  } while (widths.heads % near != 0 || (of_values % near != 0 && near % of_values != 0));
  const std::string tp = "tp" + std::to_string(ranks);
  return "the " + std::to_string(of_values) + " heads of keys and values do not divide by " + tp +
         ", nor " + tp + " by them; the next smaller number that fits is " + std::to_string(near);
}

// Heads of queries, keys and values, in all layers that attend. `may_share`: several ranks hold the
// same head of keys and values, where there are fewer.
std::string heads_misfit(const Transformer& model, const std::string& by, int64_t ranks,
                         bool may_share) {
  for (const Mixing mixing : {Mixing::full, Mixing::window}) {
    if (model.heads == 0 || (mixing == Mixing::window && !model.window)) continue;
    const AttentionWidths widths = attention_widths(model, mixing);
    if (widths.heads % ranks != 0) return no_divisor("heads", widths.heads, by, ranks);
    const int64_t of_values = widths.kv_heads;
    if (model.latent || of_values % ranks == 0 || (may_share && ranks % of_values == 0)) continue;
    if (!may_share) return no_divisor("heads of keys and values", of_values, by, ranks);
    return shared_heads_misfit(widths, ranks);
  }
  return "";
}

std::string context_misfit(const Transformer& model, const Layout& layout) {
  const std::string cp = "cp" + std::to_string(layout.context);
  if (layout.context > 1 && model.linear)
    return not_modelled(cp, "linear layers, whose states pass from rank to rank; say cp1");
  if (layout.context > 1 && model.indexer)
    return not_modelled(cp, "sparse attention, whose indexer needs all positions; say cp1");

  if (layout.context > 1 && model.window && layout.context_by == ContextBy::ring)
    return not_modelled("context=ring",
                        "windows, of which most blocks need no keys; say context=gather or "
                        "context=ulysses");
  if (layout.context_by == ContextBy::ring) return "";
  const std::string name = "context=" + std::string(name_in(context_names, layout.context_by));
  if (layout.context == 1) return idle_beside(name, "cp1");
  if (layout.context_by == ContextBy::gather) return "";
  if (model.latent)
    return not_modelled(
        name, "latent attention, whose keys all heads share; say context=gather or context=ring");
  const int64_t ranks = layout.tensor * layout.context;
  return heads_misfit(model, name + " with tp x cp = ", ranks, false);
}

// Columns of the MLP, and heads of linear layers.
std::string columns_misfit(const Transformer& model, int64_t tp) {
  const OfKinds<int64_t> kinds = model.kinds();
  bool has_dense = false;
  for (std::size_t i = 0; i < most_kinds; ++i)
    has_dense = has_dense || (kinds[i] > 0 && kind_at(i).mlp == Mlp::dense);
  if (has_dense && model.mlp_width % tp != 0)
    return no_divisor("columns of the MLP", model.mlp_width, "tp", tp);
  if (model.experts && model.experts->all_shared_width() % tp != 0)
    return no_divisor("columns of the shared experts", model.experts->all_shared_width(), "tp", tp);
  if (!model.linear) return "";
  const LinearMixing& linear = *model.linear;
  if (linear.value_heads % tp != 0)
    return no_divisor("heads of values of linear layers", linear.value_heads, "tp", tp);
  if (linear.kind != LinearKind::mamba && linear.key_heads % tp != 0)
    return no_divisor("heads of keys of linear layers", linear.key_heads, "tp", tp);
  return "";
}

std::string shards_misfit(const Layout& layout) {
  if (layout.keeps_weights && layout.zero != 3)
    return "reshard=off belongs to zero3, which alone gathers weights in every pass";
  if (layout.shard_copies == 1) return "";
  const std::string name = "hsdp" + std::to_string(layout.shard_copies);
  if (layout.zero == 0) return name + " copies shards, and zero0 has none; leave it out";
  const int64_t ranks = layout.context * layout.replicas;
  if (ranks % layout.shard_copies != 0)
    return no_divisor("ranks cp x dp", ranks, "hsdp", layout.shard_copies);
  if (ranks == layout.shard_copies) return name + " leaves one rank for all shards: that is zero0";
  const int64_t of_experts = layout.tensor * ranks / layout.expert_ranks();
  if (layout.expert_ranks() > 1 && of_experts % layout.shard_copies != 0)
    return no_divisor("ranks with the same experts", of_experts, "hsdp", layout.shard_copies);
  return "";
}

std::string recompute_misfit(const Transformer& model, const Layout& layout, int64_t units) {
  const int64_t of_chunk = layout.stages.are_even() ? units / layout.chunks_in_all()
                                                    : longest_chunk(model.layers, layout);
  if (layout.recompute_layers > of_chunk)
    return "recompute=" + recompute_text(layout) + " is more than the " + std::to_string(of_chunk) +
           (layout.stages.are_even() ? " layers of a chunk" : " layers of the longest chunk") +
           "; recompute=full computes all of them";
  if (layout.recompute == Recompute::modules) return modules_misfit(model, layout);
  if (layout.recompute == Recompute::selective && !layout.keeps_scores)
    return "recompute=selective drops the scores of attention, which attention=flash never keeps; "
           "leave it out, or say attention=unfused";
  return "";
}

std::string operations_misfit(const Transformer& model, const Layout& layout) {
  if (layout.recompute == Recompute::operations && !knows_operations(model, layout))
    return not_modelled("recompute=operations",
                        "tp or cp above 1, latent attention and experts, nor for layers that are "
                        "not attention and then an MLP; say recompute=full, or leave it out");
  if (layout.kernels == Kernels::eager && !is_plain(model))
    return not_modelled("kernels=eager",
                        "latent attention and experts, nor for layers that are not attention and "
                        "then an MLP; leave it out");
  if (layout.keeps_scores && model.indexer)
    return not_modelled("attention=unfused", "sparse attention; leave it out");
  return "";
}

std::string exchange_misfit(const Layout& layout) {
  if (!layout.overlaps && layout.zero >= 2)
    return "overlap=off belongs to zero0 and zero1; zero2 and zero3 exchange layer by layer";
  if (layout.adds_apart && layout.zero >= 2)
    return "accumulate=apart belongs to zero0 and zero1; zero2 and zero3 keep no whole gradients "
           "to add to";
  if (!layout.splits_sends) return "";
  if (layout.pipeline == 1) return idle_beside("sends=split", "pp1");
  if (layout.tensor == 1) return idle_beside("sends=split", "tp1");
  if (layout.sequence_parallel) return idle_beside("sends=split", "sp, which splits sends already");
  return "";
}

bool has_adapters(const Transformer& model, const Layout& layout) {
  return adapters_of_token(model, layout.lora) > 0;
}

std::string lora_misfit(const Transformer& model, const Layout& layout) {
  const Lora& lora = layout.lora;
  if (!lora.is_used())
    return lora.frozen == FrozenFormat::bf16
               ? ""
               : "frozen=" + std::string(name_in(frozen_formats, lora.frozen)) +
                     " is how frozen weights are kept, and without lora none is; say lora=16, too";
  const std::string name = "lora=" + std::to_string(lora.rank);
  if (lora.rank > model.hidden)
    return name + " is wider than the hidden state; expected a rank of at most " +
           std::to_string(model.hidden);
  if (!has_adapters(model, layout))
    return name + ":" + std::string(name_in(lora_products, lora.products)) +
           " adapts nothing: no layer has such products; say " + name;
  if (layout.recompute == Recompute::operations)
    return "recompute=operations is not modelled with lora; say recompute=full, or leave it out";
  if (predictions_of(model, layout) > 0)
    return "mtp=" + std::to_string(*layout.predictions) +
           " trains whole layers, and with lora only adapters are trained; leave it out";
  return "";
}

std::string predictions_misfit(const Transformer& model, const Layout& layout) {
  if (model.patches && predictions_of(model, layout) > 0)
    return "mtp=" + std::to_string(*layout.predictions) +
           " predicts further tokens, and the input of this model are images; leave it out";
  return "";
}

}  // namespace

bool is_plain(const Transformer& model) {
  const auto is_none = [](auto kind) { return kind == std::decay_t<decltype(kind)>::none; };
  return !model.latent && !model.experts && !model.linear && !model.indexer && !model.parallel &&
         std::none_of(model.mixing_pattern.begin(), model.mixing_pattern.end(), is_none) &&
         std::none_of(model.mlp_pattern.begin(), model.mlp_pattern.end(), is_none);
}

bool knows_operations(const Transformer& model, const Layout& layout) {
  return layout.tensor == 1 && layout.context == 1 && is_plain(model);
}

std::string hidden_experts_misfit(const Transformer& model, const Layout& layout) {
  if (layout.experts == ExpertsUnder::alone) return "";
  const std::string word = "experts=" + std::string(name_in(experts_under, layout.experts));
  if (!model.experts) return "the model has no experts that " + word + " could hide; leave it out";
  if (layout.expert == 1) return idle_beside(word, "ep1");
  if (layout.experts == ExpertsUnder::shared) {
    if (model.experts->shared == 0) return idle_beside(word, "experts of which none is shared");
    if (layout.schedule == PipelineSchedule::dualpipe)
      return idle_beside(word, "dualpipe, which hides exchanges under other passes");
    return "";
  }
  if (layout.pipeline == 1 && layout.micro_batches == 1) return idle_beside(word, "ga1");
  if (layout.schedule != PipelineSchedule::one_f_one_b)
    return word + " pairs passes of schedule=1f1b" +
           (layout.schedule == PipelineSchedule::dualpipe
                ? "; dualpipe pairs them by itself, leave the word out"
                : "; leave it out, or say schedule=1f1b");
  if (layout.pipeline > 1 && layout.chunks == 1)
    return word +
           " needs virtual stages: without them a stage would wait for a whole pair of "
           "passes of the next one; say vp2 or more";
  if (layout.zero >= 2) return not_modelled(word, "zero2 and zero3; say zero1, or leave it out");
  return "";
}

std::string modules_misfit(const Transformer& model, const Layout& layout) {
  const OfKinds<int64_t> kinds = model.kinds();
  bool has_dense = false;
  bool attends = false;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    has_dense = has_dense || (kinds[i] > 0 && kind_at(i).mlp == Mlp::dense);
    attends = attends || (kinds[i] > 0 && kind_at(i).attends());
  }
  const bool has_experts = model.experts.has_value();
  const bool is_whole = layout.recomputes(RecomputedModule::moe);
  struct Idle {
    RecomputedModule module;
    bool is_idle;
    const char* with;
  };
  const char* dense = "dense layers alone";
  for (const auto& [module, is_idle, with] :
       {Idle{RecomputedModule::core_attn, !layout.keeps_scores, "attention=flash"},
        {RecomputedModule::mla_up_proj, !model.latent || !attends, "attention that is not latent"},
        {RecomputedModule::mlp, !has_dense, "experts in every layer"},
        {RecomputedModule::moe, !has_experts, dense},
        {RecomputedModule::moe_act, !has_experts || is_whole,
         is_whole ? "moe, which has it" : dense},
        {RecomputedModule::shared_experts, !has_experts || model.experts->shared == 0 || is_whole,
         is_whole      ? "moe, which has them"
         : has_experts ? "experts of which none is shared"
                       : dense}})
    if (is_idle && layout.recomputes(module))
      return idle_beside(
          "module " + std::string(name_in(recomputed_modules, module)) + " of recompute=", with);
  if (layout.kernels == Kernels::eager)
    return not_modelled("recompute=modules", "kernels=eager; say recompute=full, or leave it out");
  return "";
}

std::string misfit_of(const Transformer& model, const Layout& layout, int64_t sequence) {
  const int64_t tp = layout.tensor;
  for (const std::string& sentence :
       {heads_misfit(model, "tp", tp, true), columns_misfit(model, tp)})
    if (!sentence.empty()) return sentence;
  if (layout.context > 1 && sequence % (2 * layout.context) != 0)
    return no_divisor("positions of a sequence", sequence, "2 x cp = ", 2 * layout.context);
  if (layout.sequence_parallel && tp == 1) return idle_beside("sp", "tp1");
  if (layout.sequence_parallel && sequence / layout.context % tp != 0)
    return no_divisor("positions of a rank", sequence / layout.context, "tp", tp);
  if (layout.ends_are_layers && layout.pipeline == 1 && layout.stages.are_even())
    return idle_beside("ends=layers", "pp1");
  const int64_t units = model.layers + (layout.ends_are_layers ? 2 : 0);
  for (const std::string& sentence :
       {stage_misfit(model, layout, units), schedule_misfit(layout), expert_misfit(model, layout),
        hidden_experts_misfit(model, layout), context_misfit(model, layout), shards_misfit(layout),
        recompute_misfit(model, layout, units), exchange_misfit(layout),
        operations_misfit(model, layout), lora_misfit(model, layout),
        predictions_misfit(model, layout)})
    if (!sentence.empty()) return sentence;
  return "";
}

}  // namespace sgdsim
