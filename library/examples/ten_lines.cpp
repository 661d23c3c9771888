// Against an installed sgdsim: what an all-reduce of 64 MiB takes among 16 workers.
#include <iostream>
#include <sgdsim/sgdsim.h>

int main() {
  const auto answer = sgdsim::answer(
      {{"ask", "collective"}, {"algorithm", "ring"}, {"bytes", "64 MiB"}, {"cluster", "10gbe_16"}});
  std::cout << answer["time_us"] << " us\n";
}
