#include "tools/report/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "models/base/text.hpp"

namespace weft::tools::report {
namespace {

std::string text_of(const Table& table) {
  std::ostringstream out;
  out << table;
  return out.str();
}

TEST(Table, SetsNumbersToTheRightAndTextToTheLeft) {
  Table table({"name", "us"});
  table.add({"gemm", "812.0"});
  table.add({"all_reduce", "-5.1"});
  EXPECT_EQ(text_of(table),
            "name           us\n"
            "gemm        812.0\n"
            "all_reduce   -5.1\n");
}

TEST(Table, SetsAColumnWithOneTextToTheLeft) {
  Table table({"value"});
  table.add({"12345"});
  table.add({"six"});
  EXPECT_EQ(text_of(table), "value\n12345\nsix\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table({"a", "b"});
  table.add({"µµµ", "x"});
  EXPECT_EQ(text_of(table), "a    b\nµµµ  x\n");
}

TEST(Table, WithoutRowsIsItsHeader) { EXPECT_EQ(text_of(Table({"a", "b"})), "a  b\n"); }

TEST(SignedPercent, ShowsTheSignOfBoth) {
  EXPECT_EQ(signed_percent(0.0312), "+3.1 %");
  EXPECT_EQ(signed_percent(-0.0312), "-3.1 %");
}

}  // namespace
}  // namespace weft::tools::report
