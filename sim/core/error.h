// The one exception of the project: the user's input is wrong.
//
// `where` names the place (a file with a JSON path, or an option of the command line), `sentence`
// says what was expected and what was found, so that it can be mended without opening our code.
// what() is both.
// Our own mistakes are assertions, not exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace sgdsim {

class InputError : public std::runtime_error {
 public:
  InputError(const std::string& where, const std::string& sentence)
      : std::runtime_error(where.empty() ? sentence : where + ": " + sentence), where_(where) {}
  const std::string& where() const { return where_; }

 private:
  std::string where_;
};

}  // namespace sgdsim
