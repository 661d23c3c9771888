// Tables of links.
#include "study/wire_use.h"

#include "sim/core/error.h"
#include "sim/play/play.h"
#include "study/collective/ranges.h"
#include "study/table.h"

namespace sgdsim {

Fields fields_of(const KindUse& use) {
  return {
      {"kind", use.kind, "kind of link, as the cluster names it"},
      Field("ways", use.ways, "how many there are, each direction one").at_least(1),
      Field("utilisation_mean", use.mean, "the part of what they could have carried").at_least(0),
      Field("utilisation_max", use.most, "that of the busiest one").at_least(0)};
}

Fields fields_of(const LinkUse& use) {
  return {
      {"kind", use.name.kind, "kind of link"},
      {"from", use.name.from, "the vertex that sends"},
      {"to", use.name.to, "the vertex that receives"},
      Field("carried_B", use.carried_B, "bytes in this direction, of steps per iteration")
          .at_least(0),
      Field("utilisation", use.utilisation, "the part of what it could have carried").at_least(0)};
}

namespace {

struct ToldLink {
  LinkUse use = {};
  std::vector<double> over_time = {};
};
Fields fields_of(const ToldLink& told) {
  return fields_of(told.use) +
         Fields{Field("over_time", told.over_time,
                      "with --bins: the part that was in use in each interval")
                    .at_least(0)
                    .if_any()};
}

}  // namespace

// Lines end with the last interval in which there was anything.
std::vector<double> whole_line(const std::vector<std::vector<double>>& lines, std::size_t number,
                               const UseOverTime& use) {
  if (number >= lines.size()) return {};
  std::vector<double> line = lines[number];
  line.resize(static_cast<std::size_t>(use.intervals));
  return line;
}

Fields use_fields(const WireUse& use, const UseOverTime& over_time) {
  std::vector<ToldLink> busiest;
  for (std::size_t i = 0; i < use.busiest.size(); ++i)
    busiest.push_back({use.busiest[i], whole_line(over_time.parts, i, over_time)});
  return {{"kinds", use.kinds, "how busy the links of each kind were, both directions counted"},
          {"busiest", std::move(busiest), "the busiest links, most used first"}};
}

Fields use_fields_if_any(const WireUse* use) {
  return {{"kinds", use != nullptr ? std::optional(use->kinds) : std::nullopt,
           "fidelities flow and packet: how busy the links of each kind were, both directions "
           "counted"},
          {"busiest", use != nullptr ? std::optional(use->busiest) : std::nullopt,
           "fidelities flow and packet: the busiest links, most used first"}};
}

Json schema_of_paths() {
  std::vector<std::string> names;
  for (const PathTaken path :
       {PathTaken::none, PathTaken::symmetric, PathTaken::rounds, PathTaken::events})
    names.emplace_back(name_of(path));
  return one_of_schema(std::move(names));
}

Field interval_field(const UseOverTime& use) {
  return Field("interval_us", use.parts.empty() ? std::nullopt : std::optional(use.interval.us()),
               "with --bins: the length of an interval")
      .at_least(0);
}

int64_t bins_named(const std::string& bins, int64_t links, const std::string& format) {
  constexpr int64_t most_bins = 100'000;
  constexpr int64_t most_watched = 10'000'000;
  if (bins.empty()) return 0;
  const int64_t count = parse_whole(bins, 1, most_bins, "--bins");
  if (format != "json")
    throw InputError("--bins", "what links carry over time is shown with --format json only");
  if (links * count > most_watched)
    throw InputError("--bins", "--links times --bins is more than " + std::to_string(most_watched));
  return count;
}

std::string link_text(const LinkUse& link) {
  return link.name.kind + " " + link.name.from + " -> " + link.name.to + ", in use " +
         rounded(100 * link.utilisation, 3) + " % of the time";
}

void print_use(std::ostream& out, const WireUse& use) {
  if (use.busiest.empty()) return;
  auto percent = [](double part) { return rounded(100 * part, 3) + " %"; };
  Table kinds({"links", "ways", "mean use", "most"});
  for (const KindUse& kind : use.kinds)
    kinds.add({kind.kind, std::to_string(kind.ways), percent(kind.mean), percent(kind.most)});
  kinds.print(out);
  out << '\n';
  Table busiest({"busiest", "from", "to", "carried", "use"});
  for (const LinkUse& link : use.busiest)
    busiest.add({link.name.kind, link.name.from, link.name.to, short_size(link.carried_B),
                 percent(link.utilisation)});
  busiest.print(out, 3);
}

Field routing_taken_field(const std::string& routing) {
  return Field("routing", routing, "which of several shortest routes messages took")
      .one_of({"by_destination", "hashed", "split"})
      .if_any();
}

Field routing_field(std::string& routing) {
  return {"routing", routing,
          "choice among several shortest routes: by_destination (the receiver's number chooses; "
          "default), hashed (equal-cost multipath) or split (over all)"};
}

}  // namespace sgdsim
