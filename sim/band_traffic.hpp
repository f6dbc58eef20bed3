// What a GEMM reads again from HBM, band of tile rows after band.
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::sim {

/// Bytes of b that a GEMM by one of our kernels (operation `id`) brings from HBM besides what it brings once, and
/// besides what its time alone holds already: that of bands of own_order.swizzle tile rows, with nothing beside. A
/// block of rows that is fetched by itself begins another band, and one that is stored by itself where a wave of tiles
/// does not hold it and others. Each band reads all of b; between two reads of a part of it pass the rest of b, the
/// band's rows of a and c, and what operations write that wait for its tile groups, in as many parts as there are bands
/// (`l2_miss_share`). 0 for whatever else.
double bytes_read_again(const Schedule& schedule, OperationId id, const Machine& machine);

}  // namespace weft::sim
