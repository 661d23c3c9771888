// Points are words with some fields changed.
#include "study/layout/layout_sweep.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "study/layout/layout_files.h"
#include "study/step/override.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int64_t most_layout_points = 1'000'000;

const std::vector<std::pair<std::string, std::string LayoutWords::*>>& text_fields() {
  static const std::vector<std::pair<std::string, std::string LayoutWords::*>> fields = {
      {"model", &LayoutWords::model},
      {"layout", &LayoutWords::layout},
      {"gpu", &LayoutWords::gpu},
      {"memory", &LayoutWords::memory},
      {"precision", &LayoutWords::precision},
      {"gradients", &LayoutWords::gradients},
      {"with", &LayoutWords::with},
      {"documents", &LayoutWords::documents},
      {"program", &LayoutWords::program}};
  return fields;
}
struct WholeField {
  const char* name;
  int64_t LayoutWords::*member;
  int64_t most;
};
constexpr std::array<WholeField, 3> whole_fields{{
    {"gpus", &LayoutWords::gpus, most_gpus},
    {"sequence", &LayoutWords::sequence, most_sequence},
    {"global_batch", &LayoutWords::batch, most_global_batch},
}};
constexpr std::string_view of_cluster = "cluster.";
constexpr std::string_view of_sites = "sites.";
constexpr std::string_view of_algorithms = "algorithm";

void set_word(LayoutWords& words, const std::string& field, const Json& value) {
  const std::string where = "--axis " + field;
  if (field == of_algorithms) {
    words.algorithms = {Value(value, where, "").text()};
    return;
  }
  for (const auto& [name, member] : text_fields())
    if (name == field) {
      const bool is_length = field == "documents" && value.is_number();
      words.*member = is_length ? value.dump() : Value(value, where, "").text();
      return;
    }
  for (const WholeField& one : whole_fields)
    if (field == one.name) {
      words.*one.member = Value(value, where, "").whole(1, one.most);
      return;
    }
  if (field.starts_with(of_sites)) {
    Json sites = words.sites.empty() ? Json::object() : Document::read(words.sites).root().json();
    set_field(sites, steps_of(field.substr(of_sites.size()), where), value, where);
    words.sites = sites.dump();
    return;
  }
  words.settings.push_back(field.substr(of_cluster.size()) + "=" + text_of_value(value));
}

void check_field(const std::string& field) {
  for (const std::string_view owner : {of_cluster, of_sites})
    if (field.starts_with(owner) && field.size() > owner.size()) return;
  std::vector<std::string> known = {std::string(of_algorithms)};
  for (const auto& one : text_fields()) known.push_back(one.first);
  for (const WholeField& one : whole_fields) known.emplace_back(one.name);
  if (std::find(known.begin(), known.end(), field) != known.end()) return;
  known.insert(known.end(), {"cluster.FIELD", "sites.FIELD"});
  throw InputError("--axis " + field.substr(0, 80), unknown_name("field", field, known));
}

// An option that an axis says, too, would be read by nothing. The model is always said.
void check_said_once(const LayoutWords& words, const std::string& field) {
  LayoutWords usual;
  LayoutWords given = words;
  const Fields before = layout_fields(usual);
  auto other = before.begin();
  for (const Field& one : layout_fields(given)) {
    const bool is_usual = one.write() == (other++)->write();
    if (is_usual || one.name() != field || field == "model") continue;
    std::string option = "--" + field;
    std::replace(option.begin(), option.end(), '_', '-');
    throw said_by_axis(option, field);
  }
}

std::string sensitive_text(const Breaks& breaks) {
  if (breaks.all.empty() || breaks.all.front().gpu_hours_a_day <= 0) return "-";
  const Break& worst = breaks.all.front();
  return worst.says + ", " + worst.left + ": " + change_text(worst.change_percent);
}

// The kind of link that has to reach most.
std::string margin_text(const std::vector<Margin>& margins) {
  const Margin* first = nullptr;
  for (const Margin& one : margins)
    if (one.left && (first == nullptr || *one.left > *first->left)) first = &one;
  if (first == nullptr) return "-";
  return first->says + " below " + rounded(100 * *first->left, 3) + " %: " + first->layout;
}

std::vector<std::string> cells_of(const AnsweredLayouts& answered, const FoundLayout& best,
                                  bool is_first) {
  std::vector<std::string> cells;
  const LayoutQuestion& question = answered.question;
  const LayoutRates rates = rates_of(question, best);
  cells.insert(cells.end(), {to_text(best.layout), short_duration(best.time.us(), 5),
                             rounded(rates.tokens_per_s), rounded(100 * best.mfu, 3) + " %",
                             gib_text(best.memory_B), best.limit});
  if (rates.days) cells.push_back(days_text(*rates.days));
  if (rates.end) cells.push_back(days_text(rates.end->days));
  const LayoutAnswer& answer = answered.answer;
  if (answer.margins) cells.push_back(is_first ? margin_text(*answer.margins) : "");
  if (answer.breaks) cells.push_back(is_first ? sensitive_text(*answer.breaks) : "");
  return cells;
}

// The fastest first; of `lines` each has a row.
void add_rows(AnsweredPoint& point, const AnsweredLayouts& answered) {
  const std::vector<std::string> axes = point.cells;
  for (const LayoutLine& line : answered.answer.best) {
    const bool is_first = &line == &answered.answer.best.front();
    std::vector<std::string>& row = is_first ? point.cells : point.more_cells.emplace_back(axes);
    const std::vector<std::string> cells = cells_of(answered, line.found, is_first);
    row.insert(row.end(), cells.begin(), cells.end());
  }
}

}  // namespace

LayoutSweep::LayoutSweep(const LayoutWords& words)
    : words_(words), points_(words.axes, most_layout_points) {
  for (const Axis& axis : points_.axes()) {
    check_field(axis.field());
    check_said_once(words, axis.field());
  }
  check_values();
}

LayoutWords LayoutSweep::words_at(const Json& values) const {
  LayoutWords words = words_;
  for (const auto& [field, value] : values.items()) set_word(words, field, value);
  return words;
}

// Some point must have a cluster that can be read.
void LayoutSweep::check_values() const {
  constexpr int64_t most_checked = 500;
  const int64_t checked = std::min(points_.count(), most_checked);
  std::string problem;
  for (int64_t i = 0; i < checked; ++i) {
    const int64_t number = checked == 1 ? 0 : i * (points_.count() - 1) / (checked - 1);
    try {
      const LayoutWords words = words_at(points_.values_at(number));
      cluster_in(Value(cluster_json(words.cluster, words.settings), words.cluster, ""), 0);
      return;
    } catch (const InputError& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  const auto is_of_cluster = [](const Axis& axis) { return axis.field().starts_with(of_cluster); };
  const auto names_it = [&](const Axis& axis) {
    return is_of_cluster(axis) && problem.find('"' + axis.steps().back() + '"') != problem.npos;
  };
  const std::vector<Axis>& axes = points_.axes();
  auto axis = std::find_if(axes.begin(), axes.end(), names_it);
  if (axis == axes.end()) axis = std::find_if(axes.begin(), axes.end(), is_of_cluster);
  if (axis == axes.end() || problem.starts_with("--")) throw InputError("", problem);
  throw InputError(axis->where(), "no point can be read: " + problem);
}

std::vector<std::string> LayoutSweep::titles() const {
  std::vector<std::string> titles;
  for (const Axis& axis : points_.axes()) titles.push_back(axis.field());
  titles.insert(titles.end(),
                {"fastest layout", "step", "tokens/s/GPU", "MFU", "memory", "largest part"});
  if (!words_.tokens.empty()) titles.push_back(words_.tokens + " tokens");
  if (!words_.goodput.empty()) titles.emplace_back("with failures");
  if (words_.margins) titles.emplace_back("first flips with");
  if (words_.breaks) titles.emplace_back("most sensitive to");
  return titles;
}

AnsweredPoint LayoutSweep::answer(int64_t number, Stopper& stopper) const {
  stopper.look();
  return points_.answered("sgdsim/layout-point/1", number, titles().size(),
                          [&](const Json& values, AnsweredPoint& point) {
                            const LayoutWords one = words_at(values);
                            const AnsweredLayouts answered = answer_layouts(one, false, stopper);
                            point.answer = to_json(answered.question, answered.answer);
                            point.warnings = warnings_of(answered.question, answered.answer);
                            add_rows(point, answered);
                          });
}

// On wires each may need gigabytes.
int64_t LayoutSweep::at_once() const {
  constexpr int64_t on_wires = 4;
  constexpr int64_t in_closed_form = 256;
  const auto& axes = points_.axes();
  const bool is_search =
      words_.layout.empty() &&
      std::none_of(axes.begin(), axes.end(), [](const Axis& a) { return a.field() == "layout"; });
  if (is_search || !words_.near.empty()) return 1;
  return words_.fidelity == "closed_form" ? in_closed_form : on_wires;
}

AnsweredPoint LayoutSweep::next_answer(Stopper& stopper) {
  if (ready_.empty()) {
    const int64_t count = std::min(at_once(), points() - begun_);
    std::vector<AnsweredPoint> points =
        worked_on<AnsweredPoint>(static_cast<std::size_t>(count), {.look = [&] { stopper.look(); }},
                                 [&](int, std::size_t number, const std::function<void()>& look) {
                                   Stopper its(look, limits_of(&stopper));
                                   return answer(begun_ + static_cast<int64_t>(number), its);
                                 });
    begun_ += count;
    std::move(points.begin(), points.end(), std::back_inserter(ready_));
  }
  AnsweredPoint next = std::move(ready_.front());
  ready_.pop_front();
  return next;
}

}  // namespace sgdsim
