// What JavaScript calls. Texts cross as bytes in this program's memory: JavaScript allocates what
// it passes, and frees what it gets, with malloc and free.
#include <cstdlib>
#include <cstring>
#include <emscripten.h>
#include <filesystem>
#include <sys/stat.h>

#include "app/page/page.h"
#include "sim/core/output.h"
#include "study/shipped_inputs.h"

namespace {

void write_all(std::span<const sgdsim::ShippedFile> files, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const sgdsim::ShippedFile& file : files)
    sgdsim::write_file(std::string(file.text), folder + "/" + std::string(file.name) + ".json");
}

char* copied(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

extern "C" {

// Before anything is asked: puts the files that ship where the repository has them, in memory.
EMSCRIPTEN_KEEPALIVE void sgdsim_begin() {
  umask(022);  // it begins as 0777, under which nobody may read what is written
  write_all(sgdsim::shipped_traces(), "traces/data");
  write_all(sgdsim::shipped_clusters(), "topologies/data");
}

EMSCRIPTEN_KEEPALIVE char* sgdsim_answer(const char* question, std::size_t size) {
  return copied(sgdsim::page_answer(std::string(question, size)));
}

EMSCRIPTEN_KEEPALIVE char* sgdsim_add_file(const char* name, std::size_t name_size,
                                           const char* content, std::size_t content_size) {
  return copied(
      sgdsim::page_add_file(std::string(name, name_size), std::string(content, content_size)));
}
}
