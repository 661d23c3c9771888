// SQLite with values that own what they opened, and with errors as exceptions.
#pragma once

#include <memory>
#include <sqlite3.h>
#include <string>

#include "study/figures.h"

namespace sgdsim {

class Statement {
 public:
  Statement(sqlite3* database, const std::string& file, const std::string& sql);
  // Counted from 1. Texts must stay until the statement has run.
  void bind(int place, const FigureValue& value);
  void bind_blob(int place, const std::string& bytes);
  bool step();  // whether there is a row
  void reset();
  int columns() const { return sqlite3_column_count(statement_.get()); }
  // Counted from 0.
  std::string name(int column) const { return sqlite3_column_name(statement_.get(), column); }
  std::string declared(int column) const;
  bool is_blob(int column) const;
  FigureValue value(int column) const;
  std::string text(int column) const;

 private:
  sqlite3* database_;
  std::string file_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_{nullptr, sqlite3_finalize};
};

class Database {
 public:
  enum class Open { to_read, to_write };
  // InputError if it cannot be opened so.
  Database(std::string file, Open how);
  Statement prepare(const std::string& sql) const { return {database_.get(), file_, sql}; }
  void run(const std::string& sql) const;  // without an answer
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_{nullptr, sqlite3_close};
};

// "a name" as SQL writes it.
std::string sql_name(const std::string& name);

}  // namespace sgdsim
