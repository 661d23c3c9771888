// Three forms, each the recurrence of its drawing. With f, b, B, R the forward, backward, broadcast
// and reduction of layer i = 1..L:
//
//   serial    sum B + sum f + sum b + sum R
//   lockstep  B_1 + sum_{i<L} max(f_i, B_{i+1}) + f_L
//             + b_L + sum_{i=L-1..1} max(b_i, R_{i+1}) + R_1
//   fifo      B queue up from the start, f_i waits for B_i; R queue up behind b_i
//
// All-reduce has no broadcasts: B = 0.
#include "models/step/bsp.h"

#include <algorithm>
#include <cassert>

namespace sgdsim {
namespace {

void play_serial(const std::vector<BspLayer>& layers, BspTimeline& line) {
  Duration now;
  for (const BspLayer& layer : layers) now += layer.broadcast;
  for (const BspLayer& layer : layers) now += layer.forward;
  line.forward_end = now;
  for (std::size_t i = layers.size(); i-- > 0;) line.ready[i] = now += layers[i].backward;
  line.backward_end = now;
  for (std::size_t i = layers.size(); i-- > 0;) {
    line.reduce_start[i] = now;
    now += layers[i].reduce;
  }
  line.end = now;
}

void play_lockstep(const std::vector<BspLayer>& layers, BspTimeline& line) {
  Duration now = layers.front().broadcast;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Duration next = i + 1 < layers.size() ? layers[i + 1].broadcast : Duration();
    now += std::max(layers[i].forward, next);
  }
  line.forward_end = now;
  for (std::size_t i = layers.size(); i-- > 0;) {
    Duration travels;
    if (i + 1 < layers.size()) {  // the layer above travels while this one computes
      line.reduce_start[i + 1] = now;
      travels = layers[i + 1].reduce;
    }
    line.ready[i] = now + layers[i].backward;
    now += std::max(layers[i].backward, travels);
  }
  line.backward_end = line.ready.front();
  line.reduce_start.front() = now;
  line.end = now + layers.front().reduce;
}

void play_fifo(const std::vector<BspLayer>& layers, BspTimeline& line) {
  Duration channel;
  Duration now;
  for (const BspLayer& layer : layers) {
    channel += layer.broadcast;
    now = std::max(now, channel) + layer.forward;
  }
  line.forward_end = now;
  for (std::size_t i = layers.size(); i-- > 0;) {
    line.ready[i] = now += layers[i].backward;
    line.reduce_start[i] = std::max(channel, now);
    channel = line.reduce_start[i] + layers[i].reduce;
  }
  line.backward_end = now;
  line.end = channel;
}

}  // namespace

BspTimeline bsp_timeline(BspForm form, const std::vector<BspLayer>& layers) {
  BspTimeline line;
  line.ready.resize(layers.size());
  line.reduce_start.resize(layers.size());
  switch (form) {
    case BspForm::none:
      assert(false);
      break;
    case BspForm::serial:
      play_serial(layers, line);
      break;
    case BspForm::lockstep:
      play_lockstep(layers, line);
      break;
    case BspForm::fifo:
      play_fifo(layers, line);
      break;
  }
  return line;
}

}  // namespace sgdsim
