// What a GEMM must say: operands, sums, tile groups, replicas, earlier blocks, and where its ranks meet.
#include <gmock/gmock.h>

#include "models/schedule/kernel_sizes.hpp"
#include "models/schedule/layout.hpp"
#include "tests/models/check/complaint.hpp"

namespace weft {
namespace gemm_validation_test {

TEST(GemmValidation, gemm_operands_must_fit) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { work<Gemm>(s, "gemm_1").b.columns = 64; }),
            "operations[5].gemm.b: expected 128 columns as a has, got 64");
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { work<Gemm>(s, "gemm_1").c.columns = 128; }),
            "operations[5].gemm.c: expected 128 x 256, got 128 x 128");
}

TEST(GemmValidation, tile_groups_must_add_up_to_the_tiles_of_the_kernel) {
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        work<Gemm>(s, "gemm").tile_groups = {6, 6, 5};
                      }),
            "operations[0].gemm.tile_groups: expected 16 tiles in all groups together, got 17");
}

TEST(GemmValidation, tile_groups_need_an_explicit_kernel) {
  EXPECT_EQ(complaint(flash_overlap(), [](Schedule& s) { work<Gemm>(s, "gemm").kernel.reset(); }),
            "operations[0].gemm.kernel: expected an explicit kernel, since tile groups are used");
}

TEST(GemmValidation, what_is_added_has_the_shape_of_c) {
  const auto complaint_about = [](auto change) {
    return complaint(async_tp(), [&](Schedule& s) {
      Gemm& gemm = work<Gemm>(s, "gemm_1");
      gemm.addend = gemm.c;
      s.buffers[static_cast<std::size_t>(gemm.c.buffer)].memory = Memory::symmetric;
      change(gemm);
    });
  };
  const auto says = [](const std::string& text) { return testing::HasSubstr(".gemm." + text); };
  EXPECT_EQ(complaint_about([](Gemm&) {}), "");
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.addend->columns /= 2; }), says("addend: expected "));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.addend->place = 1; }), says("addend: expected rows of the own"));
  EXPECT_THAT(complaint_about([](Gemm& gemm) {
                gemm.kernel = GemmKernel{};
                gemm.waits = {{.counter = 0, .for_addend = true}};
              }),
              says("waits: expected "));
}

TEST(GemmValidation, earlier_blocks_have_as_many_rows_and_an_explicit_kernel) {
  const auto complaint_about = [](auto change) {
    return complaint(async_tp(), [&](Schedule& s) {
      Gemm& gemm = work<Gemm>(s, "gemm_1");
      gemm.kernel = GemmKernel{.tile_m = 1};
      gemm.earlier = {{.a = gemm.a, .c = gemm.c}};
      gemm.earlier[0].c.place = 1;
      s.buffers[static_cast<std::size_t>(gemm.c.buffer)].memory = Memory::symmetric;
      change(gemm);
    });
  };
  const auto says = [](const std::string& text) { return testing::HasSubstr(".gemm." + text); };
  EXPECT_EQ(complaint_about([](Gemm&) {}), "");
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.kernel.reset(); }),
              says("kernel: expected an explicit kernel, since there are earlier blocks"));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.kernel->tile_m = 1 << 10; }),
              says("a: expected blocks of whole tiles"));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.earlier[0].c.columns /= 2; }), says("earlier[0].c: expected "));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.tile_groups = {1}; }), says("tile_groups: expected "));
}

TEST(GemmValidation, ranks_meet_in_an_explicit_kernel_of_tile_groups_and_only_then_rows_are_fetched) {
  const auto complaint_about = [](auto change) {
    return complaint(async_tp(), [&](Schedule& s) {
      Gemm& gemm = work<Gemm>(s, "gemm_1");
      gemm.kernel = GemmKernel{.tile_m = 1};
      gemm.meets = PeerMeeting::begin_and_end;
      gemm.tile_groups = {tile_grid(*gemm.kernel, size_of(gemm, s.gpus)).tiles()};
      gemm.a_from = gemm.a;
      gemm.a_from->place = 1;
      s.buffers[static_cast<std::size_t>(gemm.a.buffer)].memory = Memory::symmetric;
      change(gemm);
    });
  };
  const auto says = [](const std::string& text) { return testing::HasSubstr(".gemm." + text); };
  EXPECT_EQ(complaint_about([](Gemm&) {}), "");
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.meets = PeerMeeting::begin; }),
              says("meets: expected begin_and_end, since rows of a are fetched"));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.a_from->columns /= 2; }), says("a_from: expected "));
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.tile_groups.clear(); }),
              says("tile_groups: expected tile groups, since the ranks meet"));
  EXPECT_THAT(complaint_about([](Gemm& gemm) {
                gemm.a_from.reset();
                gemm.tile_groups.clear();
                gemm.kernel.reset();
              }),
              says("kernel: expected an explicit kernel, since the ranks meet"));
}

TEST(GemmValidation, replicas_are_of_a_row_major_c_with_an_explicit_kernel) {
  const auto complaint_about = [](auto change) {
    return complaint(async_tp(), [&](Schedule& s) {
      Gemm& gemm = work<Gemm>(s, "gemm_1");
      gemm.kernel = GemmKernel{};
      gemm.replicas = {gemm.c};
      gemm.replicas[0].place = 1;
      s.buffers[static_cast<std::size_t>(gemm.c.buffer)].memory = Memory::symmetric;
      change(gemm);
    });
  };
  const auto says = [](const std::string& text) { return testing::HasSubstr(".gemm." + text); };
  EXPECT_EQ(complaint_about([](Gemm&) {}), "");
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.kernel.reset(); }),
              says("kernel: expected an explicit kernel, since c has replicas"));
  EXPECT_EQ(complaint_about([](Gemm& gemm) { gemm.addend = gemm.c; }), "");
  EXPECT_THAT(complaint_about([](Gemm& gemm) { gemm.replicas[0].columns /= 2; }), says("replicas: expected "));
  EXPECT_THAT(complaint(flash_overlap(),
                        [](Schedule& s) {
                          Gemm& gemm = work<Gemm>(s, "gemm");
                          gemm.replicas = {gemm.c};
                        }),
              testing::HasSubstr("gemm.c: expected the same rows of a row-major buffer on every rank"));
}

TEST(GemmValidation, the_layout_of_c_has_the_kernels_tiles_order_and_groups) {
  EXPECT_NE(complaint(flash_overlap(), [](Schedule& s) { work<Gemm>(s, "gemm").order.swizzle = 1; }).find("gemm.order"),
            std::string::npos);
  EXPECT_NE(complaint(flash_overlap(),
                      [](Schedule& s) {
                        s.buffers[2].layout.group_tiles = {4, 6, 6};
                      })
                .find("tile_groups"),
            std::string::npos);
}

}  // namespace gemm_validation_test
}  // namespace weft
