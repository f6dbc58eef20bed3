#include "models/base/json_object.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"

namespace weft {
namespace json_object_test {

enum class Colour { red, green };

}  // namespace json_object_test

template <>
struct NamesOf<json_object_test::Colour> {
  using Colour = json_object_test::Colour;
  static constexpr std::array names{std::pair{Colour::red, std::string_view{"red"}},
                                    std::pair{Colour::green, std::string_view{"green"}}};
};

namespace json_object_test {

/// The error of `read` on the object in `text`.
template <class Read>
std::string error_in(const char* text, Read read) {
  return error_of([&] {
    const auto json = parse_json(text);
    JsonObject object(json);
    read(object);
  });
}

TEST(JsonFile, a_syntax_error_names_line_and_column) {
  const std::string error = error_of([] { parse_json("{\"a\": 1,\n \"b\": }"); });
  EXPECT_NE(error.find("line 2, column 7"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST(JsonFile, a_key_that_stands_twice_is_an_error) {
  EXPECT_EQ(error_of([] { parse_json(R"({"x": [{"a": 1}, {"a": 1, "b": 2, "a": 3}]})"); }),
            "x: expected each key once, got \"a\" twice");
}

TEST(JsonFile, equal_keys_in_different_objects_are_fine) {
  EXPECT_EQ(parse_json(R"({"a": {"a": [{"a": 1}, {"a": 2}]}, "b": {"a": 3}})").size(), 2u);
}

TEST(JsonFile, a_number_that_no_double_holds_is_an_error) {
  EXPECT_NE(error_of([] { parse_json("{\"a\": 1e999}"); }), "");
}

TEST(JsonFile, more_than_64_levels_are_an_error) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(parse_json(nested(64)).size(), 1u);
  for (const std::size_t levels : {65, 100'000})
    EXPECT_EQ(error_of([&] { parse_json(nested(levels)); }), "expected at most 64 levels of nesting, got more");
}

TEST(JsonFile, empty_text_is_an_error) {
  EXPECT_NE(error_of([] { parse_json(""); }), "");
}

TEST(JsonFile, a_missing_file_is_named) {
  EXPECT_EQ(error_of([] { read_json_file("/nowhere/x.json"); }), "/nowhere/x.json: expected a file, found none");
}

TEST(JsonFile, a_folder_is_no_file) {
  EXPECT_EQ(error_of([] { read_json_file("/"); }), "/: expected a file, got a folder");
}

TEST(JsonFile, what_was_written_is_read_back) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "weft_json_file";
  std::filesystem::create_directories(folder);
  const nlohmann::ordered_json json{{"b", {1, 2.5, "x\n\"y\""}}, {"a", nullptr}};
  write_json_file(folder / "x.json", json);
  EXPECT_EQ(read_json_file(folder / "x.json"), nlohmann::json(json));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "a temporary file was left";
  std::filesystem::remove_all(folder);
}

TEST(JsonFile, short_objects_stay_on_one_line_and_keys_keep_their_order) {
  const nlohmann::ordered_json json{{"z", {{"b", 1}, {"a", 2}}}, {"list", {"first long text", "second long text"}}};
  EXPECT_EQ(to_text(json, 36),
            "{\n"
            "  \"z\": {\"b\": 1, \"a\": 2},\n"
            "  \"list\": [\n"
            "    \"first long text\",\n"
            "    \"second long text\"\n"
            "  ]\n"
            "}\n");
}

TEST(JsonObject, an_unknown_key_is_refused_with_the_keys_that_are_known) {
  EXPECT_EQ(error_in(R"({"rows": 1, "colums": 2})",
                     [](JsonObject& object) {
                       object.integer("rows");
                       object.integer_or("columns", 1);
                       object.finish();
                     }),
            "colums: expected one of the keys rows, columns, got this unknown one");
}

TEST(JsonObject, a_missing_key_is_named_with_its_path) {
  EXPECT_EQ(error_in(R"({"operations": [{"gemm": {}}]})",
                     [](JsonObject& object) { object.list("operations")[0].object().object("gemm").integer("m"); }),
            "operations[0].gemm.m: expected this key, it is missing");
}

TEST(JsonObject, an_optional_value_that_is_missing_takes_the_default) {
  const auto json = parse_json("{}");
  JsonObject object(json);
  EXPECT_EQ(object.string_or("s", "x"), "x");
  EXPECT_EQ(object.boolean_or("b", true), true);
  EXPECT_EQ(object.integer_or("i", 7), 7);
  EXPECT_EQ(object.number_or("d", 0.5), 0.5);
  EXPECT_EQ(object.word_or("w", Colour::green), Colour::green);
  EXPECT_TRUE(object.list_or_empty("l").empty());
}

TEST(JsonObject, an_optional_value_of_the_wrong_type_is_still_an_error) {
  EXPECT_EQ(error_in(R"({"b": 1})", [](JsonObject& object) { object.boolean_or("b", true); }),
            "b: expected true or false, got 1");
}

TEST(JsonObject, a_whole_number_is_an_integer_however_it_is_written) {
  for (const char* text : {R"({"m": 4.0})", R"({"m": 4e0})", R"({"m": 0.4e1})"})
    EXPECT_EQ(error_in(text, [](JsonObject& object) { EXPECT_EQ(object.positive_integer("m"), 4); }), "") << text;
}

TEST(JsonObject, what_is_not_whole_is_no_integer) {
  EXPECT_EQ(error_in(R"({"m": 4.5})", [](JsonObject& object) { object.positive_integer("m"); }),
            "m: expected a positive integer, got 4.5");
  EXPECT_NE(error_in(R"({"m": 1e300})", [](JsonObject& object) { object.positive_integer("m"); }), "");
}

TEST(JsonObject, zero_and_negative_are_no_positive_integers) {
  for (const char* text : {R"({"m": 0})", R"({"m": -3})"})
    EXPECT_NE(error_in(text, [](JsonObject& object) { object.positive_integer("m"); }), "") << text;
}

TEST(JsonObject, integers_beyond_2_to_the_53_are_refused) {
  const auto read = [](JsonObject& object) { object.positive_integer("m"); };
  EXPECT_EQ(error_in(R"({"m": 9007199254740992})", read), "");
  EXPECT_NE(error_in(R"({"m": 9007199254740993})", read), "");
  EXPECT_NE(error_in(R"({"m": 18446744073709551615})", read), "");
  EXPECT_NE(error_in(R"({"m": 9007199254740994.0})", read), "");
  EXPECT_NE(error_in(R"({"m": 99999999999999999999999})", read), "");
}

TEST(JsonObject, a_range_error_says_the_range) {
  EXPECT_EQ(error_in(R"({"gpus": 9})", [](JsonObject& object) { object.integer("gpus", 1, 8); }),
            "gpus: expected an integer from 1 to 8, got 9");
  EXPECT_EQ(error_in(R"({"x": -1.5})", [](JsonObject& object) { object.number("x", 0); }),
            "x: expected a number of at least 0.0, got -1.5");
}

TEST(JsonObject, a_word_that_is_unknown_lists_the_words) {
  EXPECT_EQ(error_in(R"({"c": "blue"})", [](JsonObject& object) { object.word<Colour>("c"); }),
            "c: expected one of red, green, got \"blue\"");
}

TEST(JsonObject, what_is_no_object_is_refused) {
  EXPECT_EQ(error_of([] { JsonObject object(nlohmann::json::array()); }), "expected an object, got a list");
}

}  // namespace json_object_test
}  // namespace weft
