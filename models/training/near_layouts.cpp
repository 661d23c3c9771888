// Every member is set to each of its values, one at a time; what does not divide is asked of
// misfit_of.
#include "models/training/near_layouts.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

namespace sgdsim {
namespace {

std::vector<std::string> words_of_text(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// What a word sets: "tp" of "tp8", "stages=" of "stages=spread", "sp" of "sp".
std::string key_of(const std::string& word) {
  const std::size_t end = word.find('=');
  return end == std::string::npos ? word.substr(0, word.find_first_of("0123456789"))
                                  : word.substr(0, end + 1);
}

// The word that stands for what is not said.
std::string unsaid(const std::string& word) {
  const std::string key = key_of(word);
  if (key == "zero") return "zero0";
  return key.size() < word.size() && key.back() != '=' ? key + "1" : "no " + word;
}

bool follows(const std::string& word) {
  const std::string key = key_of(word);
  return key == "dp" || key == "ga";
}

class Neighbours {
 public:
  Neighbours(const Transformer& model, const LayoutSpace& space, const Layout& given,
             const std::function<void(const Layout&)>& f)
      : model_(model), space_(space), given_(given), f_(f) {}

  void all() {
    offer(given_);
    sizes();
    words();
  }

 private:
  template <class T, class Values>
  void each(T Layout::*member, const Values& values) {
    for (const auto& value : values) {
      Layout layout = given_;
      layout.*member = static_cast<T>(value);
      offer(layout);
    }
  }

  void sizes() {
    const std::vector<int64_t> of_gpus = divisors_of(space_.gpus);
    each(&Layout::tensor, of_gpus);
    for (const int64_t stages : of_gpus) {
      if (stages > model_.layers + 2) break;
      Layout layout = given_;
      layout.pipeline = stages;
      if (given_.stages.list.empty() && !given_.stages.first && !given_.stages.last)
        spread_layers(model_, layout);
      offer(layout);
    }
    each(&Layout::context, of_gpus);
    each(&Layout::chunks, chunks_of_search(model_, given_));
    if (model_.experts) each(&Layout::expert, divisors_of(model_.experts->count));
    if (model_.experts) each(&Layout::expert_tensor, divisors_of(model_.experts->width));
    std::vector<int64_t> powers;
    for (int64_t b = 1; b <= most_micro_batch; b *= 2) powers.push_back(b);
    each(&Layout::micro_batch, powers);
    each(&Layout::shard_copies, divisors_of(given_.context * given_.replicas));
  }

  void words() {
    each(&Layout::zero, std::vector<int>{0, 1, 2, 3});
    constexpr std::array both = {0, 1};
    each(&Layout::sequence_parallel, both);
    each(&Layout::keeps_weights, both);
    each(&Layout::half_gradients, both);
    each(&Layout::overlaps, both);
    each(&Layout::splits_sends, both);
    for (const Recompute what :
         {Recompute::none, Recompute::selective, Recompute::full, Recompute::operations}) {
      Layout layout = given_;
      layout.recompute = what;
      layout.recompute_layers = 0;
      layout.recompute_modules = {};
      offer(layout);
    }
    if (given_.recompute == Recompute::none || given_.recompute == Recompute::modules) modules();
    for (const auto& under : experts_under) {
      Layout layout = given_;
      layout.experts = under.second;
      offer(layout);
    }
    for (const auto& [name, by] : context_names) {
      Layout layout = given_;
      layout.context_by = by;
      offer(layout);
    }
    for (const auto& [name, dispatch] : dispatch_names) {
      Layout layout = given_;
      layout.dispatch = dispatch;
      offer(layout);
    }
    for (const auto& [name, schedule] : pipeline_schedules) {
      Layout layout = given_;
      layout.schedule = schedule;
      if (schedule == PipelineSchedule::zbv) layout.chunks = 2;
      if (schedule == PipelineSchedule::zb1p || schedule == PipelineSchedule::dualpipe ||
          schedule == PipelineSchedule::gpipe)
        layout.chunks = 1;
      offer(layout);
    }
  }

  // One more of those that are computed again, or one less.
  void modules() {
    for (const auto& [name, module] : recomputed_modules) {
      Layout layout = given_;
      layout.recompute_modules.set(module, !given_.recompute_modules.has(module));
      layout.recompute = layout.recompute_modules.are_none() ? Recompute::none : Recompute::modules;
      offer(layout);
    }
  }

  // Without what has no meaning in it any more; replicas and micro-batches follow.
  void offer(Layout layout) {
    if (layout.tensor == 1) layout.sequence_parallel = layout.splits_sends = false;
    if (layout.context == 1) layout.context_by = ContextBy::ring;
    if (layout.pipeline == 1) {
      layout.chunks = 1;
      layout.schedule = PipelineSchedule::one_f_one_b;
    }
    if (layout.zero < 3) layout.keeps_weights = false;
    if (layout.expert_ranks() == 1) layout.dispatch = Dispatch::direct;
    if (layout.expert == 1) layout.experts = ExpertsUnder::alone;
    if (layout.zero == 0) layout.shard_copies = 1;
    const int64_t of_replica = layout.tensor * layout.pipeline * layout.context;
    if (space_.gpus % of_replica != 0) return;
    layout.replicas = space_.gpus / of_replica;
    if (space_.batch % (layout.replicas * layout.micro_batch) != 0) return;
    layout.micro_batches = space_.batch / (layout.replicas * layout.micro_batch);
    if (layout.micro_batches > most_micro_batches) return;
    if (std::find(seen_.begin(), seen_.end(), layout) != seen_.end()) return;
    seen_.push_back(layout);
    if (!misfit_of(model_, layout, space_.sequence).empty()) return;
    f_(layout);
  }

  const Transformer& model_;
  const LayoutSpace& space_;
  const Layout given_;
  const std::function<void(const Layout&)>& f_;
  std::vector<Layout> seen_;
};

}  // namespace

void for_each_near(const Transformer& model, const LayoutSpace& space, const Layout& given,
                   const std::function<void(const Layout&)>& f) {
  Neighbours(model, space, given, f).all();
}

std::string changed_words(const Layout& given, const Layout& other) {
  const std::vector<std::string> before = words_of_text(to_text(given));
  const std::vector<std::string> after = words_of_text(to_text(other));
  const auto has_key = [](const std::vector<std::string>& words, const std::string& key) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return key_of(word) == key; });
  };
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const std::string& word : after)
    if (!follows(word) && std::find(before.begin(), before.end(), word) == before.end()) add(word);
  for (const std::string& word : before)
    if (!follows(word) && !has_key(after, key_of(word))) add(unsaid(word));
  return text;
}

}  // namespace sgdsim
