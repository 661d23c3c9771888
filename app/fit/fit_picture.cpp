// One self-contained HTML page with a drawing per fit, in SVG: nothing is loaded from elsewhere.
#include <algorithm>
#include <array>
#include <cmath>

#include "study/fit/fit_report.h"
#include "study/table.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

constexpr double width = 760;
constexpr double left = 80;
constexpr double right = 730;
constexpr double top = 20;
constexpr double curve_bottom = 340;
constexpr double error_top = 370;
constexpr double error_bottom = 490;
constexpr double height = 535;
constexpr std::array<const char*, most_pieces> colours{"#c33", "#36c", "#393", "#939"};
constexpr std::size_t most_points = 4000;  // that are drawn

struct PicturePoint {
  double size_B;
  double time_us;
  double error;
};

// A logarithmic axis that ends at powers of ten.
struct PictureAxis {
  double least;
  double most;
  double from;
  double to;
  double at(double value) const {
    return from + (to - from) * (std::log10(value) - least) / (most - least);
  }
};

PictureAxis axis_of(const std::vector<PicturePoint>& points, double PicturePoint::*field,
                    double from, double to) {
  double least = 1e300;
  double most = 0;
  for (const PicturePoint& point : points) {
    least = std::min(least, point.*field);
    most = std::max(most, point.*field);
  }
  PictureAxis axis{std::floor(std::log10(least)), std::ceil(std::log10(most)), from, to};
  if (axis.most <= axis.least) axis.most = axis.least + 1;
  return axis;
}

std::string number(double value) { return rounded(value, 6); }

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" +
         words + "</text>\n";
}

std::string dot(double x, double y) {
  return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"2.5\"/>\n";
}

std::string escaped(const std::string& words) {
  std::string safe;
  for (const char c : words) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '&')
      safe += "&amp;";
    else
      safe += c;
  }
  return safe;
}

// Where a link's rows are collectives, a row is drawn at the size of its messages as the time of
// one message: the measured share of the predicted one.
std::vector<PicturePoint> points_of(const Fitted& one) {
  std::vector<PicturePoint> points;
  for (const FitInput& input : one.inputs)
    for (const FitRow& row : input.rows) {
      const double error = one.fit.predict_ps(row) / row.time_ps - 1;
      const double message_ps = one.fit.predict_ps(curve_row(row.size_B, 1));
      const double time_ps = one.is_link ? message_ps / (1 + error) : row.time_ps;
      if (row.size_B > 0 && time_ps > 0) points.push_back({row.size_B, time_ps / 1e6, error});
    }
  const std::size_t step = points.size() / most_points + 1;
  std::vector<PicturePoint> drawn;
  for (std::size_t i = 0; i < points.size(); i += step) drawn.push_back(points[i]);
  return drawn;
}

// 10^7 B is "10 MB".
std::string power_text(int power) {
  constexpr std::array<const char*, 7> units{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  constexpr std::array<const char*, 3> digits{"1 ", "10 ", "100 "};
  return std::string(digits[static_cast<std::size_t>(power % 3)]) +
         units[static_cast<std::size_t>(power / 3)];
}

std::string grid(const PictureAxis& x, const PictureAxis& y) {
  std::string svg;
  for (double power = x.least; power <= x.most; ++power) {
    const double at = x.at(std::pow(10, power));
    svg += line(at, top, at, error_bottom, "#ddd");
    svg += text(at, error_bottom + 16, "middle", power_text(static_cast<int>(power)));
  }
  svg += text((left + right) / 2, error_bottom + 34, "middle", "message size");
  svg += text(left + 6, top + 14, "start", "time");
  svg += text(left + 6, error_top - 4, "start", "predicted / measured - 1");
  for (double power = y.least; power <= y.most; ++power) {
    const double at = y.at(std::pow(10, power));
    svg += line(left, at, right, at, "#ddd");
    svg += text(left - 6, at + 4, "end", short_duration(std::pow(10, power)));
  }
  return svg;
}

std::string curves(const Fit& fit, const PictureAxis& x, const PictureAxis& y) {
  std::string svg;
  for (std::size_t i = 0; i < fit.pieces.size(); ++i) {
    const double from_B = std::max({1., fit.pieces[i].rules_from_B, fit.pieces.front().from_B});
    const double to_B =
        i + 1 < fit.pieces.size() ? fit.pieces[i + 1].rules_from_B : fit.pieces.back().to_B;
    svg += std::string("<polyline fill=\"none\" stroke=\"") + colours[i] + "\" points=\"";
    constexpr int steps = 60;
    for (int step = 0; step <= steps; ++step) {
      const double size_B = from_B * std::pow(to_B / from_B, static_cast<double>(step) / steps);
      const double us = fit.pieces[i].predict_ps(curve_row(size_B, 1)) / 1e6;
      if (us > 0) svg += number(x.at(size_B)) + "," + number(y.at(us)) + " ";
    }
    svg += "\"/>\n";
  }
  return svg;
}

std::string errors(const std::vector<PicturePoint>& points, const PictureAxis& x) {
  double most = 0.01;
  for (const PicturePoint& point : points) most = std::max(most, std::abs(point.error));
  const double middle = (error_top + error_bottom) / 2;
  const double scale = (error_bottom - error_top) / 2 / most;
  std::string svg = line(left, middle, right, middle, "#888");
  svg += text(left - 6, error_top + 8, "end", "+" + rounded(100 * most, 2) + " %");
  svg += text(left - 6, middle + 4, "end", "0");
  svg += text(left - 6, error_bottom, "end", "-" + rounded(100 * most, 2) + " %");
  for (const PicturePoint& point : points)
    svg += dot(x.at(point.size_B), middle - point.error * scale);
  return svg;
}

// "from 4 B: 35.1 us + 47.7 ps/B", each in the colour of its line.
std::string legend(const Fitted& one) {
  std::string words;
  for (std::size_t i = 0; i < one.fit.pieces.size(); ++i) {
    const FitPiece& piece = one.fit.pieces[i];
    words += std::string(i == 0 ? "" : ", ") + "<b style=\"color:" + colours[i] + "\">from " +
             short_size(i == 0 ? piece.from_B : piece.rules_from_B) + ": " +
             rounded(piece.alpha_ps.value / 1e6, 3) + " us + " + rounded(piece.beta_ps.value, 3) +
             " ps/B</b>";
    if (piece.gamma_is_told) words += " (fold " + rounded(piece.gamma_ps.value, 3) + " ps/B)";
  }
  return "<p>" + words + "; " + std::to_string(one.fit.rows) + " rows, rms " +
         rounded(100 * one.fit.rms, 3) + " %, max " + rounded(100 * one.fit.max, 3) + " %</p>\n";
}

std::string drawing(const Fitted& one) {
  const std::vector<PicturePoint> points = points_of(one);
  if (points.empty()) return "";
  const PictureAxis x = axis_of(points, &PicturePoint::size_B, left, right);
  const PictureAxis y = axis_of(points, &PicturePoint::time_us, curve_bottom, top);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
                    "\" height=\"" + number(height) + "\">\n" + grid(x, y);
  for (const PicturePoint& point : points) svg += dot(x.at(point.size_B), y.at(point.time_us));
  svg += curves(one.fit, x, y) + errors(points, x);
  return svg + "</svg>\n";
}

}  // namespace

std::string page_beginning() { return std::string("<!DOCTYPE html>\n") + picture_beginning; }

std::string picture_of(const FitAnswer& answer) {
  std::string page =
      page_beginning() + "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
      escaped(answer.name) +
      "</title><style>body{font-family:sans-serif;max-width:800px;margin:auto}"
      "text{font-size:11px}circle{fill:#000;fill-opacity:.5}</style></head><body>\n<h1>" +
      escaped(answer.name) +
      "</h1>\n<p>Points: measured. Lines: the fitted segments. Below: "
      "predicted / measured - 1.</p>\n";
  for (const Fitted& one : answer.fits) {
    const std::string label = one.is_link ? "time of one message" : label_of(one.inputs.front());
    page += "<h2>" + escaped(label) + "</h2>\n" + legend(one) + drawing(one);
  }
  return page + "</body></html>\n";
}

}  // namespace sgdsim
