// Questions and answers of the what-if page, as JSON texts. What answers is what `sgdsim run`,
// `plan` and `sweep` call; nothing of a simulation happens in the page's own language.
#pragma once

#include <string>

namespace sgdsim {

// {"ask": "run", "input": {...}} and so on; see page.cpp. What is wrong with the question comes
// back as {"error": sentence, "exit": the exit code of sgdsim}. Nothing is thrown.
std::string page_answer(const std::string& question);

// The answer of add_file (page_files.h), or an error as above.
std::string page_add_file(const std::string& name, const std::string& content);

}  // namespace sgdsim
