// Wrapping, and what every value is.
#include "app/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace sgdsim {
namespace {

constexpr std::size_t line_width = 80;
constexpr std::size_t name_width = 28;  // of an option and its value

struct ValueKind {
  std::string_view name;
  std::vector<std::string_view> options;
};

// What is no word to choose.
const std::array<ValueKind, 6>& value_kinds() {
  static const std::array<ValueKind, 6> kinds{{
      {"FILE",
       {"--also",
        "--case",
        "--cluster",
        "--communication",
        "--convergence",
        "--emit",
        "--fit",
        "--groups",
        "--into",
        "--link",
        "--memory-snapshot",
        "--out",
        "--picture",
        "--report",
        "--timeline",
        "--traffic",
        "--try",
        "CASE",
        "EXPERIMENT",
        "FILE",
        "JOBS",
        "QUESTION",
        "RESULTS",
        "SCHEDULE",
        "SWEEP",
        "TRAFFIC"}},
      {"SIZE",
       {"--block", "--bytes", "--gradients", "--least-size", "--memory", "--mem", "--most-size",
        "--partition", "--reserve", "--send-buffer"}},
      {"TIME",
       {"--L", "--alpha", "--g", "--interval", "--max-sim-time", "--o", "--start", "--step",
        "--time", "--until"}},
      {"TIME/B", {"--G", "--O", "--beta", "--gamma"}},
      {"FIELD=VALUE", {"--axis", "--option", "--set"}},
      {"N",
       {"--bins", "--exchanges", "--links", "--max-events", "--nodes", "--parameters", "--rank",
        "--ranks", "--root", "--runs", "--seed", "--segments", "--spares", "--stage", "--steps",
        "--tasks", "--threads"}},
  }};
  return kinds;
}

std::string kind_of(const std::string& option) {
  for (const ValueKind& kind : value_kinds())
    if (std::find(kind.options.begin(), kind.options.end(), option) != kind.options.end())
      return std::string(kind.name);
  return "WORD";
}

// With an end of line where the next word would pass the width; those that are there stay.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string answer;
  std::size_t used = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", from), text.size());
    const std::size_t length = end - from;
    if (used > 0 && used + 1 + length > width) {
      answer += '\n';
      used = 0;
    } else if (used > 0) {
      answer += ' ';
      ++used;
    }
    answer.append(text, from, length);
    used += length;
    if (end < text.size() && text[end] == '\n') {
      answer += '\n';
      used = 0;
    }
    from = end + 1;
  }
  return answer;
}

class NarrowHelp : public CLI::Formatter {
 public:
  NarrowHelp() { column_width(name_width); }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(Formatter::make_description(app), line_width);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), line_width - name_width);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = Formatter::make_option_opts(option);
    for (const char* plain : {" TEXT", " INT", " UINT", " FLOAT"})
      if (text.starts_with(plain)) {
        const std::string kind =
            plain == std::string_view(" TEXT") ? kind_of(option->get_name()) : "N";
        return " " + kind + text.substr(std::string_view(plain).size());
      }
    return text;
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             wrapped(command->get_description(), line_width - name_width),
                             column_width_);
    return out.str();
  }
};

void set_formatter(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& help) {
  app.formatter(help);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    set_formatter(*command, help);
}

}  // namespace

void arrange_help(CLI::App& program) {
  const std::vector<std::pair<const char*, std::vector<std::string_view>>> groups = {
      {"Ask",
       {"run", "plan", "advise", "learn", "sweep", "merge", "tune", "need", "collective", "layout",
        "goodput", "diagnose", "compare", "jobs", "traffic", "replay"}},
      {"Look", {"report", "plot", "list", "schema", "trace", "model", "completion"}},
      {"Convert", {"import", "export", "fit"}},
      {"Check", {"validate"}}};
  for (CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    for (const auto& [group, names] : groups)
      if (std::find(names.begin(), names.end(), command->get_name()) != names.end())
        command->group(group);
  set_formatter(program, std::make_shared<NarrowHelp>());
}

std::vector<std::string> with_help_asked(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

}  // namespace sgdsim
