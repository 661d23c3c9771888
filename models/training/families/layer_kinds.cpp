// Which layers have windows, linear attention and experts.
#include <algorithm>
#include <array>

#include "models/training/families/family.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

const Names count_names = {"num_local_experts", "num_experts", "n_routed_experts",
                           "moe_num_experts"};
const Names visit_names = {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k",
                           "moe_top_k",           "top_k_experts"};
const Names width_names = {"moe_intermediate_size", "expert_ffn_hidden_size"};
const Names shared_names = {"n_shared_experts", "num_shared_experts", "num_shared_expert",
                            "moe_num_shared_experts"};
const Names shared_width_names = {"shared_expert_intermediate_size",
                                  "moe_shared_expert_intermediate_size",
                                  "shared_intermediate_size"};
const Names first_names = {"first_k_dense_replace", "first_last_k_dense_replace",
                           "moe_layer_start_index", "num_dense_layers"};
const Names step_names = {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval",
                          "moe_layer_frequency"};

constexpr Named<Mixing, 13> layer_names{{{"full_attention", Mixing::full},
                                         {"attention", Mixing::full},
                                         {"global_attention", Mixing::full},
                                         {"global", Mixing::full},
                                         {"full", Mixing::full},
                                         {"sliding_attention", Mixing::window},
                                         {"chunked_attention", Mixing::window},
                                         {"sliding", Mixing::window},
                                         {"local_attention", Mixing::window},
                                         {"local", Mixing::window},
                                         {"linear_attention", Mixing::linear},
                                         {"mamba2", Mixing::linear},
                                         {"mamba", Mixing::linear}}};

// Says for each layer whether it has experts.
std::vector<bool> layers_with_experts(const Keys& keys, const Transformer& model) {
  std::vector<bool> has(at(model.layers), true);
  const int64_t step = keys.whole_or(step_names, 1, 1, most_model_layers);
  for (std::size_t i = 0; i < has.size(); ++i) has[i] = (i + 1) % at(step) == 0;
  if (keys.has("moe_layer_freq") && keys.value().child("moe_layer_freq").json().is_array()) {
    const auto list = keys.list_or_none("moe_layer_freq", 1);
    if (list.size() != has.size())
      keys.value()
          .child("moe_layer_freq")
          .fail("expected an entry for each of the " + std::to_string(has.size()) +
                " layers, got " + std::to_string(list.size()));
    for (std::size_t i = 0; i < has.size(); ++i) has[i] = list[i] == 1;
  } else {
    const int64_t frequency = keys.whole_or({"moe_layer_freq"}, 1, 1, most_model_layers);
    for (std::size_t i = 0; i < has.size(); ++i) has[i] = has[i] && i % at(frequency) == 0;
  }
  if (keys.has("is_moe_layer")) {
    const Value list = keys.value().child("is_moe_layer");
    if (list.size() != has.size())
      list.fail("expected an entry for each of the " + std::to_string(has.size()) +
                " layers, got " + std::to_string(list.size()));
    const std::vector<Value> entries = list.items();
    for (std::size_t i = 0; i < has.size(); ++i) has[i] = entries[i].flag();
  }
  if (keys.has("moe_layers")) {
    has.assign(has.size(), false);
    for (const int64_t layer : keys.list_or_none("moe_layers", model.layers - 1))
      has[at(layer)] = true;
  }
  for (const int64_t layer : keys.list_or_none("mlp_only_layers", most_model_layers))
    if (layer < model.layers) has[at(layer)] = false;
  const int64_t last =
      keys.whole_or({"moe_layer_end_index"}, model.layers - 1, -1, most_model_layers);
  for (int64_t layer = last < 0 ? model.layers : last + 1; layer < model.layers; ++layer)
    has[at(layer)] = false;
  return has;
}

// So that only later layers count: the first ones are dense without being in the pattern.
void set_mlp_pattern(const std::vector<bool>& has_experts, Transformer& model) {
  std::vector<Mlp> list;
  for (const bool has : has_experts) list.push_back(has ? Mlp::experts : Mlp::dense);
  const auto period = shortest_period(list);
  if (period != std::vector<Mlp>{Mlp::experts}) model.mlp_pattern = period;
}

void set_window(const Keys& keys, const Names& names, Transformer& model) {
  if (!model.window) model.window = Window{};
  if (model.window->size == 0) model.window->size = keys.whole(names, 1, most_sequence);
}

void read_list(const Keys& keys, const Value& list, Transformer& model) {
  if (list.size() != at(model.layers))
    list.fail("expected a kind for each of the " + std::to_string(model.layers) + " layers, got " +
              std::to_string(list.size()));
  std::vector<Mixing> kinds;
  bool in_blocks = false;
  for (const Value& item : list.items()) {
    kinds.push_back(named_in(layer_names, "kind of layers", item.text(), item.where()));
    in_blocks = in_blocks || item.text() == "chunked_attention";
  }
  const auto is = [&](Mixing mixing) {
    return std::find(kinds.begin(), kinds.end(), mixing) != kinds.end();
  };
  if (is(Mixing::window)) {
    set_window(keys, in_blocks ? Names{"attention_chunk_size"} : Names{"sliding_window"}, model);
    model.window->in_blocks = in_blocks;
  }
  kinds = shortest_period(kinds);
  if (kinds != std::vector<Mixing>{Mixing::full}) model.mixing_pattern = kinds;
}

std::vector<Mixing> windows_of(const Keys& keys, Windows windows, int64_t layers) {
  switch (windows) {
    case Windows::none:
      break;
    case Windows::all:
      return {Mixing::window};
    case Windows::pattern: {
      const int64_t period = keys.whole({"sliding_window_pattern"}, 1, most_model_layers);
      if (period > layers) return {Mixing::window};
      std::vector<Mixing> kinds(at(period), Mixing::window);
      kinds.back() = Mixing::full;
      return kinds;
    }
    case Windows::upper: {
      const int64_t first = keys.whole_or({"max_window_layers"}, 0, 0, most_model_layers);
      if (first >= layers) break;
      std::vector<Mixing> kinds(at(layers), Mixing::window);
      std::fill_n(kinds.begin(), first, Mixing::full);
      return shortest_period(kinds);
    }
  }
  return {};
}

}  // namespace

void read_experts_of(const Keys& keys, const Family& family, Transformer& model) {
  Experts experts;
  experts.count = keys.whole(count_names, 1, most_experts);
  experts.per_token = keys.whole(visit_names, 1, most_experts);
  experts.width = model.mlp_width;
  if (!family.experts_are_mlps || keys.first(width_names) != nullptr)
    experts.width = keys.whole(width_names, 1, most_width);
  experts.shared = keys.whole_or(shared_names, 0, 0, most_experts);
  experts.shared_width = keys.whole_or(shared_width_names, 0, 0, most_width);
  if (experts.shared_width > 0 && experts.shared == 0) experts.shared = 1;
  if (experts.shared == 0 || experts.shared_width == experts.width) experts.shared_width = 0;
  experts.first_dense = keys.whole_or(first_names, 0, 0, most_model_layers);
  experts.router_bias = family.router_bias;
  if (keys.text_or("topk_method", "") != "greedy") {
    experts.groups = keys.whole_or({"n_group"}, 1, 1, most_expert_groups);
    experts.groups_taken = keys.whole_or({"topk_group"}, experts.groups, 1, most_expert_groups);
  }
  // Those of the class, of experts that are fewer than the file would need for them.
  if (experts.count % experts.groups != 0) experts.groups = experts.groups_taken = 1;
  model.experts = experts;
  set_mlp_pattern(layers_with_experts(keys, model), model);
}

void read_layer_types(const Keys& keys, const Family& family, Transformer& model) {
  if (keys.has("layer_types")) return read_list(keys, keys.value().child("layer_types"), model);
  if (!keys.has("sliding_window") || !keys.flag_or({"use_sliding_window"}, true)) return;
  const auto kinds = windows_of(keys, family.windows, model.layers);
  if (kinds.empty()) return;
  set_window(keys, {"sliding_window"}, model);
  if (kinds != std::vector<Mixing>{Mixing::full}) model.mixing_pattern = kinds;
  if (kinds == std::vector<Mixing>{Mixing::full}) model.window.reset();
}

}  // namespace sgdsim
