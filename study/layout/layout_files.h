// What a question about layouts names: a model, a GPU, a layout, a cluster of some size.
#pragma once

#include <memory>
#include <string>

#include "models/training/gpu.h"
#include "models/training/layout.h"
#include "models/training/packed_documents.h"
#include "study/layout/foreign_layout.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

// The name of one that ships, or a file.
Transformer load_model(const std::string& name);
Gpu load_gpu(const std::string& name);
// The one that is asked for, else the cluster's, else an H100; and what must be said of that.
struct FoundGpu {
  Gpu gpu;
  std::string note = {};
};
FoundGpu gpu_for(const std::string& asked, const Cluster& cluster);
Json gpu_json(const std::string& name);  // as the file has it
// In a case file: a name, a path beside the file, or the object itself.
Transformer model_in(const Value& value);
Gpu gpu_in(const Value& value);
// The short text of a layout, a file of one, or a configuration of a training program, as a file,
// as its flags, or as the command with them (study/layout/foreign_layout.h).
ForeignLayout load_layout(const std::string& text, const std::string& where, const GpuCount& gpus,
                          const Transformer& model);

// A cluster with at least so many GPUs; 0: as it is. One of boxes at a single switch grows by nodes
// of its kind; any other one must have them.
ClusterFile load_cluster(const std::string& file, int64_t gpus);
ClusterFile cluster_in(const Value& value, int64_t gpus);

// InputError if the sequence is longer than the positions that the model has learned.
void check_sequence(const Transformer& model, int64_t sequence, const std::string& where);
// Documents of a step as a question says them: their lengths, or a file of these. Nothing if it
// says nothing.
std::shared_ptr<const PackedDocuments> load_documents(const std::string& text,
                                                      const Transformer& model, int64_t sequence,
                                                      int64_t batch, const std::string& where);
// Whether words of a layout say how attention is computed.
bool says_attention(const std::string& words);
// Where FlashAttention does not run on the GPU and nothing is said, scores are written. What is to
// be told of it; empty where it runs.
std::string settle_attention(const Gpu& gpu, const Transformer& model, bool is_said,
                             Layout& layout);
// InputError with the reason if the model cannot be laid out so.
void check_layout(const Transformer& model, const Layout& layout, int64_t sequence,
                  const std::string& where);

// "zero1 would save 12.3 GiB, recompute=full 20.1 GiB": what helps a layout that needs too much,
// the largest gain first; empty if nothing that is known does.
std::string savings_text(const Transformer& model, const Layout& layout, int64_t sequence,
                         bool runs_flash = true);
// InputError with the shortfall, and what would help, unless it fits.
void check_memory(const Transformer& model, const Layout& layout, int64_t sequence, Bytes memory,
                  Bytes reserve, const std::string& where, bool runs_flash = true);

// Of the memory, for what the formulas do not know: CUDA, NCCL and fragmentation.
inline constexpr Bytes usual_reserve(int64_t{2} << 30);

inline constexpr double bytes_of_gib = 1024.0 * 1024 * 1024;
std::string gib_text(double size_B);

}  // namespace sgdsim
