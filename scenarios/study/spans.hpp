// Values of a sweep's file that stand for several: 8192, [4096, 8192], {"from": 256, "to": 32768, "times": 2} or
// {"from": 1024, "to": 8192, "step": 1024}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/base/json_object.hpp"

namespace weft::scenarios::study {

/// More cases than this are no sweep that anybody waits for.
inline constexpr std::size_t most_cases = 20'000'000;

/// What a value stands for, in its order, each once. A list within a list is one value that is a list. Throws
/// InputError for one that stands for nothing.
std::vector<nlohmann::json> spanned(const JsonValue& value);

/// The same of integers within [least, most].
std::vector<std::int64_t> spanned_integers(const JsonValue& value, std::int64_t least, std::int64_t most);

/// Calls `use` with every combination of what the keys of an object stand for; the last key varies fastest.
/// Throws InputError where that are more than `most_cases`.
void for_each_combination(JsonObject object, const std::function<void(const nlohmann::json&)>& use);

}  // namespace weft::scenarios::study
