// Slices are laid over columns; each column keeps how much of it every activity fills.
#include "app/step/gantt.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "app/table.h"

namespace sgdsim {
namespace {

constexpr int compute_lane = -1;  // channels count from 0

struct Column {
  std::array<double, 8> filled{};       // by activity, in parts of the column
  std::map<int, double> message_parts;  // by number
};

using Lane = std::vector<Column>;

int lane_of(const Slice& slice) {
  switch (slice.activity) {
    case Activity::forward:
    case Activity::backward:
    case Activity::compress:
    case Activity::decompress:
    case Activity::update:
      return compute_lane;
    default:
      return slice.channel;
  }
}

struct Picture {
  Time begin = Time::last();
  Time end;
  int columns = 0;
  std::map<std::pair<int, int>, Lane> lanes;  // by worker and lane

  double column_ps() const {
    return std::max(1., static_cast<double>((end - begin).ps()) / columns);
  }

  void add(const Slice& slice) {
    Lane& lane = lanes[{slice.worker, lane_of(slice)}];
    lane.resize(static_cast<std::size_t>(columns));
    const double from = static_cast<double>((slice.start - begin).ps()) / column_ps();
    const double to = static_cast<double>((slice.end - begin).ps()) / column_ps();
    const int last = std::min(columns - 1, static_cast<int>(to));
    for (int c = std::min(last, static_cast<int>(from)); c <= last; ++c) {
      const double part = std::min<double>(to, c + 1) - std::max<double>(from, c);
      if (part <= 0) continue;
      Column& column = lane[static_cast<std::size_t>(c)];
      column.filled[static_cast<std::size_t>(slice.activity)] += part;
      if (slice.activity == Activity::message) column.message_parts[slice.index] += part;
    }
  }
};

char letter_of(const Column& column, Activity activity, bool half) {
  switch (activity) {
    case Activity::forward:
      return half ? 'F' : 'f';
    case Activity::backward:
      return half ? 'B' : 'b';
    case Activity::compress:
    case Activity::decompress:
      return half ? 'C' : 'c';
    case Activity::update:
      return half ? 'U' : 'u';
    case Activity::broadcast:
      return half ? 'P' : 'p';
    case Activity::waiting:
      return '-';
    case Activity::message:
    case Activity::begin:
    case Activity::load:
      break;
  }
  const bool one = column.message_parts.size() == 1 && half;
  return one ? static_cast<char>('0' + column.message_parts.begin()->first % 10) : '~';
}

// Of 16 colours, so that the reader's own theme decides how they look.
const char* colour_of(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return "\033[34m";
    case Activity::backward:
      return "\033[36m";
    case Activity::compress:
    case Activity::decompress:
    case Activity::update:
      return "\033[35m";
    case Activity::message:
    case Activity::broadcast:
      return "\033[32m";
    case Activity::waiting:
      return "\033[33m";
    case Activity::begin:
    case Activity::load:
      break;
  }
  return "";
}

std::string text_of(const Lane& lane, bool colour) {
  constexpr double nothing = 1e-9;  // of a column: rounding
  std::string text;
  const char* now = "";
  for (const Column& column : lane) {
    const auto most = std::max_element(column.filled.begin(), column.filled.end());
    const bool empty = *most < nothing;
    const auto activity = static_cast<Activity>(most - column.filled.begin());
    const char* wanted = empty ? "" : colour_of(activity);
    if (colour && wanted != now) {
      if (*now != '\0') text += "\033[0m";
      text += wanted;
      now = wanted;
    }
    text += empty ? ' ' : letter_of(column, activity, *most >= 0.5);
  }
  if (*now != '\0') text += "\033[0m";
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

std::string gantt_text(const Timeline& timeline, const Terminal& terminal) {
  if (timeline.slices.empty()) return "nothing took any time\n";
  constexpr std::size_t margin = 24;
  Picture picture;
  picture.columns = std::max(16, terminal.columns - static_cast<int>(margin) - 1);
  for (const Slice& slice : timeline.slices) {
    picture.begin = std::min(picture.begin, slice.start);
    picture.end = std::max(picture.end, slice.end);
  }
  for (const Slice& slice : timeline.slices) picture.add(slice);
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; F forward, B backward, C compression, U update,\n"
                     "P broadcast; digits: last digit of the message number, ~ several messages,\n"
                     "- waiting for others; small letters fill less than half of a column\n\n";
  int worker = -1;
  for (const auto& [place, lane] : picture.lanes) {
    std::string name = place.first != worker ? "worker " + std::to_string(place.first) : "";
    worker = place.first;
    name = padded(name, 14);
    name += place.second == compute_lane ? "compute" : "channel " + std::to_string(place.second);
    text += padded(name, margin) + text_of(lane, terminal.colour) + '\n';
  }
  const std::string first = short_duration((picture.begin - Time()).us(), 4);
  const std::string last = short_duration((picture.end - Time()).us(), 5);
  const std::size_t gap =
      static_cast<std::size_t>(picture.columns) -
      std::min(static_cast<std::size_t>(picture.columns), first.size() + last.size());
  return text + std::string(margin, ' ') + first + std::string(gap, ' ') + last + '\n';
}

}  // namespace sgdsim
