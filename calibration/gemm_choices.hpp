// Which kernels the GEMM library would choose: asked without running any, so a profile can hold tens of thousands.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration {

struct LibraryAnswer {
  MatrixSize size;
  DataType factors = DataType::bf16;
  std::optional<GemmChoice> choice;  ///< empty: the library knows no kernel, or a kernel whose tile has no name
  double waves = 0;                  ///< the library's own count of waves
  std::string raw;                   ///< all that the library says, as one JSON object
};

/// Answers in the order of the sizes, for a product of row-major matrices of type `factors`, bf16 or fp8, to bf16, with
/// 32 MiB of workspace on GPU 0. Runs in a process of its own. Throws ExecutionError where that ends, answers another
/// question or leaves one out, and where it says nothing for so long.
std::vector<LibraryAnswer> ask_library(const std::vector<MatrixSize>& sizes, DataType factors = DataType::bf16,
                                       double limit_s = RunOptions{}.start_up_limit_s);

/// One answer as the device part sends it; a number of 0 means that the library does not say. Throws InputError that
/// names the field.
LibraryAnswer library_answer_from(const nlohmann::json& json);

}  // namespace weft::calibration
