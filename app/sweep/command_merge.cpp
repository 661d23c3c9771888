// `sgdsim merge`: the shards of a sweep as one file, in the order of their points.
//
// Lines are not kept: a first pass notes where each point stands, a second one copies them. So two
// million points take 64 MB, however long their lines.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>

#include "app/commands.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/collective/ranges.h"
#include "study/sweep/columns.h"
#include "study/sweep/emit.h"
#include "study/sweep/point_database.h"
#include "study/sweep/point_file.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct Place {
  int64_t point = 0;
  int64_t offset = 0;
  int64_t length = 0;
  int32_t part = 0;
};

struct Parts {
  std::vector<std::string> files;
  bool are_databases = false;  // some of them
  ColumnTypes types;           // of axes
  std::string sweep;
  int64_t of = 0;
  int64_t failed = 0;
  std::vector<Place> places;
  Json example;  // a line that did not fail, if there is one
};

// Parts of a script that was made for another number of tasks stay where they are.
[[noreturn]] void refuse_twice(int64_t point, const std::string& file, const std::string& other) {
  std::string why;
  if (const std::string parts = parts_beside(file);
      file != other && !parts.empty() && parts == parts_beside(other))
    why = "; parts of a run with another --tasks are left over: delete the parts (rm " + parts +
          "), and run the script again";
  throw InputError(
      file, "point " + std::to_string(point) + " occurs twice; it is in " + other + " too" + why);
}

Parts look_through(const std::vector<std::string>& files) {
  Parts parts;
  parts.files = files;
  for (std::size_t part = 0; part < files.size(); ++part) {
    parts.are_databases = parts.are_databases || holds_database(files[part]);
    read_points(files[part], [&](PointRecord& record) {
      if (parts.places.empty()) {
        parts.sweep = record.sweep;
        parts.of = record.of;
      }
      if (record.sweep != parts.sweep || record.of != parts.of)
        throw InputError(files[part] + ":" + std::to_string(record.line),
                         "a point of sweep " + record.sweep + ", while " + files.front() +
                             " has points of " + parts.sweep);
      parts.places.push_back({record.point, record.offset, static_cast<int64_t>(record.text.size()),
                              static_cast<int>(part)});
      if (record.failed) ++parts.failed;
      if (!record.failed && parts.example.is_null()) parts.example = record.json;
      for (const auto& [field, value] : record.json["axes"].items())
        parts.types.add(path_of("axes", field), figure_value(value));
    });
  }
  if (parts.places.empty()) throw InputError(files.front(), "there is no point to merge");
  std::sort(parts.places.begin(), parts.places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.point, a.part) < std::pair(b.point, b.part);
  });
  for (std::size_t i = 1; i < parts.places.size(); ++i)
    if (parts.places[i].point == parts.places[i - 1].point)
      refuse_twice(parts.places[i].point, files[static_cast<std::size_t>(parts.places[i].part)],
                   files[static_cast<std::size_t>(parts.places[i - 1].part)]);
  return parts;
}

// "3, 10..16, 18", cut after some.
std::string missing_points(const Parts& parts) {
  constexpr int most_ranges = 20;
  std::string text;
  int ranges = 0;
  int64_t next = 0;
  auto add = [&](int64_t first, int64_t end) {
    if (first == end || ++ranges > most_ranges) return;
    text += (ranges == 1 ? "" : ", ") + std::to_string(first);
    if (end > first + 1) text += ".." + std::to_string(end - 1);
  };
  for (const Place& place : parts.places) {
    add(next, place.point);
    next = place.point + 1;
  }
  add(next, parts.of);
  if (ranges > most_ranges) text += ", ...";
  return text;
}

// Lines or rows, written many at a time.
class Batches {
 public:
  Batches(PointWriter& writer, const std::vector<std::string>& columns) : writer_(writer) {
    if (!columns.empty()) text_ = csv_row(columns);
  }
  void add(const std::string& line) {
    constexpr std::size_t batch_B = 1 << 22;
    text_ += line;
    if (text_.size() >= batch_B) flush();
  }
  void flush() {
    writer_.append(text_);
    text_.clear();
  }

 private:
  PointWriter& writer_;
  std::string text_;
};

void copy_lines(const Parts& parts, const std::vector<std::string>& columns, PointWriter& writer) {
  std::vector<std::ifstream> streams;
  for (const std::string& file : parts.files) streams.emplace_back(file, std::ios::binary);
  Batches batches(writer, columns);
  std::string line;
  for (const Place& place : parts.places) {
    std::ifstream& stream = streams[static_cast<std::size_t>(place.part)];
    if (stream.tellg() != place.offset) stream.seekg(place.offset);
    line.resize(static_cast<std::size_t>(place.length) + 1);
    // A last byte that is no line end is the carriage return before it.
    if (!stream.read(line.data(), place.length + 1))
      throw std::runtime_error(parts.files[static_cast<std::size_t>(place.part)] +
                               ": changed while it was read");
    line.back() = '\n';
    batches.add(columns.empty() ? line : csv_row(Json::parse(line), columns));
  }
  batches.flush();
}

// Of one, whose points are in order.
void copy_lines_of_database(const std::string& file, const std::vector<std::string>& columns,
                            PointWriter& writer) {
  Batches batches(writer, columns);
  read_points(file, [&](PointRecord& record) {
    batches.add(columns.empty() ? record.json.dump() + "\n" : csv_row(record.json, columns));
  });
  batches.flush();
}

// What a database says of itself: as the first part that is one, or what lines of points have.
DatabaseHead head_of(const Parts& parts) {
  DatabaseHead head;
  for (const std::string& file : parts.files)
    if (head.about.empty() && holds_database(file)) head = read_head(file);
  head.types = parts.types.types();
  head.about.insert(
      {{"schema", "sgdsim/points/1"}, {"sweep", parts.sweep}, {"of", std::to_string(parts.of)}});
  return head;
}

void copy_rows(const Parts& parts, const std::string& out) {
  constexpr std::size_t batch = 10'000;
  PointDatabase database(out, true, head_of(parts));
  std::vector<Figures> rows;
  const auto write = [&] {
    database.append(rows);
    rows.clear();
  };
  for (const std::string& file : parts.files)
    read_points(file, [&](PointRecord& record) {
      rows.push_back(row_of(record.json));
      if (rows.size() >= batch) write();
    });
  write();
  database.finish();
}

struct MergeArguments {
  std::vector<std::string> parts;
  std::string out = "-";
  std::string columns;
  bool force = false;
};

// A file that is there already is replaced if it has points of this sweep and nothing else.
void check_out(const MergeArguments& arguments, const Parts& parts,
               const std::vector<std::string>& columns) {
  OutputGuard guard(arguments.parts, arguments.force);
  if (!columns.empty()) {
    guard.claim("--out", arguments.out, {.schema = {}, .beginning = csv_row(columns)});
    return;
  }
  guard.claim("--out", arguments.out);
  if (!arguments.force && holds_something(arguments.out)) check_is_of(parts.sweep, arguments.out);
}

int merge(const MergeArguments& arguments, Streams streams) {
  const Parts parts = look_through(arguments.parts);
  std::vector<std::string> columns;
  if (!arguments.columns.empty()) columns = split_list(arguments.columns);
  const bool is_database = is_database_name(arguments.out);
  if (is_database && !columns.empty())
    throw InputError("--columns",
                     "writes a table as text; a database has all columns: leave it out");
  const bool is_alone = parts.files.size() == 1;
  if (parts.are_databases && !is_database && !is_alone)
    throw InputError("--out",
                     "several parts of which some are databases are merged into one: expected a "
                     "name that ends in .db, of which `sgdsim merge` then makes lines or a table");
  check_out(arguments, parts, columns);
  const auto count = static_cast<int64_t>(parts.places.size());
  if (count < parts.of) {
    streams.log << "sgdsim: " << parts.of - count << " of " << parts.of
                << " points are missing: " << missing_points(parts) << '\n';
    return exit_incomplete;
  }
  if (!parts.example.is_null()) check_columns(columns, parts.example, "--columns");
  if (is_database) {
    copy_rows(parts, arguments.out);
  } else {
    PointWriter writer(arguments.out, streams.out, OutputFile::Mode::replace);
    if (parts.are_databases)
      copy_lines_of_database(parts.files.front(), columns, writer);
    else
      copy_lines(parts, columns, writer);
    writer.finish();
  }
  if (parts.failed > 0) streams.log << "sgdsim: " << parts.failed << " points failed\n";
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "merge", "Merge the shards of a sweep into one file, in the order of the points.");
  auto arguments = std::make_shared<MergeArguments>();
  command->add_option("PART", arguments->parts, "files that sgdsim sweep --shard wrote")
      ->required();
  command->add_option("-o,--out", arguments->out,
                      "output file, one JSON object per line, or a SQLite database if its name "
                      "ends in .db (default: standard output)");
  add_force_option(*command, arguments->force);
  command->add_option("--columns", arguments->columns,
                      "write a CSV table of these columns instead: cluster.nodes,strategy,...");
  command->footer(
      "Example:\n"
      "  sgdsim sweep app/sweeps/nodes_bandwidth.json --shard 0/2 --out results/part-0.jsonl\n"
      "  sgdsim sweep app/sweeps/nodes_bandwidth.json --shard 1/2 --out results/part-1.jsonl\n"
      "  sgdsim merge results/part-0.jsonl results/part-1.jsonl --out results/all.jsonl\n"
      "Exit code 3: points are missing; nothing is written.");
  command->callback([arguments, streams, &exit_code] { exit_code = merge(*arguments, streams); });
}

}  // namespace sgdsim
