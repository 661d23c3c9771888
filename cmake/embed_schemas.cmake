# Writes a C++ file with every JSON schema as text: cmake -D SCHEMAS= -D OUTPUT= -P this.
# The name of a schema is its file name without ".json". A raw string ends at its own delimiter
# only, so the text needs no escaping.
cmake_minimum_required(VERSION 3.25)
set(entries "")
foreach(schema IN LISTS SCHEMAS)
  cmake_path(GET schema STEM LAST_ONLY name)
  file(READ ${schema} text)
  string(APPEND entries "    {\"${name}\", R\"schema(${text})schema\"},\n")
endforeach()
if(entries)
  set(table "constexpr auto schemas = std::to_array<EmbeddedSchema>({\n${entries}});\n")
  set(answer "schemas")
else()
  set(table "")
  set(answer "{}")
endif()
file(
  WRITE ${OUTPUT}
  "// The JSON schemas as text. Written by cmake/embed_schemas.cmake; edit app/schemas/ instead.
#include \"app/schemas.h\"

#include <array>

namespace sgdsim {
namespace {
${table}}  // namespace

std::span<const EmbeddedSchema> embedded_schemas() { return ${answer}; }

}  // namespace sgdsim
")
