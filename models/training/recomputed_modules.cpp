// Names with + between them, in the order of their list.
#include "models/training/recomputed_modules.h"

#include "sim/core/error.h"

namespace sgdsim {

RecomputedModules parse_modules(const std::string& text, const std::string& where) {
  RecomputedModules modules;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('+', start), text.size());
    const RecomputedModule module =
        named_in(recomputed_modules, "module", text.substr(start, end - start), where);
    if (modules.has(module))
      throw InputError(where, "module \"" + std::string(name_in(recomputed_modules, module)) +
                                  "\" occurs twice in \"" + text.substr(0, 80) + "\"");
    modules.set(module);
    start = end + 1;
  }
  return modules;
}

std::string to_text(const RecomputedModules& modules) {
  std::string text;
  for (const auto& [name, module] : recomputed_modules)
    if (modules.has(module)) text += (text.empty() ? "" : "+") + std::string(name);
  return text;
}

}  // namespace sgdsim
