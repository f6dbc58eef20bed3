#include "scenarios/report/token_split_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/report/writers.hpp"

namespace weft::scenarios::report {
namespace token_split_report_test {

using testing::StartsWith;
using weft::report::written;

study::TableRow row() {
  study::TableRow made{.tokens = 1024, .serial_us = 30, .bound_us = 10, .choice = {}, .time_us = 20};
  made.choice.family = TokenSplit{.first = 512, .comm_ctas = 4, .mlp_comm_ctas = 8};
  return made;
}

TEST(TokenSplitReport, HasTheCtasOfBothReductionsOrThoseOfNccl) {
  Machine machine;
  machine.name = "a server";
  study::TableQuestion question{.layer = {}, .tokens = {1024}, .gpus = 8, .ctas = {4, 8}};
  const auto fused = token_split_report({row()}, question, "a model", machine);
  EXPECT_EQ(fused.sections.at(0).heading, "One layer, 8 GPUs, a server");
  EXPECT_EQ(written(fused, "csv"),
            "tokens,split 1,split 2,attention CTAs,MLP CTAs,us,serial us,speedup\n"
            "1024,512,512,4,8,20.0,30.0,1.500\n");
  EXPECT_EQ((*fused.document.json())["model"], "a model");
  question.fused_norm = false;
  EXPECT_THAT(written(token_split_report({row()}, question, "a model", machine), "csv"),
              StartsWith("tokens,split 1,split 2,max CTAs,us,serial us,speedup\n1024,512,512,default,"));
}

TEST(TokenSplitReport, SaysWhereNotSplittingIsFaster) {
  Machine machine;
  const study::TableQuestion question{.layer = {}, .tokens = {1024, 2048}, .gpus = 8, .ctas = {4}};
  study::TableRow losing = row();
  losing.tokens = 100;
  losing.time_us = 40;
  EXPECT_TRUE(token_split_report({row()}, question, "a model", machine).sections.at(0).notes.empty());
  EXPECT_EQ(token_split_report({losing, row()}, question, "a model", machine).sections.at(0).notes,
            std::vector<std::string>{"Do not split 100 tokens: serial takes less than the best split."});
}

}  // namespace token_split_report_test
}  // namespace weft::scenarios::report
