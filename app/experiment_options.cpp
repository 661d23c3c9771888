// Options and answers.
#include "app/experiment_options.h"

#include "app/usage.h"
#include "study/write_text.h"

namespace sgdsim {

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
