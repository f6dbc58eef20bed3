#include "calibration/device/sampled_result.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>

#include "models/base/e4m3.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::uint64_t check_seed = 2;
constexpr std::int64_t most_sampled = 64;

float value_of(std::uint16_t bf16) { return std::bit_cast<float>(std::uint32_t{bf16} << 16); }

}  // namespace

double error_of_product(std::int64_t k, double stored) {
  const auto terms = static_cast<double>(k);
  return std::sqrt(terms) * (6 * stored * bf16_rounding + 0x1p-22 * terms);
}

void set_to_nan(const Program& program) {
  for (std::size_t id = 0; id < program.schedule().buffers.size(); ++id) {
    const Buffer& buffer = program.schedule().buffers[id];
    WEFT_CHECK(cudaMemsetAsync(program.buffer(static_cast<BufferId>(id)), 0xFF,
                               static_cast<std::size_t>(buffer.rows * buffer.columns * bytes_of(buffer.dtype)),
                               program.origin()));
  }
}

void run_once(const Program& program, const Launcher& launcher, RankView& ranks) {
  program.wait();
  ranks.barrier();
  launcher.launch();
  program.wait();
  ranks.barrier();
}

SampledResult::SampledResult(const Program& program, const Meaning& meaning, const RankView& ranks,
                             Resources& resources)
    : program_(program), meaning_(meaning), rank_(ranks.rank()), ranks_(ranks.ranks()), arena_(resources.arena) {}

CheckResult SampledResult::compare() {
  if (rows() == 0) return {};
  sample_rows();
  sums_ = {zeros(slots() * columns()), zeros(slots() * columns())};
  add_reference();
  return worst_element();
}

void SampledResult::fill(BufferId id) const {
  const Buffer& of = buffer(id);
  fill_normal(program_.buffer(id), of.dtype, 0, of.rows * of.columns, data_key(check_seed, id, rank_), stream(),
              spread());
}

void SampledResult::make_again(void* data, BufferId id, int of, std::int64_t first, std::int64_t count) const {
  fill_normal(data, DataType::bf16, first, count, data_key(check_seed, id, of), stream(), spread());
}

Spread SampledResult::spread() const {
  const auto is_fp8 = [this](BufferId id) { return buffer(id).dtype == DataType::fp8; };
  return {.whole = is_fp8(meaning().a) || is_fp8(meaning().b) || is_fp8(meaning().result)};
}

std::vector<float> SampledResult::values_again(BufferId id, int of, std::int64_t first, std::int64_t count) {
  auto* made = allocate<std::uint16_t>(count);
  make_again(made, id, of, first, count);
  return values_on_host(made, DataType::bf16, count);
}

std::vector<float> SampledResult::values_on_host(const void* data, DataType dtype, std::int64_t count) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  const auto download = [&](auto element, const auto& value) {
    std::vector<decltype(element)> stored(values.size());
    WEFT_CHECK(cudaMemcpyAsync(stored.data(), data, stored.size() * sizeof element, cudaMemcpyDeviceToHost, stream()));
    program_.wait();
    std::ranges::transform(stored, values.begin(), value);
  };
  dtype == DataType::fp8 ? download(std::uint8_t{}, value_of_e4m3) : download(std::uint16_t{}, value_of);
  return values;
}

float* SampledResult::zeros(std::int64_t count) {
  auto* data = allocate<float>(count);
  WEFT_CHECK(cudaMemsetAsync(data, 0, static_cast<std::size_t>(count) * sizeof(float), stream()));
  return data;
}

void SampledResult::set_sums(const std::vector<float>& sum, const std::vector<float>& magnitude) {
  const auto put = [&](float* to, const std::vector<float>& values) {
    WEFT_CHECK(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice, stream()));
  };
  put(sums().sum, sum), put(sums().magnitude, magnitude);
  WEFT_CHECK(cudaStreamSynchronize(stream()));
}

void SampledResult::set_rows(const std::function<std::vector<float>(std::int64_t)>& row_again) {
  std::vector<float> values;
  for (const std::int64_t row : sampled()) {
    const std::vector<float> one = row_again(row);
    values.insert(values.end(), one.begin(), one.end());
  }
  std::vector<float> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](float value) { return std::abs(value); });
  set_sums(values, magnitudes);
}

/// Those at edges, and a random sample of the others: different ones on each rank.
void SampledResult::sample_rows() {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank_));
  const std::vector<std::int64_t> edges = rows_at_edges();
  std::set<std::int64_t> chosen(edges.begin(), edges.end());
  std::uniform_int_distribution<std::int64_t> any_row(0, rows() - 1);
  while (static_cast<std::int64_t>(chosen.size()) < std::min(most_sampled, rows())) chosen.insert(any_row(random));
  rows_.assign(chosen.begin(), chosen.end());
}

std::int64_t SampledResult::stored_at(std::int64_t row, std::int64_t column) const {
  const Element place = place_of({row, column});
  return place.row * result().columns + place.column;
}

CheckResult SampledResult::worst_element() {
  std::vector<std::int64_t> starts;
  for (const std::int64_t row : rows_)
    for (std::int64_t column = 0; column < columns(); column += columns_of_part())
      starts.push_back(stored_at(row, column));
  const void* got = program_.buffer(meaning_.result);
  auto* worst = allocate<unsigned long long>(1);
  WEFT_CHECK(cudaMemsetAsync(worst, 0, sizeof *worst, stream()));
  compare_parts({got, result().dtype, upload(starts), slots(), columns() / columns_of_part(), columns_of_part()}, sums_,
                bound(), worst, stream());
  const auto packed = download(worst);
  const auto element = static_cast<std::int64_t>(packed & 0xffffffffU);
  CheckResult found;
  found.ratio = std::bit_cast<float>(static_cast<std::uint32_t>(packed >> 32));
  found.row = rows_[static_cast<std::size_t>(element / columns())];
  found.column = element % columns();
  found.error_bound = bound().relative * download(sums_.magnitude + element) + bound().absolute;
  found.max_error = std::abs(stored_value(stored_at(found.row, found.column)) - download(sums_.sum + element));
  return found;
}

float SampledResult::stored_value(std::int64_t element) {
  const auto* got = static_cast<const std::byte*>(program_.buffer(meaning_.result));
  return values_on_host(got + element * bytes_of(result().dtype), result().dtype, 1).front();
}

template <class Element>
Element SampledResult::download(const Element* data) {
  Element value{};
  WEFT_CHECK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, stream()));
  program_.wait();
  return value;
}

}  // namespace weft::calibration::device
