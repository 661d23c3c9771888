// Events as the profiler lays them out: fields over several lines, thousandths of microseconds.
#include "tests/kineto_writer.h"

#include <algorithm>
#include <cassert>
#include <fstream>
#include <sstream>
#include <utility>
#include <zlib.h>

namespace sgdsim {
namespace {

constexpr int64_t clock_ns = 4'458'676'416'788'066;  // of the first step
constexpr int64_t zero_ns = 200'000;                 // a step's first kernel, in its window
constexpr int main_thread = 2910249;
constexpr int backward_thread = 2919752;

// In microseconds; not negative.
std::string us(int64_t ns) {
  const std::string rest = std::to_string(1000 + ns % 1000).substr(1);
  return std::to_string(ns / 1000) + "." + rest;
}

// Writes events and numbers what the profiler numbers.
class Events {
 public:
  Events(const KinetoWriter& writer, std::ostream& out) : writer_(writer), out_(out) {}

  void event(const std::string& category, const std::string& name, const std::string& lane,
             int64_t at_ns, int64_t length_ns, const std::string& arguments) {
    out_ << "  {\n    \"ph\": \"X\", \"cat\": \"" << category << "\", \"name\": \"" << name
         << "\", " << lane << ",\n    \"ts\": " << us(clock_ns + writer_.clock_ahead_ns + at_ns)
         << ", \"dur\": " << us(length_ns) << ",\n    \"args\": {\n      " << arguments
         << "\n    }\n  },\n";
  }
  void on_cpu(const std::string& category, const std::string& name, int thread, int64_t at_ns,
              int64_t length_ns, const std::string& more = "", int64_t function_id = 0) {
    event(category, name, "\"pid\": 2910249, \"tid\": " + std::to_string(thread), at_ns, length_ns,
          "\"External id\": " + std::to_string(++external_id_) + ",\"Record function id\": " +
              std::to_string(writer_.has_function_ids ? function_id : 0) + more);
  }
  // A launch on the CPU and its kernel on the device.
  void kernel(const std::string& name, int thread, int64_t launch_ns, int stream, int64_t start_ns,
              int64_t length_ns, const std::string& more = "") {
    const std::string correlation = std::to_string(++correlation_);
    const std::string id = std::to_string(external_id_);
    event("cuda_runtime", "cudaLaunchKernel",
          "\"pid\": 2910249, \"tid\": " + std::to_string(thread), launch_ns, 15'000,
          "\"External id\": " + id + ", \"cbid\": 211, \"correlation\": " + correlation);
    const std::string lane = std::to_string(stream);
    event("kernel", name, "\"pid\": 0, \"tid\": " + lane, start_ns, length_ns,
          "\"External id\": " + id + ",\"queued\": 0, \"device\": 0, \"context\": 1,\"stream\": " +
              lane + ", \"correlation\": " + correlation + more);
  }
  void filler(int64_t at_ns) {
    for (int i = 0; i < 4; ++i)
      on_cpu("cpu_op", i == 0 ? "aten::cudnn_convolution" : "aten::convolution", main_thread, at_ns,
             9'000, ", \"Concrete Inputs\": [\"\", \"[64, 3, 7, 7]\"], \"Ev Idx\": 7");
    kernel(
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
        "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>)",
        main_thread, at_ns, 7, at_ns + 90'000, 2'000,
        ",\n      \"registers per thread\": 96,\"shared memory\": 87568,\"grid\": [8, 1, 1],"
        "\"block\": [544, 1, 1],\"est. achieved occupancy %\": 0");
    on_cpu("cuda_runtime", "cudaStreamIsCapturing", main_thread, at_ns, 900, ", \"cbid\": 317");
    for (int i = 0; i < 4; ++i)
      out_ << "  {\n    \"ph\": \"" << (i % 2 == 0 ? 's' : 'f') << "\", \"id\": " << correlation_
           << ", \"pid\": 0, \"tid\": 7, \"ts\": " << us(clock_ns + writer_.clock_ahead_ns + at_ns)
           << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n";
  }
  void step(int number, int64_t begin_ns);

 private:
  void gradients(int number, int64_t begin_ns);
  void earlier_pass(int64_t begin_ns, int pass);
  void gradient(int64_t cpu_ns, int64_t start_ns, int64_t id);
  void exchange(int number, std::size_t bucket, int64_t begin_ns, int64_t launch_ns);
  std::string facts(std::size_t bucket) const;

  const KinetoWriter& writer_;
  std::ostream& out_;
  int64_t external_id_ = 0;
  int64_t correlation_ = 0;
};

std::string Events::facts(std::size_t bucket) const {
  const std::string elements = std::to_string(writer_.bucket_elements(bucket));
  return ", \"Collective name\": \"allreduce\", \"In msg nelems\": " + elements +
         ", \"Out msg nelems\": " + elements +
         ", \"Group size\": " + std::to_string(writer_.ranks == 0 ? 2 : writer_.ranks) +
         ", \"dtype\": \"" + writer_.type +
         "\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\"";
}

void Events::exchange(int number, std::size_t bucket, int64_t begin_ns, int64_t launch_ns) {
  using Facts = KinetoWriter::Facts;
  const auto [start, end] = writer_.exchange_ns(number, bucket);
  const bool is_told =
      writer_.facts == Facts::by_external_id || writer_.facts == Facts::around_launch;
  if (is_told || writer_.facts == Facts::bare_call)
    on_cpu("cpu_op", "record_param_comms", backward_thread, launch_ns - 1'000, 20'000,
           is_told ? facts(bucket) : "", KinetoWriter::exchange_id(number, bucket));
  if (writer_.facts == Facts::around_launch) ++external_id_;  // of an operator within it
  kernel(writer_.kernel_name, backward_thread, launch_ns, 40, begin_ns + zero_ns + start,
         end - start, writer_.facts == Facts::in_kernel ? facts(bucket) : "");
}

// The CPU begins it then, and the device its kernel.
void Events::gradient(int64_t cpu_ns, int64_t start_ns, int64_t id) {
  on_cpu("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", backward_thread,
         cpu_ns, 20'000);
  kernel("void cudnn::bn_bw_1C11_kernel_new<float>", backward_thread, cpu_ns + 2'000, 7, start_ns,
         writer_.kernel_ns);
  on_cpu("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
         backward_thread, cpu_ns + 22'000, 20'000, "", id);
  on_cpu("cpu_op", "torch::autograd::AccumulateGrad", backward_thread, cpu_ns + 23'000, 10'000, "",
         id + 1);
}

// Launched within a millisecond.
void Events::earlier_pass(int64_t begin_ns, int pass) {
  const int64_t cpu_ns = begin_ns + 100'000 + pass * 1'000'000;
  const int64_t start_ns = begin_ns + zero_ns + pass * writer_.pass_ns();
  kernel("implicit_convolve_sgemm", main_thread, cpu_ns, 7, start_ns, writer_.forward_ns / 2);
  for (std::size_t g = 0; g < writer_.elements.size(); ++g)
    gradient(cpu_ns + 50'000 + static_cast<int64_t>(g) * 50'000,
             start_ns + writer_.forward_ns + static_cast<int64_t>(g) * writer_.spacing_ns, 0);
}

void Events::gradients(int number, int64_t begin_ns) {
  std::size_t bucket = 0;
  int in_bucket = 0;
  for (std::size_t g = 0; g < writer_.elements.size(); ++g) {
    const int64_t cpu_ns =
        begin_ns + 5'000'000 + static_cast<int64_t>(g) * 50'000;  // ahead of the device
    gradient(cpu_ns, begin_ns + zero_ns + writer_.ready_ns(g) - writer_.kernel_ns,
             KinetoWriter::gradient_id(number, g));
    if (bucket == writer_.buckets.size() || ++in_bucket < writer_.buckets[bucket]) continue;
    exchange(number, bucket++, begin_ns, cpu_ns + 30'000);
    in_bucket = 0;
  }
}

void Events::step(int number, int64_t begin_ns) {
  for (const char* category : {"user_annotation", "gpu_user_annotation"})
    on_cpu(category, "ProfilerStep#" + std::to_string(number), main_thread,
           begin_ns + (category[0] == 'g' ? 7'000'000 : 0), writer_.period_ns);
  for (int pass = 0; pass + 1 < writer_.passes; ++pass) earlier_pass(begin_ns, pass);
  kernel("implicit_convolve_sgemm", main_thread,
         begin_ns + 100'000 + (writer_.passes - 1) * 1'000'000, 7,
         begin_ns + zero_ns + writer_.last_pass_ns(), writer_.forward_ns / 2);
  for (int i = 0; i < writer_.fillers; ++i) filler(begin_ns + 150'000 + 100 * (i % 10'000));
  gradients(number, begin_ns);
  const int64_t optimizer_ns = begin_ns + 8'000'000;
  on_cpu("user_annotation", "Optimizer.step#SGD.step", main_thread, optimizer_ns, 900'000);
  kernel("multi_tensor_apply_kernel", main_thread, optimizer_ns + 1'000, 7,
         begin_ns + writer_.period_ns - 2'000'000, 1'000'000);
}

}  // namespace

int64_t KinetoWriter::bucket_elements(std::size_t bucket) const {
  std::size_t first = 0;
  for (std::size_t b = 0; b < bucket; ++b) first += static_cast<std::size_t>(buckets[b]);
  int64_t sum = 0;
  for (int i = 0; i < buckets[bucket]; ++i) sum += elements[first + static_cast<std::size_t>(i)];
  return sum;
}

std::pair<int64_t, int64_t> KinetoWriter::exchange_ns(int step, std::size_t bucket) const {
  int64_t end = 0;
  int64_t start = 0;
  std::size_t gradient = 0;
  for (std::size_t b = 0; b <= bucket; ++b) {
    gradient += static_cast<std::size_t>(buckets[b]);
    start = std::max(end, ready_ns(gradient - 1));
    end = start + transfer_ns[b] + waiting_ns(step, static_cast<int>(b));
  }
  return {start, end};
}

void KinetoWriter::write(std::ostream& out) const {
  out << "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, "
         "\"name\": \"Invented GPU\", \"totalGlobalMem\": 1\n    }\n  ],\n";
  if (ranks > 0)
    out << "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " << rank
        << ", \"world_size\": " << ranks
        << ", \"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1]}], \"nccl_version\": "
           "\"2.20.5\"},\n";
  out << "  \"traceEvents\": [\n" << more_events;
  Events events(*this, out);
  for (int i = 0; i < steps; ++i) events.step(first_step + i, i * period_ns);
  out << "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": "
         "\"\", "
         "\"tid\": \"\", \"ts\": "
      << us(clock_ns) << "\n  }\n  ],\n  \"traceName\": \"invented.json\",\n"
      << "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1711964646000000000\n}\n";
}

std::string KinetoWriter::text() const {
  std::ostringstream out;
  write(out);
  return out.str();
}

std::string packed_as_gzip(const std::string& text) {
  z_stream state = {};
  [[maybe_unused]] int answer = deflateInit2(&state, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, 0);
  assert(answer == Z_OK);
  std::string packed(deflateBound(&state, text.size()), '\0');
  std::string input = text;
  state.next_in = reinterpret_cast<Bytef*>(input.data());
  state.avail_in = static_cast<uInt>(input.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  answer = deflate(&state, Z_FINISH);
  assert(answer == Z_STREAM_END);
  packed.resize(packed.size() - state.avail_out);
  deflateEnd(&state);
  return packed;
}

namespace {

// A stream buffer that packs what it is given.
class PackedBuffer : public std::streambuf {
 public:
  explicit PackedBuffer(const std::string& file) : file_(gzopen(file.c_str(), "wb1")) {}
  ~PackedBuffer() override { gzclose(file_); }

 protected:
  int overflow(int c) override { return c == traits_type::eof() ? 0 : gzputc(file_, c); }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return gzwrite(file_, text, static_cast<unsigned>(size));
  }

 private:
  gzFile file_;
};

}  // namespace

void write_kineto_file(const KinetoWriter& writer, const std::string& file, bool as_gzip) {
  if (!as_gzip) {
    std::ofstream out(file, std::ios::binary);
    return writer.write(out);
  }
  PackedBuffer buffer(file);
  std::ostream out(&buffer);
  writer.write(out);
}

}  // namespace sgdsim
