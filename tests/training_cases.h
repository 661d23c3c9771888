// Models, GPUs and clusters for tests of layouts.
#pragma once

#include "models/training/gpu.h"
#include "models/training/transformer.h"
#include "sim/net/cluster.h"
#include "study/layout/layout_files.h"

namespace sgdsim {

// 48 layers of width 1,024.
inline Transformer small_model() {
  Transformer model;
  model.name = "small";
  model.hidden = 1024;
  model.layers = 48;
  model.heads = 16;
  model.kv_heads = 4;
  model.head_size = 64;
  model.mlp_width = 4096;
  model.vocabulary = 32000;
  model.sequence = 2048;
  return model;
}

// Of eight experts a token visits two; heads of keys as of queries, and no head to speak of.
inline Transformer small_mixture(int64_t layers) {
  Transformer model = small_model();
  model.layers = layers;
  model.kv_heads = model.heads;
  model.vocabulary = 1;
  model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
  return model;
}

// A GPU that ships, whose products are as fast beside exchanges as alone.
inline Gpu undisturbed(const char* name) {
  Gpu gpu = load_gpu(name);
  gpu.interference = {};
  return gpu;
}

// GPUs that are joined by links which cost nothing.
inline Cluster free_cluster(int workers) {
  Cluster cluster;
  cluster.network = Network::uniform(workers, {});
  return cluster;
}

}  // namespace sgdsim
