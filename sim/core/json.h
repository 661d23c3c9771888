// JSON values that remember which file and which path they came from.
//
// A reader asks an Object for its fields and calls done() at the end: whatever was not asked for is
// an unknown field, and the error lists the known ones. Every getter checks type and range, so
// that a value which has been read is a value that can be used.
//
//   Object link(value);                       // error unless it is a JSON object
//   const Duration alpha = link.at("latency").duration();
//   if (auto gamma = link.find("reduce")) cost.reduce = gamma->per_byte();
//   link.done();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

using Json = nlohmann::ordered_json;

// A value inside a document. The document must outlive it.
class Value {
 public:
  Value(const Json& json, std::string file, std::string path)
      : json_(&json), file_(std::move(file)), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }  // "/nic/latency", empty for the root
  std::string where() const { return file_ + ": " + (path_.empty() ? "/" : path_); }

  std::string text() const;
  bool flag() const;
  int64_t whole(int64_t least, int64_t most) const;
  double number(double least, double most) const;
  Duration duration() const;
  Bytes bytes() const;
  Bandwidth bandwidth() const;
  PerByte per_byte() const;
  std::vector<Value> items() const;                                      // the elements of an array
  std::size_t size() const;                                              // of an array
  void for_each_item(const std::function<void(const Value&)>& f) const;  // a long list one by one
  std::vector<std::pair<std::string, Value>> entries() const;  // the members of a free-form object

  Value child(const std::string& name) const;
  [[noreturn]] void fail(const std::string& sentence) const;

 private:
  std::string quantity() const;
  Value entry(std::size_t index, const Json& json) const;
  const Json* json_;
  std::shared_ptr<const Json> kept_;  // if what is here was made from a packed list
  std::string file_;
  std::string path_;
};

// The fields of a JSON object with a fixed set of names.
class Object {
 public:
  explicit Object(const Value& value);
  bool has(const std::string& name);
  Value at(const std::string& name);                   // required
  std::optional<Value> find(const std::string& name);  // optional
  void done() const;                                   // error if a field was never asked for
  const Value& value() const { return value_; }

 private:
  Value value_;
  std::vector<std::string> known_;
};

// A parsed file. Reading refuses what is not JSON (naming line and column), repeated keys, nesting
// deeper than 64 and files beyond 1 GiB.
class Document {
 public:
  static Document read(const std::string& file);  // "-" is standard input
  static Document parse(std::string_view text, const std::string& file);
  Value root() const { return {*json_, file_, ""}; }

 private:
  Document(Json json, std::string file);
  std::shared_ptr<const Json> json_;
  std::string file_;
};

// A list of more than 65,536 entries, within no other list, is kept as text (in a binary value,
// which JSON text cannot have): a million entries take a tenth of the memory. Value reads it as any
// list; who looks at Json asks these.
bool is_list(const Json& json);
void for_each_in(const Json& list, const std::function<void(const Json&)>& f);
Json unpacked(const Json& list);
std::size_t size_of(const Json& list);

// Refuses JSON text that nests too deep, repeats a key, or has control characters in a name or in
// a text. Whether it is JSON at all is the answer.
bool check_text(std::string_view text, const std::string& where);

// For a terminal: at most 1,600 bytes or so, and control characters other than the end of a line,
// and bytes that are not UTF-8, as
// \\x1b.
std::string printable(std::string_view text);
// What a name must not have: "" if it is UTF-8 without control characters, else a sentence.
// `is_text`: ends of lines and tabs are taken.
std::string problem_of_text(std::string_view text, bool is_text);

// The content of a file, unpacked from gzip and without the mark of UTF-8, or an InputError that
// says why not. "-" is standard input.
inline constexpr std::uintmax_t largest_file_B = std::uintmax_t{1} << 30;
std::string read_text(const std::string& file, std::uintmax_t most_unpacked_B = largest_file_B);

// "unknown X \"foo\"; known: a, b, c", with the nearest name first if one is near.
std::string unknown_name(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known);

}  // namespace sgdsim
