// What the documents say can be done: commands with their options, scripts, and links to files.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <regex>
#include <set>

#include "tests/structure/source_file.hpp"

namespace weft::tests {
namespace document_test {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Mention {
  std::string where;  ///< document and line number
  std::string text;
};

/// First groups of all matches of `pattern` in the documents. Fenced blocks read as indented ones.
std::vector<Mention> mentions(const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<Mention> found;
  for (const SourceFile& document : documents()) {
    bool fenced = false;
    for (std::size_t i = 0; i < document.lines.size(); ++i) {
      if (document.lines[i].starts_with("```")) fenced = !fenced;
      const std::string line = (fenced ? "    " : "") + document.lines[i];
      for (std::sregex_iterator match(line.begin(), line.end(), expression), end; match != end; ++match)
        found.push_back({document.path + ":" + std::to_string(i + 1), (*match)[1]});
    }
  }
  return found;
}

std::string output_of(const std::string& command_line) {
  std::string output;
  FILE* pipe = popen(command_line.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command_line;
  return output;
}

/// Words that `--help` lists in its first column: options and subcommands.
std::set<std::string> words_of_help(const std::string& arguments) {
  static const std::regex word(R"((?:^|[\s,])(--[a-z][a-z-]*|-[a-z]|[a-z][a-z_]*))");
  const std::string help = output_of(WEFT_PROGRAM " " + arguments + " --help");
  std::set<std::string> words;
  for (std::sregex_iterator match(help.begin(), help.end(), word), end; match != end; ++match)
    words.insert((*match)[1]);
  return words;
}

TEST(Documents, ShowOnlyCommandsAndOptionsThatExist) {
  // A command line stands in `back quotes` or is a line of an indented or fenced block.
  const auto commands = mentions(R"re((?:[`/]|^\s{4})weft ([a-z]+(?: [^`|;&#>]*)?))re");
  ASSERT_FALSE(commands.empty());
  const std::set<std::string> known_commands = words_of_help("");
  std::vector<std::string> wrong;
  for (const Mention& mention : commands) {
    const std::string command = mention.text.substr(0, mention.text.find(' '));
    if (!known_commands.contains(command)) {
      wrong.push_back(mention.where + ": weft " + command);
      continue;
    }
    std::set<std::string> known_options = words_of_help(command);
    static const std::regex command_of_it(R"(^[a-z]+ ([a-z]+)(?: |$))");
    std::smatch inner;
    if (std::regex_search(mention.text, inner, command_of_it) && known_options.contains(inner[1]))
      known_options.merge(words_of_help(command + " " + inner[1].str()));
    static const std::regex option(R"(--[a-z][a-z-]*)");
    for (std::sregex_iterator match(mention.text.begin(), mention.text.end(), option), end; match != end; ++match)
      if (!known_options.contains(match->str())) wrong.push_back(mention.where + ": " + match->str());
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Documents, NameOnlyFilesThatExist) {
  std::vector<std::string> wrong;
  for (const Mention& mention :
       mentions(R"(\b((?:models|sim|calibration|scenarios|tools|tests|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_]))"))
    if (!fs::exists(project_root() / mention.text)) wrong.push_back(mention.where + ": " + mention.text);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Documents, LinkOnlyToFilesThatExist) {
  std::vector<std::string> wrong;
  for (const Mention& mention : mentions(R"(\]\(([^)#:]+)[^):]*\))")) {
    const fs::path document = project_root() / mention.where.substr(0, mention.where.find(':'));
    if (!fs::exists(document.parent_path() / mention.text)) wrong.push_back(mention.where + ": " + mention.text);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

/// The lines of the document's first fenced block of that language.
std::vector<std::string> first_block(const SourceFile& document, const std::string& language) {
  const auto begin = std::find(document.lines.begin(), document.lines.end(), "```" + language);
  if (begin == document.lines.end()) return {};
  return {begin + 1, std::find(begin + 1, document.lines.end(), "```")};
}

TEST(Readme, ShowsTheProgramThatIsBuiltAgainstTheInstalledLibrary) {
  EXPECT_EQ(first_block(read_source(project_root() / "README.md"), "cpp"),
            read_source(project_root() / "tests/consumer/main.cpp").lines);
}

}  // namespace document_test
}  // namespace weft::tests
