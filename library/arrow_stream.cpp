// The structs of Arrow's C data interface over the columns' own memory.
#include "library/arrow_stream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace sgdsim {
namespace {

using Columns = std::shared_ptr<const TypedColumns>;
using Column = TypedColumns::Column;
using Type = TypedColumns::Type;

// Each struct owns its children, until somebody moves them out (their `release` is then null).
template <class Struct>
struct Owned {
  std::vector<std::unique_ptr<Struct>> children;
  std::vector<Struct*> pointers;
  std::unique_ptr<Struct> dictionary;
  std::string name, metadata;            // of a schema
  std::array<const void*, 3> buffers{};  // of an array
  Columns columns;                       // of an array
  static void release(Struct* it) {
    auto* owned = static_cast<Owned*>(it->private_data);
    for (Struct* child : owned->pointers)
      if (child->release != nullptr) child->release(child);
    if (owned->dictionary && owned->dictionary->release != nullptr)
      owned->dictionary->release(owned->dictionary.get());
    delete owned;
    it->release = nullptr;
  }
  Struct* add_child() {
    children.push_back(std::make_unique<Struct>());
    pointers.push_back(children.back().get());
    return pointers.back();
  }
  // The struct has them from here on.
  static void give(std::unique_ptr<Owned> owned, Struct& it) {
    it.n_children = static_cast<int64_t>(owned->pointers.size());
    it.children = owned->pointers.data();
    it.dictionary = owned->dictionary.get();
    it.release = release;
    it.private_data = owned.release();
  }
};

const char* format_of(Type type) {
  switch (type) {
    case Type::nothing:
      return "n";
    case Type::flag:
      return "b";
    case Type::whole:
      return "l";
    case Type::number:
      return "g";
    case Type::text:
      break;
  }
  return "i";  // a place in the dictionary
}

// Pairs of a name and a value, each behind its length, all behind their number.
std::string metadata_of(const std::string& unit) {
  if (unit.empty()) return "";
  std::string bytes;
  const auto add_number = [&](std::size_t number) {
    const auto number32 = static_cast<int32_t>(number);
    std::array<char, sizeof number32> raw{};
    std::memcpy(raw.data(), &number32, sizeof number32);
    bytes.append(raw.data(), raw.size());
  };
  const auto add_text = [&](const std::string& text) {
    add_number(text.size());
    bytes += text;
  };
  add_number(1);
  add_text("unit");
  add_text(unit);
  return bytes;
}

void describe(const std::string& name, const char* format, const std::string& unit, bool has_texts,
              ArrowSchema& schema) {
  auto owned = std::make_unique<Owned<ArrowSchema>>();
  owned->name = name;
  owned->metadata = metadata_of(unit);
  if (has_texts) {
    owned->dictionary = std::make_unique<ArrowSchema>();
    describe("", "U", "", false, *owned->dictionary);
  }
  schema = {};
  schema.format = format;
  schema.name = owned->name.c_str();
  schema.metadata = owned->metadata.empty() ? nullptr : owned->metadata.c_str();
  schema.flags = ARROW_FLAG_NULLABLE;
  Owned<ArrowSchema>::give(std::move(owned), schema);
}

void describe_all(const TypedColumns& columns, ArrowSchema& schema) {
  auto owned = std::make_unique<Owned<ArrowSchema>>();
  for (const Column& column : columns.columns())
    describe(column.name, format_of(column.type),
             column.type == Type::text ? "" : unit_of(column.name), column.type == Type::text,
             *owned->add_child());
  schema = {};
  schema.format = "+s";
  schema.name = "";
  Owned<ArrowSchema>::give(std::move(owned), schema);
}

// What a struct of Arrow holds: `count` buffers.
void hold(std::unique_ptr<Owned<ArrowArray>> owned, int64_t length, int64_t missing, int64_t count,
          ArrowArray& array) {
  array = {};
  array.length = length;
  array.null_count = missing;
  array.n_buffers = count;
  array.buffers = owned->buffers.data();
  Owned<ArrowArray>::give(std::move(owned), array);
}

void hold_texts(const Columns& columns, const Column& column, ArrowArray& array) {
  auto owned = std::make_unique<Owned<ArrowArray>>();
  owned->columns = columns;
  owned->buffers = {nullptr, column.ends.data(), column.letters.data()};
  hold(std::move(owned), static_cast<int64_t>(column.ends.size()) - 1, 0, 3, array);
}

const void* values_of(const Column& column) {
  switch (column.type) {
    case Type::nothing:
      break;
    case Type::flag:
      return column.flags.data();
    case Type::whole:
      return column.wholes.data();
    case Type::number:
      return column.numbers.data();
    case Type::text:
      return column.places.data();
  }
  return nullptr;
}

void hold_column(const Columns& columns, const Column& column, ArrowArray& array) {
  auto owned = std::make_unique<Owned<ArrowArray>>();
  owned->columns = columns;
  if (column.missing > 0) owned->buffers[0] = column.is_there.data();
  owned->buffers[1] = values_of(column);
  if (column.type == Type::text) {
    owned->dictionary = std::make_unique<ArrowArray>();
    hold_texts(columns, column, *owned->dictionary);
  }
  hold(std::move(owned), columns->rows(), column.missing, column.type == Type::nothing ? 0 : 2,
       array);
}

void hold_all(const Columns& columns, ArrowArray& array) {
  auto owned = std::make_unique<Owned<ArrowArray>>();
  owned->columns = columns;
  for (const Column& column : columns->columns()) hold_column(columns, column, *owned->add_child());
  hold(std::move(owned), columns->rows(), 0, 1, array);
}

struct Stream {
  Columns columns;
  bool is_read = false;
};

Stream& stream_of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    describe_all(*stream_of(stream).columns, *out);
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Stream& from = stream_of(stream);
  try {
    *out = {};
    if (!from.is_read) hold_all(from.columns, *out);
    from.is_read = true;
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

const char* get_last_error(ArrowArrayStream*) { return "there is not enough memory"; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_columns(std::shared_ptr<const TypedColumns> columns, ArrowArrayStream& stream) {
  auto owned = std::make_unique<Stream>();
  owned->columns = std::move(columns);
  stream = {get_schema, get_next, get_last_error, release_stream, owned.release()};
}

}  // namespace sgdsim
