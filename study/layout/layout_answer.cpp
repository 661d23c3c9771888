// Searches and prices; what only the command line knows stays there.
#include "study/layout/layout_answer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "models/training/memory.h"
#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/worked_on.h"
#include "study/layout/layout_breaks.h"
#include "study/layout/layout_end.h"
#include "study/layout/layout_files.h"

namespace sgdsim {
namespace {

// Layouts of the search that are played: those that are fastest in closed form.
constexpr int64_t played_layouts = 100;
constexpr std::size_t most_families = 11;

// What is simulated is one site; the passes that exchanges lie under are those of the closed form.
template <class Played>
void add_sites(const TrainingStep& step, GroupTimes& groups, Played& played) {
  if (step.sites == nullptr) return;
  const Duration longer = add_sites(step, hybrid_step(step, groups).backward_s, played.step);
  for (Duration* time : {&played.fastest, &played.slowest}) *time += longer;
}

// What is looked at of a layout: as the question says, or without its messages.
enum class Look { as_asked, by_passes };

LayoutLine line_of(const LayoutQuestion& question, GroupTimes& groups, const Layout& layout,
                   Look how, bool wants_slices, Stopper* stopper) {
  const TrainingStep step = question.step_of(layout);
  LayoutPlay play = question.play;
  play.stopper = stopper;
  LayoutLine line;
  if (how == Look::as_asked && question.sends()) {
    StepWires wires = question.wires;
    wires.meanwhile = question.traffic.meanwhile();
    wires.wants_slices = wants_slices;
    line.on_wires = play_on_wires(step, question.cluster.cluster, groups, wires, play);
    add_sites(step, groups, *line.on_wires);
    line.step = line.on_wires->step;
  } else if (how == Look::by_passes || question.plays()) {
    line.played = play_on_links(step, groups, play, wants_slices);
    add_sites(step, groups, *line.played);
    line.step = line.played->step;
  } else {
    line.step = step_on_links(step, groups);
    if (question.algorithms.is_usual()) line.load = link_load(step, groups);
  }
  line.found = {layout, line.step.time, line.step.mfu,
                largest_memory(question.model, layout, question.space.sequence).total_B(),
                line.step.limit};
  return line;
}

template <class T>
void keep_first(std::vector<T>& list, int64_t most) {
  if (static_cast<int64_t>(list.size()) > most) list.resize(static_cast<std::size_t>(most));
}

// The fastest first, and so many of them.
void rank(std::vector<LayoutLine>& lines, int64_t most) {
  std::stable_sort(lines.begin(), lines.end(), [](const LayoutLine& a, const LayoutLine& b) {
    return a.found.time < b.found.time;
  });
  keep_first(lines, most);
}

// The soonest ends first, and so many of them.
template <class T, class FoundOf>
void rank_by_end(const LayoutQuestion& question, std::vector<T>& list, FoundOf found_of) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (question.play.stopper != nullptr) question.play.stopper->look();
    order.emplace_back(end_of(question, found_of(list[i])).days, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<T> ranked;
  for (const auto& one : order) ranked.push_back(std::move(list[one.second]));
  list = std::move(ranked);
}

const FoundLayout& found_in(const LayoutLine& line) { return line.found; }

// `work(number, groups, stopper)` of so many layouts, on all cores.
template <class Result, class Work>
std::vector<Result> on_all_cores(const LayoutQuestion& question, GroupsOfThreads& groups,
                                 std::size_t count, const Work& work) {
  const Stopper* stopper = question.play.stopper;
  return worked_on<Result>(count,
                           {.threads = groups.threads(), .look = [stopper] { look(stopper); }},
                           [&](int thread, std::size_t number, const std::function<void()>& look) {
                             Stopper its(look, limits_of(stopper));
                             return work(number, groups.of(thread), its);
                           });
}

// A layout on wires, or why it is not simulated, or what ends the search if it comes to that.
struct OnWires {
  std::optional<LayoutLine> line = {};
  std::string why_not = {};
  std::exception_ptr ends = {};
};

OnWires on_wires(const LayoutQuestion& question, const Layout& layout, GroupTimes& groups,
                 Stopper& stopper) {
  try {
    return {.line = line_of(question, groups, layout, Look::as_asked, false, &stopper)};
  } catch (const StuckStep&) {
    return {.ends = std::current_exception()};
  } catch (const LimitReached&) {
    return {.ends = std::current_exception()};
  } catch (const InputError& error) {
    return {.why_not = error.what()};
  }
}

// Those that were found by their passes, once more: some at a time, as each may need gigabytes.
void play_on_wires(const LayoutQuestion& question, GroupsOfThreads& groups, LayoutAnswer& answer) {
  constexpr std::size_t at_a_time = 4;
  answer.by_passes = answer.played;
  const std::vector<LayoutLine> found = std::move(answer.best);
  std::vector<LayoutLine> lines;
  double effort = 0;
  std::size_t tried = 0;
  std::string why_not;
  while (tried < found.size() && effort < 1) {
    const std::size_t first = tried;
    for (OnWires& one : on_all_cores<OnWires>(
             question, groups, std::min(at_a_time, found.size() - first),
             [&](std::size_t number, GroupTimes&its, Stopper&stopper) {
               return on_wires(question, found[first + number].found.layout, its, stopper);
             })) {
      if (effort >= 1) break;
      if (one.ends) std::rethrow_exception(one.ends);
      const Layout& layout = found[tried++].found.layout;
      if (one.line) {
        effort += one.line->on_wires->effort;
        lines.push_back(std::move(*one.line));
        continue;
      }
      why_not = one.why_not;
      answer.notes.push_back(to_text(layout) + " was not simulated: " + why_not);
    }
  }
  if (lines.empty()) throw InputError("", why_not);
  if (tried < found.size())
    answer.notes.push_back("only " + std::to_string(lines.size()) +
                           " layouts were simulated message by message, because these took as "
                           "many messages as are simulated in one search");
  answer.best = std::move(lines);
  answer.played = static_cast<int64_t>(answer.best.size());
  rank(answer.best, answer.played);
}

// What would help, or what the words that all layouts have do to the simplest one.
std::string why_none(const LayoutQuestion& question) {
  const LayoutSpace& space = question.space;
  std::string misfit;
  Layout usual;
  usual.keeps_scores = !question.gpu.runs_flash;
  if (!(space.base == usual)) {
    Layout simplest = space.base;
    simplest.replicas = space.gpus;
    do {
      misfit = misfit_of(question.model, simplest, space.sequence);
    } while (!misfit.empty() && ++simplest.zero <= 3);
  }
  if (misfit.empty()) return "; numbers with more small divisors would";
  return " with the words of --with; of " + to_text(space.base) + " by itself: " + misfit;
}

[[noreturn]] void fail_empty(const LayoutQuestion& question, const LayoutSearch& found) {
  const LayoutSpace& space = question.space;
  const std::string by = space.program == TrainingProgram::any
                             ? ""
                             : " that " + std::string(title_of(space.program)) + " can do";
  if (found.candidates == 0)
    throw InputError("layout", "no layout of " + question.model.name + by + " divides by " +
                                   std::to_string(space.gpus) + " GPUs and a global batch of " +
                                   std::to_string(space.batch) + why_none(question));
  if (found.left_out > 0)
    throw InputError("layout", "the chosen algorithms fit the groups of none of " +
                                   std::to_string(found.left_out) +
                                   " layouts: " + found.why_left_out);
  const double room = static_cast<double>((space.memory - space.reserve).count());
  throw InputError("layout", "none of " + std::to_string(found.candidates) + " layouts" + by +
                                 " fits into " + to_text(space.memory) + " less " +
                                 to_text(space.reserve) + "; the smallest, " +
                                 to_text(found.smallest) + ", needs " + gib_text(found.smallest_B) +
                                 ", " + gib_text(found.smallest_B - room) + " too much");
}

LayoutSearch search(const LayoutQuestion& question) {
  return search_layouts(question.model, question.gpu, question.precision, question.cluster.cluster,
                        question.space, question.algorithms, question.play.stopper);
}

// Fastest first: of each family the first one.
template <class T, class LayoutOf>
std::vector<T> best_of_families(const std::vector<T>& all, LayoutOf layout_of) {
  std::set<std::string> seen;
  std::vector<T> best;
  for (const T& one : all)
    if (best.size() < most_families && seen.insert(family_of(layout_of(one))).second)
      best.push_back(one);
  return best;
}

std::vector<FoundLayout> families_in(const std::vector<FoundLayout>& all) {
  return best_of_families(all, [](const FoundLayout& one) { return one.layout; });
}

// The fastest one of a program that is like published ones; if there is none, the fastest one.
void add_program(const LayoutQuestion& question, GroupsOfThreads& groups, TrainingProgram program,
                 LayoutAnswer& answer) {
  LayoutQuestion of_program = question;
  of_program.space.program = program;
  const LayoutSearch found = search(of_program);
  if (found.fitting.empty()) return;
  auto usual = std::find_if(found.fitting.begin(), found.fitting.end(), [&](const auto& one) {
    return beyond_published(question.model, one.layout, question.space.sequence).empty();
  });
  if (usual == found.fitting.end()) usual = found.fitting.begin();
  answer.programs.emplace_back(program, line_of(question, groups.of(0), usual->layout,
                                                Look::as_asked, false, question.play.stopper));
}

// A program may have kernels that are not searched for otherwise.
void note_faster_programs(const LayoutQuestion& question, LayoutAnswer& answer) {
  const Duration fastest = answer.best.front().found.time;
  const Kernels usual = question.space.base.kernels;
  for (const auto& [program, line] : answer.programs) {
    const Kernels its = line.found.layout.kernels;
    if (line.found.time >= fastest || its == usual) continue;
    const std::string kernels = "kernels=" + std::string(name_in(kernel_names, its));
    const double less = 1 - line.found.time / fastest;
    answer.notes.push_back(
        "the fastest layout is of those with kernels=" + std::string(name_in(kernel_names, usual)) +
        "; with " + kernels + ", as " + std::string(title_of(program)) +
        " has them, a step takes " + number_text(std::round(1000 * less) / 10) +
        " % less: --with " + kernels + " or --program " +
        std::string(name_in(training_programs, program)));
  }
}

// What is played: the fastest in closed form and, if families are asked for, the best of each.
std::vector<FoundLayout> to_play(const std::vector<FoundLayout>& fitting,
                                 std::optional<int64_t> lines) {
  std::vector<FoundLayout> all = fitting;
  keep_first(all, std::max(lines.value_or(0), played_layouts));
  if (lines) return all;
  for (const FoundLayout& one : families_in(fitting))
    if (std::none_of(all.begin(), all.end(),
                     [&](const FoundLayout& other) { return other.layout == one.layout; }))
      all.push_back(one);
  return all;
}

void play_found(const LayoutQuestion& question, GroupsOfThreads& groups,
                const std::vector<FoundLayout>& fitting, std::optional<int64_t> lines,
                LayoutAnswer& answer) {
  const std::vector<FoundLayout> all = to_play(fitting, lines);
  answer.best = on_all_cores<LayoutLine>(
      question, groups, all.size(), [&](std::size_t number, GroupTimes& its, Stopper& stopper) {
        return line_of(question, its, all[number].layout, Look::by_passes, false, &stopper);
      });
  answer.played = static_cast<int64_t>(answer.best.size());
  rank(answer.best, answer.played);
  if (have_own_ends(question)) rank_by_end(question, answer.best, found_in);
  if (lines)
    keep_first(answer.best, *lines);
  else
    answer.best =
        best_of_families(answer.best, [](const LayoutLine& line) { return line.found.layout; });
  if (!question.sends()) return;
  play_on_wires(question, groups, answer);
  if (have_own_ends(question)) rank_by_end(question, answer.best, found_in);
}

// What is said of the formulas of chosen algorithms, each once; what has no place on wires.
void note_formulas(const LayoutQuestion& question, LayoutAnswer& answer) {
  const double exchange = question.gpu.beside_exchanges().exchange;
  if (question.plays() && exchange > 1)
    answer.notes.push_back("that exchanges take " + number_text(exchange) +
                           " times as long beside products counts in closed form only");
  if (question.algorithms.has_nccl()) {
    const auto& given = question.cluster.cluster.nccl;
    const GpuGeneration generation =
        given && given->generation ? *given->generation : question.algorithms.nccl.generation;
    answer.notes.push_back(
        question.sends()
            ? nccl_stand_in_note
            : "collectives take what NCCL's tuning model expects of each alone, for GPUs of the "
              "generation " +
                  std::string(name_in(gpu_generations, generation)) +
                  " (`nccl` of the cluster file says more)");
  }
  if (question.sends()) return;
  std::set<std::string_view> notes;
  for (const Operation operation : operations_of_layouts)
    if (const Algorithm* chosen = question.algorithms.of(operation))
      notes.insert(chosen->closed_form_note);
  for (const std::string_view note : notes)
    if (!note.empty()) answer.notes.emplace_back(note);
}

// The layout whose neighbours are asked for may not fit itself.
void note_given(const LayoutQuestion& question, LayoutAnswer& answer) {
  const LayoutSpace& space = question.space;
  if (!space.near) return;
  const double needed_B = largest_memory(question.model, *space.near, space.sequence).total_B();
  const double room_B = static_cast<double>((space.memory - space.reserve).count());
  if (needed_B > room_B)
    answer.notes.push_back("the layout of --near does not fit itself: it needs " +
                           gib_text(needed_B) + ", " + gib_text(needed_B - room_B) + " too much");
}

}  // namespace

// The one layout that was given.
LayoutAnswer price_layout(const LayoutQuestion& question, const Layout& layout, bool wants_slices) {
  const LayoutSpace& space = question.space;
  check_layout(question.model, layout, space.sequence, "--layout");
  check_memory(question.model, layout, space.sequence, space.memory, space.reserve, "--layout",
               question.gpu.runs_flash);
  check_workers(question.play.workers, layout, "--workers");
  GroupTimes groups(question.cluster.cluster, space.gpus, question.algorithms);
  LayoutAnswer answer{.candidates = 1, .fitting = 1, .is_given = true, .best = {}};
  answer.best.push_back(
      line_of(question, groups, layout, Look::as_asked, wants_slices, question.play.stopper));
  answer.played = question.plays() ? 1 : 0;
  note_formulas(question, answer);
  return answer;
}

LayoutAnswer find_layouts(const LayoutQuestion& question, std::optional<int64_t> lines) {
  LayoutSearch found = search(question);
  if (found.fitting.empty()) fail_empty(question, found);
  LayoutAnswer answer{.candidates = found.candidates,
                      .fitting = static_cast<int64_t>(found.fitting.size()),
                      .best = {}};
  if (found.left_out > 0)
    answer.notes.push_back(std::to_string(found.left_out) +
                           " layouts were left out, whose groups do not "
                           "fit: " +
                           found.why_left_out);
  note_formulas(question, answer);
  note_given(question, answer);
  if (question.asks_margins)
    answer.margins = margins_of(question, to_play(found.fitting, std::nullopt));
  GroupsOfThreads groups(question.cluster.cluster, question.space.gpus, question.algorithms,
                         all_cores());
  int64_t compared = 0;
  if (question.plays()) {
    play_found(question, groups, found.fitting, lines, answer);
    compared = std::max(answer.played, answer.by_passes);
  } else {
    if (have_own_ends(question)) {
      found.fitting = to_play(found.fitting, lines);
      compared = static_cast<int64_t>(found.fitting.size());
      rank_by_end(question, found.fitting,
                  [](const FoundLayout& one) -> const FoundLayout& { return one; });
    }
    if (lines) keep_first(found.fitting, *lines);
    const std::vector<FoundLayout> kept = lines ? found.fitting : families_in(found.fitting);
    for (const FoundLayout& one : kept)
      answer.best.push_back(line_of(question, groups.of(0), one.layout, Look::as_asked, false,
                                    question.play.stopper));
  }
  if (const std::string why = order_of_ends(question, compared); !why.empty())
    answer.notes.push_back(why);
  if (lines || question.space.program != TrainingProgram::any || question.sends()) return answer;
  for (const TrainingProgram program : {TrainingProgram::megatron, TrainingProgram::torchtitan})
    add_program(question, groups, program, answer);
  note_faster_programs(question, answer);
  return answer;
}

}  // namespace sgdsim
