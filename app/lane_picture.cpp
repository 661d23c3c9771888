// Each column keeps how much of it every kind fills.
#include "app/lane_picture.h"

#include <algorithm>

#include "study/table.h"

namespace sgdsim {

LanePicture::LanePicture(std::vector<LaneKind> kinds, Time begin, Time end,
                         const Terminal& terminal)
    : kinds_(std::move(kinds)),
      begin_(begin),
      end_(end),
      columns_(
          static_cast<std::size_t>(std::max(16, terminal.columns - static_cast<int>(margin) - 1))),
      colour_(terminal.colour),
      column_ps_(
          std::max(1., static_cast<double>((end - begin).ps()) / static_cast<double>(columns_))) {}

void LanePicture::add(Place place, std::size_t kind, int number, Time start, Time end) {
  Lane& lane = lanes_[place];
  lane.resize(columns_);
  const double from = static_cast<double>((start - begin_).ps()) / column_ps_;
  const double to = static_cast<double>((end - begin_).ps()) / column_ps_;
  const std::size_t last = std::min(columns_ - 1, static_cast<std::size_t>(to));
  for (std::size_t c = std::min(last, static_cast<std::size_t>(from)); c <= last; ++c) {
    const double part = std::min<double>(to, static_cast<double>(c + 1)) -
                        std::max<double>(from, static_cast<double>(c));
    if (part <= 0) continue;
    Column& column = lane[c];
    column.filled.resize(kinds_.size());
    column.filled[kind] += part;
    if (kinds_[kind].numbered) column.numbered_parts[number] += part;
  }
}

char LanePicture::letter_of(const Column& column, const LaneKind& kind, bool half) const {
  if (!kind.numbered) return half ? kind.letter : kind.small;
  const bool one = column.numbered_parts.size() == 1 && half;
  return one ? static_cast<char>('0' + column.numbered_parts.begin()->first % 10) : '~';
}

std::string LanePicture::text_of(const Lane& lane) const {
  constexpr double nothing = 1e-9;  // of a column: rounding
  std::string text;
  const char* now = "";
  for (const Column& column : lane) {
    const auto most = std::max_element(column.filled.begin(), column.filled.end());
    const bool empty = most == column.filled.end() || *most < nothing;
    const LaneKind* kind =
        empty ? nullptr : &kinds_[static_cast<std::size_t>(most - column.filled.begin())];
    const char* wanted = empty ? "" : kind->colour;
    if (colour_ && wanted != now) {
      if (*now != '\0') text += "\033[0m";
      text += wanted;
      now = wanted;
    }
    text += empty ? ' ' : letter_of(column, *kind, *most >= 0.5);
  }
  if (*now != '\0') text += "\033[0m";
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string LanePicture::axis() const {
  const std::string first = short_duration((begin_ - Time()).us(), 4);
  const std::string last = short_duration((end_ - Time()).us(), 5);
  const std::size_t gap = columns_ - std::min(columns_, first.size() + last.size());
  return std::string(margin, ' ') + first + std::string(gap, ' ') + last + '\n';
}

}  // namespace sgdsim
