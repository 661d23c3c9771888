// What sgdsim::ask and sgdsim::answer throw: Error and nothing else, with what there is of the
// answer.
#include <iostream>
#include <sgdsim/sgdsim.h>

namespace {

using Question = nlohmann::ordered_json;

int faults = 0;

void expect(bool holds, const char* what) {
  if (!holds) std::cerr << "errors: " << what << "\n";
  faults += holds ? 0 : 1;
}

sgdsim::Error error_of(const Question& question) {
  try {
    sgdsim::answer(question);
  } catch (const sgdsim::Error& error) {
    return error;
  }
  return {0, ""};
}

}  // namespace

int main() {
  for (const Question& none :
       {Question(), Question::array({1, 2}), Question("run"), Question{{"ranks", 4}},
        Question{{"ask", 3}}, Question{{"ask", "run"}, {"experiment", "\xff"}}}) {
    const sgdsim::Error error = error_of(none);
    expect(error.code == 2 && error.json.empty(), error.what());
  }
  const sgdsim::Error some = error_of({{"ask", "goodput"},
                                       {"step", "8 s"},
                                       {"steps", 100},
                                       {"nodes", 4},
                                       {"failures", "rsc1_a100"},
                                       {"runs", 10},
                                       {"axis", {"save.stall=10 s,1000000 h"}}});
  expect(some.code == 1, some.what());
  expect(!some.json.empty() && Question::parse(some.json).size() == 2,
         "the point with an answer is lost");
  return faults;
}
