// What readers of programs with Megatron's settings have in common: stages of the pipeline, shards,
// exchanges of context-parallel ranks, and what is computed again.
#pragma once

#include "study/layout/foreign_reader.h"

namespace sgdsim {

class MegatronReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

 protected:
  struct StageNames {
    SettingNames embedding, loss;       // whether it counts as a layer
    SettingNames first, last;           // layers of that stage
    SettingNames layout;                // of every chunk
    SettingNames chunks, chunk_layers;  // virtual stages of a rank, or layers of each
  };
  struct RecomputeNames {
    SettingNames granularity, layers, method, modules;
    std::string usual = {};             // the granularity where it is not said
    const char* method_if = "uniform";  // and the method
  };

  // `usual`: how many ranks split an expert where nothing is said.
  void set_expert_parts(const SettingNames& names, int64_t usual);
  // How tokens go to their experts.
  void set_dispatch(const SettingNames& types);
  // Layers that predict further tokens; 0: none.
  void set_predictions(const SettingNames& names);
  void set_stages_of(const StageNames& names);
  int zero_of_sharding(const SettingNames& names, int usual);
  // Of one kind for all layers.
  void exchange_context(const SettingNames& names);
  // Of single modules; core_attn, the scores, where nobody says which.
  void recompute_some(const SettingNames& modules);
  void recompute(const RecomputeNames& names);

 private:
  // The name of the first setting that is there; empty: none.
  std::string given_of(const std::vector<SettingNames>& all) const;
  std::string as_said(const SettingNames& names) const;
  void set_stages_of_text(const StageNames& names, const std::string& text);
  int64_t chunks_of(const SettingNames& names, int64_t ends);
};

}  // namespace sgdsim
