// SQLite's codes as sentences: the user's file is wrong, or the disk is.
#include "study/sweep/sqlite.h"

#include <cmath>
#include <stdexcept>

#include "sim/core/cases.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

[[noreturn]] void fail(sqlite3* database, const std::string& file) {
  const std::string words = sqlite3_errmsg(database);
  switch (sqlite3_errcode(database)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw InputError(file, "another process writes to it");
    case SQLITE_ERROR:
      throw InputError(file, "is no database of points: " + words);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw InputError(file, "is no database that can be read: " + words);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw InputError(file, "cannot be written: " + words);
    default:
      throw std::runtime_error(file + ": cannot be written: " + words);
  }
}

}  // namespace

Statement::Statement(sqlite3* database, const std::string& file, const std::string& sql)
    : database_(database), file_(file) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    fail(database, file);
  statement_.reset(statement);
}

void Statement::bind(int place, const FigureValue& value) {
  sqlite3_stmt* to = statement_.get();
  const int code =
      std::visit(Cases{[&](std::monostate) { return sqlite3_bind_null(to, place); },
                       [&](bool one) { return sqlite3_bind_int(to, place, one ? 1 : 0); },
                       [&](int64_t one) { return sqlite3_bind_int64(to, place, one); },
                       [&](double one) {
                         return std::isfinite(one) ? sqlite3_bind_double(to, place, one)
                                                   : sqlite3_bind_null(to, place);
                       },
                       [&](const std::string& one) {
                         return sqlite3_bind_text(to, place, one.data(),
                                                  static_cast<int>(one.size()), SQLITE_STATIC);
                       }},
                 value);
  if (code != SQLITE_OK) fail(database_, file_);
}

void Statement::bind_blob(int place, const std::string& bytes) {
  if (sqlite3_bind_blob(statement_.get(), place, bytes.data(), static_cast<int>(bytes.size()),
                        SQLITE_TRANSIENT) != SQLITE_OK)
    fail(database_, file_);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, file_);
  return code == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::string Statement::declared(int column) const {
  const char* type = sqlite3_column_decltype(statement_.get(), column);
  return type == nullptr ? "" : type;
}

bool Statement::is_blob(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_BLOB;
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

FigureValue Statement::value(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement_.get(), column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_.get(), column);
    case SQLITE_TEXT:
    case SQLITE_BLOB:
      return text(column);
    default:
      return {};
  }
}

Database::Database(std::string file, Open how) : file_(std::move(file)) {
  const int flags =
      how == Open::to_read ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* database = nullptr;
  const std::string name = file_.starts_with("file:") ? "./" + file_ : file_;  // it is no URI
  int code = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code == SQLITE_CANTOPEN && how == Open::to_read) {  // a folder that cannot be written to
    sqlite3_close(database);
    code = sqlite3_open_v2(name.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                           nullptr);
  }
  database_.reset(database);
  if (code != SQLITE_OK) fail(database, file_);
}

void Database::run(const std::string& sql) const {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(database_.get(), file_);
}

std::string sql_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char letter : name) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

}  // namespace sgdsim
