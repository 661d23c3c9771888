// Reading by name.
#include "models/transport/transport.h"

#include "models/transport/registry.h"

namespace sgdsim {
namespace {

constexpr int64_t most_packet_B = 1 << 20;

// What every transport can be told.
struct GeneralOptions {
  Bytes packet;
  Bytes header;
  Spray spray = Spray::per_flow;
  std::optional<Bytes> buffer;
  std::optional<Bytes> queue_buffer;
};

void check_packet(const Value& size) {
  if (size.bytes().count() < 1 || size.bytes().count() > most_packet_B)
    size.fail("a packet has 1 B to " + std::to_string(most_packet_B) + " B");
}

Fields fields_of(GeneralOptions& o) {
  return {Field("packet", o.packet, "bytes of a packet on the wire").also(check_packet),
          {"header", o.header, "bytes of a packet that are its header"},
          {"spray", o.spray,
           "way of a packet: all of a message take one, each takes any by chance, all in turn in "
           "an order by chance, or the one of the receiver"},
          Field("buffer", o.buffer, "bytes of data that a port of a switch holds in all its queues")
              .also(check_size)
              .otherwise("no limit"),
          Field("queue_buffer", o.queue_buffer, "bytes of data that each queue of a port holds")
              .also(check_size)
              .otherwise("no limit")};
}

std::optional<Bytes> limit_of(uint64_t limit_B) {
  if (limit_B == QueueRules::no_limit) return std::nullopt;
  return Bytes(static_cast<int64_t>(limit_B));
}

GeneralOptions general_of(const PacketSetup& setup) {
  return {Bytes(setup.packet_B), Bytes(setup.header_B), setup.spray,
          limit_of(setup.queues.port_limit_B), limit_of(setup.queues.queue_limit_B.front())};
}

// A port, or a queue of it, has room for a packet.
void check_room(Object& fields, const char* name, const char* what, Bytes packet) {
  const auto field = fields.find(name);
  if (field && field->bytes() < packet)
    field->fail("a " + std::string(what) + " that is smaller than a packet (" +
                std::to_string(packet.count()) + " B)");
}

void read_general(Object& fields, PacketSetup& setup) {
  GeneralOptions general = general_of(setup);
  read_fields(fields, fields_of(general));
  const std::string packet_B = std::to_string(general.packet.count());
  if (general.header >= general.packet) {
    if (const auto field = fields.find("header"))
      field->fail("a packet of " + packet_B + " B has no room behind it");
    fields.value().fail("a header of " + std::to_string(general.header.count()) +
                        " B leaves no room in a packet of " + packet_B + " B");
  }
  check_room(fields, "buffer", "buffer", general.packet);
  check_room(fields, "queue_buffer", "queue", general.packet);
  setup.packet_B = bytes_32(general.packet);
  setup.header_B = bytes_32(general.header);
  setup.spray = general.spray;
  if (general.buffer) setup.queues.port_limit_B = bytes_32(*general.buffer);
  if (general.queue_buffer)
    setup.queues.queue_limit_B = QueueRules::filled(bytes_32(*general.queue_buffer));
}

}  // namespace

std::string name_of_transport(const Value& value) {
  return value.json().is_string() ? value.text() : Object(value).at("name").text();
}

PacketSetup read_transport(const Value& value, const std::vector<double>& sizes_B, uint64_t seed) {
  return read_part(value, transports(), "transport",
                   [&](const Transport& transport, Object& fields) {
                     PacketSetup setup;
                     setup.seed = seed;
                     transport.defaults(setup);
                     read_general(fields, setup);
                     transport.read(fields, sizes_B, setup);
                     return setup;
                   });
}

std::vector<PartText> transport_texts() {
  std::vector<PartText> texts = texts_of(transports());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    PacketSetup setup;
    transports()[i].defaults(setup);
    GeneralOptions general = general_of(setup);
    texts[i].options = options_in(fields_of(general)) + std::move(texts[i].options);
  }
  return texts;
}

Json schema_of_transports() { return schema_of_parts(transport_texts()); }

void check_some_time(const Value& length) {
  if (length.duration() <= Duration()) length.fail("expected more than no time");
}

void check_size(const Value& size) {
  constexpr int64_t most = int64_t{1} << 31;
  if (size.bytes().count() > most) size.fail("expected at most " + std::to_string(most) + " B");
}

}  // namespace sgdsim
