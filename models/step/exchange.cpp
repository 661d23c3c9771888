// From encoded groups to programs on the network.
#include "models/step/exchange.h"

#include <algorithm>
#include <span>

#include "sim/core/refusal.h"
#include "sim/play/play_in_time.h"
#include "sim/play/quiet.h"
#include "sim/play/symmetric.h"

namespace sgdsim {

// Which take about a tenth of a second if workers are not alike.
constexpr double least_padded_messages = 200'000;

Clocks Exchange::play(const MessageCost& cost, const Encoded& encoded, Clocks starts) {
  if (encoded.local > Duration())
    for (Time& start : starts) start += encoded.local;
  for (int i = 0; i < encoded.transfer_count; ++i)
    play(cost, encoded.transfers[static_cast<std::size_t>(i)], starts);
  return starts;
}

Exchange::Prepared& Exchange::prepared(const MessageCost& cost, const Transfer& transfer) {
  auto [place, is_new] = programs_.try_emplace(
      Key{&cost, transfer.size.count(), transfer.folding.scale, transfer.folding.extra.ps()});
  Prepared& prepared = place->second;
  if (!is_new) return prepared;
  prepared.program = cost.program_of(transfer, prepared.network);
  prepared.options = to_play(cost.played_for(transfer).job().options);
  return prepared;
}

JoinedTransfers Exchange::joined(const MessageCost& cost, const Encoded& encoded) {
  static const Program nothing;
  const auto transfers =
      std::span(encoded.transfers).first(static_cast<std::size_t>(encoded.transfer_count));
  JoinedTransfers joined{&nothing, network_};
  const Transfer* before = nullptr;
  for (const Transfer& transfer : transfers) {
    if (transfer.size.count() == 0) continue;
    const Prepared& one = prepared(cost, transfer);
    if (before == nullptr) {
      joined = {&one.program, one.network ? &*one.network : network_};
    } else {
      if (!(transfer.folding == before->folding))
        throw not_together("",
                           "several channels, and messages that meet on wires, are not defined for "
                           "transfers that fold differently");
      const auto [place, is_new] =
          joined_.try_emplace(JoinedKey{&cost, before->size.count(), transfer.size.count(),
                                        transfer.folding.scale, transfer.folding.extra.ps()});
      if (is_new) place->second.then(*joined.program).then(one.program);
      joined.program = &place->second;
    }
    before = &transfer;
  }
  return joined;
}

Played Exchange::collective(const MessageCost& cost, const Transfer& transfer, Clocks starts) {
  const Prepared& one = prepared(cost, transfer);
  PlayOptions options = one.options;
  options.resources = wires_;
  options.stopper = stopper_;
  return sgdsim::play(one.program, one.network ? *one.network : *network_, options,
                      std::move(starts));
}

Played Exchange::push_and_pull(const MessageCost& cost, const Transfer& transfer, Clocks starts) {
  ParameterServers servers = *cost.servers();
  servers.cost = servers.cost.with(transfer.folding);
  if (transfer.folding == Folding())
    return play_push_pull(servers, *network_, transfer.size, transfer.part, std::move(starts));
  return play_push_pull(servers, network_->with(transfer.folding), transfer.size, transfer.part,
                        std::move(starts));
}

std::vector<ExchangeTimes> Exchange::play_together(const MessageCost& cost,
                                                   const std::vector<Encoded>& encoded,
                                                   const std::vector<Clocks>& ready, int at_once) {
  const auto workers = static_cast<std::size_t>(network_->workers());
  std::vector<Call> calls(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const JoinedTransfers sent = joined(cost, encoded[i]);
    calls[i].network = sent.network;
    calls[i].program = sent.program;
    calls[i].first = encoded[i].local;
    for (std::size_t worker = 0; worker < workers; ++worker)
      calls[i].ready.push_back(at(ready[i], worker));
  }
  count(cost, encoded);
  std::vector<CallTimes> played;
  if (!repeat(calls, at_once, played)) {
    const CollectiveOptions& options = cost.job().options;
    played = play_in_time(calls, {.alpha = options.alpha,
                                  .resources = wires_,
                                  .jitter = {},
                                  .send_buffer_B = static_cast<double>(options.send_buffer.count()),
                                  .at_once = at_once,
                                  .one_answers = true,
                                  .padded_chunks_from = least_padded_messages,
                                  .pads_chunks = &pads_chunks,
                                  .stopper = stopper_});
    before_ = {std::move(calls), at_once, played};
  }
  std::vector<ExchangeTimes> times;
  for (CallTimes& one : played) times.push_back({std::move(one.starts), std::move(one.ends)});
  return times;
}

// If they are as those before them, but all later by the same time.
bool Exchange::repeat(const std::vector<Call>& calls, int at_once,
                      std::vector<CallTimes>& times) const {
  if (calls.empty() || calls.size() != before_.calls.size() || at_once != before_.at_once)
    return false;
  const Duration later = calls.front().ready.front() - before_.calls.front().ready.front();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& one = calls[i];
    const Call& other = before_.calls[i];
    if (one.program != other.program || one.network != other.network || one.first != other.first)
      return false;
    for (std::size_t worker = 0; worker < one.ready.size(); ++worker)
      if (one.ready[worker] - other.ready[worker] != later) return false;
  }
  times = before_.times;
  for (CallTimes& one : times) {
    for (Time& start : one.starts) start += later;
    for (Time& end : one.ends) end += later;
    sgdsim::count(stopper_, last_of(one.ends), 0);
  }
  return true;
}

void Exchange::count(const MessageCost& cost, const std::vector<Encoded>& encoded) {
  path = PathTaken::events;
  count_sent(cost, encoded);
}

void Exchange::count_sent(const MessageCost& cost, const std::vector<Encoded>& encoded) {
  if (!cost.plays()) return;
  if (const ParameterServers* servers = cost.servers()) {
    for (const Encoded& one : encoded)
      for (int i = 0; i < one.transfer_count; ++i)
        count_pushes(*servers, one.transfers[static_cast<std::size_t>(i)]);
    return;
  }
  for (const Encoded& one : encoded)
    for (int i = 0; i < one.transfer_count; ++i) {
      const Transfer& transfer = one.transfers[static_cast<std::size_t>(i)];
      if (transfer.size.count() == 0) continue;
      const Traffic sent = traffic_of(prepared(cost, transfer).program, network_->workers());
      traffic.messages += sent.messages;
      traffic.wire_B += sent.wire_B;
    }
}

// Everybody sends each part and gets it back, but to a server that it is itself.
void Exchange::count_pushes(const ParameterServers& servers, const Transfer& transfer) {
  if (servers.is_alone()) return;
  const int others = servers.dedicated ? servers.workers : servers.workers - 1;
  for (const ServerPart& part : parts_of(servers, transfer.size, transfer.part)) {
    if (part.size_B <= 0) continue;
    traffic.messages += int64_t{2} * others;
    traffic.wire_B += 2 * others * part.size_B;
  }
}

bool Exchange::is_apart(const MessageCost& cost, const Encoded& encoded, bool in_step) {
  if (!cost.plays()) return true;  // only a time
  for (int i = 0; i < encoded.transfer_count; ++i) {
    const Transfer& transfer = encoded.transfers[static_cast<std::size_t>(i)];
    if (transfer.size.count() == 0) continue;
    Prepared& one = prepared(cost, transfer);
    const Network& network = one.network ? *one.network : *network_;
    std::optional<bool>& known = in_step ? one.is_apart : one.is_apart_always;
    if (!known)
      known = always_same_pairs(one.program, network, *wires_) ||
              (in_step && goes_in_step(one.program, network) &&
               is_quiet_in_step(one.program, network, *wires_));
    if (!*known) return false;
  }
  return true;
}

bool Exchange::is_in_rounds(const MessageCost& cost, const Encoded& encoded) {
  if (!cost.plays()) return true;  // only a time
  if (cost.servers() != nullptr) return false;
  for (int i = 0; i < encoded.transfer_count; ++i) {
    const Transfer& transfer = encoded.transfers[static_cast<std::size_t>(i)];
    if (transfer.size.count() > 0 && prepared(cost, transfer).options.shares_ports) return false;
  }
  const std::vector<Stage>& stages = joined(cost, encoded).program->stages;
  return std::all_of(stages.begin(), stages.end(), [](const Stage& stage) {
    const auto* phase = std::get_if<Phase>(&stage);
    return phase != nullptr ? phase->handshake != Handshake::eager && !phase->at_once
                            : !std::holds_alternative<TreePipeline>(stage);
  });
}

void Exchange::add_carried(const MessageCost& cost, const Encoded& encoded,
                           std::vector<double>& carried_B) {
  if (!cost.plays()) return carried_B.resize(wires_->capacities().size());
  for (int i = 0; i < encoded.transfer_count; ++i) {
    const Transfer& transfer = encoded.transfers[static_cast<std::size_t>(i)];
    if (transfer.size.count() == 0) continue;
    const std::vector<double> more =
        carried_by(prepared(cost, transfer).program, *network_, *wires_);
    carried_B.resize(more.size());
    for (std::size_t way = 0; way < more.size(); ++way) carried_B[way] += more[way];
  }
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
  if (clocks.size() == 1) {
    const Time start =
        clocks.front();  // a copy: assign() may throw away what it is given a part of
    clocks.assign(static_cast<std::size_t>(network_->workers()), start);
  }
  Played played = cost.servers() != nullptr ? push_and_pull(cost, transfer, std::move(clocks))
                                            : collective(cost, transfer, std::move(clocks));
  pads_chunks = pads_chunks || played.pads_chunks;
  traffic.messages += played.traffic.messages;
  traffic.wire_B += played.traffic.wire_B;
  path = std::max(path, played.path);
  clocks = std::move(played.ends);
}

}  // namespace sgdsim
