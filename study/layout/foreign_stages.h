// How training programs say which layers are on which stage: the rules of their settings, apart
// from where these stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgdsim {

struct ForeignStages {
  std::vector<int64_t> layers = {};  // of every chunk of the pipeline, in order
  int64_t predictions = 0;           // layers that predict further tokens
  std::string wrong = {};            // why it is none, in a sentence
};

// "Et*3|(tt|)*29,m|L" of Megatron-LM: stages between |, of embedding, transformer layers, layers
// that predict further tokens, and loss; *N repeats what stands before it.
ForeignStages stages_of_megatron(const std::string& text);

// torchtitan: embedding and output count as so many layers each; stages that have one more than
// others are the first ones.
ForeignStages stages_of_torchtitan(int64_t layers, int64_t chunks, int64_t first_less,
                                   int64_t last_less);

// torchtitan, until 2025: "layers.8" is the first layer of a stage behind the first one.
ForeignStages stages_of_splits(const std::vector<std::string>& splits, int64_t layers);

// Only one of both ends counts as a layer.
ForeignStages stages_with_end(int64_t layers, int64_t chunks, bool is_loss);

}  // namespace sgdsim
