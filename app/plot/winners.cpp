// One pass over the rows finds the best of each cell.
#include "app/plot/winners.h"

#include <algorithm>
#include <array>
#include <set>

#include "app/plot/looks.h"
#include "app/plot/plot_rows.h"
#include "models/strategy/strategy.h"
#include "sim/core/error.h"
#include "study/sweep/amount.h"
#include "study/sweep/best.h"
#include "study/sweep/contest.h"
#include "study/sweep/gains.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_cells = 64;  // along a side

struct Cell {
  std::string winner;
  int64_t ties = 0;
};

struct Winners {
  std::vector<std::string> columns, rows, names;
  std::vector<std::vector<Cell>> cells;  // by row
  Apart apart;
  std::string by;  // the column that decides
  LeftOut left_out;
};

std::size_t place_of(std::vector<std::string>& list, const std::string& text, const char* option) {
  const auto found = std::find(list.begin(), list.end(), text);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  if (list.size() == most_cells)
    throw InputError(option, "more than " + std::to_string(most_cells) +
                                 " values do not fit on a map; leave some out with --where");
  list.push_back(text);
  return list.size() - 1;
}

// Files may hold what a terminal would obey.
std::string label_of(const PlotRow& row, const std::string& axis) {
  return printable(value_label(row.axes.value(axis, Json())));
}

std::vector<std::string> compared_fields(const PlotTable& table,
                                         const std::vector<std::string>& by) {
  const Json& first = table.rows.front().exchange;
  std::vector<std::string> fields;
  for (const std::string& axis : by)
    for (std::string& field : fields_of_axis(axis, [&](const char* column) {
           return std::any_of(table.rows.begin(), table.rows.end(), [&](const PlotRow& row) {
             return row.exchange.value(column, Json()) != first.value(column, Json());
           });
         }))
      fields.push_back(std::move(field));
  return fields;
}

// A strategy that no program runs wins nothing.
bool is_of_bound(const PlotRow& row) {
  const Json strategy = row.exchange.value("strategy", Json());
  return strategy.is_string() && is_bound(strategy.get<std::string>());
}

Winners winners_of(const PlotRequest& request, const std::string& best) {
  const PlotRequest of_table = over_both(request, best, "--best");
  const PlotTable table = read_plot_table(of_table);
  const std::string down = column_named(request.y, table.columns, "--y");
  std::vector<std::string> used = curve_axes(of_table, table);
  if (used.empty()) throw InputError("--by", "nothing is compared in these rows; say which column");
  const std::vector<std::string> by = used;
  used.insert(used.end(), {table.x, down});
  hold_others(table, used, "--best");
  const std::vector<std::string> fields = compared_fields(table, by);
  const bool chooses_strategy = std::any_of(fields.begin(), fields.end(), is_strategy_field);
  Winners winners;
  winners.apart = apart_by(fields, table.y);
  winners.by = table.y;
  winners.left_out = table.left_out;
  std::vector<std::vector<Contest<std::string>>> contests;
  std::vector<std::vector<std::set<std::string>>> who;  // takes part
  std::set<std::string> everybody;
  for (const PlotRow& row : table.rows) {
    if (chooses_strategy && is_of_bound(row)) continue;
    const std::size_t c = place_of(winners.columns, label_of(row, table.x), "--x");
    const std::size_t r = place_of(winners.rows, label_of(row, down), "--y");
    if (r == contests.size()) {
      contests.emplace_back();
      who.emplace_back();
    }
    contests[r].resize(std::max(contests[r].size(), c + 1));
    who[r].resize(contests[r].size());
    const double amount = amount_of(row.y)->value;
    const std::string name = printable(name_of_curve(row, by));
    contests[r][c].add(name, is_gain(table.y) ? -amount : amount, winners.apart);
    who[r][c].insert(name);
    everybody.insert(name);
  }
  for (std::size_t r = 0; r < contests.size(); ++r) {
    winners.cells.emplace_back();
    for (std::size_t c = 0; c < contests[r].size(); ++c) {
      const Contest<std::string>& contest = contests[r][c];
      Cell& cell = winners.cells.back().emplace_back();
      // Who is missing might have won.
      const bool are_all = table.left_out.missing == 0 || who[r][c].size() == everybody.size();
      if (contest.winners().empty() || !are_all) continue;
      cell = {contest.winners().front().choice, contest.ties()};
      place_of(winners.names, cell.winner, "--by");
    }
  }
  return winners;
}

// Letters on a ground of the colour: black or white ones, whichever are read better.
std::string on_colour(const std::string& text, const std::string& hex) {
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) rgb[i] = std::stoi(hex.substr(1 + 2 * i, 2), nullptr, 16);
  const bool is_dark = 30 * rgb[0] + 59 * rgb[1] + 11 * rgb[2] < 100 * 125;
  return "\033[" + std::string(is_dark ? "97" : "30") + ";48;2;" + std::to_string(rgb[0]) + ";" +
         std::to_string(rgb[1]) + ";" + std::to_string(rgb[2]) + "m" + text + "\033[0m";
}

std::string fitted(const std::string& text, std::size_t width) {
  std::string cut = text.substr(0, width);
  while (cut.size() < text.size() && !cut.empty() &&
         (static_cast<unsigned char>(text[cut.size()]) & 0xC0U) == 0x80U)
    cut.pop_back();  // no half of a letter
  cut.resize(width, ' ');
  return cut;
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t most = 0;
  for (const std::string& text : texts) most = std::max(most, text.size());
  return most;
}

class Map {
 public:
  Map(const Winners& winners, const Terminal& terminal)
      : winners_(winners), terminal_(terminal), places_(places_of(winners.names)) {
    margin_ = widest(winners.rows) + 2;
    const auto columns = static_cast<std::size_t>(terminal.columns);
    const std::size_t room = columns > margin_ ? columns - margin_ : 0;
    const std::size_t whole = std::max(widest(winners.names) + 4, widest(winners.columns) + 1);
    width_ = std::clamp<std::size_t>(room / winners.columns.size(), 5, whole);
    has_numbers_ = widest(winners.columns) >= width_;
    set_keys();
  }

  void print(std::ostream& out, const std::string& across) const {
    out << std::string(margin_, ' ') << across << '\n' << std::string(margin_, ' ');
    for (std::size_t c = 0; c < winners_.columns.size(); ++c)
      out << fitted(has_numbers_ ? std::to_string(c + 1) : winners_.columns[c], width_);
    out << '\n';
    for (std::size_t r = 0; r < winners_.rows.size(); ++r) {
      out << fitted(winners_.rows[r], margin_);
      for (const Cell& cell : winners_.cells[r]) out << text_of(cell);
      out << '\n';
    }
    if (cuts_names_ || terminal_.colour) print_names(out);
    if (!has_numbers_) return;
    out << '\n';
    for (std::size_t c = 0; c < winners_.columns.size(); ++c)
      out << c + 1 << ": " << winners_.columns[c] << '\n';
  }

 private:
  static std::string ties_of(const Cell& cell) {
    return cell.ties > 0 ? " +" + std::to_string(cell.ties) : "";
  }
  // For the name of a cell's winner, beside its ties.
  std::size_t room_beside(const std::string& ties) const {
    return width_ - 1 - std::min(width_ - 2, ties.size());
  }

  // What cells show of each name: a letter for each where beginnings are all that fits and two of
  // them are alike.
  void set_keys() {
    std::size_t least = width_ - 1;
    for (const auto& row : winners_.cells)
      for (const Cell& cell : row) least = std::min(least, room_beside(ties_of(cell)));
    std::set<std::string> beginnings;
    for (const std::string& name : winners_.names) beginnings.insert(fitted(name, least));
    cuts_names_ = least < widest(winners_.names);
    has_letters_ = beginnings.size() < winners_.names.size();
  }
  std::size_t number_of(const std::string& name) const {
    const auto at = std::find(winners_.names.begin(), winners_.names.end(), name);
    return static_cast<std::size_t>(at - winners_.names.begin());
  }
  std::string key_of(const std::string& name) const {
    if (!has_letters_) return name;
    const std::size_t i = number_of(name);
    return static_cast<char>('A' + i % 26) + (i < 26 ? "" : std::to_string(i / 26));
  }
  std::string colour_of(const std::string& name) const {
    return look_at(places_[number_of(name)]).colour;
  }

  std::string text_of(const Cell& cell) const {
    if (cell.winner.empty()) return fitted("-", width_);
    const std::string ties = ties_of(cell);
    const std::string key = key_of(cell.winner);
    const std::size_t room = width_ - 1;
    const std::string text = key.size() + ties.size() <= room
                                 ? fitted(key + ties, room)
                                 : fitted(fitted(key, room_beside(ties)) + ties, room);
    return (terminal_.colour ? on_colour(text, colour_of(cell.winner)) : text) + " ";
  }

  void print_names(std::ostream& out) const {
    out << '\n';
    std::size_t used = 0;
    if (!has_letters_ && cuts_names_) {
      out << "in full: ";
      used = 9;
    }
    for (const std::string& one : winners_.names) {
      const std::string name = has_letters_ ? key_of(one) + ": " + one : one;
      const bool is_last = one == winners_.names.back();
      used += name.size() + 3;
      if (used > static_cast<std::size_t>(terminal_.columns)) {
        out << '\n';
        used = name.size() + 3;
      }
      out << (terminal_.colour ? on_colour(" " + name + " ", colour_of(one)) : name)
          << (terminal_.colour || is_last ? " " : ", ");
    }
    out << '\n';
  }

  const Winners& winners_;
  Terminal terminal_;
  std::vector<std::size_t> places_;
  std::size_t margin_ = 0;
  std::size_t width_ = 0;
  bool has_numbers_ = false;  // in place of headings that are too wide
  bool cuts_names_ = false;
  bool has_letters_ = false;  // in place of names
};

}  // namespace

LeftOut print_winners(std::ostream& out, const PlotRequest& request, const std::string& best,
                      const Terminal& terminal) {
  const Winners winners = winners_of(request, best);
  out << "The " << best_word(winners.by) << ' ' << printable(words_of_column(winners.by))
      << " of each place\n\n";
  Map(winners, terminal).print(out, request.x);
  const bool has_ties =
      std::any_of(winners.cells.begin(), winners.cells.end(), [](const auto& row) {
        return std::any_of(row.begin(), row.end(), [](const Cell& cell) { return cell.ties > 0; });
      });
  if (has_ties) out << "+n: n others are as good" << as_good_within(winners.apart.error) << '\n';
  return winners.left_out;
}

}  // namespace sgdsim
