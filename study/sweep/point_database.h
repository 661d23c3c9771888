// Files of points as SQLite databases: a table `points` with a typed column for every axis and
// figure, `warnings`, whose lists points name by number, and `about` with what was asked, by which
// program.
//
// Rows are written in transactions, so that a process may be killed at any time: what the next
// reader finds are whole batches. A database that is written has a file NAME-wal beside it;
// together with it, it is whole. While it is written nobody else can write to it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "study/figures.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

// By its name: .db, .sqlite, .sqlite3.
bool is_database_name(const std::string& file);
// By what is in it.
bool holds_database(const std::string& file);

// What is known before the first point.
struct DatabaseHead {
  std::map<std::string, std::string> about;  // sweep, name, of, question, ...
  std::map<std::string, std::string>
      types;  // of columns of axes: INTEGER, REAL, TEXT, BOOLEAN or ""
};
DatabaseHead head_of(const Sweep& sweep);

// The type of a column that keeps all its values as they are: that of all of them, or none.
class ColumnTypes {
 public:
  void add(const std::string& column, const FigureValue& value);
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  std::map<std::string, std::string> types_;
};

class PointDatabase {
 public:
  // A new one, or one of the same sweep that is continued. `replaces`: it takes the place of a file
  // once it is whole. InputError if it cannot be opened, is of another sweep, or somebody writes to
  // it.
  PointDatabase(const std::string& file, bool replaces, const DatabaseHead& head);
  ~PointDatabase();
  PointDatabase(const PointDatabase&) = delete;
  PointDatabase& operator=(const PointDatabase&) = delete;

  // One transaction; on return a killed process leaves these rows. std::runtime_error if they could
  // not be written.
  void append(const std::vector<Figures>& rows);
  // One file without another beside it.
  void finish();

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

// Every point as its line (sgdsim/point/1), in order. A column without a value is left out.
void read_database(const std::string& file, const std::function<void(Json&& line)>& use);
// The same for what is to be shown: InputError if there is no point.
void read_filled_database(const std::string& file, const std::function<void(Json&& line)>& use);
DatabaseHead read_head(const std::string& file);

// The row of a line.
Figures row_of(const Json& line);

}  // namespace sgdsim
