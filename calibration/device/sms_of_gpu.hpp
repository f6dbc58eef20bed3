// How many SMs the current GPU has.
#pragma once

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

inline int sms_of_gpu() {
  int device = 0, sms = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

}  // namespace weft::calibration::device
