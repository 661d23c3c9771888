// Options and answers.
#include "app/experiment_options.h"

#include "app/usage.h"
#include "app/write_text.h"

namespace sgdsim {

void add_experiment(CLI::App& command, const std::string& name, const std::string& what,
                    std::string& file, std::string& cluster) {
  command.add_option(name, file, what)->required();
  command.add_option("-c,--cluster", cluster,
                     "cluster: a file, or a name of `sgdsim list clusters`; in place of the "
                     "experiment's");
}

void add_method_option(CLI::App& command, std::vector<std::string>& methods) {
  make_repeatable(command.add_option(
      "--method", methods,
      "a way of exchanging gradients with a label: \"gTop-k: compression=gtopk, density=0.001\""));
}

void give_answer(const Json& json, const std::string& file, const std::string& format,
                 Streams streams, const std::function<void()>& table) {
  const std::string text = json.dump(2) + "\n";
  if (!file.empty()) write_text(text, file, streams.out);
  if (file == "-") return;
  if (format == "json")
    streams.out << text;
  else
    table();
}

}  // namespace sgdsim
