// Words of command lines that several tests ask.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

inline std::vector<std::string> with(std::vector<std::string> words,
                                     const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A sweep of six points.
inline const std::vector<std::string> six_points = {"sweep",
                                                    "app/experiments/googlenet_k80.json",
                                                    "-q",
                                                    "--axis",
                                                    "cluster.nodes=2,4,8",
                                                    "--axis",
                                                    "strategy=wfbp,ddp"};

}  // namespace sgdsim
