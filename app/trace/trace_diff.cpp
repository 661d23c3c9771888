// Pairing layers by name.
#include "app/trace/trace_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "study/table.h"

namespace sgdsim {
namespace {

struct Quantity {
  const char* name;
  bool is_time;
  double (*of)(const Layer& layer);
};
constexpr Quantity quantities[] = {
    {"parameters", false, [](const Layer& layer) { return static_cast<double>(layer.parameters); }},
    {"gradient", false,
     [](const Layer& layer) { return static_cast<double>(layer.gradient.count()); }},
    {"forward", true, [](const Layer& layer) { return layer.forward.us(); }},
    {"backward", true, [](const Layer& layer) { return layer.backward.us(); }}};

double percent_between(double a, double b) {
  const double larger = std::max(a, b);
  return larger > 0 ? 100 * std::abs(a - b) / larger : 0;
}

class Comparer {
 public:
  TraceDifference compare(const Trace& first, const Trace& second) {
    std::map<std::string, std::vector<const Layer*>> others;
    for (auto layer = second.layers.rbegin(); layer != second.layers.rend(); ++layer)
      others[layer->name].push_back(&*layer);
    compare("", "batch", static_cast<double>(first.batch), static_cast<double>(second.batch),
            false);
    compare("", "load", first.load.us(), second.load.us(), true);
    compare("", "update", first.update.us(), second.update.us(), true);
    // Of a trace that does not say it: when its layers' backward passes have ended.
    const bool has_ready = first.has_ready || second.has_ready;
    const std::vector<Duration> ready = ready_times(first);
    const std::vector<Duration> others_ready = ready_times(second);
    std::vector<const Layer*> partners;
    for (const Layer& layer : first.layers) {
      std::vector<const Layer*>& same = others[layer.name];
      if (same.empty()) {
        add_unlike(layer.name, "only in the first", 0, 0);
        continue;
      }
      const Layer& other = *same.back();
      compare(layer, other);
      if (has_ready)
        compare(layer.name, "ready", ready[place_in(first, layer)].us(),
                others_ready[place_in(second, other)].us(), true);
      partners.push_back(&other);
      same.pop_back();
    }
    compare_order(partners);
    for (const Layer& layer : second.layers) {
      std::vector<const Layer*>& left = others[layer.name];
      if (std::find(left.begin(), left.end(), &layer) != left.end())
        add_unlike(layer.name, "only in the second", 0, 0);
    }
    return std::move(difference_);
  }

 private:
  static std::size_t place_in(const Trace& trace, const Layer& layer) {
    return static_cast<std::size_t>(&layer - trace.layers.data());
  }
  // `partners`: of the layers of the first trace, those in the second. Places count from 1, among
  // the layers that are in both.
  void compare_order(const std::vector<const Layer*>& partners) {
    std::vector<const Layer*> in_order = partners;
    std::sort(in_order.begin(), in_order.end());
    for (std::size_t i = 0; i < partners.size(); ++i) {
      const auto there = std::lower_bound(in_order.begin(), in_order.end(), partners[i]);
      compare(partners[i]->name, "place", static_cast<double>(i + 1),
              static_cast<double>(there - in_order.begin() + 1), false);
    }
  }
  void compare(const Layer& one, const Layer& other) {
    for (const Quantity& quantity : quantities)
      compare(one.name, quantity.name, quantity.of(one), quantity.of(other), quantity.is_time);
    const auto tensors = [](const Layer& layer) {
      return static_cast<double>(std::max<std::size_t>(1, layer.tensors.size()));
    };
    compare(one.name, "tensors", tensors(one), tensors(other), false);
    if (one.tensors.size() == other.tensors.size() && one.tensors != other.tensors)
      add_unlike(one.name, "sizes of tensors", 0, 0);
  }
  void compare(const std::string& name, const char* what, double one, double other, bool is_time) {
    if (one == other) return;
    if (!is_time) return add_unlike(name, what, one, other);
    add(name, what, one, other, percent_between(one, other));
  }
  void add_unlike(const std::string& name, const char* what, double one, double other) {
    difference_.is_alike = false;
    add(name, what, one, other, 100);
  }
  void add(const std::string& name, const char* what, double one, double other, double percent) {
    difference_.layers.push_back({name, what, one, other});
    difference_.most_percent = std::max(difference_.most_percent, percent);
  }

  TraceDifference difference_;
};

// Of a trace.
struct Totals {
  const Trace* trace = nullptr;
};
Fields fields_of(const Totals& totals) {
  static const Trace none;
  const Trace& trace = totals.trace != nullptr ? *totals.trace : none;
  return {{"name", trace.name, "name of the trace"},
          Field("layers", trace.layers.size(), "how many layers").at_least(1),
          {"parameters", trace.parameters(), "parameters of all layers"},
          {"gradient_B", trace.gradient().count(), "gradients of all layers"},
          Field("forward_us", trace.forward().us(), "forward pass of all layers").at_least(0),
          Field("backward_us", trace.backward().us(), "backward pass of all layers").at_least(0),
          Field("update_us", trace.update.us(), "the optimizer's step").at_least(0)};
}

// What has no two numbers.
bool is_bare(const LayerDifference& one) {
  return one.what.starts_with("only") || one.what == "sizes of tensors";
}

std::string text_of(const LayerDifference& one, double value) {
  if (is_bare(one)) return "-";
  for (const char* const count : {"parameters", "batch", "tensors", "place"})
    if (one.what == count) return rounded(value, 12);
  return one.what == "gradient" ? short_size(value) : short_duration(value, 5);
}

std::optional<double> in_both(const LayerDifference& one, double value) {
  return is_bare(one) ? std::nullopt : std::optional(value);
}

}  // namespace

Fields fields_of(const LayerDifference& one) {
  return {{"name", one.name, "name of the layer; empty: it is the whole trace that differs"},
          Field("what", one.what, "what differs")
              .one_of({"batch", "load", "update", "only in the first", "only in the second",
                       "parameters", "gradient", "forward", "backward", "ready", "tensors",
                       "sizes of tensors", "place"}),
          {"first", in_both(one, one.first), "a count, bytes or us"},
          {"second", in_both(one, one.second), "a count, bytes or us"}};
}

namespace {

Fields answer_fields(const TraceDifference& difference, const Totals& first, const Totals& second) {
  return {
      answer_kind("sgdsim/trace-diff/1"),
      {"first", first, "totals of the first trace"},
      {"second", second, "totals of the second trace"},
      Field("most_percent", difference.most_percent,
            "the largest difference between two times, of the larger one; 100 where layers, their "
            "order, sizes or batches differ")
          .from(0, 100),
      {"layers", difference.layers,
       "every difference; layers are paired by name, those of the same name in order"}};
}

}  // namespace

TraceDifference difference_of(const Trace& first, const Trace& second) {
  return Comparer().compare(first, second);
}

Json to_json(const TraceDifference& difference, const Trace& first, const Trace& second) {
  return written(answer_fields(difference, {&first}, {&second}));
}
Json schema_of_trace_differences() { return record_schema(answer_fields({}, {}, {})); }

void print(std::ostream& out, const TraceDifference& difference, const Trace& first,
           const Trace& second) {
  Table totals({"", "first", "second"});
  const Json one = to_json_by_fields(Totals{&first});
  const Json other = to_json_by_fields(Totals{&second});
  for (const auto& [title, value] : one.items()) {
    const std::string& name = title;
    const auto text = [&](const Json& cell) {
      if (cell.is_string()) return cell.get<std::string>();
      const auto number = cell.get<double>();
      if (name.ends_with("_us")) return short_duration(number, 5);
      return name.ends_with("_B") ? short_size(number) : rounded(number, 12);
    };
    totals.add({name.substr(0, name.find('_')), text(value), text(other[name])});
  }
  totals.print(out);
  if (difference.layers.empty()) {
    out << "\nThe traces are the same.\n";
    return;
  }
  out << '\n';
  constexpr std::size_t most_lines = 40;
  Table table({"layer", "what", "first", "second"});
  for (std::size_t i = 0; i < std::min(most_lines, difference.layers.size()); ++i) {
    const LayerDifference& line = difference.layers[i];
    table.add({line.name.empty() ? "(all)" : line.name, line.what, text_of(line, line.first),
               text_of(line, line.second)});
  }
  table.print(out, 2);
  if (difference.layers.size() > most_lines)
    out << "and " << difference.layers.size() - most_lines << " more; --format json has all\n";
}

}  // namespace sgdsim
