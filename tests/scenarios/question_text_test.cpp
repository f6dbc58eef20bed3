#include "scenarios/question_text.hpp"

#include <gmock/gmock.h>

#include "models/machine/machine.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::scenarios {
namespace question_text_test {

using testing::ElementsAre;
using testing::StartsWith;

const std::filesystem::path shipped = std::filesystem::path(tests::source_folder()) / "scenarios";
const std::string llama = (shipped / "models/llama-3.3-70b.config.json").string();

std::string error_with(const std::string& what, const QuestionOptions& options = {.machine_gpus = 8}) {
  return error_of([&] { read_question(what, options); });
}

TEST(QuestionText, AModelIsAskedAboutInBothFormsOnAllGpus) {
  const Scenario scenario = read_question(llama, {.machine_gpus = 8});
  EXPECT_EQ(scenario.name, "llama-3.3-70b");
  EXPECT_EQ(scenario.gpus, 8);
  EXPECT_EQ(scenario.sizes, usual_tokens);
  EXPECT_THAT(scenario.forms, ElementsAre(LayerForm::all_reduce, LayerForm::sequence_parallel));
  EXPECT_EQ(scenario.model->hidden, 8192);
}

TEST(QuestionText, SequencesOfAModelDecodeUnlessTokensAreAskedFor) {
  const Scenario step = read_question(llama, {.machine_gpus = 8, .step = {.sequences = 64, .prefix = 4096}});
  EXPECT_THAT(step.sizes, ElementsAre(64));
  EXPECT_EQ(layers(step, 0).front().sequences, 64);
  EXPECT_EQ(layers(step, 0).front().prefix, 4096);
  const Scenario chunk = read_question(llama, {.sizes = {2048}, .machine_gpus = 8, .step = {.prefix = 30000}});
  EXPECT_EQ(layers(chunk, 0).front().sequences, 1);
  EXPECT_EQ(layers(chunk, 0).front().tokens, 2048);
  EXPECT_EQ(error_with(llama, {.sizes = {100}, .machine_gpus = 4, .step = {.sequences = 64}}),
            "sequences: expected a divisor of tokens = 100, got 64");
}

TEST(QuestionText, OptionsDecide) {
  const QuestionOptions options{.gpus = 2, .sizes = {4096, 1024, 4096}, .machine_gpus = 8};
  const Scenario model = read_question(llama, options);
  EXPECT_EQ(model.gpus, 2);
  EXPECT_THAT(model.sizes, ElementsAre(1024, 4096));
  const Scenario scenario = read_question((shipped / "llama-3.3-70b.json").string(), options);
  EXPECT_EQ(scenario.gpus, 2);
  EXPECT_THAT(scenario.sizes, ElementsAre(1024, 4096));
  const Scenario pair = read_question((shipped / "gemm_reduce_scatter.json").string(), options);
  EXPECT_EQ(pair.plain.size(), 2u);
}

TEST(QuestionText, AFolderIsNamedAfterItself) {
  const tests::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "Some-Model");
  std::filesystem::copy_file(llama, folder.path() / "Some-Model/config.json");
  const std::string path = (folder.path() / "Some-Model").string();
  for (const std::string& what : {path, path + "/", path + "/config.json"})
    EXPECT_EQ(read_question(what, {.machine_gpus = 8}).name, "Some-Model") << what;
}

TEST(QuestionText, WordsAreAScenarioOfPlainSizes) {
  const Scenario scenario = read_question("m=8192,4096 n=8192 k=3584 op=gemm+all_reduce gpus=4", {});
  EXPECT_EQ(scenario.gpus, 4);
  EXPECT_THAT(scenario.sizes, ElementsAre(4096, 8192));
  EXPECT_EQ(scenario.plain.front(), Workload(PairWorkload{PairOp::gemm_all_reduce, 4096, 8192, 3584}));
  EXPECT_EQ(read_question("m=64 n=64 k=64 op=gemm+all_reduce", {.machine_gpus = 8}).gpus, 8);
}

TEST(QuestionText, WordsMayHaveFractions) {
  const Scenario scenario = read_question("m=4096 n=64 k=64 op=gemm+all_to_all imbalance=1.375", {.machine_gpus = 4});
  EXPECT_EQ(std::get<PairWorkload>(scenario.plain.front()).imbalance, 1.375);
  EXPECT_THAT(error_with("m=4096.5 n=64 k=64 op=gemm+all_to_all"), StartsWith("m: expected"));
  EXPECT_THAT(error_with("m=4096 n=64 k=64 op=gemm+all_to_all imbalance=nan"), StartsWith("imbalance: expected"));
}

TEST(QuestionText, SaysWhatIsWrongInOneLine) {
  EXPECT_THAT(error_with("no/such/file"), StartsWith("no/such/file: "));
  EXPECT_EQ(error_with("m=64 n=64 k=64 op=gemm+all_reduce", {}),
            "--machine: expected the name or path of a profile, since m=64 n=64 k=64 op=gemm+all_reduce names none");
  EXPECT_THAT(error_with("m=64 n=64 k=64"), StartsWith("model: expected this key, or op with m, n and k"));
  EXPECT_THAT(error_with("m=64 n= k=64"), StartsWith("SCENARIO: expected words such as"));
  EXPECT_THAT(error_with("m=64,n=64,k=64"), StartsWith("SCENARIO: expected words such as"));
  EXPECT_EQ(error_with("m=64 m=65"), "m: expected it once");
  EXPECT_THAT(error_with("m=64 n=64 k=64 op=gemm+all_reduce colour=red"), StartsWith("colour: "));
  EXPECT_THAT(error_with("m=64 n=x k=64 op=gemm+all_reduce"), StartsWith("n: "));
  const tests::TemporaryFolder folder;
  folder.write("other.json", R"({"weights": 3})");
  EXPECT_THAT(error_with((folder.path() / "other.json").string()),
              testing::HasSubstr("other.json: expected a scenario"));
  EXPECT_THAT(error_with(llama, {.gpus = 3}),
              testing::HasSubstr("num_attention_heads: expected a multiple of gpus = 3"));
}

TEST(QuestionText, Fp8IsCountedAsBf16WhereTheGpusHaveNone) {
  const Scenario scenario =
      read_question((shipped / "models/llama-3.3-70b-fp8.config.json").string(), {.machine_gpus = 8});
  Machine machine;
  EXPECT_EQ(as_machine_computes(scenario, machine).model->dtype, DataType::bf16);
  EXPECT_THAT(as_machine_computes(scenario, machine).model->ignored,
              ElementsAre("fp8, which these GPUs have not: GEMMs are counted as bf16"));
  machine.gpu.fp8_speedup = 2;
  EXPECT_EQ(as_machine_computes(scenario, machine).model, scenario.model);
}

}  // namespace question_text_test
}  // namespace weft::scenarios
