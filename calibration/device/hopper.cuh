// What Hopper's tensor cores and its tensor memory accelerator (TMA) are told, one PTX instruction a function.
// Source: PTX ISA 9.0, sections on mbarrier, cp.async.bulk.tensor, wgmma and clusters.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

namespace weft::calibration::device {
namespace hopper {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Of dynamic shared memory that is to hold a Memory where the accelerator and the tensor cores want it.
template <class Memory>
inline constexpr int bytes_to_align = static_cast<int>(sizeof(Memory) + alignof(Memory));
template <class Memory>
__device__ Memory& aligned(std::byte* memory) {
  constexpr std::uint32_t alignment = alignof(Memory);
  return *reinterpret_cast<Memory*>(memory + (alignment - shared_address(memory) % alignment) % alignment);
}

// --- Barriers in shared memory -----------------------------------------------------------------------------------

using Barrier = std::uint64_t;

__device__ inline void init(Barrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals));
}
/// Makes the barriers that this thread has initialised known to the cluster and to the copies of the TMA.
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}
/// At the barrier in the same place of CTA `cta` of the cluster.
__device__ inline void arrive_at(Barrier& barrier, int cta) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(cta)
      : "memory");
}
/// Arrives, and holds the barrier until `bytes` have come by TMA.
__device__ inline void arrive_and_expect(Barrier& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
/// Whether the phase of this parity has ended. A new barrier is in phase 0, so that parity 1 has ended already.
__device__ inline bool has_ended(Barrier& barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.u32 %0, 1, 0, done;\n"
      "}\n"
      : "=r"(done)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
/// Until it has.
__device__ inline void wait(Barrier& barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

/// Walks a ring of slots; the parity changes each time it comes round.
template <int slots>
struct Ring {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
};

// --- Clusters and warpgroups -------------------------------------------------------------------------------------

__device__ inline int cta_of_cluster() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
/// Threads of one warpgroup, by a barrier of their own (not 0, which is __syncthreads').
__device__ inline void meet_warpgroup(int barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }
__device__ inline void meet_two_warps(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }
template <int threads>
__device__ inline void meet(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(threads) : "memory");
}
__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <int registers>
__device__ inline void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// --- Tensor memory accelerator -----------------------------------------------------------------------------------

/// A box of a matrix, from element (x, y), into shared memory; `arrived` counts its bytes.
__device__ inline void load(void* destination, const CUtensorMap& map, int x, int y, Barrier& arrived) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(destination)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&arrived))
      : "memory");
}
/// A box of four dimensions, its place from the innermost one on.
struct Corner {
  int at[4];
};
__device__ inline void load(void* destination, const CUtensorMap& map, const Corner& corner, Barrier& arrived) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(shared_address(destination)),
      "l"(&map), "r"(corner.at[0]), "r"(corner.at[1]), "r"(corner.at[2]), "r"(corner.at[3]),
      "r"(shared_address(&arrived))
      : "memory");
}
/// The same into the same place of each CTA of the cluster that `ctas` has a bit for, counted there.
__device__ inline void load_for_all(void* destination, const CUtensorMap& map, int x, int y, Barrier& arrived,
                                    std::uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(shared_address(destination)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&arrived)), "h"(ctas)
      : "memory");
}
__device__ inline void store(const void* source, const CUtensorMap& map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
               "r"(y), "r"(shared_address(source))
               : "memory");
}
__device__ inline void store(const void* source, const CUtensorMap& map, const Corner& corner) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
               "r"(corner.at[0]), "r"(corner.at[1]), "r"(corner.at[2]), "r"(corner.at[3]), "r"(shared_address(source))
               : "memory");
}
/// `bytes` in a row, a multiple of 16 from an address that is one; from any memory that the GPU addresses, peers' too.
__device__ inline void load_bytes(void* destination, const void* source, int bytes, Barrier& arrived) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(destination)),
               "l"(source), "r"(bytes), "r"(shared_address(&arrived))
               : "memory");
}
__device__ inline void store_bytes(const void* source, void* destination, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
               "r"(shared_address(source)), "r"(bytes)
               : "memory");
}
__device__ inline void end_group_of_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until all but the last `groups` groups of this thread's stores no longer need their source.
template <int groups>
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}
/// Until all but the last `groups` of this thread's stores are done.
template <int groups>
__device__ inline void wait_until_stored() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory");
}
/// Orders what this thread wrote or read by ordinary instructions before what the TMA does next, and the other way
/// round.
__device__ inline void order_with_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ inline void prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Brings the line of this address into the L2.
__device__ inline void prefetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

// --- Tensor cores ------------------------------------------------------------------------------------------------

/// Of a matrix in shared memory whose rows are 64 bf16 in k, 128 bytes, swizzled in groups of 8 rows.
__device__ inline std::uint64_t matrix_descriptor(const void* matrix) {
  constexpr std::uint64_t swizzle_128_bytes = std::uint64_t{1} << 62, group_stride = std::uint64_t{1024 >> 4} << 32;
  return swizzle_128_bytes | group_stride | std::uint64_t{1} << 16 | (shared_address(matrix) & 0x3FFFF) >> 4;
}
/// Of a matrix whose rows run along k: pieces of 64 columns, `piece_bytes` from one to the next.
__device__ inline std::uint64_t transposed_descriptor(const void* matrix, int piece_bytes) {
  constexpr std::uint64_t swizzle_128_bytes = std::uint64_t{1} << 62, group_stride = std::uint64_t{1024 >> 4} << 32;
  return swizzle_128_bytes | group_stride | static_cast<std::uint64_t>(piece_bytes >> 4) << 16 |
         (shared_address(matrix) & 0x3FFFF) >> 4;
}
inline constexpr int mma_k = 16;
/// From a descriptor to that of the next mma_k elements in k.
inline constexpr std::uint64_t next_k = mma_k * 2 >> 4;

__device__ inline void begin_mma() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_group_of_mma() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until all but the last `groups` groups of this warpgroup's products are done.
template <int groups>
__device__ inline void wait_for_mma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

// clang-format off
#define WEFT_EIGHT(d, i) "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]), \
                         "+f"((d)[(i) + 4]), "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]), "+f"((d)[(i) + 7])
#define WEFT_SIXTY_FOUR(d, i) WEFT_EIGHT(d, i), WEFT_EIGHT(d, (i) + 8), WEFT_EIGHT(d, (i) + 16), WEFT_EIGHT(d, (i) + 24), \
                              WEFT_EIGHT(d, (i) + 32), WEFT_EIGHT(d, (i) + 40), WEFT_EIGHT(d, (i) + 48), WEFT_EIGHT(d, (i) + 56)

/// sums[64 x 128] = a[64 x 16] x b[128 x 16]^T, added to what they hold where `add` is not 0.
__device__ inline void multiply(float (&sums)[64], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, adds, 1, 1, 0, 0;\n}\n"
      : WEFT_SIXTY_FOUR(sums, 0)
      : "l"(a), "l"(b), "r"(add));
}
/// sums[64 x 192] = a[64 x 16] x b[192 x 16]^T, added to what they hold where `add` is not 0.
__device__ inline void multiply(float (&sums)[96], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, adds, 1, 1, 0, 0;\n}\n"
      : WEFT_SIXTY_FOUR(sums, 0), WEFT_EIGHT(sums, 64), WEFT_EIGHT(sums, 72), WEFT_EIGHT(sums, 80), WEFT_EIGHT(sums, 88)
      : "l"(a), "l"(b), "r"(add));
}
/// sums[64 x 256] = a[64 x 16] x b[256 x 16]^T, added to what they hold where `add` is not 0.
__device__ inline void multiply(float (&sums)[128], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, adds, 1, 1, 0, 0;\n}\n"
      : WEFT_SIXTY_FOUR(sums, 0), WEFT_SIXTY_FOUR(sums, 64)
      : "l"(a), "l"(b), "r"(add));
}
/// The same with a in registers, as a product leaves its sums in pairs, and b as [16 x columns] with 64 columns a row of
/// 128 bytes (transposed_descriptor): sums[64 x 128] += a[64 x 16] x b[16 x 128].
__device__ inline void multiply_rows(float (&sums)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
      : WEFT_SIXTY_FOUR(sums, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
/// sums[64 x 64] += a[64 x 16] x b[16 x 64].
__device__ inline void multiply_rows(float (&sums)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
      : WEFT_EIGHT(sums, 0), WEFT_EIGHT(sums, 8), WEFT_EIGHT(sums, 16), WEFT_EIGHT(sums, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef WEFT_SIXTY_FOUR
#undef WEFT_EIGHT
// clang-format on

/// Two sums of neighbouring columns, as bf16.
__device__ inline std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

/// Four 8 x 8 matrices of bf16 as wgmma leaves them in registers; lane l names the address of row l % 8 of matrix l
/// / 8.
__device__ inline void load_matrices(std::uint32_t (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The same, each matrix transposed.
__device__ inline void load_transposed(std::uint32_t (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}
/// An 8 x 8 matrix of bf16 in the registers of a warp, transposed.
__device__ inline std::uint32_t transposed(std::uint32_t pair) {
  std::uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}
/// By one warp, all in registers: sums[16 x 8] += a[16 x 16] x b[8 x 16]^T.
__device__ inline void multiply_by_warp(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b_low,
                                        std::uint32_t b_high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}
__device__ inline void store_matrices(void* row, const std::uint32_t (&values)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
               : "memory");
}

}  // namespace hopper
}  // namespace weft::calibration::device
