// Which part of a layer's gradient a message holds: what a server's hash is taken of.
#pragma once

#include "sim/core/units.h"

namespace sgdsim {

struct TensorPart {
  int tensor = -1;      // the layer, the first of several; -1: not known
  int first_piece = 0;  // where a strategy cuts layers into pieces
  Bytes piece = {};     // of so many bytes; 0: it does not
};

}  // namespace sgdsim
