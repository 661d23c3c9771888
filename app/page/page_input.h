// What the what-if page asks about: the same words as on the command line of `sgdsim run`.
#pragma once

#include <string>
#include <vector>

#include "study/step/experiment.h"

namespace sgdsim {

struct PageInput {
  std::string experiment;             // its file, or that of a trace
  std::string cluster;                // its file, in place of the experiment's; may be empty
  std::vector<std::string> settings;  // as after --set
  std::vector<std::string> imports;   // commands by which the experiment's file was made
};

// {"experiment": "a.json", "cluster": "b.json", "settings": ["cluster.nodes=64"], "imports": []}
PageInput read_page_input(const Value& value);

ResolvedExperiment resolved_of(const PageInput& input);

// The experiment's file for a command line, where a name that begins with a minus is an option.
std::string file_word(const PageInput& input);

// What gives the same on a command line: `words` are the command and its other options.
std::string command_of(const PageInput& input, const std::string& words);

// The experiment as one file that needs no other one.
std::string saved_experiment(const PageInput& input);

}  // namespace sgdsim
