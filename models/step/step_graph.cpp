// Forward, backward, messages and update, and what each of them waits for.
#include "models/step/step_graph.h"

#include <optional>

namespace sgdsim {
namespace {

class StepMaker {
 public:
  StepMaker(const StepShape& shape, StepGraph& step)
      : shape_(shape),
        plan_(*shape.plan),
        step_(step),
        graph_(step.graph),
        layers_(static_cast<int>(shape.trace->layers.size())),
        next_(layers_ - 1) {}

  void make() {
    graph_.clear();
    graph_.reserve(4 * shape_.trace->layers.size() + 4);
    const bool late = plan_.gate == Gate::per_layer;
    if (!late) begin();
    if (shape_.pipeline != nullptr) update(0);
    if (plan_.bsp != BspForm::none) {
      take_turns();
    } else {
      late ? forward_after_updates() : forward();
      step_.backward = static_cast<uint32_t>(graph_.actions().size());
      send();
    }
    if (!late && shape_.pipeline == nullptr) update(0, network_stream);
    if (shape_.pipeline != nullptr) lead_on();
    graph_.close(shape_.together ? network_stream : no_stream);
  }

 private:
  uint32_t add(Activity activity, int index, uint8_t follows = no_stream) {
    return graph_.add({activity, compute_stream, follows, index, index});
  }
  uint32_t add_message(Activity activity, int index, uint8_t follows = no_stream) {
    return graph_.add({activity, network_stream, follows, index, index});
  }

  // The batch of an iteration is loaded while the one before it is worked on.
  void begin() {
    step_.begin = add(Activity::begin, 0);
    if (shape_.trace->load == Duration()) return;
    const uint32_t load = graph_.add({Activity::load, loader_stream, compute_stream});
    graph_.edge(load, step_.begin, 1);
  }

  // Decoding and updating: of a layer, or of everything. Returns the first of them.
  uint32_t update(int layer, uint8_t follows = no_stream) {
    const bool decodes = shape_.compressed && shape_.exchanges;
    const uint32_t first = add(decodes ? Activity::decompress : Activity::update, layer, follows);
    if (decodes) add(Activity::update, layer);
    return first;
  }

  void forward() { graph_.add({Activity::forward, compute_stream, no_stream, 0, layers_ - 1}); }
  void forward_after_updates() {
    for (int l = 0; l < layers_; ++l) {
      updates_.push_back(update(l));
      if (l == 0) begin();
      add(Activity::forward, l);
    }
  }
  void backward_to(int layer) {
    if (layer > next_) return;
    graph_.add({Activity::backward, compute_stream, no_stream, layer, next_});
    next_ = layer - 1;
  }

  // Every message as soon as its gradients are there and encoded.
  void send() {
    const std::vector<PlannedMessage>& messages = plan_.messages;
    if (plan_.after_backward) backward_to(0);
    for (std::size_t m = 0; shape_.exchanges && m < messages.size(); ++m) {
      const std::size_t first = m;
      backward_to(messages[m].first_layer);
      if (shape_.compressed)
        add(Activity::compress, static_cast<int>(m));
      else if (plan_.order == Order::priority)
        while (m + 1 < messages.size() && are_of_one_layer(messages[m], messages[m + 1])) ++m;
      last_message_ = graph_.add({Activity::message, network_stream, compute_stream,
                                  static_cast<int>(first), static_cast<int>(m)});
      if (plan_.gate == Gate::per_layer)
        for (int l = messages[m].first_layer; l <= messages[m].last_layer; ++l)
          graph_.edge(*last_message_, updates_[static_cast<std::size_t>(l)], 1);
    }
    backward_to(0);
  }
  static bool are_of_one_layer(const PlannedMessage& a, const PlannedMessage& b) {
    return a.first_layer == b.first_layer && a.last_layer == a.first_layer &&
           b.last_layer == b.first_layer;
  }

  // The next iterations need not wait for these messages, of which the last is the last to end.
  void lead_on() {
    const PipelineRule& rule = *shape_.pipeline;
    const auto width = static_cast<uint32_t>(rule.width);
    graph_.leads(step_.begin, width);
    if (!last_message_) return;
    graph_.edge(*last_message_, step_.begin, width);
    if (width > 1 && shape_.iteration + 1 < rule.synchronous)
      graph_.edge(*last_message_, step_.begin, 1);
  }

  // BSP-SGD as in the LP paper: one collective at a time, layer by layer.
  //
  //   serial    sum B + sum f + sum b + sum R
  //   lockstep  B_1 + sum_{i<L} max(f_i, B_{i+1}) + f_L
  //             + b_L + sum_{i=L-1..1} max(b_i, R_{i+1}) + R_1
  //   fifo      B queue up from the start, f_i waits for B_i; R queue up behind b_i
  //
  // with f, b, B, R the forward, backward, broadcast and reduction of layer i = 1..L. All-reduce
  // has no broadcasts.
  using Place = std::optional<uint32_t>;
  Place broadcast(int layer, Place after = {}) {
    if (!plan_.bsp_broadcasts) return after;
    return then(add_message(Activity::broadcast, layer), after);
  }
  Place reduce(int layer, Place after) {
    return then(add_message(Activity::message, layers_ - 1 - layer), after);
  }
  Place compute(Activity activity, int layer, Place after = {}) {
    return then(add(activity, layer), after);
  }
  Place then(uint32_t action, Place after) {
    if (after) graph_.edge(*after, action);
    return action;
  }
  void take_turns() {
    switch (plan_.bsp) {
      case BspForm::none:
        return;
      case BspForm::serial:
        return serial();
      case BspForm::lockstep:
        return lockstep();
      case BspForm::fifo:
        return fifo();
    }
  }
  void serial() {
    Place last = step_.begin;
    for (int l = 0; l < layers_; ++l) last = broadcast(l, last);
    for (int l = 0; l < layers_; ++l) last = compute(Activity::forward, l, last);
    for (int l = layers_; l-- > 0;) last = compute(Activity::backward, l, last);
    for (int l = layers_; l-- > 0;) last = reduce(l, last);
  }
  // A layer computes while the next one travels, then both wait.
  void lockstep() {
    Place computed = step_.begin;
    Place travels = broadcast(0, computed);
    for (int l = 0; l < layers_; ++l) {
      const Place arrived = travels;
      if (l + 1 < layers_) travels = broadcast(l + 1, computed);
      computed = compute(Activity::forward, l, arrived);
    }
    for (int l = layers_; l-- > 0;) {
      const Place arrived = travels;
      if (l + 1 < layers_) travels = reduce(l + 1, computed);
      computed = compute(Activity::backward, l, arrived);
    }
    reduce(0, computed);
  }
  void fifo() {
    std::vector<Place> arrived;
    for (int l = 0; l < layers_; ++l) arrived.push_back(broadcast(l, step_.begin));
    for (int l = 0; l < layers_; ++l)
      compute(Activity::forward, l, arrived[static_cast<std::size_t>(l)]);
    for (int l = layers_; l-- > 0;) reduce(l, compute(Activity::backward, l));
  }

  const StepShape& shape_;
  const GradientPlan& plan_;
  StepGraph& step_;
  WorkGraph& graph_;
  int layers_;
  int next_;  // the layer whose backward comes next
  std::optional<uint32_t> last_message_;
  std::vector<uint32_t> updates_;  // where each layer's begins
};

}  // namespace

void make_step_graph(const StepShape& shape, StepGraph& step) { StepMaker(shape, step).make(); }

}  // namespace sgdsim
