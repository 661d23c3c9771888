// Values of Python as far as they follow from a file alone: numbers, texts, lists and objects.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/layout/setting_text.h"

namespace sgdsim {

struct PythonObject;
struct PythonValue {
  enum class Kind : uint8_t { unknown, plain, list, object };
  Kind kind = Kind::unknown;
  std::string text;         // plain: the value; of others, how it is written
  bool is_quoted = false;   // a text
  bool may_differ = false;  // set below an if or a loop, so that it may not happen
  int line = 0;             // where it was assigned; 0: it was only asked for
  std::vector<PythonValue> items = {};
  std::size_t weight = 1;  // values in all its lists
  PythonObject* object = nullptr;

  bool is_plain() const { return kind == Kind::plain; }
  void add(const PythonValue& item);  // to a list; of very long ones no value is known
};

class PythonObjects;
// Its fields are those that the file sets; it may have others.
struct PythonObject {
  PythonObjects* home;
  std::map<std::string, PythonValue> fields = {};
  std::string maker = {};              // the function or class that it comes from
  bool is_made = false;                // by a class, or as a dictionary
  std::set<std::string> touched = {};  // functions that got it and that the file lacks
  PythonValue& field(const std::string& name);
};

// All objects of a file, however they refer to each other.
class PythonObjects {
 public:
  PythonValue make(const std::string& maker = "", bool is_made = false);
  // Fields, and what they refer to, as far down as is followed. `count`: how many there are.
  using Count = std::function<void(std::size_t)>;
  std::map<std::string, PythonValue> copied(const std::map<std::string, PythonValue>& fields,
                                            const Count& count, int depth = 0);
  void add_copy(const PythonObject& from, PythonObject& to, const Count& count);

 private:
  std::deque<PythonObject> all_;
};

PythonValue plain_value(const std::string& text, bool is_quoted = false);
PythonValue truth_value(Known known);

// Of these, nothing where it is not known.
Known truth_of(const PythonValue& value);
// "==", "!=", "<", "<=", ">", ">=", "is", "in".
Known compared(const std::string& sign, const PythonValue& left, const PythonValue& right);
// "+", "-", "*", "/", "//", "%", "**".
PythonValue computed(const std::string& sign, const PythonValue& left, const PythonValue& right);
// What is known of the functions that come with Python; `self`: what stands before the last dot. Of
// the environment, what stands for a variable that it lacks. Nothing of other functions.
std::optional<PythonValue> python_function(const std::string& path, const PythonValue& self,
                                           const std::vector<PythonValue>& all);
PythonValue item_of(const PythonValue& value, const PythonValue& key);
PythonValue member_of(const PythonValue& value, const std::string& name);
// What a loop over a list gives, one after another, or over a dictionary, as pairs; nothing where
// it is not known.
std::optional<std::vector<PythonValue>> items_of(const PythonValue& value, bool are_pairs);
// "[a, b]" of a list; of an object, its class. Nothing where it is not known.
std::optional<std::string> text_of_value(const PythonValue& value);
bool is_class_name(const std::string& path);

}  // namespace sgdsim
