// The training whose step is advised on: when it ends with each change of the step, and what could
// be changed about its saves, restarts and repairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/net/cluster.h"
#include "study/advise/change.h"
#include "study/goodput/training_end.h"

namespace sgdsim {

// The words of a question: that of `sgdsim goodput`, and the work where it does not say that.
struct TrainingWords {
  std::string goodput;
  std::string steps;
  std::string tokens;
};

class AdvisedTraining {
 public:
  // `step`: as it is.
  AdvisedTraining(const TrainingWords& words, const Cluster& cluster, Duration step);

  // With another step, of so many workers, each of which has `batch` times as many samples as now;
  // and with settings of `sgdsim goodput`.
  TrainingEnd end(Duration step, int workers, const std::vector<std::string>& settings = {},
                  const std::function<void()>& look = {}, double batch = 1) const;
  std::string command(Duration step, int workers, const std::vector<std::string>& settings = {},
                      double batch = 1) const;
  const GoodputQuestion& now() const { return now_; }
  ChangeList changes() const;

 private:
  std::vector<std::string> settings_for(int workers, double batch,
                                        std::vector<std::string> settings) const;

  int workers_;
  int workers_per_node_;
  FailingTraining training_;
  GoodputQuestion now_;
};

}  // namespace sgdsim
