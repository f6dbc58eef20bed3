// The module's entry: nothing is thrown across its border.
#include <exception>

#include "calibration/device/check.hpp"
#include "calibration/device/gemm_questions.hpp"
#include "calibration/device/rank.hpp"
#include "calibration/device_module.hpp"

namespace weft::calibration::device {
namespace {

template <class Work>
int guarded(std::string& failed, const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    failed = error.what();
  } catch (...) {
    failed = "unknown error";
  }
  return 1;
}

int run_rank_guarded(const RankJob& job, const Send& send, std::string& failed) {
  return guarded(failed, [&] { run_rank(job, send); });
}

int count_gpus(int& gpus, std::string& failed) {
  return guarded(failed, [&] {
    const cudaError_t result = cudaGetDeviceCount(&gpus);
    if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver)
      gpus = 0;
    else
      WEFT_CHECK(result);
  });
}

int ask_library_guarded(const std::vector<MatrixSize>& sizes, DataType factors, const Send& send, std::string& failed) {
  return guarded(failed, [&] { answer_questions(sizes, factors, send); });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void weft_fill_device_module(DeviceModule& module) {
  module = {run_rank_guarded, count_gpus, ask_library_guarded};
}

}  // namespace weft::calibration::device
