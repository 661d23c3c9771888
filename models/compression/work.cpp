// Reading and evaluating work.
#include "models/compression/work.h"

#include <array>
#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct Device {
  const char* name;
  double n_log2_n_ps;
};
// Constants of top-k selection in the simulator that comes with OMGS-SGD. On the P102-100 it is 10
// to 16 % below the measured compression of VGG-16, AlexNet and ResNet-50.
constexpr std::array<Device, 2> devices = {{{"p102_100", 218.896957}, {"v100", 499.671953}}};

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
    std::vector<std::string> known;
    for (const Device& device : devices) {
      known.emplace_back(device.name);
      work.n_log2_n_ps = device.n_log2_n_ps;
      if (value.text() == device.name) return work;
    }
    throw InputError(value.where(), unknown_name("device", value.text(), known));
  }
  Object fields(value);
  if (const auto samples = fields.find("samples")) {
    work.curve = read_curve(*samples);
  } else if (const auto elements = fields.find("elements")) {
    const auto n = static_cast<double>(elements->whole(2, int64_t{1} << 50));
    work.n_log2_n_ps = static_cast<double>(fields.at("time").duration().ps()) / (n * std::log2(n));
  } else {
    if (const auto field = fields.find("start_up")) work.start_up = field->duration();
    if (const auto field = fields.find("per_byte")) work.per_byte = field->per_byte();
  }
  fields.done();
  return work;
}

std::optional<Work> find_work(Object& fields, const std::string& name) {
  const auto field = fields.find(name);
  if (!field) return std::nullopt;
  return read_work(*field);
}

BothWays read_both_ways(Object& fields, const std::string& doing, std::vector<std::string>& notes) {
  const auto compress = find_work(fields, "compress");
  const auto decompress = find_work(fields, "decompress");
  if (!compress && !decompress)
    notes.push_back("compression: " + doing +
                    " takes no time; `compress` and `decompress` say how long");
  return {compress.value_or(Work()), decompress.value_or(Work())};
}

int64_t read_element(Object& fields) {
  int64_t element_B = 4;
  if (const auto field = fields.find("element")) element_B = field->bytes().count();
  if (element_B < 1) fields.value().fail("expected an `element` of at least one byte");
  return element_B;
}

}  // namespace sgdsim
