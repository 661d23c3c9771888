// Tables of links.
#include "study/wire_use.h"

#include "sim/core/error.h"
#include "study/collective/ranges.h"
#include "study/table.h"

namespace sgdsim {

void add_use(Json& json, const WireUse& use) {
  json["kinds"] = Json::array();
  for (const KindUse& kind : use.kinds)
    json["kinds"].push_back({{"kind", kind.kind},
                             {"ways", kind.ways},
                             {"utilisation_mean", kind.mean},
                             {"utilisation_max", kind.most}});
  json["busiest"] = Json::array();
  for (const LinkUse& link : use.busiest)
    json["busiest"].push_back({{"kind", link.name.kind},
                               {"from", link.name.from},
                               {"to", link.name.to},
                               {"carried_B", link.carried_B},
                               {"utilisation", link.utilisation}});
}

void add_over_time(Json& json, const UseOverTime& use) {
  if (use.parts.empty()) return;
  json["interval_us"] = use.interval.us();
  // Lines end with the last interval in which there was anything.
  const auto whole = [&](std::vector<double> line) {
    line.resize(static_cast<std::size_t>(use.intervals));
    return line;
  };
  for (std::size_t i = 0; i < use.parts.size(); ++i)
    json["busiest"][i]["over_time"] = whole(use.parts[i]);
  for (std::size_t i = 0; i < use.waiting_B.size(); ++i)
    json["queues"][i]["over_time_B"] = whole(use.waiting_B[i]);
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

Field routing_field(std::string& routing) {
  return {"routing", routing,
          "choice among several shortest routes: by_destination (the receiver's number chooses; "
          "default), hashed (equal-cost multipath) or split (over all)"};
}

}  // namespace sgdsim
