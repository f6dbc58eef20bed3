#include "scenarios/report/html_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"

namespace weft::scenarios::report {
namespace html_report_test {

using nlohmann::ordered_json;
using testing::HasSubstr;

const std::string page = R"(<script id="content">{"weft": "content"}</script><p>rest</p>)";

TEST(HtmlReport, HasTheContentWhereThePageHasRoomForIt) {
  EXPECT_EQ(html_report({{"a", 1}}, page), R"(<script id="content">{"a":1}</script><p>rest</p>)");
}

TEST(HtmlReport, NoTextOfTheContentEndsItsScript) {
  const ordered_json content{{"name", "</script><!-- x"}};
  const std::string text = html_report(content, page);
  EXPECT_EQ(text.find("</script>"), text.rfind("</script>"));
  EXPECT_THAT(text, HasSubstr("\\u003c/script>\\u003c!-- x"));
  const std::size_t begin = text.find('{'), end = text.find("</script>");
  EXPECT_EQ(ordered_json::parse(text.substr(begin, end - begin)), content);
}

TEST(HtmlReport, BytesThatAreNoTextAreReplaced) {
  EXPECT_THAT(html_report({{"name", "\xff"}}, page), HasSubstr("\xEF\xBF\xBD"));
}

TEST(HtmlReport, APageWithoutRoomIsRefused) { EXPECT_THROW(html_report({}, "<p></p>"), InputError); }

}  // namespace html_report_test
}  // namespace weft::scenarios::report
