// The text of job scripts.
#include "app/sweep/emit.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

std::string part_of(const EmitRequest& request, const std::string& shard) {
  return shell_word(request.out + ".part-") + shard + ".jsonl";
}

// Exit code 1 says that points failed, which is a result; what is missing is found by the merge.
std::string task_line(const EmitRequest& request, const std::string& shard) {
  std::string line = shell_word(request.program) + " sweep";
  for (const std::string& word : request.words) line += " " + shell_word(word);
  return line + " --shard " + shard + "/" + std::to_string(request.tasks) + " --out " +
         part_of(request, shard) + " --resume --quiet --threads " +
         std::to_string(request.threads) + " || [ $? -eq 1 ]";
}

std::string merge_line(const EmitRequest& request) {
  return shell_word(request.program) + " merge " + shell_word(request.out + ".part-") +
         "*.jsonl --out " + shell_word(request.out);
}

std::string head(const EmitRequest& request, const std::string& how) {
  return "# " + request.name + " in " + std::to_string(request.tasks) + " tasks. " + how + "\n";
}

std::string slurm(const EmitRequest& request) {
  return "#!/bin/sh\n#SBATCH --job-name=sgdsim\n#SBATCH --array=0-" +
         std::to_string(request.tasks - 1) +
         "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n"
         "#SBATCH --cpus-per-task=" +
         std::to_string(request.threads) + "\n#SBATCH --output=\"" +
         (request.out.starts_with('/') ? "" : request.folder + "/") + request.out +
         ".task-%a.log\"\n" +
         head(request, "Submit with sbatch; when all have ended:\n#   cd " +
                           shell_word(request.folder) + " && " + merge_line(request)) +
         "set -eu\ncd " + shell_word(request.folder) + "\n" +
         task_line(request, "\"$SLURM_ARRAY_TASK_ID\"") + "\n";
}

std::string parallel(const EmitRequest& request) {
  return "#!/bin/sh\n" + head(request, "Needs GNU parallel; run it again after a failure.") +
         "set -eu\ncd " + shell_word(request.folder) + "\nseq 0 " +
         std::to_string(request.tasks - 1) + " | parallel --joblog " +
         shell_word(request.out + ".joblog") + " --retries 3 " +
         shell_word(task_line(request, "{}")) + "\n" + merge_line(request) + "\n";
}

std::string shell(const EmitRequest& request) {
  return "#!/bin/sh\n" + head(request, "One after the other; run it again after a failure.") +
         "set -eu\ncd " + shell_word(request.folder) + "\nshard=0\nwhile [ $shard -lt " +
         std::to_string(request.tasks) + " ]; do\n  " + task_line(request, "$shard") +
         "\n  shard=$((shard + 1))\ndone\n" + merge_line(request) + "\n";
}

// A string of YAML in single quotes.
std::string yaml_text(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "''" : std::string(1, letter);
  return quoted + "'";
}

std::string k8s(const EmitRequest& request) {
  const std::string count = std::to_string(request.tasks);
  return head(request,
              "kubectl apply -f; the files are on the volume claim sgdsim, which is\n"
              "# mounted where the tasks run. When all have ended, there:\n#   " +
                  merge_line(request)) +
         "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: sgdsim\nspec:\n"
         "  completionMode: Indexed\n  completions: " +
         count + "\n  parallelism: " + std::to_string(std::min<int64_t>(request.tasks, 64)) +
         "\n  backoffLimit: " + std::to_string(3 * request.tasks) +
         "\n  template:\n    spec:\n      restartPolicy: OnFailure\n      containers:\n"
         "      - name: sgdsim\n        image: " +
         yaml_text(request.image) + "\n        workingDir: " + yaml_text(request.folder) +
         "\n        command: [sh, -c, " +
         yaml_text(task_line(request, "\"$JOB_COMPLETION_INDEX\"")) +
         "]\n        resources:\n          requests:\n            cpu: " +
         std::to_string(request.threads) + "\n        volumeMounts:\n        - name: sgdsim\n" +
         "          mountPath: " + yaml_text(request.folder) +
         "\n      volumes:\n      - name: sgdsim\n        persistentVolumeClaim:\n"
         "          claimName: sgdsim\n";
}

}  // namespace

std::string emit_script(const EmitRequest& request) {
  if (request.kind == "slurm") return slurm(request);
  if (request.kind == "parallel") return parallel(request);
  if (request.kind == "k8s") return k8s(request);
  return shell(request);
}

int64_t tasks_for(double seconds, int64_t points) {
  constexpr double seconds_of_a_task = 60;
  constexpr int64_t points_of_a_task = 100;
  constexpr int64_t most_tasks = 1000;
  const double wanted = std::min(std::ceil(seconds / seconds_of_a_task), 1. * most_tasks);
  return std::max<int64_t>(
      1, std::min({static_cast<int64_t>(wanted), points / points_of_a_task, most_tasks}));
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-./=,:+@%") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace sgdsim
