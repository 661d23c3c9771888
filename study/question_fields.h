// Fields of questions, which hold the words of a command line: in JSON they may be texts, numbers,
// or objects and lists, which stand for themselves as JSON text. What words mean is checked by who
// uses them; here only form is checked.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

// Every field that is there; `object` knows all of them afterwards. A list of words is one value or
// several; a list of settings may be an object {path: value}, a file its content.
void read_words(Object& object, const Fields& fields);
// All words of a question, which has no other fields.
template <class Words>
Words words_of(const Value& question, Fields (*fields_of)(Words&)) {
  Words words;
  Object object(question);
  read_words(object, fields_of(words));
  object.done();
  return words;
}
// As schema_of, for words.
Json schema_of_words(const Fields& fields);

}  // namespace sgdsim
