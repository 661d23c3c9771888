// The text of job scripts.
#include "study/sweep/emit.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

constexpr std::string_view before_shard = ".part-";  // then the number of the shard

// Words that begin with a dash would be options.
std::string file_word(const std::string& file) {
  return shell_word((file.starts_with('-') ? "./" : "") + file);
}

// Exit code 1 says that points failed, which is a result; what is missing is found by the merge.
std::string task_line(const EmitRequest& request, const std::string& shard) {
  std::string line = shell_word(request.program) + " sweep";
  for (const std::string& word : request.words)
    line += " " + (&word == &request.words.front() ? file_word(word) : shell_word(word));
  return line + " --shard " + shard + "/" + std::to_string(request.tasks) + " --out " +
         file_word(request.out + std::string(before_shard)) + shard +
         ".jsonl --resume --quiet --threads " + std::to_string(request.threads) +
         " || [ $? -eq 1 ]";
}

std::string merge_line(const EmitRequest& request) {
  return shell_word(request.program) + " merge " +
         file_word(request.out + std::string(before_shard)) + "*.jsonl --out " +
         file_word(request.out);
}

std::string absolute(const EmitRequest& request, const std::string& file) {
  return (file.starts_with('/') ? "" : request.folder + "/") + file;
}

std::string head(const EmitRequest& request, const std::string& how) {
  return "# " + request.name + " in " + std::to_string(request.tasks) + " tasks. " + how + "\n";
}

// Slurm replaces %a and the like; %% stands for one.
std::string slurm_file(const std::string& file) {
  std::string text;
  for (const char letter : file) text += letter == '%' ? "%%" : std::string(1, letter);
  return text;
}

std::string slurm(const EmitRequest& request) {
  std::string limits;
  for (const auto& [option, value] :
       {std::pair("time", &request.time), std::pair("mem", &request.memory),
        std::pair("partition", &request.partition)})
    if (!value->empty()) limits += "#SBATCH --" + std::string(option) + "=" + *value + "\n";
  return "#!/bin/sh\n#SBATCH --job-name=sgdsim\n#SBATCH --array=0-" +
         std::to_string(request.tasks - 1) +
         "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n"
         "#SBATCH --cpus-per-task=" +
         std::to_string(request.threads) + "\n" + limits + "#SBATCH --output=\"" +
         slurm_file(absolute(request, request.out)) + ".task-%a.log\"\n" +
         head(request, "Submit with sbatch; when all have ended:\n#   cd " +
                           shell_word(request.folder) + " && " + merge_line(request)) +
         "set -eu\ncd " + shell_word(request.folder) + "\n" +
         task_line(request, "\"$SLURM_ARRAY_TASK_ID\"") + "\n";
}

// The task is in a variable, because parallel replaces {} and runs {= =} wherever its own command
// line has them.
std::string parallel(const EmitRequest& request) {
  return "#!/bin/sh\n" + head(request, "Needs GNU parallel; run it again after a failure.") +
         "set -eu\ncd " + shell_word(request.folder) +
         "\nPARALLEL_SHELL=/bin/sh\nSGDSIM_TASK=" + shell_word(task_line(request, "\"$1\"")) +
         "\nexport PARALLEL_SHELL SGDSIM_TASK\nseq 0 " + std::to_string(request.tasks - 1) +
         " | parallel --joblog " + shell_word(absolute(request, request.out + ".joblog")) +
         " --retries 3 'sh -c \"$SGDSIM_TASK\" task {}'\n" + merge_line(request) + "\n";
}

std::string shell(const EmitRequest& request) {
  return "#!/bin/sh\n" + head(request, "One after the other; run it again after a failure.") +
         "set -eu\ncd " + shell_word(request.folder) + "\nshard=0\nwhile [ $shard -lt " +
         std::to_string(request.tasks) + " ]; do\n  " + task_line(request, "\"$shard\"") +
         "\n  shard=$((shard + 1))\ndone\n" + merge_line(request) + "\n";
}

// A string of YAML in single quotes.
std::string yaml_text(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "''" : std::string(1, letter);
  return quoted + "'";
}

// Kubernetes replaces $(NAME) in commands, and makes one $ of two.
std::string k8s_text(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_read = text[i] == '$' && (text[i + 1] == '$' || text[i + 1] == '(');
    escaped += (is_read ? "$" : "") + std::string(1, text[i]);
  }
  return yaml_text(escaped);
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
         k8s_text(task_line(request, "\"$JOB_COMPLETION_INDEX\"")) +
         "]\n        resources:\n          requests:\n            cpu: " +
         std::to_string(request.threads) + "\n        volumeMounts:\n        - name: sgdsim\n" +
         "          mountPath: " + yaml_text(request.folder) +
         "\n      volumes:\n      - name: sgdsim\n        persistentVolumeClaim:\n"
         "          claimName: sgdsim\n";
}

// What YAML takes as the end of a line, or not at all, although it is no control character. Within
// quotes it would be folded, and what follows it in a comment would be read.
std::string problem_in_yaml(const std::string& text) {
  for (const auto& [character, name] :
       {std::pair("\u2028", "U+2028"), std::pair("\u2029", "U+2029"), std::pair("\ufeff", "U+FEFF"),
        std::pair("\ufffe", "U+FFFE"), std::pair("\uffff", "U+FFFF")})
    if (text.find(character) != std::string::npos)
      return "has the character " + std::string(name) + ", which YAML cannot hold";
  return "";
}

}  // namespace

void check_can_emit(const EmitRequest& request) {
  std::vector<std::pair<std::string, const std::string*>> words = {
      {"the sweep's name", &request.name},
      {"the path of sgdsim", &request.program},
      {"this folder's name", &request.folder},
      {"--out", &request.out},
      {"--image", &request.image}};
  for (const std::string& word : request.words) words.emplace_back("\"" + word + "\"", &word);
  for (const auto& [what, word] : words)
    if (const std::string problem = problem_of_text(*word, false); !problem.empty())
      throw InputError("--emit", what + " " + problem + ", which a script cannot hold");
  if (request.kind == "k8s")
    for (const auto& [what, word] : words)
      if (const std::string problem = problem_in_yaml(*word); !problem.empty())
        throw InputError("--emit", what + " " + problem + "; choose another name");
  if (request.kind != "slurm") return;
  if (absolute(request, request.out).find_first_of("\"\\") != std::string::npos)
    throw InputError("--out", "a Slurm script cannot name files with \" or \\ in their path");
  for (const auto& [option, value, known] :
       {std::tuple("--time", &request.time, "0123456789:-"),
        std::tuple("--mem", &request.memory, "0123456789KMGT"),
        std::tuple("--partition", &request.partition,
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,")})
    if (value->find_first_not_of(known) != std::string::npos)
      throw InputError(option, "expected what sbatch takes, made of " + std::string(known) +
                                   ", got \"" + *value + "\"");
}

std::string parts_beside(const std::string& file) {
  constexpr std::string_view ending = ".jsonl";
  const std::size_t at = file.rfind(before_shard);
  if (at == std::string::npos || !file.ends_with(ending)) return "";
  const std::size_t number = at + before_shard.size();
  const std::string_view digits =
      std::string_view(file).substr(number, file.size() - ending.size() - number);
  const bool is_number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? file_word(file.substr(0, number)) + "*" + std::string(ending) : "";
}

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

}  // namespace sgdsim
