// Invented profiles in the format of PyTorch's profiler, of which everything is known beforehand.
//
// A step lasts `period`. On the device a forward kernel runs from the start of the step, then one
// kernel per gradient, each `spacing` after the one before, so that gradient g is ready at
//   ready(g) = forward + g * spacing + kernel,
// then the all-reduces, each from the moment at which its last gradient is ready (and the one
// before has ended), as long as transfer(b) + waiting(step, b). Earlier backward passes, which
// exchange nothing, come before it, each with its forward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace sgdsim {

struct KinetoWriter {
  int64_t rank = 0;
  int64_t ranks = 2;  // 0: no distributedInfo
  int first_step = 4;
  int steps = 3;
  int64_t clock_ahead_ns = 0;  // of other ranks' clocks
  int64_t period_ns = 50'000'000;
  int64_t forward_ns = 10'000'000;
  int64_t spacing_ns = 1'000'000;
  int64_t kernel_ns = 600'000;
  int passes = 1;
  std::vector<int64_t> elements = {1000, 2'000'000, 300'000, 500};  // as they are ready
  std::vector<int> buckets = {2, 2};                                // gradients in each
  std::vector<int64_t> transfer_ns = {3'000'000, 700'000};
  std::function<int64_t(int step, int bucket)> waiting_ns = [](int, int) { return 0; };

  std::string kernel_name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, ncclWork*)";
  std::string type = "Float";
  // Where the sizes of all-reduces stand.
  enum class Facts : uint8_t { in_kernel, by_external_id, around_launch, bare_call, nowhere };
  Facts facts = Facts::in_kernel;
  // Whether gradients and calls of all-reduces have ids of their record functions.
  bool has_function_ids = false;
  // Per step, as many times what a real profile has beside a kernel: 11 events of 2.4 kB.
  int fillers = 0;
  std::string more_events;  // written as they are, each with a comma behind it

  // Of a forward and a backward pass.
  int64_t pass_ns() const {
    return forward_ns + static_cast<int64_t>(elements.size()) * spacing_ns;
  }
  int64_t last_pass_ns() const { return (passes - 1) * pass_ns(); }
  int64_t ready_ns(std::size_t gradient) const {
    return last_pass_ns() + forward_ns + static_cast<int64_t>(gradient) * spacing_ns + kernel_ns;
  }
  static int64_t gradient_id(int step, std::size_t gradient) {  // the next one is that within it
    return step * 1000 + static_cast<int64_t>(gradient) * 10;
  }
  static int64_t exchange_id(int step, std::size_t bucket) {
    return step * 1000 + 900 + static_cast<int64_t>(bucket);
  }
  int64_t bucket_elements(std::size_t bucket) const;
  // Start and end of an all-reduce, since the start of the step.
  std::pair<int64_t, int64_t> exchange_ns(int step, std::size_t bucket) const;

  void write(std::ostream& out) const;
  std::string text() const;
};

std::string packed_as_gzip(const std::string& text);
// Both in pieces, whatever the size.
void write_kineto_file(const KinetoWriter& writer, const std::string& file, bool as_gzip);

}  // namespace sgdsim
