# Writes a C++ file with files as text: cmake -D FILES= -D HEADER= -D TYPE= -D FUNCTION= -D OUTPUT=
# -P this. The name of a file is its name without its ending. A raw string ends at its own delimiter
# only, so the text needs no escaping.
cmake_minimum_required(VERSION 3.25)
set(entries "")
foreach(file IN LISTS FILES)
  cmake_path(GET file STEM LAST_ONLY name)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"file(${text})file\"sv},\n")
endforeach()
if(entries)
  set(table "constexpr auto files = std::to_array<${TYPE}>({\n${entries}});\n")
  set(answer "files")
else()
  set(table "")
  set(answer "{}")
endif()
file(
  WRITE ${OUTPUT}
  "// Files as text. Written by cmake/embed_files.cmake; edit the files instead.
#include \"${HEADER}\"

#include <array>
#include <string_view>

namespace sgdsim {
namespace {

using namespace std::string_view_literals; // which know their length: some compilers count no further than a million
${table}}  // namespace

std::span<const ${TYPE}> ${FUNCTION}() { return ${answer}; }

}  // namespace sgdsim
")
