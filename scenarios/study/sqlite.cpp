#include "scenarios/study/sqlite.hpp"

#include <sqlite3.h>

#include "models/base/input_error.hpp"
#include "models/execution/execution_error.hpp"

namespace weft::scenarios::study {
namespace {

/// Somebody who looks at a store holds up who writes to it, and the other way round.
constexpr int patience_ms = 60'000;

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void Statement::require(int status) const {
  if (status == SQLITE_OK || status == SQLITE_ROW || status == SQLITE_DONE) return;
  const char* const file = sqlite3_db_filename(database_, nullptr);
  const std::string message = std::string(file == nullptr ? "" : file) + ": " + sqlite3_errmsg(database_);
  const bool is_foreign = (status & 0xff) == SQLITE_NOTADB || (status & 0xff) == SQLITE_CORRUPT;
  if (is_foreign) throw InputError(file == nullptr ? "" : file, "expected a store that weft sweep wrote");
  throw ExecutionError(message);
}

Statement::Statement(sqlite3* database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  require(status);
}

Statement& Statement::bind(int position, std::int64_t value) {
  require(sqlite3_bind_int64(statement_.get(), position, value));
  return *this;
}

Statement& Statement::bind(int position, double value) {
  require(sqlite3_bind_double(statement_.get(), position, value));
  return *this;
}

Statement& Statement::bind(int position, std::string_view text) {
  require(sqlite3_bind_text64(statement_.get(), position, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null(int position) {
  require(sqlite3_bind_null(statement_.get(), position));
  return *this;
}

bool Statement::step() {
  const int status = sqlite3_step(statement_.get());
  require(status);
  return status == SQLITE_ROW;
}

void Statement::reset() { require(sqlite3_reset(statement_.get())); }

void Statement::run() {
  while (step()) {
  }
  reset();
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::number(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }
std::string Statement::name(int column) const { return sqlite3_column_name(statement_.get(), column); }

Database::Database(const std::filesystem::path& path, bool only_reads) {
  sqlite3* database = nullptr;
  const int flags = only_reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (status != SQLITE_OK) throw InputError(path.string(), "expected a store that can be opened");
  sqlite3_busy_timeout(database, patience_ms);
}

}  // namespace weft::scenarios::study
