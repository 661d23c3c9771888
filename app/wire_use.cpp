// Tables of links.
#include "app/wire_use.h"

#include <CLI/CLI.hpp>

#include "app/table.h"

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

void add_routing_option(CLI::App& command, std::string& routing) {
  command.add_option("--routing", routing,
                     "of several shortest routes: by_destination (the receiver's number chooses), "
                     "hashed (equal-cost multipath), split (over all) (default: by_destination)");
}

}  // namespace sgdsim
