// What the hardware executor runs of fp8, and why it refuses the rest.
#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace fp8_support_test {

constexpr std::int64_t rows = 64;

Slice whole(BufferId buffer, std::int64_t columns = 64) { return {buffer, 0, RowRange{0, rows}, 0, columns}; }

/// One operation on matrices of 64 rows: "a" and "b" of fp8, "c" and "d" of bf16.
Schedule schedule_of(Work work, std::int64_t columns = 64) {
  Schedule schedule;
  schedule.gpus = 2;
  for (const char* name : {"a", "b", "c", "d"}) {
    const bool is_fp8 = name[0] == 'a' || name[0] == 'b';
    schedule.buffers.push_back({.name = name,
                                .rows = rows,
                                .columns = columns,
                                .dtype = is_fp8 ? DataType::fp8 : DataType::bf16,
                                .memory = Memory::symmetric,
                                .layout = {}});
  }
  schedule.streams = {{"s0", 0}};
  schedule.operations = {{"only", 0, {}, std::move(work)}};
  return schedule;
}
Gemm product(std::int64_t k = 64) {
  Gemm gemm;
  gemm.a = whole(0, k), gemm.b = whole(1, k), gemm.c = whole(2);
  return gemm;
}
Collective collective(CollectiveKind kind, Transport transport) {
  Collective work{.kind = kind, .input = whole(0), .output = whole(1), .transport = transport};
  if (kind == CollectiveKind::all_gather) work.input.rows = RowRange{0, rows / 2};
  return work;
}
std::string refusal(const Schedule& schedule) {
  const auto error = why_not_runnable(schedule);
  return error ? error->what() : "";
}
Machine machine(const std::string& name) {
  return read_machine(tests::source_folder() + "/calibration/machines/" + name + ".json");
}

TEST(Fp8Support, RunsTheLibrarysProducts) {
  Gemm gemm = product();
  EXPECT_EQ(refusal(schedule_of(gemm)), "");
  gemm.addend = gemm.c, gemm.max_sms = 100;
  EXPECT_EQ(refusal(schedule_of(gemm)), "");
}

TEST(Fp8Support, ProductsNeedMultiplesOf16) {
  EXPECT_NE(refusal(schedule_of(product(56))).find("n = 64 and k = 56, which are no multiples of 16"),
            std::string::npos);
  Gemm shifted = product(32);
  shifted.a.first_column = 8;
  EXPECT_NE(refusal(schedule_of(shifted)).find("rows of \"a\" that are not aligned to 16 bytes"), std::string::npos);
  Gemm few_rows = product();
  few_rows.a.rows = few_rows.c.rows = RowRange{0, 17};
  EXPECT_EQ(refusal(schedule_of(few_rows)), "") << "the rows of a are free";
}

TEST(Fp8Support, RefusesKernelsOfOursWhichMultiplyBf16) {
  Gemm gemm = product();
  gemm.kernel = own_kernels.front();
  EXPECT_NE(refusal(schedule_of(gemm)).find("got fp8 for a GEMM kernel of ours, which multiplies bf16"),
            std::string::npos);
}

TEST(Fp8Support, StoresWhatProductsRead) {
  const auto refusal_of = [](MemoryKernel kernel, std::vector<Slice> reads, std::vector<Slice> writes) {
    return refusal(schedule_of(MemoryBound{kernel, std::move(reads), std::move(writes)}));
  };
  EXPECT_EQ(refusal_of(MemoryKernel::quantize, {whole(2)}, {whole(0)}), "");
  EXPECT_EQ(refusal_of(MemoryKernel::rms_norm, {whole(2)}, {whole(0)}), "");
  EXPECT_EQ(refusal_of(MemoryKernel::add_rms_norm, {whole(2), whole(3)}, {whole(0), whole(3)}), "");
  EXPECT_EQ(refusal_of(MemoryKernel::swiglu, {whole(2)}, {whole(0, 32)}), "");
  EXPECT_EQ(refusal_of(MemoryKernel::gather, {whole(0)}, {whole(1)}), "");
  EXPECT_NE(refusal_of(MemoryKernel::quantize, {whole(2)}, {whole(3)}).find("got quantize to bf16"), std::string::npos);
  EXPECT_NE(refusal_of(MemoryKernel::rms_norm, {whole(0)}, {whole(1)}).find("got dtype fp8"), std::string::npos);
  EXPECT_NE(refusal_of(MemoryKernel::add_rms_norm, {whole(2), whole(3)}, {whole(0), whole(1)}).find("got dtype fp8"),
            std::string::npos)
      << "the residual stays bf16";
  EXPECT_NE(refusal_of(MemoryKernel::add, {whole(2)}, {whole(0)}).find("got dtype fp8"), std::string::npos);
  EXPECT_NE(refusal_of(MemoryKernel::gather, {whole(2)}, {whole(0)}).find("got gather of bf16 and fp8"),
            std::string::npos);
}

TEST(Fp8Support, MovesBytesAndRefusesSums) {
  using enum CollectiveKind;
  for (const Transport transport :
       {Transport::nccl, Transport::peer_kernel, Transport::nccl_symmetric, Transport::nccl_copy_engine})
    EXPECT_EQ(refusal(schedule_of(collective(all_gather, transport))), "") << name_of(transport);
  for (const Transport transport : {Transport::nccl, Transport::peer_kernel})
    for (const CollectiveKind kind : {all_reduce, reduce_scatter})
      EXPECT_NE(refusal(schedule_of(collective(kind, transport))).find("got a sum of fp8, which would be rounded"),
                std::string::npos);
  for (const CopyPath path : {CopyPath::copy_engine, CopyPath::sms})
    EXPECT_EQ(refusal(schedule_of(Copy{whole(0), whole(1), path})), "");
  EXPECT_NE(refusal(schedule_of(Copy{whole(0, 8), whole(1, 8), CopyPath::sms})).find("no multiples of 16 bytes"),
            std::string::npos);
}

TEST(Fp8Support, ProductsNeedGpusThatHaveThem) {
  const Schedule schedule = schedule_of(product());
  for (const char* name : {"l40sx8-pcie", "h100x8-nvswitch", "h200x8-nvswitch", "b200x8-nvswitch-nvls"})
    EXPECT_TRUE(is_runnable(schedule, machine(name))) << name;
  const auto error = why_not_runnable(schedule, machine("a800x8-nvswitch"));
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(),
               "operations[0] \"only\": expected what the GPUs of a800x8-nvswitch can run, got a product of fp8, which "
               "needs compute capability 8.9 or newer (Ada, Hopper, Blackwell)");
  EXPECT_TRUE(is_runnable(schedule_of(Copy{whole(0), whole(1)}), machine("a800x8-nvswitch"))) << "bytes are bytes";
}

}  // namespace fp8_support_test
}  // namespace weft
