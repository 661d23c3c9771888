// Tables, transactions, and a file that takes another's place.
#include "study/sweep/point_database.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

#include "sim/core/cases.h"
#include "sim/core/error.h"
#include "sim/core/output.h"
#include "study/sweep/sqlite.h"
#include "study/sweep/sweep_point.h"
#include "study/version.h"

namespace sgdsim {
namespace {

constexpr std::string_view axis_prefix = "axes.";
constexpr std::string_view id_prefix = "sha256:";
constexpr const char* schema = "sgdsim/points/1";

std::string type_of(const FigureValue& value) {
  return std::visit(Cases{[](std::monostate) { return ""; }, [](bool) { return "BOOLEAN"; },
                          [](int64_t) { return "INTEGER"; }, [](double) { return "REAL"; },
                          [](const std::string&) { return "TEXT"; }},
                    value);
}

// 64 digits as 32 bytes: a third of a database would be identities otherwise.
std::optional<std::string> bytes_of(const std::string& id) {
  constexpr std::size_t digits = 64;
  if (!id.starts_with(id_prefix) || id.size() != id_prefix.size() + digits) return std::nullopt;
  const auto digit_of = [](char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : 16;
  };
  std::string bytes;
  bytes.reserve(digits / 2);
  for (std::size_t i = id_prefix.size(); i < id.size(); i += 2) {
    const int high = digit_of(id[i]), low = digit_of(id[i + 1]);
    if (high > 15 || low > 15) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string id_of_bytes(const std::string& bytes) {
  std::string id(id_prefix);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    id += "0123456789abcdef"[value >> 4U];
    id += "0123456789abcdef"[value & 15U];
  }
  return id;
}

// Long lists are kept packed, which JSON text cannot show.
Json without_packing(const Json& json) {
  if (json.is_binary()) return unpacked(json);
  if (!json.is_structured()) return json;
  Json all = json.is_array() ? Json::array() : Json::object();
  for (const auto& [name, value] : json.items())
    if (json.is_array())
      all.push_back(without_packing(value));
    else
      all[name] = without_packing(value);
  return all;
}

Json axis_json(const Axis& axis) {
  constexpr int64_t most_listed = 10'000;
  if (axis.size() > most_listed)
    return {{"from", axis.value(0)}, {"to", axis.value(axis.size() - 1)}, {"count", axis.size()}};
  Json values = Json::array();
  for (int64_t i = 0; i < axis.size(); ++i) values.push_back(axis.value(i));
  return values;
}

Json question_of(const Sweep& sweep) {
  Json question = {{"base", without_packing(sweep.base.json)}, {"axes", Json::object()}};
  for (const Axis& axis : sweep.axes) question["axes"][axis.field()] = axis_json(axis);
  for (const Method& method : sweep.methods)
    for (const auto& [field, value] : method.fields)
      question["methods"][method.label][field] = value;
  return question;
}

FigureValue stored(FigureValue value, const std::string& declared) {
  const auto* whole = std::get_if<int64_t>(&value);
  if (whole != nullptr && declared == "BOOLEAN") return *whole != 0;
  return value;
}

// Lists and objects stand as JSON text.
Json axis_value(const FigureValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty() || (text->front() != '{' && text->front() != '['))
    return json_of(value);
  const Json json = Json::parse(*text, nullptr, false);
  return json.is_discarded() ? Json(*text) : json;
}

// The file that a name leads to, so that a symbolic link stays one.
std::string target_of(const std::string& file) {
  std::error_code problem;
  const auto path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(file, problem), problem);
  return problem ? file : path.string();
}

std::string column_definition(const std::string& name, const std::string& type) {
  return sql_name(name) + (type.empty() ? "" : " " + type);
}

}  // namespace

bool is_database_name(const std::string& file) {
  constexpr std::array<std::string_view, 3> endings{".db", ".sqlite", ".sqlite3"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return file.ends_with(ending); });
}

bool holds_database(const std::string& file) {
  constexpr std::string_view magic = "SQLite format 3";
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file, problem)) return false;  // a pipe can be read once
  std::ifstream stream(file, std::ios::binary);
  std::string begin(magic.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return stream && begin == magic;
}

void ColumnTypes::add(const std::string& column, const FigureValue& value) {
  const std::string type = type_of(value);
  const auto [found, is_new] = types_.try_emplace(column, type);
  if (!is_new && found->second != type) found->second.clear();
}

DatabaseHead head_of(const Sweep& sweep) {
  constexpr int64_t most_looked_at = 100'000;
  ColumnTypes types;
  for (const Axis& axis : sweep.axes) {
    const int64_t count = std::min(axis.size(), most_looked_at);
    for (int64_t i = 0; i < count; ++i) types.add(axis.column(), axis.figure(i));
    if (count < axis.size()) types.add(axis.column(), {});
  }
  return {{{"schema", schema},
           {"sweep", sweep.id},
           {"name", sweep.name},
           {"of", std::to_string(sweep.points)},
           {"version", std::string(version_number)},
           {"commit", std::string(version_commit)},
           {"question", question_of(sweep).dump(-1, ' ', false, Json::error_handler_t::replace)}},
          types.types()};
}

class PointDatabase::Writer {
 public:
  Writer(const std::string& file, bool replaces, const DatabaseHead& head)
      : target_(target_of(file)),
        temporary_(replaces ? target_ + "." + std::to_string(getpid()) + ".tmp" : ""),
        database_(replaces ? temporary_ : target_, Database::Open::to_write),
        types_(head.types) {
    // Nobody else can have it open: then no third file is needed, and network file systems will do.
    database_.run(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA busy_timeout=0; PRAGMA cache_size=-16000;");
    database_.run(replaces ? "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                           : "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
    database_.run("BEGIN IMMEDIATE");
    if (has_table("points"))
      look_at(head);
    else
      make(head);
    database_.run("COMMIT");
    id_column_ = number_of_column("id");
    warnings_column_ = number_of_column("warnings");
  }
  ~Writer() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void append(const std::vector<Figures>& rows) {
    database_.run("BEGIN");
    for (const Figures& row : rows) add(row);
    database_.run("COMMIT");
  }

  void finish() {
    insert_.reset();
    if (temporary_.empty()) {
      database_.run("PRAGMA journal_mode=DELETE");
      return;
    }
    OutputFile(temporary_, OutputFile::Mode::append).synchronize();
    std::error_code problem;
    if (const auto old = std::filesystem::status(target_, problem); !problem)
      std::filesystem::permissions(temporary_, old.permissions(), problem);
    // What a sweep that was killed had not yet put into the old file is not for the new one.
    for (const char* of_old : {"-wal", "-shm", "-journal"})
      std::filesystem::remove(target_ + of_old, problem);
    std::filesystem::rename(temporary_, target_);
    temporary_.clear();
  }

 private:
  bool has_table(const std::string& name) {
    Statement look = database_.prepare("SELECT 1 FROM sqlite_master WHERE name = ?");
    const FigureValue wanted = name;
    look.bind(1, wanted);
    return look.step();
  }

  void make(const DatabaseHead& head) {
    database_.run(
        "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
        "CREATE TABLE warnings (number INTEGER PRIMARY KEY, sentences TEXT UNIQUE);"
        "CREATE TABLE points (point INTEGER PRIMARY KEY, id BLOB, error TEXT,"
        " warnings INTEGER REFERENCES warnings(number));");
    Statement insert = database_.prepare("INSERT INTO about VALUES (?, ?)");
    for (const auto& [key, value] : head.about) {
      const FigureValue name = key, text = value;
      insert.bind(1, name);
      insert.bind(2, text);
      insert.step();
      insert.reset();
    }
    columns_ = {"point", "id", "error", "warnings"};
  }

  void look_at(const DatabaseHead& head) {
    Statement about = database_.prepare("SELECT value FROM about WHERE key = 'sweep'");
    const std::string sweep = about.step() ? about.text(0) : "";
    if (sweep != head.about.at("sweep"))
      throw InputError(target_, "has points of another sweep (" + sweep + "), this one is " +
                                    head.about.at("sweep"));
    const Statement columns = database_.prepare("SELECT * FROM points");
    for (int i = 0; i < columns.columns(); ++i) columns_.push_back(columns.name(i));
    Statement warnings = database_.prepare("SELECT sentences, number FROM warnings");
    while (warnings.step()) warnings_[warnings.text(0)] = std::get<int64_t>(warnings.value(1));
  }

  // As many as there are if there is none.
  std::size_t number_of_column(const std::string& name) const {
    return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), name) -
                                    columns_.begin());
  }

  int64_t number_of(const std::string& sentences) {
    const auto [found, is_new] =
        warnings_.try_emplace(sentences, static_cast<int64_t>(warnings_.size()) + 1);
    if (is_new) {
      Statement insert = database_.prepare("INSERT INTO warnings VALUES (?, ?)");
      const FigureValue number = found->second, text = sentences;
      insert.bind(1, number);
      insert.bind(2, text);
      insert.step();
    }
    return found->second;
  }

  // The place of a column, which is made if it is new.
  std::size_t place_of(const NamedFigure& figure) {
    const std::string name(figure.path.text());
    const std::size_t place = number_of_column(name);
    if (place < columns_.size()) return place;
    const auto type = types_.find(name);
    insert_.reset();
    database_.run(
        "ALTER TABLE points ADD COLUMN " +
        column_definition(name, type == types_.end() ? type_of(figure.value) : type->second));
    columns_.push_back(name);
    return place;
  }

  // The places of a row's columns, which are nearly always those of the row before.
  void find_places(const Figures& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const FigurePath& path = row[i].path;
      const std::string_view text = path.text();
      if (i == paths_.size()) {
        paths_.push_back(path);
        places_.push_back(place_of(row[i]));
      } else if (paths_[i].text().data() != text.data() || paths_[i].text().size() != text.size()) {
        if (columns_[places_[i]] != text) places_[i] = place_of(row[i]);
        paths_[i] = path;  // and with it its text, which no other can then take the place of
      }
    }
  }

  void add(const Figures& row) {
    find_places(row);
    if (!insert_) {
      std::string places;
      for (std::size_t i = 0; i < columns_.size(); ++i) places += i == 0 ? "?" : ", ?";
      insert_.emplace(database_.prepare("INSERT INTO points VALUES (" + places + ")"));
      bound_.assign(columns_.size(), 0);
    }
    ++row_;
    for (std::size_t i = 0; i < row.size(); ++i) {
      bind(places_[i], row[i].value);
      bound_[places_[i]] = row_;
    }
    for (std::size_t place = 0; place < bound_.size(); ++place)
      if (bound_[place] == row_ - 1) insert_->bind(static_cast<int>(place) + 1, {});
    insert_->step();
    insert_->reset();
  }

  void bind(std::size_t column, const FigureValue& value) {
    const int place = static_cast<int>(column) + 1;
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && column == warnings_column_) {
      insert_->bind(place, number_of(*text));
      return;
    }
    if (text != nullptr && column == id_column_)
      if (const auto bytes = bytes_of(*text)) {
        insert_->bind_blob(place, *bytes);
        return;
      }
    insert_->bind(place, value);
  }

  std::string target_;
  std::string temporary_;  // empty: the target itself is written
  Database database_;
  std::map<std::string, std::string> types_;
  std::vector<std::string> columns_;
  std::size_t id_column_ = 0, warnings_column_ = 0;
  std::vector<FigurePath> paths_;  // of the row before
  std::vector<std::size_t> places_;
  std::map<std::string, int64_t> warnings_;
  int64_t row_ = 0;             // that is written, counted from 1
  std::vector<int64_t> bound_;  // the last row that had a value in each column
  std::optional<Statement> insert_;
};

PointDatabase::PointDatabase(const std::string& file, bool replaces, const DatabaseHead& head) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem))
    throw InputError(file, "cannot be written: it is a folder");
  if (std::filesystem::exists(file, problem) && access(file.c_str(), W_OK) != 0)
    throw InputError(file, "cannot be written: there is no permission");
  if (!replaces && holds_something(file)) read_head(file);  // of something else nothing is changed
  writer_ = std::make_unique<Writer>(file, replaces, head);
}

PointDatabase::~PointDatabase() = default;
void PointDatabase::append(const std::vector<Figures>& rows) { writer_->append(rows); }
void PointDatabase::finish() { writer_->finish(); }

DatabaseHead read_head(const std::string& file) {
  const Database database(file, Database::Open::to_read);
  DatabaseHead head;
  Statement about = database.prepare("SELECT key, value FROM about");
  while (about.step()) head.about[about.text(0)] = about.text(1);
  const Statement columns = database.prepare("SELECT * FROM points");
  for (int i = 0; i < columns.columns(); ++i)
    if (columns.name(i).starts_with(axis_prefix)) head.types[columns.name(i)] = columns.declared(i);
  if (head.about["schema"] != schema)
    throw InputError(file, "expected a database of points (" + std::string(schema) + "), got \"" +
                               head.about["schema"] + "\"");
  return head;
}

void read_database(const std::string& file, const std::function<void(Json&& line)>& use) {
  DatabaseHead head = read_head(file);
  const Database database(file, Database::Open::to_read);
  std::map<int64_t, Json> warnings;
  Statement lists = database.prepare("SELECT number, sentences FROM warnings");
  while (lists.step())
    warnings[std::get<int64_t>(lists.value(0))] = Json::parse(lists.text(1), nullptr, false);
  Statement points = database.prepare("SELECT * FROM points ORDER BY point");
  const int columns = points.columns();
  std::vector<std::string> names, declared;
  for (int i = 0; i < columns; ++i) {
    names.push_back(points.name(i));
    declared.push_back(points.declared(i));
  }
  const Json of = Json::parse(head.about["of"], nullptr, false);
  while (points.step()) {
    PointLine line{.sweep = head.about["sweep"], .of = of};
    Figures figures;
    for (int i = 0; i < columns; ++i) {
      const auto column = static_cast<std::size_t>(i);
      const std::string& name = names[column];
      FigureValue value = stored(points.value(i), declared[column]);
      if (std::holds_alternative<std::monostate>(value)) {
        if (name.starts_with(axis_prefix)) line.axes[name.substr(axis_prefix.size())] = nullptr;
        continue;
      }
      if (name == "id")
        line.id = points.is_blob(i) ? id_of_bytes(points.text(i)) : points.text(i);
      else if (name == "point")
        line.point = json_of(value);
      else if (name == "error")
        line.error = json_of(value);
      else if (name == "warnings")
        line.warnings = warnings[std::get<int64_t>(value)];
      else if (name.starts_with(axis_prefix))
        line.axes[name.substr(axis_prefix.size())] = axis_value(value);
      else
        figures.push_back({FigurePath::lasting(name), std::move(value)});
    }
    use(to_json(line, figures));
  }
}

void read_filled_database(const std::string& file, const std::function<void(Json&& line)>& use) {
  bool is_empty = true;
  read_database(file, [&](Json&& line) {
    is_empty = false;
    use(std::move(line));
  });
  if (is_empty) throw InputError(file, "holds no point yet; sgdsim sweep --resume goes on with it");
}

Figures row_of(const Json& line) {
  Figures row;
  for (const auto& [name, value] : line.items()) {
    if (name == "schema" || name == "sweep" || name == "of") continue;
    if (name == "axes")
      for (const auto& [field, one] : value.items())
        row.push_back({path_of("axes", field), figure_value(one)});
    else if (name == "warnings")
      row.push_back({name, figure_value(value)});
    else
      add_figures(row, name, value);
  }
  return row;
}

}  // namespace sgdsim
