// Steps stand in an order in which they can be played one after the other, so that the last writer
// before a copy is the last one in the list.
#include "calibrate/processes/local_plan.h"

#include <algorithm>
#include <map>

namespace sgdsim::calibrate {
namespace {

constexpr int first_tag = 16;     // those below are for what processes agree upon
constexpr int most_tags = 32000;  // MPI has 32767 of them or more

bool is_copy(const Step& step) { return step.act == Act::copy; }

class Localizer {
 public:
  Localizer(const Plan& plan, const Division& division, int process)
      : plan_(plan), division_(division), process_(process) {
    local_.ranks = plan.ranks;
    local_.events = plan.events;
    local_.streams.resize(static_cast<std::size_t>(plan.streams()));
    after_.resize(plan.steps.size() + 1);
    writers_.resize(static_cast<std::size_t>(plan.ranks));
    std::map<std::pair<int, int>, int> messages;  // by the two processes
    for (const Step& step : plan.steps) {
      const int rank = plan.rank_of(step.stream);
      if (step.act == Act::mark) marked_by_[step.event] = rank;
      int& number = messages[{process_of(step.from.rank), process_of(rank)}];
      tags_.push_back(first_tag + (is_copy(step) ? number++ : 0) % most_tags);
    }
  }

  LocalPlan take() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) find_sources(i);
    for (const auto& [stream, step] : after_.back()) add(stream, step);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (is_here(plan_.rank_of(step.stream))) add_own(i);
      for (const auto& [stream, sent] : after_[i]) add(stream, sent);
    }
    return std::move(local_);
  }

 private:
  int process_of(int rank) const { return division_.process_of(rank, plan_.ranks); }
  bool is_here(int rank) const { return process_of(rank) == process_; }
  void add(int stream, const LocalStep& step) {
    local_.streams[static_cast<std::size_t>(stream)].push_back(step);
  }

  // What step i copies from a rank of this process, is sent or waited for where it was written.
  void find_sources(std::size_t i) {
    const Step& step = plan_.steps[i];
    const int rank = plan_.rank_of(step.stream);
    if (is_copy(step) && is_here(step.from.rank)) {
      const auto& steps = writers_[static_cast<std::size_t>(step.from.rank)];
      const auto last = std::find_if(steps.rbegin(), steps.rend(), [&](std::size_t writer) {
        return writes_into(plan_.steps[writer], step.from, step.bytes);
      });
      const bool is_written = last != steps.rend();
      const int stream = is_written ? plan_.steps[*last].stream : plan_.stream(step.from.rank);
      if (!is_here(rank))
        after_[is_written ? *last : plan_.steps.size()].push_back(
            {stream, {LocalStep::Kind::send, step, process_of(rank), tags_[i]}});
      else if (is_written && stream != step.stream)
        waits_[i] = mark_after(*last, stream);
    }
    if (is_here(step.to.rank)) writers_[static_cast<std::size_t>(step.to.rank)].push_back(i);
  }

  int mark_after(std::size_t writer, int stream) {
    const int event = local_.events++;
    after_[writer].push_back(
        {stream, {LocalStep::Kind::step, {.act = Act::mark, .stream = stream, .event = event}}});
    return event;
  }

  void add_own(std::size_t i) {
    const Step& step = plan_.steps[i];
    if (step.act == Act::await && !is_here(marked_by_.at(step.event))) return;
    if (const auto wait = waits_.find(i); wait != waits_.end())
      add(step.stream, {LocalStep::Kind::step,
                        {.act = Act::await, .stream = step.stream, .event = wait->second}});
    if (is_copy(step) && !is_here(step.from.rank))
      add(step.stream, {LocalStep::Kind::receive, step, process_of(step.from.rank), tags_[i]});
    else
      add(step.stream, {LocalStep::Kind::step, step});
  }

  const Plan& plan_;
  Division division_;
  int process_;
  LocalPlan local_;
  std::map<int, int> marked_by_;  // by event: a rank
  std::vector<int> tags_;         // by step, if it is a message
  // By step: what its stream, or at the end of the list the start of a stream, has after it.
  std::vector<std::vector<std::pair<int, LocalStep>>> after_;
  std::vector<std::vector<std::size_t>> writers_;  // by rank of this process
  std::map<std::size_t, int> waits_;               // by step: an event that it waits for
};

}  // namespace

LocalPlan local_plan(const Plan& plan, const Division& division, int process) {
  return Localizer(plan, division, process).take();
}

int64_t largest_message_B(const Plan& plan, const Division& division) {
  const auto process_of = [&](int rank) { return division.process_of(rank, plan.ranks); };
  int64_t largest_B = 0;
  for (const Step& step : plan.steps)
    if (is_copy(step) && process_of(step.from.rank) != process_of(plan.rank_of(step.stream)))
      largest_B = std::max(largest_B, step.bytes);
  return largest_B;
}

// Where a step's extent is not known exactly, it reaches to the end.
bool writes_into(const Step& step, const Place& place, int64_t bytes) {
  if (step.act == Act::mark || step.act == Act::await || step.act == Act::nothing) return false;
  if (step.to.rank != place.rank || step.to.buffer != place.buffer) return false;
  const bool is_exact = is_copy(step) || step.act == Act::sum;
  return step.to.at_B < place.at_B + bytes && (!is_exact || place.at_B < step.to.at_B + step.bytes);
}

bool has_bare_waits(const Plan& plan, const Division& division) {
  if (std::any_of(plan.steps.begin(), plan.steps.end(), is_copy)) return false;
  std::map<int, int> process_by_event;
  for (const Step& step : plan.steps) {
    const int process = division.process_of(plan.rank_of(step.stream), plan.ranks);
    if (step.act == Act::mark) process_by_event[step.event] = process;
    if (step.act == Act::await && process_by_event.at(step.event) != process) return true;
  }
  return false;
}

}  // namespace sgdsim::calibrate
