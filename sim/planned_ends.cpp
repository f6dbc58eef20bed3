#include "sim/planned_ends.hpp"

namespace weft::sim {

void PlannedEnds::clear() {
  heap_.clear();
  place_of_.clear();
}

}  // namespace weft::sim
