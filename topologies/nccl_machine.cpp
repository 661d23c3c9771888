// Reading the XML with pugixml, which parses without recursion, so that nesting cannot exhaust the
// stack. Missing attributes have NCCL's defaults; what NCCL does not read is ignored, with a note.
#include "topologies/nccl_machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <pugixml.hpp>

#include "sim/core/error.h"
#include "sim/core/letters.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr int deepest_nesting = 64;
constexpr std::size_t most_devices_of_one = 4096;
constexpr int most_cpus = 64;        // of which any two are linked
constexpr double local_GBps = 5000;  // NCCL's LOC_BW: too fast to matter

std::string line_of(std::string_view text, std::ptrdiff_t offset) {
  const auto end = std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text.size()));
  return "line " + std::to_string(1 + std::count(text.begin(), text.begin() + end, '\n'));
}

double nvlink_GBps(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12;
  if (sm >= 70) return 20;
  if (sm >= 60) return 18;
  return 20;
}

// RCCL's rates of a link of AMD's GPUs; 0 where it is not known.
double xgmi_GBps(std::string_view gcn) {
  if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
  if (gcn.starts_with("94") || gcn.starts_with("95")) return 48;  // MI300, MI350
  if (gcn == "90a" || gcn == "910") return 36;                    // MI200; older files count so
  if (gcn == "900" || gcn == "906" || gcn == "908") return 24;    // MI25 to MI100
  return 0;
}

// As NCCL's tuning model tells GPUs apart.
GpuGeneration generation_of(int sm) {
  if (sm >= 100) return GpuGeneration::blackwell;
  if (sm >= 90) return GpuGeneration::hopper;
  return sm >= 80 ? GpuGeneration::ampere : GpuGeneration::volta;
}

std::optional<CpuVendor> vendor_of(const pugi::xml_node& cpu) {
  const std::string_view vendor = cpu.attribute("vendor").value();
  if (std::string_view(cpu.attribute("arch").value()) == "arm64") return CpuVendor::arm;
  if (vendor == "AuthenticAMD") return CpuVendor::amd;
  if (vendor == "GenuineIntel") return CpuVendor::intel;
  return std::nullopt;
}

// In units of 100 Mbit/s and lane.
constexpr std::array<std::pair<std::string_view, int>, 6> lane_rates{
    {{"2.5", 15}, {"5", 30}, {"8", 60}, {"16", 120}, {"32", 240}, {"64", 480}}};
constexpr int usual_lane_rate = 60;

// "16 GT/s", "16.0 GT/s PCIe"; 0 if it is none of these.
int lane_rate(std::string_view speed) {
  std::string_view number = speed.substr(0, speed.find(' '));
  if (number.ends_with(".0")) number.remove_suffix(2);
  for (const auto& [name, rate] : lane_rates)
    if (name == number) return rate;
  return 0;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  TopologyMachine read();

 private:
  [[noreturn]] void fail(const pugi::xml_node& at, const std::string& sentence) const {
    throw InputError(file_ + ": " + line_of(text_, at.offset_debug()), sentence);
  }
  template <class Number>
  Number number(const pugi::xml_node& at, const char* name, Number otherwise, Number least,
                Number most) const;
  int add(const pugi::xml_node& at, NcclDevice device);
  void add_cpu(const pugi::xml_node& at);
  void add_pci(const pugi::xml_node& at, int parent, int depth);
  void add_gpu(const pugi::xml_node& pci, const pugi::xml_node& gpu, int parent, double GBps);
  void add_nic(const pugi::xml_node& nic, const std::string& bus_id, int parent, double GBps);
  void add_xgmi(const pugi::xml_node& link, int gpu);
  void add_gpu_link(const pugi::xml_node& link, int gpu, int sm);
  double pci_GBps(const pugi::xml_node& at);
  double between_cpus_GBps(const pugi::xml_node& at) const;
  void ignore(const std::string& what) { ++ignored_[what]; }
  void join_peers();
  void note_bare();
  void sort_by_rank(std::vector<int>& devices) const;

  // An NVLink to a GPU that may stand further down in the file.
  struct Pending {
    int from = 0;
    std::string target;
    double GBps = 0;
  };
  std::string_view text_;
  const std::string& file_;
  TopologyMachine machine_;
  std::vector<Pending> pending_;
  int cpus_ = 0;
  std::map<std::string, int> ignored_;
};

template <class Number>
Number Reader::number(const pugi::xml_node& at, const char* name, Number otherwise, Number least,
                      Number most) const {
  const std::string_view text = at.attribute(name).value();
  if (text.empty()) return otherwise;
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = problem == std::errc{} && end == text.data() + text.size();
  if (!is_number || !(value >= least && value <= most))
    fail(at, std::string("expected a number from ") + number_text(static_cast<double>(least)) +
                 " to " + number_text(static_cast<double>(most)) + " in " + name + " of <" +
                 at.name() + ">, got \"" + std::string(text.substr(0, 60)) + "\"");
  return value;
}

int Reader::add(const pugi::xml_node& at, NcclDevice device) {
  if (machine_.devices.size() == most_devices_of_one)
    fail(at, "more than " + std::to_string(most_devices_of_one) + " devices in one machine");
  machine_.devices.push_back(std::move(device));
  return static_cast<int>(machine_.devices.size()) - 1;
}

double Reader::pci_GBps(const pugi::xml_node& at) {
  const int width = number(at, "link_width", 0, 0, 1024);
  int rate = lane_rate(at.attribute("link_speed").value());
  if (rate == 0) {
    ignore("unknown or missing link_speed, taken as 8 GT/s");
    rate = usual_lane_rate;
  }
  return (width == 0 ? 16 : width) * rate / 80.0;
}

// NCCL 2.30 has these rates, and writes the family as AMD counts it: 23 (Zen and Zen 2), 25 (Zen 3
// and 4), 26 (Zen 5). Until then (NVIDIA/nccl issue 2441) it wrote familyId + (extFamilyId << 4),
// which is 143, 175 and 191 for these, and took 16 GB/s for all.
double between_amd_cpus_GBps(int family) {
  if (family == 26 || family == 191) return 32;
  if (family == 25 || family == 175) return 24;
  return 16;
}

// NCCL's ncclTopoGetInterCpuBw.
double Reader::between_cpus_GBps(const pugi::xml_node& at) const {
  const std::string_view arch = at.attribute("arch").value();
  const std::string_view vendor = at.attribute("vendor").value();
  const int family = number(at, "familyid", 0, 0, 65535);
  const int model = number(at, "modelid", 0, 0, 65535);
  if (arch == "ppc64") return 32;
  if (arch == "arm64") return 6;
  if (vendor == "GenuineIntel" && family == 6) {
    if (model >= 0xCF || (model >= 0xAD && model <= 0xAF)) return 40;  // Emerald Rapids and later
    if (model >= 0x8F) return 22;                                      // Sapphire Rapids
    if (model >= 0x55) return 10;                                      // Skylake
  }
  if (vendor == "GenuineIntel") return 6;
  if (vendor == "AuthenticAMD") return between_amd_cpus_GBps(family);
  return local_GBps;
}

void Reader::add_xgmi(const pugi::xml_node& link, int gpu) {
  const std::string gcn = link.parent().attribute("gcn").value();
  const double GBps = xgmi_GBps(gcn);
  if (GBps == 0)
    fail(link,
         "the rate of <xgmi> links is known of gcn=\"gfx906\" and \"gfx908\" (24 GB/s each), "
         "\"gfx90a\" (36), \"gfx942\" and \"gfx950\" (48), got \"" +
             gcn.substr(0, 60) +
             "\"; write the nearest one into <gpu>, or a cluster file by hand, as mi300x_2 is "
             "(docs/cluster-format.md)");
  pending_.push_back({gpu, in_lower_case(link.attribute("target").value()),
                      number(link, "count", 1, 1, 1024) * GBps});
}

void Reader::add_gpu_link(const pugi::xml_node& link, int gpu, int sm) {
  const std::string_view name = link.name();
  NcclDevice& device = machine_.devices[static_cast<std::size_t>(gpu)];
  if (name == "c2c") {
    const int count = number(link, "count", 1, 1, 1024);
    device.cpu_nvlink_GBps += count * number(link, "bw", 0, 0, 100'000'000) / 1000.0;
    return;
  }
  if (name == "xgmi") return add_xgmi(link, gpu);
  if (name != "nvlink") return ignore("<" + std::string(name) + ">");
  const double GBps = number(link, "count", 1, 1, 1024) * nvlink_GBps(sm);
  const std::string_view target_class = link.attribute("tclass").value();
  if (target_class.starts_with("0x03")) {
    pending_.push_back({gpu, in_lower_case(link.attribute("target").value()), GBps});
  } else if (target_class == "0x068001") {
    device.cpu_nvlink_GBps += GBps;
  } else {
    device.nvswitch_GBps += GBps;  // as in NCCL, all NVSwitches are one
  }
}

void Reader::add_gpu(const pugi::xml_node& pci, const pugi::xml_node& gpu, int parent,
                     double GBps) {
  const int sm = number(gpu, "sm", -1, -1, 10'000);
  const bool is_amd = gpu.attribute("gcn");
  if (!gpu) ++machine_.bare_gpus;
  if (gpu && sm < 0 && !is_amd) ignore("missing sm of a GPU, its NVLinks taken as 20 GB/s each");
  if (is_amd && machine_.architecture.empty()) machine_.architecture = gpu.attribute("gcn").value();
  if (sm >= 0 && !is_amd) {
    machine_.capability = std::min(sm, machine_.capability.value_or(sm));
    machine_.generation = generation_of(*machine_.capability);
  }
  NcclDevice device;
  device.kind = NcclDevice::Kind::gpu;
  device.bus_id = in_lower_case(pci.attribute("busid").value());
  device.parent = parent;
  device.up_GBps = GBps;
  device.rank = number(gpu, "rank", -1, -1, 1 << 24);
  if (gpu && device.rank < 0) ignore("missing rank of a GPU, placed after those with one");
  const int number = add(gpu ? gpu : pci, std::move(device));
  machine_.gpus.push_back(number);
  for (const pugi::xml_node& link : gpu.children()) add_gpu_link(link, number, sm);
}

void Reader::add_nic(const pugi::xml_node& nic, const std::string& bus_id, int parent,
                     double GBps) {
  NcclDevice device;
  device.kind = NcclDevice::Kind::nic;
  device.bus_id = bus_id;
  device.parent = parent;
  device.up_GBps = GBps;
  for (const pugi::xml_node& net : nic.children()) {
    if (std::string_view(net.name()) != "net") {
      ignore("<" + std::string(net.name()) + ">");
      continue;
    }
    if (number(net, "net", 1, 0, 1) == 0) continue;  // a part of a fused NIC that is listed too
    if (device.ports.empty()) device.rank = number(net, "dev", -1, -1, 1 << 24);
    int megabits_per_s = number(net, "speed", 0, -1'000'000'000, 1'000'000'000);
    if (megabits_per_s <= 0) {
      ignore("missing speed of a <net>, taken as 10000 Mbit/s");
      megabits_per_s = 10'000;
    }
    device.ports.push_back({megabits_per_s / 8000.0, number(net, "latency", 0., 0., 1e5)});
  }
  if (device.ports.empty()) return ignore("<nic> without a <net>");
  machine_.nics.push_back(add(nic, std::move(device)));
}

void Reader::add_pci(const pugi::xml_node& at, int parent, int depth) {
  if (depth > deepest_nesting)
    fail(at, "nested deeper than " + std::to_string(deepest_nesting) + " levels");
  const std::string_view pci_class = at.attribute("class").value();
  const std::string bus_id = in_lower_case(at.attribute("busid").value());
  const double GBps = pci_GBps(at);
  const pugi::xml_node nic = at.child("nic");
  if (at.child("gpu")) {
    for (const pugi::xml_node& gpu : at.children("gpu")) add_gpu(at, gpu, parent, GBps);
  } else if (nic) {
    add_nic(nic, bus_id, parent, GBps);
  } else if (pci_class.starts_with("0x03")) {
    add_gpu(at, {}, parent, GBps);
  } else if (pci_class.starts_with("0x02")) {
    ++machine_.bare_cards;
  } else {
    NcclDevice device;
    device.kind = NcclDevice::Kind::pcie_switch;
    device.bus_id = bus_id;
    device.parent = parent;
    device.up_GBps = GBps;
    const int number = add(at, std::move(device));
    for (const pugi::xml_node& child : at.children()) {
      if (std::string_view(child.name()) == "pci") {
        add_pci(child, number, depth + 1);
      } else {
        ignore("<" + std::string(child.name()) + ">");
      }
    }
  }
}

void Reader::add_cpu(const pugi::xml_node& at) {
  NcclDevice device;
  device.cpu_GBps = between_cpus_GBps(at);
  const int cpu = add(at, std::move(device));
  if (cpus_ == 0) machine_.cpu = vendor_of(at);
  if (++cpus_ > most_cpus)
    fail(at, "more than " + std::to_string(most_cpus) + " CPUs in one machine");
  for (const pugi::xml_node& child : at.children()) {
    const std::string_view name = child.name();
    if (name == "pci") {
      add_pci(child, cpu, 1);
    } else if (name == "nic") {
      add_nic(child, "", cpu, local_GBps);
    } else {
      ignore("<" + std::string(name) + ">");
    }
  }
}

void Reader::join_peers() {
  for (const Pending& link : pending_) {
    const auto found = std::find_if(machine_.gpus.begin(), machine_.gpus.end(), [&](int gpu) {
      return machine_.devices[static_cast<std::size_t>(gpu)].bus_id == link.target;
    });
    if (found == machine_.gpus.end() || *found == link.from) {
      ignore("link to a GPU that is not in the file");
      continue;
    }
    machine_.peer_links.push_back({link.from, *found, link.GBps});
  }
}

void Reader::note_bare() {
  for (std::size_t i = 0; i < machine_.bare_cards; ++i)
    ignore("<pci> of a network card without a <nic>");
  if (machine_.is_input()) {
    machine_.notes.emplace_back(
        "the file names no NVLinks, because it is an input for NCCL (NCCL_TOPO_FILE), which finds "
        "them itself: GPUs here reach each other by PCIe alone; import what NCCL found, which it "
        "writes with NCCL_TOPO_DUMP_FILE=machine.xml");
    return;
  }
  for (std::size_t i = 0; i < machine_.bare_gpus; ++i)
    ignore("a GPU without a <gpu>, taken to have no NVLinks and placed last");
}

void Reader::sort_by_rank(std::vector<int>& devices) const {
  auto key = [&](int device) {  // -1, no rank, becomes the largest
    return static_cast<unsigned>(machine_.devices[static_cast<std::size_t>(device)].rank);
  };
  std::stable_sort(devices.begin(), devices.end(), [&](int a, int b) { return key(a) < key(b); });
}

TopologyMachine Reader::read() {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(text_.data(), text_.size());
  if (!result)
    throw InputError(file_,
                     "not XML: " + line_of(text_, result.offset) + ": " + result.description());
  const pugi::xml_node system = document.document_element();
  if (std::string_view(system.name()) != "system")
    throw InputError(file_, "expected a NCCL topology, <system>, found <" +
                                std::string(system.name()).substr(0, 60) + ">");
  for (const pugi::xml_node& child : system.children()) {
    if (std::string_view(child.name()) == "cpu") {
      add_cpu(child);
    } else {
      ignore("<" + std::string(child.name()) + ">");
    }
  }
  if (machine_.gpus.empty()) throw InputError(file_, "the topology has no GPU");
  join_peers();
  sort_by_rank(machine_.gpus);
  sort_by_rank(machine_.nics);
  note_bare();
  for (const auto& [what, times] : ignored_)
    machine_.notes.push_back((what.starts_with("<") ? "ignored " : "") + what + " (" +
                             std::to_string(times) + " times)");
  return std::move(machine_);
}

}  // namespace

TopologyMachine read_nccl_machine(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace sgdsim
