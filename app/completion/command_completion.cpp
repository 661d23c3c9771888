// `sgdsim completion`: the program told to shells, and its manual page.
#include <memory>

#include "app/commands.h"
#include "app/completion/program_words.h"
#include "app/usage.h"
#include "study/version.h"

namespace sgdsim {
namespace {

std::string completion(const std::string& reader, CLI::App& program) {
  const std::vector<CommandWords> commands = program_words(program);
  if (reader == "bash") return bash_completion(commands);
  if (reader == "zsh") return zsh_completion(commands);
  if (reader == "fish") return fish_completion(commands);
  return manual_page(commands, std::string(version_number));
}

}  // namespace

void add_completion_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "completion", "Print what a shell needs to complete command lines, or the manual page.");
  auto reader = std::make_shared<std::string>();
  command->add_option("SHELL", *reader, "bash, zsh or fish; man is the manual page")
      ->required()
      ->check(one_of("shell", {"bash", "zsh", "fish", "man"}));
  command->footer(
      "Example:\n"
      "  sgdsim completion bash\n"
      "In bash, `source <(sgdsim completion bash)` is enough; ./run install puts all where shells\n"
      "look for them.");
  command->callback([reader, streams, &program] { streams.out << completion(*reader, program); });
}

}  // namespace sgdsim
