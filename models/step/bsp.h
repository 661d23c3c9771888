// The time line of BSP-SGD as in the LP paper: one collective at a time, layer by layer.
//
//   serial    sum B + sum f + sum b + sum R
//   lockstep  B_1 + sum_{i<L} max(f_i, B_{i+1}) + f_L
//             + b_L + sum_{i=L-1..1} max(b_i, R_{i+1}) + R_1
//   fifo      B queue up from the start, f_i waits for B_i; R queue up behind b_i
//
// with f, b, B, R the forward, backward, broadcast and reduction of layer i = 1..L. All-reduce has
// no broadcasts: B = 0. The drawings are written once: a clock may be one worker's or all workers'.
#pragma once

#include <cstddef>
#include <utility>

#include "models/strategy/strategy.h"

namespace sgdsim {

// A worker computes and communicates; these are the ends of the last of each.
template <class Clock>
struct BspClocks {
  Clock compute;
  Clock network;
};

// `Moves` says when something ends that starts at a clock: forward(layer, clock), backward,
// broadcast, reduce; and later(clock, clock).
template <class Clock, class Moves>
BspClocks<Clock> play_bsp(BspForm form, int layers, Clock start, Moves& moves) {
  BspClocks<Clock> now{start, std::move(start)};
  auto both = [&] { return moves.later(now.compute, now.network); };
  const int last = layers - 1;
  switch (form) {
    case BspForm::none:
      break;
    case BspForm::serial:
      for (int l = 0; l < layers; ++l) now.network = moves.broadcast(l, now.network);
      now.compute = now.network;
      for (int l = 0; l < layers; ++l) now.compute = moves.forward(l, now.compute);
      for (int l = last; l >= 0; --l) now.compute = moves.backward(l, now.compute);
      now.network = now.compute;
      for (int l = last; l >= 0; --l) now.network = moves.reduce(l, now.network);
      break;
    case BspForm::lockstep:  // a layer computes while the next one travels, then both wait
      now.network = moves.broadcast(0, now.network);
      for (int l = 0; l < layers; ++l) {
        const Clock begin = both();
        if (l < last) now.network = moves.broadcast(l + 1, begin);
        now.compute = moves.forward(l, begin);
      }
      for (int l = last; l >= 0; --l) {
        const Clock begin = both();
        if (l < last) now.network = moves.reduce(l + 1, begin);
        now.compute = moves.backward(l, begin);
      }
      now.network = moves.reduce(0, both());
      break;
    case BspForm::fifo:
      for (int l = 0; l < layers; ++l) {
        now.network = moves.broadcast(l, now.network);
        now.compute = moves.forward(l, both());
      }
      for (int l = last; l >= 0; --l) {
        now.compute = moves.backward(l, now.compute);
        now.network = moves.reduce(l, both());
      }
      break;
  }
  return now;
}

}  // namespace sgdsim
