// Tests of a shell, "[ $A = 1 ]", as far as their words are known.
#pragma once

#include <string>
#include <vector>

#include "study/layout/setting_text.h"

namespace sgdsim {

// Words between the brackets, with variables replaced. A variable that is left is not set: it is
// empty where that is asked, and what it is otherwise is not known.
Known shell_test(const std::vector<std::string>& words);
// Whether a text fits a pattern of "case", as "70*", of which a part may be in quotes.
Known shell_fits(const std::string& text, const std::string& pattern, bool is_quoted);

// Which of several branches is taken: the first whose test holds.
class FirstThatHolds {
 public:
  Known is_none() const { return opposite_of(is_taken_); }
  Known take(Known holds);

 private:
  Known is_taken_ = false;
};

}  // namespace sgdsim
