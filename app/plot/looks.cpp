// Places by name, and what a place looks like.
#include "app/plot/looks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "app/plot/shipped_colours.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

struct ColourTable {
  std::vector<std::string> colours;
  std::map<std::string, std::size_t> place_of;
};

std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const ColourTable& table() {
  static const ColourTable one = [] {
    const Json json = Json::parse(shipped_colours().front().text);
    ColourTable read{json["light"], {}};
    for (const auto& [kind, names] : json["names"].items())
      for (std::size_t place = 0; place < names.size(); ++place)
        read.place_of.emplace(plain(names[place]), place);
    return read;
  }();
  return one;
}

}  // namespace

const std::vector<std::string>& series_colours() { return table().colours; }

std::vector<std::size_t> places_of(const std::vector<std::string>& names) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> places(names.size(), none);
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto known = table().place_of.find(plain(names[i]));
    if (known != table().place_of.end() && used.insert(known->second).second)
      places[i] = known->second;
  }
  std::size_t next = 0;
  for (std::size_t& place : places) {
    if (place != none) continue;
    while (used.contains(next)) ++next;
    place = next;
    used.insert(next);
  }
  return places;
}

Look look_at(std::size_t place) {
  static const std::array<std::vector<double>, 4> dashes = {
      {{}, {4, 2.5}, {1.2, 1.8}, {7, 2, 1.2, 2}}};
  constexpr std::size_t markers = 8;
  const std::size_t colours = series_colours().size();
  return {series_colours()[place % colours], dashes[place / colours % dashes.size()],
          static_cast<Marker>((place + place / colours) % markers)};
}

}  // namespace sgdsim
