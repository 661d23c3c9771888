// From a field to an option.
#include "app/field_options.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "app/usage.h"

namespace sgdsim {
namespace {

std::string words_of(const Field& field) {
  if (field.option_words() != nullptr) return field.option_words();
  std::string name = field.name();
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name + (field.has_no() ? ",!--no-" + name : "");
}

template <class T>
constexpr bool is_number = !std::is_same_v<T, std::string> && !std::is_same_v<T, bool> &&
                           !std::is_same_v<T, std::vector<std::string>>;

template <class T>
CLI::Option* add_option(CLI::App& command, const Field& field, T& target) {
  const std::string words = words_of(field);
  if constexpr (std::is_same_v<T, bool>) {
    return command.add_flag(words, target, field.says());
  } else {
    CLI::Option* option = command.add_option(words, target, field.says());
    if constexpr (std::is_same_v<T, std::vector<std::string>>)
      if (words.starts_with('-')) make_repeatable(option);
    if constexpr (is_number<T>) option->check(within(field.least(), field.most()));
    if (!field.names().empty()) option->check(one_of(field.name(), field.names()));
    return option;
  }
}

// If what the field fills is one of these types.
template <class... Types>
CLI::Option* add_if_one_of(CLI::App& command, const Field& field) {
  CLI::Option* option = nullptr;
  const auto add = [&](auto* target) {
    if (target != nullptr) option = add_option(command, field, *target);
  };
  (add(field.target<Types>()), ...);
  return option;
}

}  // namespace

void add_options(CLI::App& command, const Fields& fields) {
  for (const Field& field : fields) {
    CLI::Option* option =
        add_if_one_of<std::string, std::vector<std::string>, bool, int, int64_t,
                      std::optional<int64_t>, std::optional<uint64_t>>(command, field);
    assert(option != nullptr);
    if (field.is_needed()) option->required();
  }
}

void add_format_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& known) {
  std::string says = known.front() + " (default)";
  for (std::size_t i = 1; i < known.size(); ++i)
    says += (i + 1 < known.size() ? ", " : " or ") + known[i];
  command.add_option("--format", format, says)->check(one_of("format", known));
}

}  // namespace sgdsim
