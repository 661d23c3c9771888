// Products by size, the rate of copies, attention, and what a kernel costs.
#include "study/fit/fit_gpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ostream>

#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/fit/fit_series.h"
#include "study/layout/layout_files.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double least_part = 1e-3;  // that a GPU file may have
constexpr double least_attention = 0.01;
constexpr std::array types = {"bfloat16", "float16", "float32"};

// Everything that belongs to fits of links and curves.
void refuse_others(const FitArguments& arguments) {
  for (const GivenOption& given : given_options(arguments))
    if (given.of == FitKind::link || given.of == FitKind::failures)
      throw no_effect(given.option, "with --gpu");
}

// Those of one kind, on the placement that is asked for; InputError where there are several.
const Series* only(const std::vector<const Series*>& all, const std::string& what) {
  if (all.size() > 1)
    throw InputError("--placement", "there are " + std::to_string(all.size()) + " series of " +
                                        what + "; choose one of the placements or types");
  return all.empty() ? nullptr : all.front();
}

// "a, b" of "a, a, b": GPUs of one kind are one device, however many were there.
std::string kinds_of_devices(const std::string& device) {
  std::vector<std::string> kinds;
  for (const std::string& part : split_list(device))
    if (std::find(kinds.begin(), kinds.end(), part) == kinds.end()) kinds.push_back(part);
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
  return text;
}

class Measured {
 public:
  Measured(const FitArguments& arguments, const std::vector<MeasuredFiles>& files) {
    for (const MeasuredFiles& file : files) {
      const std::string device = kinds_of_devices(file.measurement.device);
      if (!device_.empty() && !device.empty() && device != device_)
        throw InputError(file.files, "was measured on " + device + ", and another file on " +
                                         device_ + "; a GPU file is of one device");
      if (device_.empty()) device_ = device;
      files_ += (files_.empty() ? "" : ", ") + file.files;
      for (const Series& series : file.measurement.series)
        if ((arguments.placement.empty() || series.placement == arguments.placement ||
             series.operation == "attention") &&
            series.note.find(arguments.note) != std::string::npos && !series.points.empty())
          all_.push_back(&series);
    }
  }
  const std::string& device() const { return device_; }
  const std::string& files() const { return files_; }
  // Of the given type, or of the first of these that was measured.
  const Series* products(const std::string& type) const {
    for (const char* one : types)
      if (type.empty() || type == one)
        if (const auto found = of("product", "", one); !found.empty())
          return only(found, "products of " + std::string(one));
    if (!type.empty())
      throw InputError("--type", "no products of \"" + type +
                                     "\" were measured; those of GPU files are bfloat16, float16 "
                                     "and float32");
    return nullptr;
  }
  // The largest copy within a rank tells the rate of memory, since caches hold smaller ones.
  const MeasuredPoint* largest_copy() const {
    const MeasuredPoint* largest = nullptr;
    for (const Series* series : of("copy", "within a rank", ""))
      if (largest == nullptr || series->points.back().size > largest->size)
        largest = &series->points.back();
    return largest;
  }
  // Of one pass, of the first of these types that was measured.
  const Series* attention(const std::string& pass, const std::string& type) const {
    for (const char* one : types)
      if (type.empty() || type == one)
        if (const auto found = of("attention", pass, one); !found.empty()) {
          if (found.size() > 1)
            throw InputError("--gpu", "attention (" + pass + ", " + one + ") was measured in " +
                                          std::to_string(found.size()) +
                                          " ways; give the file of one of them");
          return found.front();
        }
    return nullptr;
  }
  // Of what was timed in this way, the largest message of the first of these types: how many times
  // as long it took beside the other as alone. Nothing where one of the two is missing.
  std::optional<double> slowed(const std::string& what, const std::string& by) const {
    for (const char* one : types) {
      const auto alone = of("overlap", what + " alone", one);
      const auto beside = of("overlap", what + " beside " + by, one);
      if (alone.empty() || beside.empty()) continue;
      const MeasuredPoint& last = only(beside, "overlaps of " + what)->points.back();
      for (const MeasuredPoint& point : only(alone, "overlaps of " + what)->points)
        if (point.size == last.size) return last.time.s() / point.time.s();
    }
    return std::nullopt;
  }
  const Series* launch() const { return only(of("overhead", "launch", ""), "empty kernels"); }

 private:
  std::vector<const Series*> of(const std::string& operation, const std::string& algorithm,
                                const std::string& type) const {
    std::vector<const Series*> found;
    for (const Series* series : all_)
      if (series->operation == operation && series->algorithm == algorithm &&
          (type.empty() || series->type == type))
        found.push_back(series);
    return found;
  }

  std::vector<const Series*> all_;
  std::string files_;
  std::string device_;
};

// Of square matrices, three of which have so many bytes.
double product_flop(Bytes size, const std::string& type) {
  const double element_B = type == "float32" ? 4 : 2;
  const double rows = std::round(std::sqrt(static_cast<double>(size.count()) / (3 * element_B)));
  if (3 * element_B * rows * rows != static_cast<double>(size.count()))
    throw InputError(
        "--gpu", "a product of " + to_text(size) + " is not of three square matrices of " + type);
  return 2 * rows * rows * rows;
}

void check_part(double part, const std::string& what, const std::string& field, const Gpu& base) {
  if (part > 1)
    throw InputError("--gpu", what + " reach " + rounded(part) + " of what " + base.name +
                                  " has at most; its " + field + " would have to be larger");
}

void set_products(const Measured& measured, const FitArguments& arguments, const Gpu& base,
                  GpuFit& fit) {
  const Series* series = measured.products(arguments.type);
  if (series == nullptr) return;
  if (series->type != "bfloat16")
    fit.notes.push_back("products are of " + series->type +
                        ", and are related to the peak of BF16");
  Json table = Json::array();
  for (const MeasuredPoint& point : series->points) {
    const double flop = product_flop(point.size, series->type);
    const double part = flop / (point.time.s() * base.bf16_flops);
    check_part(part, "products", "bf16_tflops", base);
    if (part < least_part) {
      fit.notes.push_back("a product of " + rounded(flop / 1e9) +
                          " GFLOP is left out: it reaches less than a thousandth of the peak");
      continue;
    }
    fit.products.push_back({flop, point.time, part});
    table.push_back({{"gflop", flop / 1e9}, {"part", part}});
  }
  if (table.empty())
    throw InputError("--gpu", "no product reaches a thousandth of the peak of " + base.name +
                                  "; another GPU would fit better");
  fit.file["gemm_efficiency"] = std::move(table);
}

void set_memory(const Measured& measured, const Gpu& base, GpuFit& fit) {
  const MeasuredPoint* copy = measured.largest_copy();
  if (copy == nullptr) return;
  fit.memory_Bps = 2 * static_cast<double>(copy->size.count()) / copy->time.s();
  const double part = fit.memory_Bps / base.memory_rate.Bps();
  check_part(part, "copies", "memory_bandwidth", base);
  if (part < 0.01)
    throw InputError("--gpu", "copies reach less than a hundredth of the memory_bandwidth of " +
                                  base.name + "; another GPU would fit better");
  fit.file["memory_part"] = part;
}

// The point with most FLOP counts: a kernel's start shows least in it.
void set_attention(const Measured& measured, const FitArguments& arguments, const Gpu& base,
                   GpuFit& fit) {
  for (const std::string pass : {"forward", "backward"}) {
    const Series* series = measured.attention(pass, arguments.type);
    if (series == nullptr) continue;
    const MeasuredPoint& most =
        *std::max_element(series->points.begin(), series->points.end(),
                          [](const auto& a, const auto& b) { return a.flop < b.flop; });
    const double part = most.flop / (most.time.s() * base.bf16_flops);
    check_part(part, "products of attention (" + pass + ")", "bf16_tflops", base);
    if (part < least_attention)
      throw InputError("--gpu", "attention (" + pass +
                                    ") reaches less than a hundredth of the peak of " + base.name +
                                    "; another GPU would fit better");
    if (series->type != "bfloat16")
      fit.notes.push_back("attention (" + pass + ") is of " + series->type +
                          ", and is related to the peak of BF16");
    fit.attention.push_back({pass, most.flop, most.time, part});
    fit.file["attention_" + pass] = part;
  }
  if (!fit.attention.empty()) {  // what was measured counts for every size of a head
    fit.file.erase("attention_heads");
    fit.file.erase("attention_start");
  }
  if (fit.attention.size() == 1)
    fit.notes.push_back("attention: only its " + fit.attention.front().pass +
                        " pass was measured; the other is taken from " + base.name);
}

// A factor below 1 is the error of what disturbs nothing.
void set_interference(const Measured& measured, GpuFit& fit) {
  Json table = Json::array();
  for (const auto& [name, kind] : besides) {
    const std::string beside(name);
    const auto products = measured.slowed("product", beside);
    const auto exchange = measured.slowed(beside, "product");
    if (!products || !exchange) continue;
    Interference one{kind, std::max(1., *products), std::max(1., *exchange)};
    fit.interference.push_back(one);
    table.push_back({{"beside", beside}, {"products", one.products}, {"exchange", one.exchange}});
  }
  if (!table.empty()) fit.file["interference"] = std::move(table);
}

}  // namespace

GpuFit fit_gpu(const FitArguments& arguments) {
  refuse_others(arguments);
  GpuFit fit;
  fit.file = gpu_json(arguments.gpu);
  const Gpu base = load_gpu(arguments.gpu);
  const std::vector<MeasuredFiles> files = read_files(arguments);
  const Measured measured(arguments, files);
  set_products(measured, arguments, base, fit);
  set_memory(measured, base, fit);
  if (const Series* launch = measured.launch()) {
    fit.kernel = launch->points.front().time;
    fit.file["kernel"] = to_text(fit.kernel);
  }
  set_attention(measured, arguments, base, fit);
  set_interference(measured, fit);
  if (fit.products.empty() && fit.memory_Bps <= 0 && fit.attention.empty() &&
      fit.interference.empty())
    throw InputError("--gpu",
                     "neither products, copies within a rank, overlaps nor attention were "
                     "measured; "
                     "sgdsim-calibrate --probe product,copy,overhead,overlap --type bfloat16 and "
                     "calibrate/time_attention.py measure them");
  std::string what;
  for (const auto& [is_there, name] : {std::pair{!fit.products.empty(), "products"},
                                       {fit.memory_Bps > 0, "memory"},
                                       {fit.kernel > Duration(), "kernels"}}) {
    if (is_there)
      what += (what.empty() ? "" : ", ") + std::string(name);
    else
      fit.notes.push_back(std::string(name) + ": not measured, and taken from " + base.name);
  }
  for (const MeasuredAttention& one : fit.attention)
    what += (what.empty() ? "" : ", ") + ("attention " + one.pass);
  if (!fit.interference.empty()) what += (what.empty() ? "" : ", ") + std::string("interference");
  fit.file["name"] = arguments.name.empty() ? base.name + "_measured" : arguments.name;
  fit.file["source"] = "Measured (" + what + "): " + measured.files() +
                       (measured.device().empty() ? "" : ", on " + measured.device()) +
                       ". Everything else as " + base.name + ": " + base.source;
  read_gpu(Value(fit.file, "--gpu", ""));
  return fit;
}

void print(std::ostream& out, const GpuFit& fit) {
  Table table({"GFLOP", "time", "TFLOP/s", "of the peak"});
  for (const MeasuredProduct& one : fit.products)
    table.add({rounded(one.flop / 1e9), short_duration(one.time.us(), 4),
               rounded(one.flop / one.time.s() / 1e12), rounded(100 * one.part, 3) + " %"});
  if (!fit.products.empty()) table.print(out);
  if (fit.memory_Bps > 0) out << "memory  " << rounded(fit.memory_Bps / 1e9) << " GB/s\n";
  if (fit.kernel > Duration()) out << "kernel  " << short_duration(fit.kernel.us(), 4) << '\n';
  for (const MeasuredAttention& one : fit.attention)
    out << "attention " << one.pass << "  " << short_duration(one.time.us(), 4) << "  "
        << rounded(one.flop / one.time.s() / 1e12) << " TFLOP/s  " << rounded(100 * one.part, 3)
        << " % of the peak\n";
  for (const Interference& one : fit.interference)
    out << "beside " << name_in(besides, one.beside) << "  products " << rounded(one.products)
        << " times as long, the exchange " << rounded(one.exchange) << " times\n";
}

}  // namespace sgdsim
