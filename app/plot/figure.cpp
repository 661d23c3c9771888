// Places and shapes. All panels have the same axes, so that they can be compared.
#include "app/plot/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/plot/helvetica.h"
#include "app/plot/looks.h"

namespace sgdsim {
namespace {

constexpr double text_size = 8;
constexpr double title_size = 10;
constexpr double line_of_text = 12;
constexpr double edge = 8;
constexpr char ink[] = "#222222";
constexpr char grid_ink[] = "#e2e2e2";
constexpr std::size_t most_columns = 3;
constexpr double bold_wider = 1.1;   // than the letters whose widths are known
constexpr double widest_name = 300;  // of a curve
constexpr double widest_word = 120;  // along an axis

struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

class Figure {
 public:
  Figure(const PlotData& data, const PlotRequest& request)
      : data_(data),
        request_(request),
        is_single_(data.panels.size() == 1),
        columns_(std::min(data.panels.size(), most_columns)),
        frame_{0, 0, is_single_ ? 300.0 : 158.0, is_single_ ? 190.0 : 112.0},
        x_(all(&CurveSpot::x), data.x_words.empty() ? request.x_spacing : Spacing::linear, true,
           false, frame_.width, "x"),
        y_(all(&CurveSpot::y), request.y_spacing, false, true, frame_.height, "y"),
        y_texts_(mark_texts(y_.marks())) {
    for (const std::size_t place : places_of(data.names)) looks_.push_back(look_at(place));
    for (const std::string& text : y_texts_) y_room_ = std::max(y_room_, width_of(text, text_size));
    double widest = 0;
    for (const std::string& text : data.x_words) {
      x_words_.push_back(shortened(text, widest_word, text_size));
      widest = std::max(widest, width_of(x_words_.back(), text_size));
    }
    const double each =
        frame_.width / static_cast<double>(std::max<std::size_t>(1, x_words_.size()));
    x_rows_ = std::clamp(static_cast<int>(std::ceil((widest + 6) / each)), 1, 6);
  }

  Drawing drawing() {
    const std::size_t rows = (data_.panels.size() + columns_ - 1) / columns_;
    const double left = edge + line_of_text + y_room_ + 8;
    const double head = is_single_ ? 4 : line_of_text + 4;
    drawing_.title =
        request_.title.empty() ? data_.y.words + " over " + data_.x.words : request_.title;
    const double across = frame_.width + (is_single_ ? 0 : y_room_ + 18);
    drawing_.width = left + across * static_cast<double>(columns_) - (across - frame_.width) + 14;
    double top = edge;
    if (!request_.title.empty()) {
      add_words({edge, top + title_size}, request_.title, DrawnText::Anchor::start, title_size,
                true);
      top += title_size + 8;
    }
    top = add_legend(top);
    const double down = frame_.height + head + (x_rows_ * line_of_text) + 8;
    for (std::size_t i = 0; i < data_.panels.size(); ++i) {
      frame_.left = left + across * static_cast<double>(i % columns_);
      frame_.top = top + head + down * static_cast<double>(i / columns_);
      add_panel(data_.panels[i]);
    }
    const double bottom = top + down * static_cast<double>(rows);
    add_labels(left, top, bottom);
    return std::move(drawing_);
  }

 private:
  std::vector<double> all(double CurveSpot::*member) const {
    std::vector<double> values;
    for (const PlotPanel& panel : data_.panels)
      for (const PlotCurve& curve : panel.curves)
        for (const CurveSpot& spot : curve.spots) values.push_back(spot.*member);
    return values;
  }

  // Below and beside the panels. The paper grows with words that are longer than what they tell of.
  void add_labels(double left, double top, double bottom) {
    const std::string below = label(request_.x_label, data_.x);
    const std::string beside = label(request_.y_label, data_.y);
    const double half_below = width_of(below, text_size) / 2;
    const double half_beside = width_of(beside, text_size + 1) / 2;
    const double middle = std::max((left + drawing_.width - 14) / 2, edge + half_below);
    const double height = std::max((top + bottom) / 2, top + half_beside);
    add_words({middle, bottom + line_of_text}, below, DrawnText::Anchor::middle);
    drawing_.shapes.emplace_back(DrawnText{
        {edge + text_size, height}, beside, text_size + 1, DrawnText::Anchor::middle, false, true});
    const double title = bold_wider * width_of(request_.title, title_size);
    drawing_.width = std::max({drawing_.width, middle + half_below + edge, title + 2 * edge});
    drawing_.height = std::max(bottom + line_of_text, height + half_beside) + edge;
  }

  static std::string label(const std::string& given, const Measure& measure) {
    return given.empty() ? measure.label() : given;
  }

  void add_words(Spot at, const std::string& text, DrawnText::Anchor anchor,
                 double size = text_size, bool is_bold = false) {
    drawing_.shapes.emplace_back(DrawnText{at, text, size, anchor, is_bold, false});
  }
  void add_line(std::vector<Spot> spots, const std::string& stroke, double width,
                std::vector<double> dashes = {}) {
    for (double& dash : dashes) dash *= width;
    drawing_.shapes.emplace_back(
        DrawnLine{std::move(spots), false, stroke, width, std::move(dashes), {}});
  }

  // As many entries in a row as fit; where it ends.
  double add_legend(double top) {
    if (data_.names.size() == 1 && data_.names.front().empty()) return top;
    constexpr double sample = 22;
    double x = edge;
    for (std::size_t i = 0; i < data_.names.size(); ++i) {
      const std::string name = shortened(data_.names[i], widest_name, text_size);
      const double width = sample + 4 + width_of(name, text_size) + 14;
      if (x > edge && x + width > drawing_.width) {
        x = edge;
        top += line_of_text;
      }
      add_line({{x, top + 5}, {x + sample, top + 5}}, looks_[i].colour, 1.5, looks_[i].dashes);
      add_marker({x + sample / 2, top + 5}, looks_[i]);
      add_words({x + sample + 4, top + 8}, name, DrawnText::Anchor::start);
      drawing_.width = std::max(drawing_.width, x + width);
      x += width;
    }
    return top + line_of_text + 2;
  }

  void add_panel(const PlotPanel& panel) {
    if (!is_single_)
      add_words({frame_.left, frame_.top - 5},
                shortened(data_.panels_by + " " + panel.title, frame_.width, text_size),
                DrawnText::Anchor::start);
    add_y_marks();
    add_x_marks();
    add_line({{frame_.left, frame_.top},
              {frame_.left, frame_.bottom()},
              {frame_.right(), frame_.bottom()}},
             ink, 0.7);
    for (const PlotCurve& curve : panel.curves) add_curve(curve);
  }

  void add_y_marks() {
    for (std::size_t i = 0; i < y_texts_.size(); ++i) {
      const double y = place_of_y(y_.marks()[i]);
      add_line({{frame_.left, y}, {frame_.right(), y}}, grid_ink, 0.6);
      add_words({frame_.left - 5, y + 3}, y_texts_[i], DrawnText::Anchor::end);
    }
  }

  void add_x_tick(double x) {
    add_line({{x, frame_.bottom()}, {x, frame_.bottom() + 3}}, ink, 0.7);
  }

  // Numbers that would touch those before are left out; texts stand in rows by turns.
  void add_x_marks() {
    if (!x_words_.empty()) {
      add_x_words();
      return;
    }
    const std::vector<std::string> texts = mark_texts(x_.marks());
    double until = -1e9;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const double x = place_of_x(x_.marks()[i]);
      const double half = width_of(texts[i], text_size) / 2;
      add_x_tick(x);
      if (x - half < until) continue;
      add_words({x, frame_.bottom() + line_of_text}, texts[i], DrawnText::Anchor::middle);
      until = x + half + 3;
    }
  }
  void add_x_words() {
    int row = 0;
    for (std::size_t i = 0; i < x_words_.size(); ++i) {
      const double x = place_of_x(static_cast<double>(i));
      add_x_tick(x);
      row = row % x_rows_ + 1;
      add_words({x, frame_.bottom() + row * line_of_text}, x_words_[i], DrawnText::Anchor::middle);
    }
  }

  void add_curve(const PlotCurve& curve) {
    const Look& look = looks_[curve.name];
    std::vector<Spot> spots;
    for (const CurveSpot& spot : curve.spots)
      spots.push_back({place_of_x(spot.x), place_of_y(spot.y)});
    // Between texts there is nothing.
    if (data_.x_words.empty() && spots.size() > 1) add_line(spots, look.colour, 1.5, look.dashes);
    constexpr std::size_t most_markers = 40;
    if (spots.size() > most_markers) return;
    for (const Spot& spot : spots) add_marker(spot, look);
  }

  double place_of_x(double value) const { return frame_.left + x_.at(value) * frame_.width; }
  double place_of_y(double value) const { return frame_.bottom() - y_.at(value) * frame_.height; }

  void add_marker(Spot at, const Look& look);

  const PlotData& data_;
  const PlotRequest& request_;
  bool is_single_;
  std::size_t columns_;
  Frame frame_;
  Scale x_, y_;
  std::vector<std::string> x_words_, y_texts_;
  std::vector<Look> looks_;
  double y_room_ = 0;
  int x_rows_ = 1;  // of words below the axis
  Drawing drawing_;
};

// Corners around the middle; every second one of a star lies further inside.
std::vector<Spot> corners(Spot at, int count, double radius, double turn, double inner = 1) {
  std::vector<Spot> spots;
  for (int i = 0; i < count; ++i) {
    const double angle = (turn + 2.0 * i / count) * std::numbers::pi;
    const double length = i % 2 == 1 ? radius * inner : radius;
    spots.push_back({at.x + length * std::sin(angle), at.y - length * std::cos(angle)});
  }
  return spots;
}

std::vector<Spot> shape_of(Marker marker, Spot at) {
  constexpr double radius = 2.6;
  switch (marker) {
    case Marker::square:
      return corners(at, 4, 1.2 * radius, 0.25);
    case Marker::diamond:
      return corners(at, 4, 1.3 * radius, 0);
    case Marker::up:
      return corners(at, 3, 1.35 * radius, 0);
    case Marker::down:
      return corners(at, 3, 1.35 * radius, 1);
    case Marker::cross:
      return corners(at, 8, 1.4 * radius, 0.25, 0.4);
    case Marker::plus:
      return corners(at, 8, 1.4 * radius, 0, 0.4);
    case Marker::star:
      return corners(at, 10, 1.5 * radius, 0, 0.45);
    case Marker::circle:
      break;
  }
  return corners(at, 20, radius, 0);
}

void Figure::add_marker(Spot at, const Look& look) {
  drawing_.shapes.emplace_back(
      DrawnLine{shape_of(look.marker, at), true, "#ffffff", 0.4, {}, look.colour});
}

}  // namespace

Drawing figure_of(const PlotData& data, const PlotRequest& request) {
  return Figure(data, request).drawing();
}

}  // namespace sgdsim
