// Which kernel the GEMM library takes for a shape.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"

namespace weft {

/// The library's kernel for C[m, n] = A[m, k] B[n, k]^T. A shape that was asked for is looked up. For another one the
/// kernels of its nearest neighbours (in the logarithms of m, n and k) are compared: with the profile's kernel weights
/// the one that these speak most for (the largest sum of weight x feature), else the one with the most votes x
/// time^-10, as nearer answers and faster kernels count more. Where the profile has candidates in place of answers, the
/// fastest of all is taken. Answers are of bf16; fp8 gets the kernel of as many bytes, which is that of half the k,
/// with a tile for which its accumulators leave room.
GemmKernel choose_gemm_kernel(const Machine& machine, const MatrixSize& size, DataType dtype = DataType::bf16);

/// The same for who asks for one shape again and again, such as for the equal chunks of a schedule: each is looked for
/// once. Refers to the machine, which stays as it is.
class KernelChoices {
 public:
  explicit KernelChoices(const Machine& machine) : machine_(machine) {}
  GemmKernel of(const MatrixSize& size, DataType dtype);

 private:
  const Machine& machine_;
  struct Known {
    MatrixSize size;
    DataType dtype;
    GemmKernel kernel;
  };
  std::vector<Known> known_;  // of few shapes
};

}  // namespace weft
