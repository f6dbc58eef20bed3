// What a number of a machine profile can be: its unit, what it means, and the range outside of which it is refused.
#pragma once

#include <concepts>
#include <type_traits>

namespace weft::machine_file {

/// T or const T.
template <class T, class Plain>
concept Like = std::same_as<std::remove_const_t<T>, Plain>;

/// What a number can physically be, with room for machines to come: wide enough for every GPU and fabric that is sold,
/// narrow enough to refuse a wrong unit. What a model divides by is never 0.
struct NumberRange {
  double least = 0, most = 0;
};
inline constexpr NumberRange durations{0, 1e4};           ///< us: whatever begins or ends one operation
inline constexpr NumberRange governor_times{0, 1e5};      ///< ms
inline constexpr NumberRange bandwidths{0.1, 1e6};        ///< GB/s
inline constexpr NumberRange powers{0, 1e4};              ///< W
inline constexpr NumberRange energies{0, 1e5};            ///< pJ for each byte or flop
inline constexpr NumberRange shares{0.001, 1};            ///< of a rate that is reached
inline constexpr NumberRange shares_of_hbm{0.001, 1000};  ///< above 1 where rows lie in the L2
inline constexpr NumberRange parts{0, 1};                 ///< of something, or as much more than it
inline constexpr NumberRange slowdowns{1, 10};            ///< times as long
inline constexpr NumberRange small_counts{1, 1 << 12};    ///< of a GPU or a CTA: engines, queues, threads, registers
inline constexpr NumberRange large_counts{1, 1 << 24};    ///< of an SM: bytes, registers, elements
inline constexpr NumberRange cache_sizes{1, 1ll << 40};   ///< bytes

struct Quantity {
  const char* unit;
  const char* meaning;
  NumberRange range;
};

}  // namespace weft::machine_file
