// Reading points line by line; appending with fsync.
#include "app/sweep/point_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

void read_record(PointRecord& record, const std::string& where) {
  check_text(record.text, where);
  record.json = Json::parse(record.text, nullptr, false);
  if (record.json.is_discarded() || !record.json.is_object())
    throw InputError(where, "expected the line of a point, got " + record.text.substr(0, 60));
  const Value value(record.json, where, "");
  auto field = [&](const char* name) {
    if (!record.json.contains(name))
      value.fail("the field \"" + std::string(name) + "\" is missing");
    return value.child(name);
  };
  if (const Value schema = field("schema"); schema.text() != "sgdsim/point/1")
    schema.fail("expected \"sgdsim/point/1\", got \"" + schema.text() + "\"");
  record.sweep = field("sweep").text();
  record.of = field("of").whole(1, std::numeric_limits<int64_t>::max());
  record.point = field("point").whole(0, record.of - 1);
  record.id = field("id").text();
  record.failed = record.json.contains("error");
}

std::string problem() { return std::strerror(errno); }

}  // namespace

PointsEnd read_points(const std::string& file, const std::function<void(PointRecord&)>& use) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError(file, "expected a file of points, got a folder, device or pipe");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(file, "cannot be read: " + problem());
  PointRecord record;
  while (std::getline(stream, record.text)) {
    if (stream.eof()) return {record.offset, record.text};  // no end of line: torn
    ++record.line;
    read_record(record, file + ":" + std::to_string(record.line));
    const auto length = static_cast<int64_t>(record.text.size()) + 1;
    use(record);
    record.offset += length;
  }
  if (stream.bad()) throw InputError(file, "cannot be read: " + problem());
  return {record.offset, ""};
}

int64_t check_is_of(const std::string& sweep, const std::string& file) {
  int64_t there = 0;
  try {
    const PointsEnd end = read_points(file, [&](PointRecord& record) {
      if (record.sweep != sweep)
        throw InputError(file + ":" + std::to_string(record.line),
                         "a point of another sweep (" + record.sweep + ")");
      ++there;
    });
    if (!can_begin(end.torn, sweep)) throw InputError(file, "its last line is no point");
  } catch (const InputError& error) {
    throw InputError("--out", error.what() + std::string("; choose another name, or replace the "
                                                         "file with --force"));
  }
  return there;
}

bool can_begin(const std::string& torn, const std::string& sweep) {
  const std::string beginning = R"({"schema":"sgdsim/point/1","sweep":")" + sweep + R"(",)";
  return torn.starts_with(beginning) || beginning.starts_with(torn);
}

PointWriter::PointWriter(const std::string& file, std::ostream& out, OutputFile::Mode mode)
    : out_(file == "-" ? &out : nullptr) {
  if (file != "-" && !file.empty()) file_.emplace(file, mode);
}

void PointWriter::cut(int64_t length) {
  if (file_) file_->cut(length);
}

void PointWriter::append(const std::string& text) {
  if (file_) {
    file_->write(text);
    file_->synchronize();
  } else if (out_ != nullptr && !(*out_ << text).flush()) {
    throw std::runtime_error("the output could not be written");
  }
}

void PointWriter::finish() {
  if (file_) file_->finish();
}

}  // namespace sgdsim
