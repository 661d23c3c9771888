// The timeline as text: what each column must show is drawn by hand.
#include "app/step/gantt.h"

#include <doctest/doctest.h>

#include "tests/run_program.h"
#include "tests/source_tree.h"

using namespace sgdsim;

namespace {

Slice slice(Activity activity, int index, int64_t from_us, int64_t to_us, int worker = 0) {
  Slice one;
  one.worker = worker;
  one.activity = activity;
  one.index = index;
  one.start = Time() + Duration::us(from_us);
  one.end = Time() + Duration::us(to_us);
  return one;
}

// The lane after the margin of 24 columns.
std::string lane(const std::string& text, int line) {
  const std::string whole = house::split(text, '\n').at(static_cast<std::size_t>(line) + 4);
  return whole.size() > 24 ? whole.substr(24) : "";
}

}  // namespace

TEST_CASE("gantt: sixteen columns of 10 us") {
  Timeline timeline;
  timeline.slices = {slice(Activity::forward, 0, 0, 30),    slice(Activity::backward, 1, 30, 60),
                     slice(Activity::backward, 0, 60, 84),  slice(Activity::update, 0, 130, 160),
                     slice(Activity::waiting, 0, 60, 70),   slice(Activity::message, 0, 70, 90),
                     slice(Activity::message, 1, 90, 104),  slice(Activity::message, 2, 104, 106),
                     slice(Activity::message, 13, 110, 130)};
  const std::string text = gantt_text(timeline, {.columns = 41, .colour = false});
  CHECK(text.starts_with("one column is 10.00 us;"));
  CHECK(lane(text, 0) == "FFFBBBBBb    UUU");  // the last layer fills 4 of 10 us
  CHECK(lane(text, 1) == "      -001~33");     // two messages share the tenth column
  CHECK(lane(text, 2) == "0      160.00 us");
}

TEST_CASE("gantt: a lane per worker and channel, colours only where they are wanted") {
  Timeline timeline;
  timeline.slices = {slice(Activity::forward, 0, 0, 80), slice(Activity::backward, 0, 80, 160),
                     slice(Activity::forward, 0, 0, 160, 5)};
  timeline.slices.push_back(slice(Activity::broadcast, 0, 0, 40, 5));
  timeline.slices.back().channel = 2;
  const std::string plain = gantt_text(timeline, {.columns = 41, .colour = false});
  CHECK(lane(plain, 0) == "FFFFFFFFBBBBBBBB");
  CHECK(lane(plain, 1) == "FFFFFFFFFFFFFFFF");
  CHECK(lane(plain, 2) == "PPPP");
  CHECK(plain.find("\nworker 5      compute") != std::string::npos);
  CHECK(plain.find("\n              channel 2") != std::string::npos);
  const std::string coloured = gantt_text(timeline, {.columns = 41, .colour = true});
  CHECK(lane(coloured, 0) == "\033[34mFFFFFFFF\033[0m\033[36mBBBBBBBB\033[0m");
  CHECK(gantt_text({}, {}) == "nothing took any time\n");
}

TEST_CASE("gantt: from the command line, plain where it is piped") {
  const Ran ran = run_sgdsim(
      {"run", "app/experiments/googlenet_k80.json", "--gantt", "--timeline-workers", "0,15"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("worker 15     compute   FFFF") != std::string::npos);
  CHECK(ran.out.find('\033') == std::string::npos);
  const Ran wrong =
      run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--gantt", "--format", "json"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.log == "sgdsim: --gantt: is for people; it does not go with --format json\n");
}
