#include "scenarios/ficco_rule.hpp"

namespace weft::scenarios {
namespace {

constexpr double threshold_us = 12500, high_over_low = 5;

}  // namespace

Ficco ficco_rule(const PairWorkload& pair, const Machine& machine) {
  using enum FiccoCompute;
  using enum FiccoGemm;
  if (pair.m <= pair.k) return {uniform, fused, FiccoChunks::rows_and_columns, FiccoTransport::copy_engine};
  const double time_at_peak_us = MatrixSize{pair.m, pair.n, pair.k}.flops() / machine.gpu.flops_per_us(pair.dtype);
  if (time_at_peak_us < threshold_us) return {uniform, fused, FiccoChunks::rows, FiccoTransport::copy_engine};
  if (time_at_peak_us <= high_over_low * threshold_us)
    return {hetero, fused, FiccoChunks::rows, FiccoTransport::copy_engine};
  return {hetero, unfused, FiccoChunks::rows, FiccoTransport::copy_engine};
}

}  // namespace weft::scenarios
