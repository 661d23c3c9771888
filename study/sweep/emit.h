// Scripts that play a sweep on many machines: every task plays a shard, and the shards are merged.
//
// Tasks write files of their own and resume them, so a task that was killed, requeued or retried
// loses nothing and repeats nothing; the merged file is the same as that of one process.
#pragma once

#include <string>
#include <vector>

#include "study/shell_word.h"

namespace sgdsim {

struct EmitRequest {
  std::string kind;     // slurm, parallel, shell, k8s
  std::string program;  // of sgdsim, as tasks start it
  std::string folder;   // where tasks run
  std::string name;
  std::vector<std::string> words;  // SWEEP, --axis, --set
  std::string out;                 // of the merged points
  int threads = 1;                 // of a task
  int64_t tasks = 1;
  std::string image;  // k8s: the container
  std::string time;   // slurm, where given: --time, --mem, --partition
  std::string memory;
  std::string partition;
};

// An InputError about words that a script cannot hold: ends of lines and other control characters,
// and for Slurm what its own lines cannot quote.
void check_can_emit(const EmitRequest& request);

// The script, or the manifest.
std::string emit_script(const EmitRequest& request);

// What a shell calls all parts of a script, if the file is named as one of them is:
// "a.db.part-*.jsonl"; else empty.
std::string parts_beside(const std::string& file);

// Tasks that keep what starting one costs (0.7 s with Slurm) below 5 % and leave some to share out:
// a minute of work each, at least 100 points, and not more than Slurm's usual 1000.
int64_t tasks_for(double seconds, int64_t points);

}  // namespace sgdsim
