// Bad input: what a command reports in one line, with exit status 2.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// Thrown wherever something that a user wrote is wrong. `what()` reads "FILE: FIELD: expected …", with the file
/// left out until whoever knows it adds it.
class InputError : public std::runtime_error {
 public:
  InputError(std::string field, std::string expected)
      : std::runtime_error(field.empty() ? expected : field + ": " + expected),
        field_(std::move(field)),
        expected_(std::move(expected)) {}

  InputError in_file(const std::string& file) const {
    return InputError(field_.empty() ? file : file + ": " + field_, expected_);
  }
  const std::string& field() const { return field_; }
  const std::string& expected() const { return expected_; }

 private:
  std::string field_;
  std::string expected_;
};

}  // namespace weft
