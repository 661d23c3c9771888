// What two traces differ in: every field that a step depends on.
#include "app/trace/trace_diff.h"

#include <doctest/doctest.h>

#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Backward passes of 3, 2 and 1 ms, from the last layer on, after forward passes of 1 ms each.
Trace three_layers() {
  Trace trace;
  trace.name = "three";
  trace.batch = 8;
  trace.load = Duration::ms(2);
  trace.update = Duration::ms(1);
  for (int i = 0; i < 3; ++i) {
    Layer layer;
    layer.name = std::string(1, static_cast<char>('a' + i));
    layer.parameters = 1000 * (i + 1);
    layer.gradient = Bytes(4000 * (i + 1));
    layer.forward = Duration::ms(1);
    layer.backward = Duration::ms(i + 1);
    trace.layers.push_back(layer);
  }
  return trace;
}

std::vector<std::string> what_differs(const Trace& other) {
  std::vector<std::string> what;
  for (const LayerDifference& one : difference_of(three_layers(), other).layers)
    what.push_back(one.name + " " + one.what);
  return what;
}

using Words = std::vector<std::string>;

TEST_CASE("trace diff: what is the same is the same") {
  const TraceDifference difference = difference_of(three_layers(), three_layers());
  CHECK(difference.layers.empty());
  CHECK(difference.is_alike);
  CHECK(difference.most_percent == 0);
}

TEST_CASE("trace diff: fields of the whole trace") {
  Trace other = three_layers();
  other.update = Duration::ms(5);
  CHECK(what_differs(other) == Words{" update"});
  CHECK(difference_of(three_layers(), other).most_percent == doctest::Approx(80));
  CHECK(difference_of(three_layers(), other).is_alike);
  other = three_layers();
  other.load = Duration::ms(3);
  CHECK(what_differs(other) == Words{" load"});
  other = three_layers();
  other.batch = 16;
  CHECK(what_differs(other) == Words{" batch"});
  CHECK(!difference_of(three_layers(), other).is_alike);
}

// Without moments of its own a gradient is ready when the backward pass of its layer has ended: at
// 6, 8 and 9 ms, from the last layer to the first.
TEST_CASE("trace diff: moments at which gradients are ready, on one side or both") {
  Trace other = three_layers();
  other.has_ready = true;
  other.layers[2].ready = Duration::ms(6);
  other.layers[1].ready = Duration::ms(8);
  other.layers[0].ready = Duration::ms(9);
  CHECK(what_differs(other).empty());
  other.layers[0].ready = Duration::ms(12);
  CHECK(what_differs(other) == Words{"a ready"});
  CHECK(difference_of(three_layers(), other).most_percent == doctest::Approx(25));
}

TEST_CASE("trace diff: the order of layers, and their tensors") {
  Trace other = three_layers();
  std::swap(other.layers[0], other.layers[2]);
  CHECK(what_differs(other) == Words{"a place", "c place"});
  CHECK(!difference_of(three_layers(), other).is_alike);
  other = three_layers();
  other.layers[1].tensors = {1500, 500};
  CHECK(what_differs(other) == Words{"b tensors"});
  Trace first = other;
  other.layers[1].tensors = {1000, 1000};
  REQUIRE(difference_of(first, other).layers.size() == 1);
  CHECK(difference_of(first, other).layers[0].what == "sizes of tensors");
}

TEST_CASE("trace diff: a layer of one trace only") {
  Trace other = three_layers();
  other.layers.erase(other.layers.begin());
  CHECK(what_differs(other) == Words{"a only in the first"});
}

}  // namespace
}  // namespace sgdsim
