// What to measure: collectives over ranks and sizes, and the parts they are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure.h"
#include "calibrate/plan/collectives.h"

namespace sgdsim::calibrate {

struct Request {
  std::vector<std::string> probes = {"collectives"};
  std::vector<std::string> algorithms;  // empty: all
  std::vector<std::string> operations;  // empty: all
  std::vector<int> ranks = {2};
  std::vector<Type> types = {Type::float32};
  std::vector<int64_t> sizes_B;
  std::vector<int64_t> blocks_B = {int64_t{64} << 10};  // lp
  bool overlaps = false;                                // lp
  std::vector<LibrarySetting> settings = {{}};          // nccl
  std::vector<ProductShape> shapes;                     // product; empty: square ones of the sizes
  double density = 0.001;  // gtopk, top_k: the part of the entries that travels
};

const std::vector<std::string>& probe_names();

// In the order of measurement: by ranks, then series, then size. InputError if nothing fits.
std::vector<Task> tasks_of(const Request& request);

// A test plays these one by one.
Task collective_task(const Collective& collective, Type type);

// One message: from a rank to another, between buffers of one rank, or from a rank to another in
// pieces through host memory.
enum class Way { between_ranks, within_a_rank, through_host };
// By a copy engine, or by the multiprocessors.
Task copy_task(Way way, int64_t bytes, Type type, bool by_kernel = false);
std::string_view note_of_copy(bool by_kernel);
bool is_copy_within_a_rank(const Task& task);
// One from every rank to every other, then between every two in both directions at once.
std::vector<Task> pair_tasks(int ranks, const std::vector<int64_t>& sizes_B, Type type,
                             bool by_kernel = false);
Task fold_task(int64_t bytes, Type type);
// A product on rank 0 and exchanges of so many bytes, each alone and each beside the other.
std::vector<Task> overlap_tasks(int ranks, const std::vector<int64_t>& sizes_B, Type type);

// An empty run, which beside the start of a run holds a kernel, without which a graph would have no
// nodes to start; an empty kernel, one stream that waits for another.
Task start_task(int ranks);
Task launch_task();
Task handover_task();

Task gtopk_task(int ranks, Type type, int64_t data_B, int64_t count);  // the size: of the pairs
Task top_k_task(Type type, int64_t data_B, int64_t count);             // the size: of the data
// Square matrices with so many rows; as many as three of them fit into the bytes, in whole units.
inline constexpr int64_t row_unit = 64;
int64_t product_rows(int64_t bytes, Type type);
Task product_task(int64_t rows, Type type);
// Of any shape; the size is that of all its matrices. "4096x14336x512", or "512x4096x1024x8".
Task shaped_product_task(const ProductShape& shape, Type type);
std::string text_of(const ProductShape& shape);
Task compress_task(Type type, int64_t bytes, int bits);

}  // namespace sgdsim::calibrate
