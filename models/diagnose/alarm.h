// When a job's steps have become slower or faster than they were: a two-sided CUSUM over residuals.
//
// A residual is ln(measured / predicted) of a step. Their centre is the median and their spread the
// median absolute deviation (times 1.4826) of the first `reference` steps; the centre then follows
// steps that look clean, because the error of a median of 200 steps alone would raise alarms. A sum
// grows by what a residual exceeds the centre by, in spreads, less k. The alarm comes when it
// exceeds h and the residuals since the sum was 0 are off by `least`.
//
// With h = 10 and k = 0.5, independent normal residuals and a known centre exceed h once in 69,812
// steps, and a shift of one spread is seen after 20 (a Markov chain of 120 states). So by chance
// one job in seven would exceed h within 10,000 steps. Such excesses are shifts of about one
// spread: where steps vary by 1 %, `least` holds them back.
#pragma once

#include <vector>

namespace sgdsim::diagnose {

struct AlarmRule {
  double h = 10;
  double k = 0.5;
  int reference = 200;
  double least = 0.02;  // shifts of residuals that are less than this are not worth an alarm
};

class Alarm {
 public:
  explicit Alarm(const AlarmRule& rule) : rule_(rule) {}

  void add(double residual);

  bool is_ready() const { return spread_ > 0; }  // the reference is known
  double centre() const { return centre_; }
  double spread() const { return spread_; }
  double smoothed() const { return smoothed_; }  // of residuals, with weight 0.1 for the newest
  double up() const { return up_; }              // in spreads
  double down() const { return down_; }
  // Steps since the larger sum last was 0.
  int since() const { return up_ >= down_ ? up_since_ : down_since_; }
  // By how much residuals are off since then: the median, because single steps may be far out.
  double shift() const;
  int sign() const;  // 0: no alarm

 private:
  void settle();

  AlarmRule rule_;
  std::vector<double> first_;
  double centre_ = 0;
  double spread_ = 0;
  double clean_ = 0;  // steps that the centre is of
  double smoothed_ = 0;
  bool has_smoothed_ = false;
  double up_ = 0;
  double down_ = 0;
  int up_since_ = 0;
  int down_since_ = 0;
  std::vector<double> up_away_;  // residuals less the centre since then, the last 200
  std::vector<double> down_away_;
};

}  // namespace sgdsim::diagnose
