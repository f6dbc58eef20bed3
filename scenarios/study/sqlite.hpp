// SQLite's handles, owned, and its errors as exceptions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace weft::scenarios::study {

/// A prepared statement. It is asked again after reset(). Everything throws ExecutionError "FILE: what SQLite says".
class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql);

  Statement& bind(int position, std::int64_t value);
  Statement& bind(int position, double value);
  Statement& bind(int position, std::string_view text);
  Statement& bind_null(int position);
  /// True while there is a row.
  bool step();
  void reset();
  /// All at once, of one without rows.
  void run();

  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;
  int columns() const;
  std::string name(int column) const;

 private:
  void require(int status) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  /// A new file where there is none, unless `only_reads`. Throws InputError for what is no database.
  Database(const std::filesystem::path& path, bool only_reads);

  Statement prepare(const std::string& sql) { return {database_.get(), sql}; }
  void run(const std::string& sql) { prepare(sql).run(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace weft::scenarios::study
