#include "scenarios/ficco_rule.hpp"

namespace weft::scenarios {
namespace {

constexpr double threshold_us = 12500, high_over_low = 5;

double peak_flops_per_us(const Machine& machine, DataType dtype) {
  const double speedup = dtype == DataType::fp8 ? machine.gpu.fp8_speedup : 1;
  return machine.gpu.sms() * machine.gpu.tensor_flops_per_clock_per_sm * speedup * machine.gpu.max_clock_MHz;
}

}  // namespace

Ficco ficco_rule(const PairWorkload& pair, const Machine& machine) {
  using enum FiccoCompute;
  using enum FiccoGemm;
  if (pair.m <= pair.k) return {uniform, fused, FiccoChunks::rows_and_columns, FiccoTransport::copy_engine};
  const double time_at_peak_us = MatrixSize{pair.m, pair.n, pair.k}.flops() / peak_flops_per_us(machine, pair.dtype);
  if (time_at_peak_us < threshold_us) return {uniform, fused, FiccoChunks::rows, FiccoTransport::copy_engine};
  if (time_at_peak_us <= high_over_low * threshold_us)
    return {hetero, fused, FiccoChunks::rows, FiccoTransport::copy_engine};
  return {hetero, unfused, FiccoChunks::rows, FiccoTransport::copy_engine};
}

}  // namespace weft::scenarios
