// From encoded groups to programs on the network.
#include "models/step/exchange.h"

#include <algorithm>

namespace sgdsim {

Clocks Exchange::play(const MessageCost& cost, const Encoded& encoded, Clocks starts) {
  if (encoded.local > Duration())
    for (Time& start : starts) start += encoded.local;
  for (int i = 0; i < encoded.transfer_count; ++i)
    play(cost, encoded.transfers[static_cast<std::size_t>(i)], starts);
  return starts;
}

const Exchange::Prepared& Exchange::prepared(const MessageCost& cost, const Transfer& transfer) {
  auto [place, is_new] = programs_.try_emplace(
      Key{&cost, transfer.size.count(), transfer.folding.scale, transfer.folding.extra.ps()});
  Prepared& prepared = place->second;
  if (is_new) prepared.program = cost.program_of(transfer, prepared.network);
  return prepared;
}

Played Exchange::collective(const MessageCost& cost, const Transfer& transfer, Clocks starts) {
  const Prepared& one = prepared(cost, transfer);
  return sgdsim::play(one.program, one.network ? *one.network : *network_,
                      to_play(cost.job().options), std::move(starts));
}

Played Exchange::push_and_pull(const MessageCost& cost, const Transfer& transfer, Clocks starts) {
  ParameterServers servers = *cost.servers();
  servers.cost = servers.cost.with(transfer.folding);
  if (transfer.folding == Folding())
    return play_push_pull(servers, *network_, transfer.size, transfer.part, std::move(starts));
  return play_push_pull(servers, network_->with(transfer.folding), transfer.size, transfer.part,
                        std::move(starts));
}

void Exchange::play(const MessageCost& cost, const Transfer& transfer, Clocks& clocks) {
  if (transfer.size.count() == 0) return;
  if (!cost.plays()) {
    const Time last = *std::max_element(clocks.begin(), clocks.end());
    Encoded alone;
    alone.transfers[0] = transfer;
    alone.transfer_count = 1;
    std::fill(clocks.begin(), clocks.end(), last + cost.of(alone));
    return;
  }
  if (clocks.size() == 1)
    clocks.assign(static_cast<std::size_t>(network_->workers()), clocks.front());
  Played played = cost.servers() != nullptr ? push_and_pull(cost, transfer, std::move(clocks))
                                            : collective(cost, transfer, std::move(clocks));
  traffic.messages += played.traffic.messages;
  traffic.wire_B += played.traffic.wire_B;
  path = std::max(path, played.path);
  clocks = std::move(played.ends);
}

}  // namespace sgdsim
