// Expressions of Python, as far as their values follow from the file alone; all else is unknown.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "study/layout/python_values.h"

namespace sgdsim {

struct PythonToken {
  enum class Kind : uint8_t { name, number, text, sign };
  Kind kind = Kind::sign;
  std::string text;      // of a text, what stands in its quotes
  std::size_t from = 0;  // in the statement, and behind it
  std::size_t end = 0;
  bool is(const char* sign) const { return kind != Kind::text && text == sign; }
};
using PythonTokens = std::span<const PythonToken>;

std::vector<PythonToken> python_tokens(const std::string& statement);
// Where one of these signs stands outside of brackets; the number of tokens where none does.
std::size_t find_outside(PythonTokens tokens, std::initializer_list<const char*> signs,
                         std::size_t from = 0);
// Whether it ends with ".name()".
bool is_call_of(PythonTokens tokens, const char* name);
using PythonBody = std::span<const std::vector<PythonToken>>;  // statements
bool has_word(PythonBody body, std::initializer_list<const char*> words);
bool begin_with(PythonBody body, const char* word);
std::string source_of(PythonTokens tokens, const std::string& statement);

struct PythonParameter {
  std::string name;
  PythonTokens usual;  // what stands for it; empty: nothing
  int stars = 0;
};
// Of "def f(a, b: int = 1, **c)" and "class f(a)".
std::vector<PythonParameter> python_parameters(PythonTokens definition);

struct PythonArguments {
  std::vector<PythonValue> in_order;
  std::vector<std::pair<std::string, PythonValue>> named;
};

// What names and calls mean.
class PythonScope {
 public:
  virtual ~PythonScope() = default;
  virtual int line() const = 0;
  virtual PythonObjects& objects() = 0;
  virtual PythonValue variable(const std::string& name) = 0;
  // `self`: what stands before the last dot of the path.
  virtual PythonValue call(const std::string& path, const PythonValue& self,
                           const PythonArguments& arguments) = 0;
};

PythonValue python_value(PythonTokens tokens, const std::string& statement, PythonScope& scope);

}  // namespace sgdsim
