// The points are those of a sweep and are read as there; only what a picture needs is kept of them.
#include "app/page/page_grid.h"

#include <cmath>
#include <map>

#include "models/strategy/strategy.h"
#include "sim/core/error.h"
#include "study/step/result_json.h"
#include "study/sweep/contest.h"
#include "study/sweep/sweep_point.h"

namespace sgdsim {
namespace {

constexpr int64_t most_points = 100'000;

struct GridPoint {
  std::optional<int64_t> iteration_ps;
  double iteration_us = 0;
  double speedup = 0;
  bool is_bound = false;
};

// Of the points that were simulated; an empty object if there is none. What is as good as the best,
// as far as measurements could tell, wins with it; a bound never wins.
Json winner_of(const std::vector<GridPoint>& points, const Apart& apart) {
  Contest<std::size_t> contest;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].iteration_ps && !points[i].is_bound)
      contest.add(i, points[i].iteration_us, apart);
  Json winner = Json::object();
  if (contest.winners().empty()) return winner;
  const auto& [best, least_us] = contest.winners().front();
  winner["best"] = best;
  winner["ties"] = Json::array();
  for (const auto& entry : contest.winners())
    if (entry.choice != best) winner["ties"].push_back(entry.choice);
  if (std::isfinite(contest.next()))
    winner["ahead_percent"] = 100 * (contest.next() / least_us - 1);
  return winner;
}

}  // namespace

Json grid_of(const PageInput& input, const Value& axes) {
  std::vector<Axis> list;
  for (const auto& [field, values] : axes.entries()) list.emplace_back(field, values);
  const Sweep sweep = sweep_over(resolved_of(input), std::move(list));
  if (sweep.points > most_points)
    axes.fail("these are " + std::to_string(sweep.points) + " points; the page takes " +
              std::to_string(most_points));
  PointReader reader(sweep);
  Points points(sweep, {});
  const auto choices = static_cast<std::size_t>(sweep.axes.back().size());
  const std::string& compared = sweep.axes.back().field();
  const bool chooses_strategy = compared == "strategy";
  const Apart apart = apart_by({compared}, "iteration_ps");
  Json times = Json::array(), speedups = Json::array(), winners = Json::array();
  std::map<std::string, int64_t> errors;
  std::vector<GridPoint> group;
  while (const auto point = points.next()) {
    GridPoint& now = group.emplace_back();
    try {
      const Experiment& experiment = reader.read(point->choice);
      const Metrics metrics = metrics_of(experiment, simulate_step(experiment.question()));
      now = {metrics.mean_ps, metrics.mean_us, metrics.speedup,
             chooses_strategy && is_bound(experiment.strategy.name)};
    } catch (const InputError& error) {
      ++errors[error.what()];
    }
    times.push_back(now.iteration_ps ? Json(*now.iteration_ps) : Json());
    speedups.push_back(now.iteration_ps ? Json(now.speedup) : Json());
    if (group.size() < choices) continue;
    winners.push_back(winner_of(group, apart));
    group.clear();
  }
  Json answer = {{"points", sweep.points},
                 {"iteration_ps", std::move(times)},
                 {"speedup", std::move(speedups)},
                 {"winners", std::move(winners)},
                 {"errors", Json::array()}};
  for (const auto& [error, count] : errors)
    answer["errors"].push_back({{"error", error}, {"points", count}});
  return answer;
}

}  // namespace sgdsim
