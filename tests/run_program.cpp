// posix_spawn and temporary files: no pipe can fill up and block.
#include "tests/run_program.h"

#include <cassert>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/commands.h"
#include "sim/core/json.h"
#include "sim/core/read_files.h"

namespace sgdsim {
namespace {

Ran run(const std::vector<std::string>& words, const RunOptions& options,
        const std::string& folder) {
  const Temporary out(Temporary::Kind::file);
  const Temporary log(Temporary::Kind::file);
  const std::string& out_name = options.output_file.empty() ? out.name() : options.output_file;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, options.input_file.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_name.c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, log.name().c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  assert(failed == 0);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          options.output_file.empty() ? read_text(out.name()) : "", read_text(log.name()),
          usage.ru_maxrss * 1024};
}

}  // namespace

Temporary::Temporary(Kind kind, const std::string& content) {
  name_ = (std::filesystem::temp_directory_path() / "sgdsim-XXXXXX").string();
  if (kind == Kind::folder) {
    const char* made = mkdtemp(name_.data());
    assert(made != nullptr);
    return;
  }
  const int file = mkstemp(name_.data());
  assert(file >= 0);
  close(file);
  std::ofstream(name_, std::ios::binary) << content;
}

Temporary::~Temporary() {
  std::error_code ignored;
  std::filesystem::remove_all(name_, ignored);
}

Ran run_sgdsim(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words{SGDSIM_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run(words, options, SGDSIM_SOURCE_DIR);
}

Ran call_sgdsim(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream log;
  const int exit_code = run_program(arguments, {out, log});
  forget_reads();  // the command is over, and tests may write what it read
  return {exit_code, out.str(), log.str()};
}

Ran run_shell_line(const std::string& line) {
  namespace fs = std::filesystem;
  const Temporary folder(Temporary::Kind::folder);
  for (const auto& entry : fs::directory_iterator(SGDSIM_SOURCE_DIR))
    if (entry.path().filename() != "results")
      fs::create_symlink(entry.path(), fs::path(folder.name()) / entry.path().filename());
  fs::create_directory(fs::path(folder.name()) / "results");
  return run({"/bin/sh", "-c", "sgdsim() { \"" SGDSIM_PROGRAM "\" \"$@\"; }\n" + line}, {},
             folder.name());
}

bool has_python() { return run_shell_line("python3 -c 'import json'").exit_code == 0; }

}  // namespace sgdsim
