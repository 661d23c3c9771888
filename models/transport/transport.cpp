// Reading by name.
#include "models/transport/transport.h"

#include <limits>

#include "models/transport/registry.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace sgdsim {
namespace {

constexpr Named<Spray, 4> sprays{{{"per_flow", Spray::per_flow},
                                  {"random", Spray::random},
                                  {"permuted", Spray::permuted},
                                  {"by_destination", Spray::by_destination}}};

constexpr int64_t most_packet_B = 1 << 20;

// A name stands for an object with that name and nothing else.
Value as_object(const Value& value, Json& named) {
  if (!value.json().is_string()) return value;
  named = {{"name", value.json()}};
  return {named, value.file(), value.path()};
}

void read_general(Object& fields, PacketSetup& setup) {
  if (const auto field = fields.find("packet")) {
    const Bytes size = field->bytes();
    if (size.count() < 1 || size.count() > most_packet_B)
      field->fail("a packet has 1 B to " + std::to_string(most_packet_B) + " B");
    setup.packet_B = static_cast<uint32_t>(size.count());
  }
  if (const auto field = fields.find("header")) {
    const Bytes size = field->bytes();
    if (size.count() >= setup.packet_B)
      field->fail("a packet of " + std::to_string(setup.packet_B) + " B has no room behind it");
    setup.header_B = static_cast<uint32_t>(size.count());
  }
  if (setup.header_B >= setup.packet_B)
    fields.value().fail("a header of " + std::to_string(setup.header_B) +
                        " B leaves no room in a packet of " + std::to_string(setup.packet_B) +
                        " B");
  if (const auto field = fields.find("spray"))
    setup.spray = named_in(sprays, "spray", field->text(), field->where());
  if (const auto field = fields.find("buffer")) {
    setup.queues.port_limit_B = read_size_B(fields, "buffer", 0);
    if (setup.queues.port_limit_B < setup.packet_B)
      field->fail("a buffer that is smaller than a packet (" + std::to_string(setup.packet_B) +
                  " B)");
  }
  if (const auto field = fields.find("queue_buffer")) {
    const uint32_t limit_B = read_size_B(fields, "queue_buffer", 0);
    if (limit_B < setup.packet_B)
      field->fail("a queue that is smaller than a packet (" + std::to_string(setup.packet_B) +
                  " B)");
    setup.queues.queue_limit_B = QueueRules::filled(limit_B);
  }
}

}  // namespace

std::string name_of_transport(const Value& value) {
  Json named;
  Object fields(as_object(value, named));
  return fields.at("name").text();
}

PacketSetup read_transport(const Value& value, const std::vector<double>& sizes_B, uint64_t seed) {
  Json named;
  Object fields(as_object(value, named));
  const Value name = fields.at("name");
  std::vector<std::string> known;
  for (const Transport& transport : transports()) {
    known.emplace_back(transport.name);
    if (transport.name != name.text()) continue;
    PacketSetup setup;
    setup.seed = seed;
    transport.defaults(setup);
    read_general(fields, setup);
    transport.read(fields, sizes_B, setup);
    fields.done();
    return setup;
  }
  name.fail(unknown_name("transport", name.text(), known));
}

double read_part(Object& fields, const std::string& name, double otherwise) {
  const auto field = fields.find(name);
  return field ? field->number(0, 1) : otherwise;
}

Duration read_length(Object& fields, const std::string& name, Duration otherwise) {
  const auto field = fields.find(name);
  if (!field) return otherwise;
  const Duration length = field->duration();
  if (length <= Duration()) field->fail("expected more than no time");
  return length;
}

uint32_t read_count(Object& fields, const std::string& name, uint32_t least, uint32_t otherwise) {
  const auto field = fields.find(name);
  constexpr int64_t most = 1'000'000'000;
  return field ? static_cast<uint32_t>(field->whole(least, most)) : otherwise;
}

uint32_t read_size_B(Object& fields, const std::string& name, uint32_t otherwise) {
  const auto field = fields.find(name);
  if (!field) return otherwise;
  const int64_t size_B = field->bytes().count();
  constexpr int64_t most = int64_t{1} << 31;
  if (size_B > most) field->fail("expected at most " + std::to_string(most) + " B");
  return static_cast<uint32_t>(size_B);
}

bool read_flag(Object& fields, const std::string& name, bool otherwise) {
  const auto field = fields.find(name);
  return field ? field->flag() : otherwise;
}

}  // namespace sgdsim
