// The exchange of one site.
#include "study/layout/told_sites.h"

#include "sim/core/quantity.h"
#include "study/layout/layout_files.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double bytes_of_gigabyte = 1e9;

}  // namespace

std::optional<ToldSites> told_sites(const LayoutQuestion& question, const LayoutAnswer& answer) {
  const auto& sites = question.space.sites;
  if (!sites || answer.best.empty()) return std::nullopt;
  const LayoutLine& first = answer.best.front();
  const TrainingStep step = question.step_of(first.found.layout);
  const SiteExchange one = exchange_of(step);
  ToldSites told{.sites = sites->sites,
                 .gpus = question.space.gpus,
                 .sequences = question.space.batch,
                 .every = sites->every,
                 .fragments = sites->fragments,
                 .bits = sites->bits_of(first.found.layout),
                 .sent_B = one.sent_B,
                 .exchange = Duration::nearest_ps(1e12 * one.all_s),
                 .busy = sites->passes() * one.bytes_s / first.step.time.s()};
  if (sites->has_outer_steps())
    told.host_GiB = outer_states_B(step) / static_cast<double>(question.space.gpus) / bytes_of_gib;
  return told;
}

Fields fields_of(const ToldSites& told) {
  return {
      Field("sites", told.sites, "how many").at_least(2),
      Field("gpus", told.gpus, "GPUs of each").at_least(1),
      Field("sequences", told.sequences, "sequences of a step of each").at_least(1),
      Field("every", told.every, "steps from one exchange of a parameter to the next").at_least(1),
      Field("fragments", told.fragments, "parts that are exchanged one after another").at_least(1),
      Field("bits", told.bits, "of a parameter that is sent").at_least(0),
      Field("sent_B", told.sent_B, "bytes that leave a site in each exchange").at_least(0),
      Field("exchange_us", told.exchange.us(), "what each exchange takes").at_least(0),
      Field("busy", told.busy,
            "part of the time in which the ways between sites carry bytes, of the first layout")
          .at_least(0),
      Field("host_GiB", told.host_GiB,
            "what an outer optimizer keeps in the memory of the hosts, for each GPU")
          .at_least(0)};
}

std::string text_of(const ToldSites& told) {
  std::string text = std::to_string(told.sites) + " sites of " + std::to_string(told.gpus) +
                     " GPUs and " + std::to_string(told.sequences) +
                     (told.sequences == 1 ? " sequence" : " sequences") + "; each sends " +
                     rounded(told.sent_B / bytes_of_gigabyte, 4) + " GB in " +
                     short_duration(told.exchange.us(), 4);
  if (told.fragments > 1) {
    text += ", " + std::to_string(told.fragments) + " times in " + std::to_string(told.every) +
            " steps";
  } else {
    text += told.every > 1 ? ", every " + std::to_string(told.every) + " steps" : ", every step";
  }
  text += "\nThe ways between sites carry bytes " + part_text(told.busy) + " of the time";
  if (told.host_GiB)
    text += "; hosts keep " + gib_text(*told.host_GiB * bytes_of_gib) +
            " for each GPU, of the outer optimizer";
  return text;
}

std::vector<std::string> notes_on(const Sites& sites) {
  if (!sites.has_outer_steps()) return {};
  return {
      "a step between exchanges teaches less than one after which all sites agree: how many "
      "more are needed is not in the times"};
}

}  // namespace sgdsim
