// Trials draw places first, which takes no time, so that none is simulated twice; then each is read
// and played by a thread, together and, where no trial before has a job at these places, alone.
#include "study/jobs/job_trials.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/core/worked_on.h"
#include "study/jobs/free_workers.h"

namespace sgdsim {
namespace {

// Jobs of a thread.
class ReadJobs {
 public:
  ReadJobs(const JobsSource& source, const SimulationLimits& limits,
           const std::function<void()>& look)
      : file_(read_jobs(source)),
        stopper_(look, limits),
        question_{.network = &file_.cluster.network,
                  .carrier = file_.carrier,
                  .meanwhile = {file_.traffic, file_.changes},
                  .stopper = &stopper_},
        played_(file_, question_) {}
  ReadJobs(const ReadJobs&) = delete;
  ReadJobs& operator=(const ReadJobs&) = delete;

  std::vector<JobResult> play(const std::vector<std::size_t>& jobs) const {
    return played_.play(question_, jobs);
  }
  // Among the file's traffic.
  std::vector<JobResult> play_all() {
    const auto wires = file_.shared();
    question_.wires = wires.get();
    stopper_.restart();
    JobsInTime in_time(question_);
    std::vector<JobResult> results;
    for (std::size_t job = 0; job < file_.jobs.size(); ++job)
      results.push_back(played_.together(in_time, job, nullptr));
    return results;
  }

 private:
  JobsFile file_;
  Stopper stopper_;
  JobsQuestion question_;
  PlayedJobs played_;
};

WorkOn on_all_cores(std::size_t count, const Watch& watch) {
  WorkOn how{.look = watch.look};
  if (watch.reached)
    how.reached = [count, &watch](std::size_t done) {
      watch.reached(static_cast<int64_t>(done), static_cast<int64_t>(count));
    };
  return how;
}

// ---- placements

struct Trial {
  std::vector<std::string> words;
  std::vector<std::vector<int>> places;
  std::vector<std::size_t> alone;  // jobs that no trial before has at these places
};

constexpr char as_given[] = "as given";
constexpr char nodes_by_chance[] = "nodes by chance";

// Draws trials, each with other places.
class Drawing {
 public:
  explicit Drawing(const JobsFile& base)
      : base_(base), seed_(base.routes.seed), usual_(base.cluster) {
    for (std::size_t job = 0; job < base.jobs.size(); ++job) {
      const JobOfFile& one = base.jobs[job];
      usual_.take_these(one.server_places);
      if (is_named(one))
        usual_.take_these(one.places);
      else
        moving_.push_back(job);
    }
  }
  std::size_t moving() const { return moving_.size(); }

  void draw(int64_t count, const Watch& watch) {
    const int64_t most_draws = 4 * count;  // many words may come to the same places, or not fit
    const std::size_t words = placement_words.size();
    for (std::size_t word = 0; word < words && is_short_of(count); ++word)
      add_words(std::vector<std::size_t>(moving_.size(), word));
    std::vector<std::size_t> digits(moving_.size());
    for (int64_t draw = 0; draw < most_draws && is_short_of((count + 1) / 2); ++draw) {
      watch();
      std::size_t place = digits.size();
      while (place > 0 && ++digits[place - 1] == words) digits[--place] = 0;
      if (place == 0) break;  // all combinations
      add_words(digits);
    }
    const Random random(seed_);
    for (int64_t draw = 0; draw < most_draws && is_short_of(count); ++draw) {
      watch();
      add_by_chance(random.stream(static_cast<uint64_t>(draw)));
    }
  }
  std::vector<Trial> take() { return std::move(trials_); }
  int64_t unfit() const { return unfit_; }
  int64_t repeated() const { return repeated_; }

 private:
  static bool is_named(const JobOfFile& job) {
    return job.placement.empty() || (job.placement.front() >= '0' && job.placement.front() <= '9');
  }
  bool is_short_of(int64_t count) const { return static_cast<int64_t>(trials_.size()) < count; }

  Trial unmoved() const {
    Trial trial;
    for (const JobOfFile& job : base_.jobs) {
      trial.words.emplace_back(as_given);
      trial.places.push_back(job.places);
    }
    return trial;
  }
  // A word of each job that moves.
  void add_words(const std::vector<std::size_t>& words) {
    FreeWorkers free = usual_;
    Trial trial = unmoved();
    try {
      for (std::size_t i = 0; i < moving_.size(); ++i) {
        const std::size_t job = moving_[i];
        trial.words[job] = placement_words[words[i]];
        trial.places[job] = free.take_by(trial.words[job], base_.jobs[job].places.size(),
                                         base_.jobs[job].name, Random(seed_));
      }
    } catch (const InputError&) {  // there are not so many nodes or leaves
      ++unfit_;
      return;
    }
    add(std::move(trial));
  }
  void add_by_chance(Random random) {
    FreeWorkers free = usual_;
    Trial trial = unmoved();
    for (const std::size_t job : moving_) {
      trial.words[job] = nodes_by_chance;
      trial.places[job] = free.take_nodes_by_chance(base_.jobs[job].places.size(), random);
      if (trial.places[job].empty()) return;
    }
    add(std::move(trial));
  }
  void add(Trial trial) {
    if (!known_.insert(trial.places).second) {
      ++repeated_;
      return;
    }
    for (std::size_t job = 0; job < trial.places.size(); ++job)
      if (known_alone_.insert({job, trial.places[job]}).second) trial.alone.push_back(job);
    trials_.push_back(std::move(trial));
  }

  const JobsFile& base_;
  uint64_t seed_;
  FreeWorkers usual_;  // without the places of jobs that stay
  std::vector<std::size_t> moving_;
  std::vector<Trial> trials_;
  std::set<std::vector<std::vector<int>>> known_;
  std::set<std::pair<std::size_t, std::vector<int>>> known_alone_;
  int64_t unfit_ = 0;
  int64_t repeated_ = 0;
};

// A list keeps the order of ranks, which text does not.
std::string setting_text(const std::vector<int>& places) {
  // A number alone would be no list.
  const bool is_text = places.size() > 1 && std::is_sorted(places.begin(), places.end());
  return is_text ? number_text(places) : Json(places).dump();
}
// Of a jobs file, for these places.
std::vector<std::string> settings_of(const Trial& trial, const JobsFile& base) {
  std::vector<std::string> settings;
  for (std::size_t job = 0; job < trial.places.size(); ++job) {
    const std::string path = "jobs." + std::to_string(job);
    settings.push_back(path + ".placement=" + setting_text(trial.places[job]));
    if (!base.jobs[job].server_places.empty())
      settings.push_back(path + ".servers=" + Json(base.jobs[job].server_places).dump());
  }
  return settings;
}

// The places of all workers are kept of each.
void check_count(int64_t count, const JobsFile& base) {
  constexpr int64_t most_places = 50'000'000;
  int64_t workers = 1;
  for (const JobOfFile& job : base.jobs) workers += static_cast<int64_t>(job.places.size());
  const int64_t most = std::max<int64_t>(1, most_places / workers);
  if (count > most)
    throw InputError("--placements", "of jobs with " + std::to_string(workers - 1) +
                                         " workers in all, at most " + std::to_string(most) +
                                         " placements are tried");
}

struct PlayedTrial {
  std::vector<Duration> together;
  std::vector<std::pair<std::size_t, Duration>> alone;
};

PlayedTrial play(const JobTrials& trials, const Trial& trial, const JobsFile& base,
                 const std::function<void()>& look) {
  JobsSource source = trials.source;
  for (std::string& setting : settings_of(trial, base))
    source.settings.push_back(std::move(setting));
  ReadJobs jobs(source, trials.limits, look);
  PlayedTrial played;
  for (const JobResult& result : jobs.play_all()) played.together.push_back(result.total);
  for (const std::size_t job : trial.alone)
    played.alone.emplace_back(job, jobs.play({job}).front().total);
  return played;
}

}  // namespace

PairSlowdowns slowdowns_in_pairs(const JobTrials& trials, const std::vector<Duration>& alone,
                                 const Watch& watch) {
  std::vector<std::vector<std::size_t>> pairs;
  for (std::size_t one = 0; one < alone.size(); ++one)
    for (std::size_t other = one + 1; other < alone.size(); ++other) pairs.push_back({one, other});
  const WorkOn how = on_all_cores(pairs.size(), watch);
  std::vector<std::unique_ptr<ReadJobs>> jobs(static_cast<std::size_t>(how.threads));
  const auto play = [&](int thread, std::size_t number, const std::function<void()>& look) {
    std::unique_ptr<ReadJobs>& its = jobs[static_cast<std::size_t>(thread)];
    if (!its) its = std::make_unique<ReadJobs>(trials.source, trials.limits, look);
    return its->play(pairs[number]);
  };
  const auto results = worked_on<std::vector<JobResult>>(pairs.size(), how, play);
  PairSlowdowns slowdowns(alone.size(), std::vector<double>(alone.size(), 1));
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const std::size_t place : {0U, 1U}) {
      const std::size_t job = pairs[i][place];
      slowdowns[job][pairs[i][1 - place]] = slowdown_of(results[i][place].total, alone[job]);
    }
  return slowdowns;
}

TriedPlacements try_placements(const JobTrials& trials, int64_t count, const Watch& watch) {
  const JobsFile base = read_jobs(trials.source);
  Drawing drawing(base);
  if (drawing.moving() == 0)
    throw InputError("--placements",
                     "the file names the workers of all jobs; leave out a \"placement\", so that "
                     "its job may move");
  check_count(count, base);
  drawing.draw(count, watch);
  const std::vector<Trial> drawn = drawing.take();
  const auto results =
      worked_on<PlayedTrial>(drawn.size(), on_all_cores(drawn.size(), watch),
                             [&](int, std::size_t number, const std::function<void()>& look) {
                               return play(trials, drawn[number], base, look);
                             });
  std::vector<Duration> fastest(base.jobs.size(), Duration::longest());
  for (const PlayedTrial& one : results)
    for (const auto& [job, total] : one.alone) fastest[job] = std::min(fastest[job], total);
  TriedPlacements all{{}, drawing.unfit(), drawing.repeated()};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    TriedPlacement& tried = all.best_first.emplace_back();
    tried.words = drawn[i].words;
    tried.settings = settings_of(drawn[i], base);
    for (std::size_t job = 0; job < fastest.size(); ++job)
      tried.slowdowns.push_back(slowdown_of(results[i].together[job], fastest[job]));
    tried.worst = *std::max_element(tried.slowdowns.begin(), tried.slowdowns.end());
    tried.mean = std::accumulate(tried.slowdowns.begin(), tried.slowdowns.end(), 0.0) /
                 static_cast<double>(tried.slowdowns.size());
  }
  std::stable_sort(all.best_first.begin(), all.best_first.end(),
                   [](const TriedPlacement& a, const TriedPlacement& b) {
                     return std::pair(a.worst, a.mean) < std::pair(b.worst, b.mean);
                   });
  return all;
}

void check_pairs(const Json& file) {
  if (!file.is_object() || !file.contains("jobs") || !file["jobs"].is_array()) return;
  const auto jobs = static_cast<int64_t>(file["jobs"].size());
  if (jobs < 2 || jobs > most_jobs_in_pairs)
    throw InputError("--matrix", "has each two of 2 to " + std::to_string(most_jobs_in_pairs) +
                                     " jobs, and the file has " + std::to_string(jobs));
}

Fields fields_of(const TriedPlacement& tried) {
  return {{"placement", tried.words,
           "of each job the word, \"nodes by chance\", or \"as given\" in the file"},
          {"settings", tried.settings, "what --set takes to have the jobs there"},
          Field("slowdowns", tried.slowdowns,
                "of each job against the fastest that it was alone at any of the places tried")
              .at_least(0),
          Field("worst_slowdown", tried.worst, "the largest of these").at_least(0),
          Field("mean_slowdown", tried.mean, "their mean").at_least(0)};
}

}  // namespace sgdsim
