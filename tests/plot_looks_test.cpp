// The table of colours: one place per method, and colours that everybody can tell apart.
#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <set>

#include "app/plot/looks.h"
#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/json.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

// What people without one kind of cones see (Machado, Oliveira and Fernandes, 2009, severity 1).
constexpr std::array<Matrix, 4> eyes = {{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                         {{{0.152286, 1.052583, -0.204868},
                                           {0.114503, 0.786281, 0.099216},
                                           {-0.003882, -0.048116, 1.051998}}},
                                         {{{0.367322, 0.860646, -0.227968},
                                           {0.280085, 0.672501, 0.047413},
                                           {-0.011820, 0.042940, 0.968881}}},
                                         {{{1.255528, -0.076749, -0.178779},
                                           {-0.078411, 0.930809, 0.147602},
                                           {0.004733, 0.691367, 0.303900}}}}};

double linear(const std::string& hex, std::size_t at) {
  const double value = std::stoi(hex.substr(at, 2), nullptr, 16) / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

Vector times(const Matrix& matrix, const Vector& vector) {
  Vector result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result[i] += matrix[i][j] * vector[j];
  return result;
}

// CIE 1976 L*a*b* of linear sRGB under daylight.
Vector lab(const Vector& rgb) {
  const Vector xyz =
      times({{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}}, rgb);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

Vector seen(const std::string& hex, const Matrix& eye) {
  Vector rgb = times(eye, {linear(hex, 1), linear(hex, 3), linear(hex, 5)});
  for (double& one : rgb) one = std::clamp(one, 0.0, 1.0);
  return lab(rgb);
}

Json table() { return Document::read(SGDSIM_SOURCE_DIR "/app/plot/colours.json").root().json(); }

}  // namespace

// A difference of 2.3 is just noticed; ten and more are different colours at a glance.
TEST_CASE("plot looks: any two colours differ for every kind of eyes") {
  for (const char* set : {"light", "dark"}) {
    const std::vector<std::string> colours = table()[set];
    CHECK(colours.size() == 8);
    for (const Matrix& eye : eyes)
      for (std::size_t i = 0; i < colours.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          const Vector a = seen(colours[i], eye);
          const Vector b = seen(colours[j], eye);
          CAPTURE(set);
          CAPTURE(colours[i]);
          CAPTURE(colours[j]);
          CHECK(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) > 15);
        }
  }
}

TEST_CASE("plot looks: the table names ways of exchanging gradients that there are, each once") {
  std::set<std::string> names;
  for (const auto& one : strategies()) names.emplace(one.name);
  for (const auto& one : compressions()) names.emplace(one.name);
  for (const auto& one : synchronizations()) names.emplace(one.name);
  std::set<std::string> seen;
  const Json strategies_listed = table()["names"]["strategies"];
  for (const std::string listed : strategies_listed) {
    CAPTURE(listed);
    CHECK(names.contains(listed));
    CHECK(seen.insert(listed).second);
  }
}

TEST_CASE("plot looks: a known name has the same place whatever it is compared with") {
  using Places = std::vector<std::size_t>;
  CHECK(places_of({"wfbp", "ddp", "mg_wfbp"}) == Places{0, 2, 3});
  CHECK(places_of({"mg_wfbp"}) == Places{3});
  CHECK(places_of({"MG-WFBP", "gTop-k", "Pipe-SGD", "DDP"}) == Places{3, 8, 9, 2});
  CHECK(places_of({"1 Gbps", "10 Gbps"}) == Places{0, 1});
  CHECK(places_of({"mine", "ddp", "yours", "theirs"}) == Places{0, 2, 1, 3});
  CHECK(places_of({"ddp", "DDP"}) == Places{2, 0});  // no two are alike
  CHECK(places_of({}).empty());
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back("curve " + std::to_string(i));
  const Places places = places_of(many);
  CHECK(std::set<std::size_t>(places.begin(), places.end()).size() == 100);
  // Where colours repeat, dashes differ.
  for (std::size_t place = 0; place < 8; ++place) {
    CHECK(look_at(place).colour == look_at(place + 8).colour);
    CHECK(look_at(place).dashes != look_at(place + 8).dashes);
    CHECK(look_at(place).marker != look_at(place + 8).marker);
  }
}

}  // namespace sgdsim
