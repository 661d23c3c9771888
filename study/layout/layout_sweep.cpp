// Points are words with some fields changed.
#include "study/layout/layout_sweep.h"

#include <algorithm>
#include <array>

#include "models/training/transformer_file.h"
#include "sim/core/error.h"
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

void add_cells(std::vector<std::string>& cells, const AnsweredLayouts& answered) {
  const LayoutQuestion& question = answered.question;
  const FoundLayout& best = answered.answer.best.front().found;
  const LayoutRates rates = rates_of(question, best);
  cells.insert(cells.end(), {to_text(best.layout), short_duration(best.time.us(), 5),
                             rounded(rates.tokens_per_s), rounded(100 * best.mfu, 3) + " %",
                             gib_text(best.memory_B), best.limit});
  if (rates.days) cells.push_back(days_text(*rates.days));
  if (rates.end) cells.push_back(days_text(rates.end->days));
}

}  // namespace

LayoutSweep::LayoutSweep(const LayoutWords& words)
    : words_(words), points_(words.axes, most_layout_points) {
  for (const Axis& axis : points_.axes()) check_field(axis.field());
}

std::vector<std::string> LayoutSweep::titles() const {
  std::vector<std::string> titles;
  for (const Axis& axis : points_.axes()) titles.push_back(axis.field());
  titles.insert(titles.end(),
                {"fastest layout", "step", "tokens/s/GPU", "MFU", "memory", "largest part"});
  if (!words_.tokens.empty()) titles.push_back(words_.tokens + " tokens");
  if (!words_.goodput.empty()) titles.emplace_back("with failures");
  return titles;
}

AnsweredPoint LayoutSweep::answer(int64_t number, Stopper& stopper) const {
  stopper.look();
  return points_.answered("sgdsim/layout-point/1", number, titles().size(),
                          [&](const Json& values, AnsweredPoint& point) {
                            LayoutWords one = words_;
                            for (const auto& [field, value] : values.items())
                              set_word(one, field, value);
                            const AnsweredLayouts answered = answer_layouts(one, false, stopper);
                            point.answer = to_json(answered.question, answered.answer);
                            point.warnings = warnings_of(answered.question, answered.answer);
                            add_cells(point.cells, answered);
                          });
}

}  // namespace sgdsim
