// What messages meet, in the same words for every question about an experiment or a jobs file.
#pragma once

#include <string>
#include <vector>

#include "study/question_fields.h"
#include "study/step/experiment.h"

namespace sgdsim {

// As text; empty where nothing was said.
struct WireWords {
  std::string fidelity;
  std::string routing;
  std::string transport;
  std::string ports;
  std::string send_buffer;
  std::string traffic;
  std::string seed;
};

// Of experiments. The latency rule is `--set collective.options.alpha=wire`.
Fields wire_fields(WireWords& words);
// Of jobs files, which always have messages.
Fields job_wire_fields(WireWords& words);

// The same as after --set. InputError for a word that is wrong by itself.
std::vector<std::string> experiment_settings_of(const WireWords& words);
// Those of --set, and then these; an InputError where both say the same.
std::vector<std::string> with_options(std::vector<std::string> settings, const WireWords& words);
std::vector<std::string> jobs_settings_of(const WireWords& words);

// InputError where one of these has no effect at this fidelity.
void check_routes(const std::string& fidelity, const std::string& routing,
                  const std::string& transport);
// What options set in the experiment that was resolved with them. InputError where one has no
// effect at its fidelity, unless that differs from point to point.
void note_options(ResolvedExperiment& resolved, const WireWords& words,
                  bool is_fidelity_varied = false);

}  // namespace sgdsim
