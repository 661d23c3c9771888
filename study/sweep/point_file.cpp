// Reading points line by line; appending with fsync.
#include "study/sweep/point_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "sim/core/byte_order_mark.h"
#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "study/shell_word.h"
#include "study/sweep/point_database.h"

namespace sgdsim {
namespace {

// `record.json` is there.
void check_record(PointRecord& record, const std::string& where) {
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
  Object axes(field("axes"));
  if (record.json.contains("warnings"))
    for (const Value& warning : field("warnings").items()) warning.text();
  record.failed = record.json.contains("error");
}

void read_record(PointRecord& record, const std::string& where) {
  check_text(record.text, where);
  record.json = Json::parse(record.text, nullptr, false);
  check_record(record, where);
}

// What editors of Windows put around lines is none of a point.
void take_out_edits(PointRecord& record) {
  const std::size_t length = record.text.size();
  const std::size_t mark = length - without_mark(record.text).size();
  record.text.erase(0, mark);
  record.offset += static_cast<int64_t>(mark);
  if (record.text.ends_with('\r')) record.text.pop_back();
  record.is_edited = record.text.size() < length;
}

std::string problem() { return std::strerror(errno); }

// Lines up to a zero byte. Where a machine crashed, the file system puts zeros for what was not
// written yet.
class Lines {
 public:
  enum class End { line, file, zeros };

  explicit Lines(const std::string& file) : file_(file), stream_(file, std::ios::binary) {
    if (!stream_) throw InputError(file_, "cannot be read: " + problem());
  }

  // The next line, and what ended it.
  End next(std::string& line) {
    line.clear();
    while (at_ != stop_ || refill()) {
      const auto room = static_cast<std::size_t>(stop_ - at_);
      const auto* end = static_cast<const char*>(std::memchr(at_, '\n', room));
      const char* const stop = end == nullptr ? stop_ : end;
      const auto length = static_cast<std::size_t>(stop - at_);
      const auto* zero = static_cast<const char*>(std::memchr(at_, '\0', length));
      line.append(at_, zero == nullptr ? stop : zero);
      at_ = zero == nullptr ? stop : zero;
      if (zero != nullptr) return End::zeros;
      if (line.size() > longest_line_B)
        throw InputError(file_, "a line of more than 256 MiB is no point");
      if (end == nullptr) continue;
      ++at_;
      return End::line;
    }
    return End::file;
  }

  bool are_zeros_to_the_end() {
    while (at_ != stop_ || refill())
      if (*at_++ != '\0') return false;
    return true;
  }

 private:
  static constexpr std::size_t longest_line_B = std::size_t{1} << 28;

  bool refill() {
    stream_.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
    if (stream_.bad()) throw InputError(file_, "cannot be read: " + problem());
    at_ = piece_.data();
    stop_ = at_ + stream_.gcount();
    return at_ != stop_;
  }

  std::string file_;
  std::ifstream stream_;
  std::array<char, 1 << 16> piece_{};
  const char* at_ = nullptr;
  const char* stop_ = nullptr;
};

// Zeros are torn off as the beginning of a line is, but only behind points.
void check_zeros(Lines& lines, const PointRecord& last, const std::string& file) {
  if (last.line == 0 && last.text.empty())
    throw InputError(file, "holds zero bytes, and no points before them; remove it");
  if (!lines.are_zeros_to_the_end())
    throw InputError(file + ":" + std::to_string(last.line + 1),
                     "has zero bytes, and something behind them; `head -n " +
                         std::to_string(last.line) + "` keeps the points before them");
}

// Points are found again by where they stand, and appended.
void check_not_packed(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 2> first{};
  if (!stream.read(first.data(), first.size()) || !is_gzip({first.data(), first.size()})) return;
  const bool has_ending = file.ends_with(".gz");
  throw InputError(file, "is packed with gzip, as points are not; unpack it first: gunzip " +
                             (has_ending ? shell_word(file) : "< " + shell_word(file) + " > NAME"));
}

}  // namespace

PointsEnd read_points(const std::string& file, const std::function<void(PointRecord&)>& use) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError(file, "expected a file of points, got a folder, device or pipe");
  PointRecord record;
  if (holds_database(file)) {
    read_database(file, [&](Json&& line) {
      ++record.line;
      record.json = std::move(line);
      check_record(record, file + ", row " + std::to_string(record.line));
      record.text = record.json.dump(-1, ' ', false, Json::error_handler_t::replace);
      use(record);
    });
    return {};
  }
  errno = 0;
  check_not_packed(file);
  Lines lines(file);
  while (true) {
    const Lines::End end = lines.next(record.text);
    if (end == Lines::End::zeros) check_zeros(lines, record, file);
    if (end != Lines::End::line) return {record.offset, record.text};
    ++record.line;
    const int64_t begin = record.offset;
    const auto length = static_cast<int64_t>(record.text.size()) + 1;
    take_out_edits(record);
    read_record(record, file + ":" + std::to_string(record.line));
    use(record);
    record.offset = begin + length;
  }
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
