// Walks along sorted lists.
#include "traces/kineto/spans.h"

#include <algorithm>

namespace sgdsim::profiler {

Spans joined(Spans any) {
  std::sort(any.begin(), any.end(),
            [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  Spans all;
  for (const Span& one : any) {
    if (one.end_ns <= one.start_ns) continue;
    if (!all.empty() && one.start_ns <= all.back().end_ns)
      all.back().end_ns = std::max(all.back().end_ns, one.end_ns);
    else
      all.push_back(one);
  }
  return all;
}

Spans within(const Spans& all, Span window) {
  auto one = std::partition_point(all.begin(), all.end(),
                                  [&](const Span& span) { return span.end_ns <= window.start_ns; });
  Spans inside;
  for (; one != all.end() && one->start_ns < window.end_ns; ++one)
    inside.push_back(
        {std::max(one->start_ns, window.start_ns), std::min(one->end_ns, window.end_ns)});
  return inside;
}

Spans minus(const Spans& all, const Spans& without) {
  Spans rest;
  auto cut = without.begin();
  for (Span one : all) {
    while (cut != without.end() && cut->end_ns <= one.start_ns) ++cut;
    for (auto next = cut; next != without.end() && next->start_ns < one.end_ns; ++next) {
      if (next->start_ns > one.start_ns) rest.push_back({one.start_ns, next->start_ns});
      one.start_ns = next->end_ns;
    }
    if (one.start_ns < one.end_ns) rest.push_back(one);
  }
  return rest;
}

int64_t length_of(const Spans& all) {
  int64_t sum = 0;
  for (const Span& one : all) sum += one.end_ns - one.start_ns;
  return sum;
}

}  // namespace sgdsim::profiler
