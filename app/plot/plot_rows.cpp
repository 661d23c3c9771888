// Telling the kinds of files apart, and finding columns by the ends of their names.
#include "app/plot/plot_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/sweep/columns.h"
#include "study/sweep/point_database.h"
#include "traces/log_text.h"
#include "traces/spreadsheet.h"

namespace sgdsim {
namespace {

constexpr char expected_rows[] =
    "expected points that sgdsim sweep wrote, another answer of sgdsim with a list of objects, or "
    "CSV with titles";

// ---- comma-separated values (RFC 4180), and what spreadsheets of other countries make of them

class CsvText {
 public:
  CsvText(const std::string& text, const std::string& file) : text_(text), file_(file) {
    for (; at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'); ++at_)
      if (text_[at_] == '\n') ++line_;
    separator_ = separator_of(std::string_view(text_).substr(at_, text_.find('\n', at_) - at_));
  }

  // The cells of the next line; false at the end.
  bool next(std::vector<std::string>& cells) {
    cells.clear();
    if (at_ >= text_.size()) return false;
    ++line_;
    do cells.push_back(cell());
    while (at_ < text_.size() && text_[at_] == separator_ && ++at_ != std::string::npos);
    for (const std::string& one : cells)
      if (const std::string problem = problem_of_text(one, true); !problem.empty())
        throw InputError(where(), "a cell " + problem);
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_++] != '\n')
      throw InputError(where(), "there is something behind the closing quote of a cell");
    return true;
  }
  std::string where() const { return file_ + ":" + std::to_string(line_); }
  char separator() const { return separator_; }

 private:
  std::string cell() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ >= text_.size() || text_[at_] != '"') {
      const std::string ends = std::string("\r\n") + separator_;
      const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
      std::size_t last = end;
      while (last > at_ && is_blank(text_[last - 1])) --last;
      const std::size_t from = std::exchange(at_, end);
      return text_.substr(from, last - from);
    }
    std::string value;
    while (true) {
      const std::size_t quote = text_.find('"', at_ + 1);
      if (quote == std::string::npos) throw InputError(where(), "a quote is not closed");
      value += text_.substr(at_ + 1, quote - at_ - 1);
      at_ = quote + 1;
      if (at_ < text_.size() && text_[at_] == '"') {
        value += '"';
        continue;
      }
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      return value;
    }
  }
  bool is_blank(char letter) const {
    return letter == ' ' || (letter == '\t' && separator_ != '\t');
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int64_t line_ = 0;
  char separator_ = ',';
};

Json value_of(const std::string& cell) {
  double number = 0;
  const char* end = cell.data() + cell.size();
  const auto [stopped, problem] = read_decimal(cell.data(), end, number);
  if (cell.empty()) return {};
  if (problem != std::errc() || stopped != end || std::isinf(number)) return cell;
  if (std::isnan(number)) return {};
  const bool is_whole = std::abs(number) <= 0x1p53 && number == std::floor(number);
  return is_whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

void read_csv(const std::string& text, const std::string& file,
              const std::function<void(const Json&)>& use) {
  CsvText csv(text, file);
  std::vector<std::string> titles;
  csv.next(titles);
  if (titles.size() < 2) throw InputError(file, expected_rows);
  for (auto title = titles.begin(); title != titles.end(); ++title)
    if (!title->empty() && std::find(titles.begin(), title, *title) != title)
      throw InputError(csv.where(), "the title \"" + *title + "\" stands there twice");
  std::vector<std::string> cells;
  DecimalCommas commas;
  while (csv.next(cells)) {
    if (csv.separator() != ',')
      for (std::string& cell : cells) {
        commas.see(cell, csv.where());
        cell = with_decimal_point(std::move(cell));
      }
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() != titles.size())
      throw InputError(csv.where(), "expected " + std::to_string(titles.size()) +
                                        " cells as in the first line, got " +
                                        std::to_string(cells.size()));
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!titles[i].empty()) row["axes"][titles[i]] = value_of(cells[i]);
    use(row);
  }
  commas.check();
}

// ---- JSON

bool is_list_of_objects(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_object(); });
}

void use_document(const Json& json, const std::string& file,
                  const std::function<void(const Json&)>& use) {
  const Json* list = is_list_of_objects(json) ? &json : nullptr;
  if (json.is_object())
    for (const auto& member : json.items())
      if (list == nullptr && is_list_of_objects(member.value())) list = &member.value();
  if (list == nullptr) throw InputError(file, expected_rows);
  for (const Json& row : *list) use(row);
}

// Returns the number of a last line that is cut off, as a report takes it; 0: none.
int64_t read_lines(const std::string& text, const std::string& file,
                   const std::function<void(const Json&)>& use) {
  std::istringstream stream(text);
  int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = file + ":" + std::to_string(number);
    if (!check_text(line, where) && stream.eof() && number > 1) return number;
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) throw InputError(where, expected_rows);
    use(row);
  }
  return 0;
}

// ---- columns

}  // namespace

bool means(const std::string& name, const std::string& column) {
  constexpr std::array<const char*, 14> units = {"_samples_per_s",
                                                 "_tokens_per_s",
                                                 "_GB_per_s",
                                                 "_percent",
                                                 "_GBps",
                                                 "_GiB",
                                                 "_days",
                                                 "_us",
                                                 "_ps",
                                                 "_ms",
                                                 "_B",
                                                 "_h",
                                                 "_s",
                                                 ".mean"};
  const auto ends = [&](const std::string& text) {
    return text == name || (text.size() > name.size() && text.ends_with(name) &&
                            text[text.size() - name.size() - 1] == '.');
  };
  if (ends(column)) return true;
  return std::any_of(units.begin(), units.end(), [&](const std::string& unit) {
    return column.ends_with(unit) && ends(column.substr(0, column.size() - unit.size()));
  });
}

namespace {

// For people: the ends of names, without what only identifies a row.
std::vector<std::string> short_names(const Json& row, const std::vector<std::string>& columns) {
  static const std::set<std::string> hidden = {"schema", "sweep",    "point", "of",  "id",
                                               "path",   "warnings", "mean",  "p50", "p95",
                                               "p99",    "max",      "n"};
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    const std::string name = column.substr(column.rfind('.') + 1);
    const bool is_axis = row.contains("axes") && row["axes"].contains(column);
    if ((is_axis || !hidden.contains(name)) &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

// Null may be a value in another row.
bool may_be_one_value(const Json& value) { return !value.is_array() && !value.is_object(); }

// Of the names of one figure the one that people read: its mean by the name of all, and a time in
// microseconds.
void leave_one_name(std::vector<std::string>& found, const std::vector<std::string>& known) {
  const auto has = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const std::vector<std::string> all = found;
  std::erase_if(found, [&](const std::string& one) {
    const auto before = [&](std::size_t letters) {
      return one.substr(0, std::max(one.size(), letters) - letters);
    };
    return (one.ends_with(".mean") && has(all, before(5))) ||
           (one.ends_with("_ps") && has(known, before(3) + "_us"));
  });
}

// What a point answers is the first of its list: of layouts the fastest.
Json with_first(const Json& row) {
  Json flat = row;
  for (auto& member : flat["answer"].items())
    if (is_list_of_objects(member.value())) {
      const Json first = member.value().front();
      member.value() = first;
    }
  return flat;
}

}  // namespace

int64_t read_plot_rows(const std::string& file, const std::function<void(const Json& row)>& take) {
  const auto use = [&](const Json& row) {
    if (row.contains("answer") && row["answer"].is_object())
      take(with_first(row));
    else
      take(row);
  };
  if (holds_database(file)) {
    read_filled_database(file, [&](Json&& line) { use(line); });
    return 0;
  }
  const std::string text = read_log(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(file, std::string("is empty; ") + expected_rows);
  if (text[first] != '{' && text[first] != '[') {
    const std::string table = plain_table(text, file);
    check_text(table, file);
    read_csv(table, file, use);
    return 0;
  }
  const std::string line = text.substr(first, text.find('\n', first) - first);
  const Json begins = Json::parse(line, nullptr, false);
  const bool is_alone = text.find_first_not_of(" \t\r\n", first + line.size()) == std::string::npos;
  if (!begins.is_discarded() && !is_alone) return read_lines(text, file, use);
  if (begins.is_object() && begins.contains("axes"))
    use(begins);  // a file of one point
  else
    use_document(Document::parse(text, file).root().json(), file, use);
  return 0;
}

void add_columns(Json& all, const Json& row) {
  if (!all.is_object() || !row.is_object()) {
    if (all.is_null() || row.is_object()) all = row;
    return;
  }
  for (const auto& [name, value] : row.items()) add_columns(all[name], value);
}

std::string column_named(const std::string& name, const Json& row, const std::string& option) {
  const std::vector<std::string> known = columns_in(row);
  std::vector<std::string> axes, others;
  for (const std::string& column : known) {
    if (column == name) return column;
    if (!means(name, column)) continue;
    if (row.contains("axes") && row["axes"].contains(column))
      axes.push_back(column);
    else if (may_be_one_value(column_of(row, column)))
      others.push_back(column);
  }
  std::vector<std::string>& found = axes.empty() ? others : axes;
  if (found.empty())
    throw InputError(option, unknown_name("column", name, short_names(row, known)));
  leave_one_name(found, known);
  // "iteration" is metrics.iteration_us before all others: what people read.
  const auto is_shown = [](const std::string& one) { return one.starts_with("metrics."); };
  if (std::any_of(found.begin(), found.end(), is_shown))
    std::erase_if(found, std::not_fn(is_shown));
  if (found.size() == 1) return found.front();
  std::string list;
  for (const std::string& one : found) list += (list.empty() ? "" : ", ") + one;
  throw InputError(option, "\"" + name + "\" may be several columns; say which: " + list);
}

}  // namespace sgdsim
