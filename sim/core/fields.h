// The fields of a struct, each described once: from the description follow how it is read from
// JSON, how it is written, its schema, the option of a command line, and what `sgdsim list` says.
//
//   struct Options {
//     Bytes bucket{25 << 20};
//     Order order = Order::measured;
//   };
//   Fields fields_of(Options& o) {
//     return {{"bucket", o.bucket, "bytes of a bucket"},
//             Field("order", o.order, "order in which buckets are filled")};
//   }
//   const auto options = read_record<Options>(object);
//
// A description is bound to the struct that it fills; what the struct has by itself is the default.
// A member can be a flag, a number, a text, a quantity, an enum with `names_of(E)`, an optional or
// a list of these, and a struct that has `fields_of` itself. A type with a form of its own (a name
// or an object) has `read_value(const Value&, T&)` and `Json schema_of_value(const T&)`. A Value
// stays as it is, to be read later, and `like` says what it must be.
//
// Answers are only written: fields_of(const T&) describes what is there and what follows from it,
// all of which is always written, but for optionals and what is there `if_any`.
//
//   Fields fields_of(const Trace& t) { return {{"forward_us", t.forward().us(), "of all"}}; }
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/core/json.h"
#include "sim/core/named.h"
#include "sim/core/quantity.h"

namespace sgdsim {

class Field;

// Of words: whether they name files, and whether what a file holds may stand in its place.
enum class FileWords : uint8_t { none, or_content, only };

// What there is to know of the type of a field.
struct FieldForm {
  void (*read)(const Field&, const Value&, void* target);
  Json (*schema)(const Field&, const void* target);
  Json (*write)(const Field&, const void* target);  // null: nothing is there
};
template <class T>
struct FormOf;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr FieldForm form_of{
    [](const Field& f, const Value& value, void* to) {
      FormOf<T>::read(f, value, *static_cast<T*>(to));
    },
    [](const Field& f, const void* at) { return FormOf<T>::schema(f, *static_cast<const T*>(at)); },
    [](const Field& f, const void* at) { return FormOf<T>::write(f, *static_cast<const T*>(at)); }};

class Field {
 public:
  template <class T>
  requires(!std::is_const_v<T>) Field(const char* name, T& target, const char* says)
      : name_(name), says_(says), target_(&target), form_(&form_of<T>) {}
  // Of an answer: a member, which must outlive the description.
  template <class T>
  Field(const char* name, const T& source, const char* says)
      : Field(name, const_cast<T&>(source), says) {  // which writing does not change
    is_needed_ = !is_optional<T>;
  }
  // Of an answer: what follows from members.
  template <class T>
  requires(!std::is_lvalue_reference_v<T>) Field(const char* name, T&& value, const char* says)
      : name_(name), says_(says), form_(&form_of<T>), is_needed_(!is_optional<T>) {
    auto kept = std::make_shared<T>(std::move(value));
    target_ = kept.get();
    kept_ = std::move(kept);
  }

  Field needed() &&;
  Field if_any() &&;   // written unless it is empty, or false
  Field or_null() &&;  // written as null where nothing is there
  // Of numbers, and of those in lists.
  template <class Least, class Most>
  Field from(Least least, Most most) && {
    if constexpr (std::is_integral_v<Most>)
      most_ = static_cast<int64_t>(most);
    else
      most_ = whole_limit(most);
    most_number_ = static_cast<double>(most);
    return std::move(*this).at_least(static_cast<double>(least));
  }
  Field at_least(double least) &&;
  Field one_of(std::vector<std::string> names) &&;  // texts; of a flag no and yes
  Field constant(const char* text) &&;              // a text that is always this one
  Field called(const char* noun) &&;                // in errors, if not as the field
  // Of a list: "expected at least one `entry`"; of a text: not an empty one.
  Field filled(const char* entry) &&;
  Field entries(int64_t least, int64_t most, const char* noun) &&;  // "expected 1 to 9 `noun`"
  Field or_one() &&;  // a list: one value stands for a list of it
  // What holds if it is not given, where the struct does not tell.
  Field otherwise(const char* words) &&;
  Field also(void (*check)(const Value&)) &&;  // after it was read
  Field like(Json (*schema)()) &&;             // in place of the type's own
  // How it is written on command lines, where not as --name: "-n,--bytes", or "FILE".
  Field option(const char* words) &&;
  Field files(FileWords form) &&;
  // One with --name means yes, one with --no-name no.
  Field or_not() &&;

  const char* name() const { return name_; }
  const char* says() const { return says_; }
  const char* noun() const { return noun_ != nullptr ? noun_ : name_; }
  int64_t least_entries() const { return least_entries_; }
  int64_t most_entries() const { return most_entries_; }
  void check_entries(const Value& list, std::size_t count) const;
  const char* constant() const { return constant_; }    // or null
  const char* option_words() const { return option_; }  // or null
  const std::vector<std::string>& names() const { return names_; }
  bool has_limits() const { return has_limits_; }
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }
  double least_number() const { return least_number_; }
  double most_number() const { return most_number_; }
  bool takes_one() const { return takes_one_; }
  bool is_needed() const { return is_needed_; }
  bool is_written_if_null() const { return or_null_; }
  bool has_no() const { return has_no_; }
  FileWords file_words() const { return files_; }
  // What it fills, if that is a T; else null.
  template <class T>
  T* target() const {
    return form_ == &form_of<T> ? static_cast<T*>(target_) : nullptr;
  }

  void read(const Value& value) const;
  Json schema() const;
  Json write() const;         // what is there now; null: nothing
  std::string usual() const;  // in words: what holds if it is not given; empty: nothing

 private:
  static int64_t whole_limit(double limit);  // the nearest that there is

  const char* name_;
  const char* says_;
  void* target_ = nullptr;
  std::shared_ptr<const void> kept_;  // the target, where nobody else has it
  const FieldForm* form_;
  const char* noun_ = nullptr;
  const char* entry_ = nullptr;
  const char* constant_ = nullptr;
  const char* option_ = nullptr;
  const char* otherwise_ = nullptr;
  void (*check_)(const Value&) = nullptr;
  Json (*schema_)() = nullptr;
  std::vector<std::string> names_;
  int64_t least_ = 0, most_ = INT64_MAX;
  double least_number_ = std::numeric_limits<double>::lowest();
  double most_number_ = std::numeric_limits<double>::max();
  int64_t least_entries_ = 0, most_entries_ = INT64_MAX;
  bool has_limits_ = false, takes_one_ = false, is_needed_ = false;
  bool if_any_ = false, or_null_ = false, has_no_ = false;
  FileWords files_ = FileWords::none;
};

class Fields {
 public:
  // Of these fields at most one may be there; or exactly one, if one is needed.
  struct Choice {
    std::vector<const char*> names;
    const char* sentence;
    const char* if_none = nullptr;  // null: none may be there
  };

  Fields() = default;
  Fields(std::initializer_list<Field> fields) : fields_(fields) {}

  Fields at_most_one(std::vector<const char*> names, const char* sentence) &&;
  // `if_none`: if that is another sentence.
  Fields exactly_one(std::vector<const char*> names, const char* sentence,
                     const char* if_none = nullptr) &&;
  // What the reader checks by itself, for the schema.
  Fields also(Json (*rule)()) &&;
  Fields operator+(Fields more) &&;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  const std::vector<Choice>& choices() const { return choices_; }
  const std::vector<Json (*)()>& rules() const { return rules_; }

 private:
  std::vector<Field> fields_;
  std::vector<Choice> choices_;
  std::vector<Json (*)()> rules_;
};

// Every field that is there; `object` knows all of them afterwards.
void read_fields(Object& object, const Fields& fields);
// The properties of a JSON Schema, and which are required.
Json schema_of(const Fields& fields);
// A JSON object with these fields and no others.
Json record_schema(const Fields& fields);
// All that is there, in the order of the description.
Json written(const Fields& fields);

// What files that people write begin with. The names are for people; only the kind is checked.
struct FileHead {
  std::string schema = {};
  std::string name = {};
  std::string description = {};
  std::string source = {};
};
// `kind`: "sgdsim/cluster/1".
Fields head_fields(FileHead& head, const char* kind);
Field answer_kind(const char* kind);  // what answers begin with

// ---- structs that are described

template <class T>
concept Record = requires(T& record) {
  { fields_of(record) } -> std::same_as<Fields>;
};

// The fields that are T's among those of the object.
template <Record T>
T read_record(Object& object) {
  T record;
  read_fields(object, fields_of(record));
  return record;
}
// An object with T's fields and no others.
template <Record T>
T read_record(const Value& value) {
  Object object(value);
  T record = read_record<T>(object);
  object.done();
  return record;
}
// Each of a list, which may be long: f(T&, the object that it was).
template <Record T, class F>
void for_each_record(const Value& list, const F& f) {
  T record;
  const Fields fields = fields_of(record);
  list.for_each_item([&](const Value& item) {
    record = T();
    Object object(item);
    read_fields(object, fields);
    object.done();
    f(record, object);
  });
}
template <Record T>
Json schema_of_record() {
  T usual;
  return record_schema(fields_of(usual));
}
template <Record T>
Json to_json_by_fields(const T& record) {
  return written(fields_of(const_cast<T&>(record)));  // which writing does not change
}

// ---- pieces of schemas

Json any_of(std::vector<Json> schemas);
Json list_schema(Json items, int64_t least = 0, int64_t most = INT64_MAX);
Json text_schema();
Json one_of_schema(std::vector<std::string> names);
Json reference(const std::string& to);
Json any_object_schema();

// ---- forms

template <>
struct FormOf<bool> {
  static void read(const Field& field, const Value& value, bool& to);
  static Json schema(const Field& field, const bool& usual);
  static Json write(const Field& field, const bool& from);
};

void read_number(const Field& field, const Value& value, double& to);
int64_t read_whole_number(const Field& field, const Value& value, int64_t most);
Json whole_number_schema(const Field& field);
Json number_schema(const Field& field);

template <std::floating_point T>
struct FormOf<T> {
  static void read(const Field& field, const Value& value, T& to) { read_number(field, value, to); }
  static Json schema(const Field& field, const T&) { return number_schema(field); }
  static Json write(const Field&, const T& from) { return from; }
};

template <std::integral T>
struct FormOf<T> {
  static void read(const Field& field, const Value& value, T& to) {
    constexpr auto most = static_cast<uint64_t>(std::numeric_limits<T>::max());
    to = static_cast<T>(
        read_whole_number(field, value, static_cast<int64_t>(std::min<uint64_t>(most, INT64_MAX))));
  }
  static Json schema(const Field& field, const T&) { return whole_number_schema(field); }
  static Json write(const Field&, const T& from) { return from; }
};

template <>
struct FormOf<std::string> {
  static void read(const Field& field, const Value& value, std::string& to);
  static Json schema(const Field& field, const std::string& usual);
  static Json write(const Field&, const std::string& from) { return from; }
};

template <class T>
struct QuantityForm {
  static void read(const Field& field, const Value& value, T& to);
  static Json schema(const Field& field, const T& usual);
  static Json write(const Field&, const T& from) { return to_text(from); }
};
template <>
struct FormOf<Duration> : QuantityForm<Duration> {};
template <>
struct FormOf<Bytes> : QuantityForm<Bytes> {};
template <>
struct FormOf<Bandwidth> : QuantityForm<Bandwidth> {};
template <>
struct FormOf<PerByte> : QuantityForm<PerByte> {};

// Not read: its schema is that of `like`, or anything.
template <>
struct FormOf<Value> {
  static void read(const Field&, const Value& value, Value& to) { to = value; }
  static Json schema(const Field&, const Value&) { return Json::object(); }
  static Json write(const Field&, const Value& from) { return from.json(); }
};
template <>
struct FormOf<Json> {
  static void read(const Field&, const Value& value, Json& to) { to = value.json(); }
  static Json schema(const Field&, const Json&) { return Json::object(); }
  static Json write(const Field&, const Json& from) { return from; }
};

template <class T>
requires std::is_enum_v<T>
struct FormOf<T> {
  static void read(const Field& field, const Value& value, T& to) {
    const std::string name = value.text();
    for (const auto& [text, one] : names_of(to))
      if (text == name) {
        to = one;
        return;
      }
    value.fail(unknown_name(field.noun(), name, names_in(names_of(to))));
  }
  static Json schema(const Field&, const T& usual) {
    return one_of_schema(names_in(names_of(usual)));
  }
  static Json write(const Field&, const T& from) {
    const std::string_view name = name_in(names_of(from), from);
    return name.empty() ? Json() : Json(name);
  }
};

template <class T>
struct FormOf<std::optional<T>> {
  static void read(const Field& field, const Value& value, std::optional<T>& to) {
    if constexpr (std::is_same_v<T, Value>) {
      to.emplace(value);
    } else {
      T one{};
      FormOf<T>::read(field, value, one);
      to = std::move(one);
    }
  }
  static Json schema(const Field& field, const std::optional<T>& usual) {
    if constexpr (std::is_same_v<T, Value>) {
      return Json::object();
    } else {
      return FormOf<T>::schema(field, usual ? *usual : T{});
    }
  }
  static Json write(const Field& field, const std::optional<T>& from) {
    return from ? FormOf<T>::write(field, *from) : Json();
  }
};

template <class T>
struct FormOf<std::vector<T>> {
  static void read(const Field& field, const Value& value, std::vector<T>& to) {
    to.clear();
    if (field.takes_one() && !is_list(value.json()))
      return FormOf<T>::read(field, value, to.emplace_back());
    if constexpr (Record<T>) {
      for_each_record<T>(value, [&](T& one, Object&) { to.push_back(std::move(one)); });
    } else {
      value.for_each_item(
          [&](const Value& item) { FormOf<T>::read(field, item, to.emplace_back()); });
    }
    field.check_entries(value, to.size());
  }
  static Json schema(const Field& field, const std::vector<T>&) {
    Json item = FormOf<T>::schema(field, T{});
    Json list = list_schema(item, field.least_entries(), field.most_entries());
    return field.takes_one() ? any_of({std::move(item), std::move(list)}) : list;
  }
  static Json write(const Field& field, const std::vector<T>& from) {
    if (field.takes_one() && from.size() == 1) return FormOf<T>::write(field, from.front());
    Json list = Json::array();
    for (const T& one : from) list.push_back(FormOf<T>::write(field, one));
    return list;
  }
};

template <Record T>
struct FormOf<T> {
  static void read(const Field&, const Value& value, T& to) {
    Object object(value);
    read_fields(object, fields_of(to));
    object.done();
  }
  static Json schema(const Field&, const T& usual) {
    T copy = usual;
    return record_schema(fields_of(copy));
  }
  static Json write(const Field&, const T& from) { return to_json_by_fields(from); }
};

template <class T>
concept HasOwnForm = requires(const Value& value, T& to) {
  read_value(value, to);
  { schema_of_value(to) } -> std::convertible_to<Json>;
};
template <HasOwnForm T>
struct FormOf<T> {
  static void read(const Field&, const Value& value, T& to) { read_value(value, to); }
  static Json schema(const Field&, const T& usual) { return schema_of_value(usual); }
  static Json write(const Field&, const T& from) {
    if constexpr (requires {
                    { json_of_value(from) } -> std::convertible_to<Json>;
                  })
      return json_of_value(from);
    else
      return {};
  }
};

}  // namespace sgdsim
