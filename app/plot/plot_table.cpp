// Rows are read once; of each only its axes and the columns that are shown are kept.
#include "app/plot/plot_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "app/plot/plot_rows.h"
#include "sim/core/error.h"
#include "study/advise/apart.h"
#include "study/shell_word.h"
#include "study/sweep/amount.h"
#include "study/sweep/best.h"
#include "study/sweep/columns.h"
#include "study/sweep/where.h"

namespace sgdsim {
namespace {

// What people call a method, in the order in which a name says it.
constexpr std::array<const char*, 6> method_axes = {"method",          "strategy",  "compression",
                                                    "synchronization", "algorithm", "transport"};

constexpr int64_t most_rows = 1'000'000;

bool has_result(const Json& row) { return !row.contains("error"); }

// The axes of a row, and the columns that the question names, under their whole names.
Json axes_of(const Json& row, const std::vector<std::string>& columns) {
  Json axes = row.contains("axes") && row["axes"].is_object() ? row["axes"] : Json::object();
  for (const std::string& column : columns) axes[column] = column_of(row, column);
  return axes;
}

Json exchange_of(const Json& row) {
  Json exchange = Json::object();
  const Json axes = row.value("axes", Json::object());
  for (const char* column : exchange_columns) {
    if (axes.is_object() && axes.contains(column)) exchange[column] = axes[column];
    if (row.contains(column)) exchange[column] = row[column];
  }
  return exchange;
}

std::string named_if_given(const std::string& name, const Json& row, const char* option) {
  return name.empty() || name == "method" ? "" : column_named(name, row, option);
}

std::vector<Json> values_of(const std::vector<PlotRow>& rows, const std::string& axis) {
  std::vector<Json> values;
  std::set<std::string> seen;
  for (const PlotRow& row : rows) {
    const Json value = row.axes.value(axis, Json());
    if (seen.insert(value.dump()).second) values.push_back(value);
  }
  return values;
}

// ---- conditions, by the grammar of sweeps

// What separates the parts of a condition, if it stands here.
std::string_view separator_at(std::string_view text) {
  for (const std::string_view one : {" or ", " and ", "==", "!=", "<=", ">=", "<", ">", "*"})
    if (text.starts_with(one)) return one;
  return {};
}

// A part of a condition that means an axis is that one: "nodes" is cluster.nodes. But behind a sign
// a word that the column before it has as a value is that value: "kind == nodes".
class WholeNames {
 public:
  explicit WholeNames(const std::vector<PlotRow>& rows, const Json& axes)
      : rows_(rows), names_(axes_in(axes)), row_{{"axes", axes}} {}

  std::string of(const std::string& condition) {
    std::string text, part;
    left_.clear();
    for (std::size_t at = 0; at < condition.size();) {
      const std::string_view rest = std::string_view(condition).substr(at);
      const std::string_view sign = separator_at(rest);
      if (sign.empty()) {
        const std::size_t size = rest.front() == '"' ? end_of_quote(condition, at) - at : 1;
        part += rest.substr(0, size);
        at += size;
        continue;
      }
      text += named(std::exchange(part, ""), sign) + std::string(sign);
      at += sign.size();
    }
    return text + named(part, " and ");
  }

 private:
  // `sign`: what stands behind the part.
  std::string named(const std::string& part, std::string_view sign) {
    const std::size_t first = part.find_first_not_of(' ');
    if (first == std::string::npos) return part;
    const std::size_t last = part.find_last_not_of(' ');
    const std::string word = part.substr(first, last + 1 - first);
    const bool is_one = std::any_of(names_.begin(), names_.end(),
                                    [&](const std::string& axis) { return means(word, axis); });
    const std::string whole = !is_one                 ? word
                              : is_value(left_, word) ? Json(word).dump()
                                                      : column_named(word, row_, "--where");
    if (sign != "*") left_ = sign.front() == ' ' ? "" : whole;
    return part.substr(0, first) + whole + part.substr(last + 1);
  }

  bool is_value(const std::string& axis, const std::string& word) const {
    return !axis.empty() && std::any_of(rows_.begin(), rows_.end(), [&](const PlotRow& row) {
      return name_of_value(row.axes.value(axis, Json())) == Json(word);
    });
  }

  const std::vector<PlotRow>& rows_;
  std::vector<std::string> names_;
  Json row_;
  std::string left_;  // of the sign: what the part behind it is compared with
};

// As a condition reads it: in quotes where it would be taken for something else.
std::string literal_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  const bool is_word = !text.empty() && Json::parse(text, nullptr, false).is_discarded() &&
                       std::all_of(text.begin(), text.end(), [](unsigned char letter) {
                         return std::isalnum(letter) != 0 || letter == '_' || letter == '-';
                       });
  return is_word || amount_of(value) ? text : value.dump();
}

bool is_method(const std::string& axis) {
  return std::any_of(method_axes.begin(), method_axes.end(), [&](const std::string& name) {
    return axis == name || axis.ends_with("." + name);
  });
}

}  // namespace

std::vector<std::string> axes_in(const Json& axes) {
  std::vector<std::string> names;
  for (const auto& member : axes.items()) names.push_back(member.key());
  return names;
}

std::vector<std::string> varying_axes(const PlotTable& table) {
  std::vector<std::string> names;
  // A row of CSV has nothing but columns, of which nobody says what was varied.
  if (!table.columns.contains("axes") || table.columns.size() == 1) return names;
  for (const PlotRow& row : table.rows)
    for (const std::string& axis : axes_in(row.axes))
      if (axis != table.x && axis != table.y &&
          std::find(names.begin(), names.end(), axis) == names.end())
        names.push_back(axis);
  std::erase_if(names, [&](const std::string& axis) { return !varies(table.rows, axis); });
  return names;
}

std::string where_held(const PlotTable& table, const std::string& axis) {
  const Json held = table.rows.front().axes.value(axis, Json());
  std::set<std::string> fields;  // in which values of this name differ
  for (const Json& value : values_of(table.rows, axis))
    if (value.is_object() && name_of_value(value) == name_of_value(held))
      for (const auto& field : value.items()) fields.insert(field.key());
  for (const char* name : {"name", "algorithm"})
    if (fields.erase(name) > 0) break;
  std::string condition = axis + " == " + literal_text(name_of_value(held));
  for (const std::string& field : fields)
    condition += " and " + axis + "." + field +
                 " == " + literal_text(held.is_object() ? held.value(field, Json()) : Json());
  const bool has_quotes = condition.find_first_of("\"$`\\") != std::string::npos;
  return "--where " + (has_quotes ? shell_word(condition) : "\"" + condition + "\"");
}

void hold_others(const PlotTable& table, const std::vector<std::string>& used, const char* option) {
  for (const std::string& axis : varying_axes(table))
    if (std::find(used.begin(), used.end(), axis) == used.end())
      throw InputError(
          option, "the axis " + axis + " varies, too; hold it, as by " + where_held(table, axis));
}

bool varies(const std::vector<PlotRow>& rows, const std::string& axis) {
  return std::any_of(rows.begin(), rows.end(), [&](const PlotRow& row) {
    return row.axes.value(axis, Json()) != rows.front().axes.value(axis, Json());
  });
}

namespace {

// Leaves the rows for which all conditions hold.
void keep_where(PlotTable& table, const std::vector<std::string>& conditions) {
  if (conditions.empty()) return;
  Json all = Json::object();  // some rows may lack an axis
  for (const PlotRow& row : table.rows)
    for (const auto& axis : row.axes.items())
      if (!all.contains(axis.key())) all[axis.key()] = axis.value();
  std::vector<Axis> axes;
  std::vector<std::map<std::string, int64_t>> number_of;
  for (const std::string& name : axes_in(all)) {
    const std::vector<Json> values = values_of(table.rows, name);
    const Json list = values;
    axes.emplace_back(name, Value(list, "--where", ""));
    number_of.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i)
      number_of.back().emplace(values[i].dump(), static_cast<int64_t>(i));
  }
  Json texts = Json::array();
  WholeNames whole(table.rows, all);
  for (const std::string& one : conditions) texts.push_back(whole.of(one));
  const Where where(Value(texts, "--where", ""), axes, Json::object());
  std::erase_if(table.rows, [&](const PlotRow& row) {
    Choice choice;
    for (std::size_t a = 0; a < axes.size(); ++a)
      choice.push_back(number_of[a].at(row.axes.value(axes[a].field(), Json()).dump()));
    return !where.holds(axes, choice);
  });
  if (table.rows.empty()) throw InputError("--where", "no row is left");
}

// Columns are chosen after a look at many rows: in the first one a column may be null, or missing.
class TableReader {
 public:
  explicit TableReader(const PlotRequest& request) : request_(request) {}

  void add(const Json& row) {
    note_point(row);
    if (!has_result(row)) {
      ++table_.left_out.without_result;
      return;
    }
    if (is_chosen_) {
      keep(row);
      return;
    }
    add_columns(table_.columns, row);
    waiting_.push_back(row);
    if (waiting_.size() == most_looked_at) choose();
  }

  PlotTable finish() {
    if (!is_chosen_) choose();
    table_.left_out.missing =
        std::max<int64_t>(0, table_.left_out.of - static_cast<int64_t>(points_.size()));
    if (table_.rows.empty())
      throw InputError(request_.options.y, "no row has a number in the column " + table_.y);
    return std::move(table_);
  }

 private:
  static constexpr std::size_t most_looked_at = 1000;

  void note_point(const Json& row) {
    const auto point = row.find("point");
    const auto of = row.find("of");
    if (point == row.end() || of == row.end()) return;
    if (!point->is_number_integer() || !of->is_number_integer()) return;
    points_.insert(point->get<int64_t>());
    table_.left_out.of = std::max(table_.left_out.of, of->get<int64_t>());
  }

  void choose() {
    if (waiting_.empty()) throw InputError(request_.file, "no row has a result");
    const Json& columns = table_.columns;
    table_.x = column_named(request_.x, columns, request_.options.x);
    table_.y = column_named(request_.y, columns, request_.options.y);
    shown_ = {table_.x};
    for (const auto& [name, option] :
         {std::pair(request_.by, "--by"), std::pair(request_.panel, request_.options.panel)})
      if (const std::string column = named_if_given(name, columns, option); !column.empty())
        shown_.push_back(column);
    is_chosen_ = true;
    for (const Json& row : waiting_) keep(row);
    waiting_.clear();
  }

  void keep(const Json& row) {
    const Json y = column_of(row, table_.y);
    if (!amount_of(y))
      ++table_.left_out.without_result;
    else
      table_.rows.push_back({written_alike(axes_of(row, shown_)), y, exchange_of(row)});
    if (static_cast<int64_t>(table_.rows.size()) > most_rows)
      throw InputError(request_.file, "more than " + std::to_string(most_rows) +
                                          " rows are no picture; sweep fewer values");
  }

  // "10Gbps" and "1.25 GBps" as the first row wrote them that has as much: they are one value.
  Json written_alike(Json axes) {
    for (auto& axis : axes.items()) {
      if (!axis.value().is_string()) continue;
      const auto [known, is_new] =
          alike_[axis.key()].try_emplace(axis.value().get<std::string>(), axis.value());
      if (is_new)
        if (const auto amount = amount_of(axis.value()))
          known->second = first_[axis.key()]
                              .try_emplace(std::pair(amount->kind, amount->value), axis.value())
                              .first->second;
      axis.value() = known->second;
    }
    return axes;
  }

  std::set<int64_t> points_;  // of a sweep, that are in the file
  const PlotRequest& request_;
  PlotTable table_;
  std::map<std::string, std::map<std::string, Json>> alike_;  // by axis and text
  std::map<std::string, std::map<std::pair<Amount::Kind, double>, Json>> first_;
  std::vector<std::string> shown_;
  std::vector<Json> waiting_;
  bool is_chosen_ = false;
};

}  // namespace

PlotTable read_plot_table(const PlotRequest& request) {
  TableReader reader(request);
  const int64_t torn = read_plot_rows(request.file, [&](const Json& row) { reader.add(row); });
  PlotTable table = reader.finish();
  table.left_out.torn_line = torn;
  keep_where(table, request.where);
  return table;
}

PlotRequest over_both(PlotRequest request, const std::string& value, const char* option) {
  request.panel = std::exchange(request.y, value);
  request.options = {"--x", option, "--y"};
  return request;
}

std::vector<std::string> curve_axes(const PlotRequest& request, const PlotTable& table) {
  if (!request.by.empty() && request.by != "method")
    return {column_named(request.by, table.columns, "--by")};
  std::vector<std::string> methods, others = varying_axes(table);
  for (const std::string& axis : axes_in(table.rows.front().axes))
    if (is_method(axis) && axis != table.x && varies(table.rows, axis)) methods.push_back(axis);
  if (!methods.empty()) return methods;
  if (request.by == "method") {
    for (const std::string& axis : axes_in(table.rows.front().axes))
      if (is_method(axis) && axis != table.x) return {axis};
    throw InputError("--by", "no column names methods; say which column");
  }
  if (others.size() == 1 && request.panel.empty()) return others;
  return {};
}

std::string name_of_curve(const PlotRow& row, const std::vector<std::string>& axes) {
  std::string name;
  for (const std::string& axis : axes) {
    const std::string label = value_label(row.axes.value(axis, Json()));
    if (label == "null" || (axes.size() > 1 && label == "none")) continue;
    name += (name.empty() ? "" : ", ") + label;
  }
  return name.empty() && !axes.empty() ? "none" : name;
}

}  // namespace sgdsim
