// Figures of a result, each under its path with dots: nested as JSON, and a row where there are
// many results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// Nothing; yes or no; whole numbers and others; texts, or lists and objects as JSON text.
using FigureValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

// A hundred thousand results have figures of the same names: a text that outlives them is only
// pointed at.
class FigurePath {
 public:
  static FigurePath lasting(std::string_view text) {
    FigurePath path;
    path.text_ = text;
    return path;
  }
  FigurePath(std::string text)
      : own_(std::make_shared<const std::string>(std::move(text))), text_(*own_) {}
  FigurePath(const char* text) : FigurePath(std::string(text)) {}

  std::string_view text() const { return text_; }
  friend bool operator==(const FigurePath& path, std::string_view text) {
    return path.text_ == text;
  }

 private:
  FigurePath() = default;

  std::shared_ptr<const std::string> own_;
  std::string_view text_;
};

struct NamedFigure {
  FigurePath path;
  FigureValue value;
};
using Figures = std::vector<NamedFigure>;

// A path that follows another: "" and "metrics" are "metrics", "axes" and "cluster.nodes"
// "axes.cluster.nodes".
std::string path_of(const std::string& before, const std::string& name);
// Every value below, by its path; lists are single values.
void add_figures(Figures& figures, const std::string& path, const Json& json);
FigureValue figure_value(const Json& json);
Json json_of(const FigureValue& value);
// Nested, in the order of the figures; no path may lead through the value of another.
Json json_of(const Figures& figures);

}  // namespace sgdsim
