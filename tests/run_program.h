// Runs the sgdsim program as people do: as a process of its own, with what it prints captured.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

struct Ran {
  int exit_code = -1;  // -1: killed by a signal
  std::string out;
  std::string log;            // standard error
  int64_t most_memory_B = 0;  // resident, of the process
};

struct RunOptions {
  std::string input_file = "/dev/null";
  std::string output_file;  // instead of capturing it
};

// In the root of the repository.
Ran run_sgdsim(const std::vector<std::string>& arguments, const RunOptions& options = {});

// As a call in this process: quicker, where nothing but the command itself is asked.
Ran call_sgdsim(const std::vector<std::string>& arguments);

// A line as one types it, with quotes, where "sgdsim" is the program that was built. It runs in a
// folder of its own, in which everything of the repository's root is to be found and `results` is
// empty, so that examples may write files.
Ran run_shell_line(const std::string& line);

// Is there a Python for the tools that are written in it?
bool has_python();

// A file or folder that is gone when this is.
class Temporary {
 public:
  enum class Kind { file, folder };
  explicit Temporary(Kind kind, const std::string& content = "");
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace sgdsim
