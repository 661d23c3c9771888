// The manual page, as roff.
#include "app/completion/program_words.h"

namespace sgdsim {
namespace {

// As it stands: no word of it is an instruction.
std::string plain(const std::string& text) {
  std::string roff;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) roff += "\\&";
    begins = letter == '\n';
    if (letter == '\\')
      roff += "\\e";
    else if (letter == '-')
      roff += "\\-";
    else
      roff += letter;
  }
  return roff;
}

std::string name_of(const OptionWords& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return option.place;
  return names + (option.takes_value ? " VALUE" : "");
}

}  // namespace

std::string manual_page(const std::vector<CommandWords>& commands, const std::string& version) {
  const CommandWords& program = commands.front();
  std::string text = ".TH SGDSIM 1 \"\" \"sgdsim " + version +
                     "\" \"User Commands\"\n"
                     ".SH NAME\nsgdsim \\- simulate distributed training of neural networks\n"
                     ".SH SYNOPSIS\n.B sgdsim\n.I COMMAND\n[\\fIOPTION\\fR...]\n"
                     ".SH DESCRIPTION\n" +
                     plain(program.says) + "\n.SH COMMANDS\n";
  for (const CommandWords& command : commands) {
    if (command.words.empty()) continue;
    text += ".SS sgdsim " + plain(command.words) + "\n" + plain(command.says) + "\n";
    for (const OptionWords& option : command.options)
      text += ".TP\n.B " + plain(name_of(option)) + "\n" + plain(option.says) + "\n";
    if (!command.footer.empty()) text += ".PP\n.nf\n" + plain(command.footer) + "\n.fi\n";
  }
  return text + ".SH NOTES\n.nf\n" + plain(program.footer) + "\n.fi\n";
}

}  // namespace sgdsim
