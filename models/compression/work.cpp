// Reading and evaluating work.
#include "models/compression/work.h"

#include <array>
#include <cmath>

#include "sim/core/part.h"

namespace sgdsim {
namespace {

struct Device {
  const char* name;
  double n_log2_n_ps;
};
// Constants of top-k selection in the simulator that comes with OMGS-SGD. On the P102-100 it is 10
// to 16 % below the measured compression of VGG-16, AlexNet and ResNet-50.
constexpr std::array<Device, 2> devices = {{{"p102_100", 218.896957}, {"v100", 499.671953}}};

const Device& device_named(const std::string& name, const std::string& where) {
  return part_named(devices, "device", name, where);
}

// What a sort was measured to take.
struct Sort {
  int64_t elements = 0;
  Duration time;
  double n_log2_n_ps() const {
    const auto n = static_cast<double>(elements);
    return static_cast<double>(time.ps()) / (n * std::log2(n));
  }
};
Fields fields_of(Sort& sort) {
  return {Field("elements", sort.elements,
                "elements of a sort that takes `time`, and gamma n log2 n for n elements")
              .needed()
              .from(2, int64_t{1} << 50),
          Field("time", sort.time, "time of the sort").needed()};
}
Fields curve_fields(Work& work) {
  return {Field("samples", work.curve, "a measured curve over bytes").needed()};
}
Fields line_fields(Work& work) {
  return {{"start_up", work.start_up, "time per message"},
          {"per_byte", work.per_byte, "time per byte of gradients"}};
}

}  // namespace

Duration Work::of(double elements, double size_B) const {
  if (size_B <= 0) return {};
  if (!curve.empty()) return curve.at(Bytes::nearest(size_B));
  const double sort_ps = elements > 1 ? n_log2_n_ps * elements * std::log2(elements) : 0;
  return start_up + Duration::nearest_ps(per_byte.ps() * size_B + sort_ps);
}

Work read_work(const Value& value) {
  Work work;
  if (value.json().is_string()) {
    const Device& device = device_named(value.text(), value.where());
    work.n_log2_n_ps = device.n_log2_n_ps;
    return work;
  }
  Object fields(value);
  Sort sort;
  if (fields.has("samples"))
    read_fields(fields, curve_fields(work));
  else if (fields.has("elements"))
    read_fields(fields, fields_of(sort));
  else
    read_fields(fields, line_fields(work));
  fields.done();
  if (sort.elements > 0) work.n_log2_n_ps = sort.n_log2_n_ps();
  return work;
}

Json schema_of_value(const Work& work) {
  Work usual = work;
  std::vector<std::string> names;
  for (const Device& device : devices) names.emplace_back(device.name);
  return any_of({one_of_schema(names), record_schema(curve_fields(usual)), schema_of_record<Sort>(),
                 record_schema(line_fields(usual))});
}

Duration BothWays::compress_time(double elements, double size_B) const {
  return compress ? compress->of(elements, size_B) : Duration();
}

Duration BothWays::decompress_time(double elements, double size_B) const {
  return decompress ? decompress->of(elements, size_B) : Duration();
}

void BothWays::note(const std::string& doing, std::vector<std::string>& notes) const {
  if (!compress && !decompress)
    notes.push_back("compression: " + doing +
                    " takes no time; `compress` and `decompress` say how long");
}

Fields fields_of(BothWays& work) {
  return {Field("compress", work.compress, "time of encoding").otherwise("no time"),
          Field("decompress", work.decompress, "time of decoding").otherwise("no time")};
}

Field element_field(Bytes& element) {
  return Field("element", element, "bytes of an element of the gradient").also(check_some_bytes);
}

void check_some_bytes(const Value& size) {
  if (size.bytes().count() < 1) size.fail("expected at least one byte");
}

}  // namespace sgdsim
