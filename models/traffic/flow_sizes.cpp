// Piecewise linear distributions.
#include "models/traffic/flow_sizes.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

using Points = std::vector<std::pair<double, double>>;

struct Published {
  std::string_view name;
  Points points;
};

// As sampled for HPCC (Li et al., SIGCOMM 2019; alibaba-edu/High-Precision-Congestion-Control,
// traffic_gen): web search from DCTCP (Alizadeh et al., SIGCOMM 2010), Hadoop from Facebook (Roy et
// al., SIGCOMM 2015).
const std::vector<Published>& published() {
  static const std::vector<Published> table = {
      {"web_search",
       {{0, 0},
        {10'000, 0.15},
        {20'000, 0.20},
        {30'000, 0.30},
        {50'000, 0.40},
        {80'000, 0.53},
        {200'000, 0.60},
        {1'000'000, 0.70},
        {2'000'000, 0.80},
        {5'000'000, 0.90},
        {10'000'000, 0.97},
        {30'000'000, 1}}},
      {"hadoop",
       {{0, 0},          {100, 0.01},     {200, 0.02},        {300, 0.05},       {350, 0.15},
        {400, 0.20},     {500, 0.30},     {600, 0.40},        {700, 0.50},       {1'000, 0.60},
        {2'000, 0.67},   {7'000, 0.70},   {30'000, 0.72},     {50'000, 0.82},    {80'000, 0.87},
        {120'000, 0.90}, {300'000, 0.95}, {1'000'000, 0.975}, {2'000'000, 0.99}, {10'000'000, 1}}}};
  return table;
}

bool begins_with_digit(const std::string& text) {
  return !text.empty() && ((text.front() >= '0' && text.front() <= '9') || text.front() == '.' ||
                           text.front() == '-' || text.front() == '+');
}

Bytes read_size(const Value& value) {
  const Bytes size = value.bytes();
  if (size.count() == 0) value.fail("a flow has at least one byte");
  return size;
}

Points read_points(const Value& value) {
  Points points;
  for (const Value& item : value.items()) {
    const std::vector<Value> pair = item.items();
    if (pair.size() != 2) item.fail("expected a size and the part of flows that have no more");
    const auto size_B = static_cast<double>(read_size(pair[0]).count());
    const double part = pair[1].number(0, 1);
    if (points.empty()) points.emplace_back(part > 0 ? 0.0 : size_B, 0.0);
    if (size_B < points.back().first || part < points.back().second)
      item.fail("sizes and parts must grow");
    points.emplace_back(size_B, part);
  }
  if (points.empty() || points.back().second != 1) value.fail("the last part must be 1");
  return points;
}

Json schema_of_size() { return {{"type", "string"}, {"pattern", pattern_of_bytes()}}; }

Json schema_of_points() {
  const Json part = {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
  return list_schema(list_schema(any_of({schema_of_size(), part}), 2, 2), 1);
}

struct Drawn {
  std::optional<Value> cdf;
};

Fields fields_of(Drawn& drawn) {
  return {Field("cdf", drawn.cdf, "sizes, each with the part of flows that have no more, up to 1")
              .needed()
              .like(schema_of_points)};
}

}  // namespace

FlowSizes::FlowSizes(const Value& value) {
  if (!value.json().is_string()) {
    points_ = read_points(*read_record<Drawn>(value).cdf);
    return;
  }
  const std::string text = value.text();
  if (begins_with_digit(text)) {
    const auto size_B = static_cast<double>(read_size(value).count());
    points_ = {{size_B, 0}, {size_B, 1}};
    return;
  }
  std::vector<std::string> known;
  for (const Published& one : published()) {
    known.emplace_back(one.name);
    if (one.name == text) points_ = one.points;
  }
  if (points_.empty()) value.fail(unknown_name("size or distribution of sizes", text, known));
}

Bytes FlowSizes::draw(Random& random) const {
  const double part = random.uniform();
  auto above = std::upper_bound(points_.begin(), points_.end(), part,
                                [](double one, const auto& point) { return one < point.second; });
  if (above == points_.end()) --above;
  const auto& [size_B, end] = *above;
  const auto& [least_B, begin] = *(above - 1);
  const double drawn = least_B + (size_B - least_B) * (part - begin) / (end - begin);
  return Bytes(std::max<int64_t>(1, std::llround(drawn)));
}

double FlowSizes::mean_B() const {
  double mean = 0;
  for (std::size_t i = 1; i < points_.size(); ++i)
    mean +=
        (points_[i].second - points_[i - 1].second) * (points_[i].first + points_[i - 1].first) / 2;
  return mean;
}

Json schema_of_value(const FlowSizes&) {
  std::vector<std::string> names;
  for (const Published& one : published()) names.emplace_back(one.name);
  return any_of({schema_of_size(), one_of_schema(names), schema_of_record<Drawn>()});
}

Field size_field(FlowSizes& sizes) {
  return Field("size", sizes,
               "size of each flow, a published distribution (web_search, hadoop), or points of one")
      .needed();
}

}  // namespace sgdsim
