#include "models/base/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/models/error_of.hpp"

namespace weft {
namespace units_test {

TEST(Units, TimesStayFarFromOverflow) {
  EXPECT_EQ(from_us(1.5).count, 1'500'000);
  EXPECT_EQ(from_us(2.3e12).count, 2'300'000'000'000'000'000);
  for (const double time_us : {2.4e12, 1e300, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_NE(error_of([&] { from_us(time_us); }), "") << time_us;
}

}  // namespace units_test
}  // namespace weft
