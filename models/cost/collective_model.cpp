#include "models/cost/collective_model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "models/base/input_error.hpp"
#include "models/cost/library_model.hpp"

namespace weft {
namespace {

/// What a curve says of one size.
struct Reading {
  double kernel_us = 0, latency_us = 0, alone_us = 0, ctas = 0;
  int cluster = 1;
};

double line(double x, double x0, double y0, double x1, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

constexpr std::size_t sizes_of_gap = 5;

/// What a graph with nothing but the collective takes besides its kernel: of the smallest sizes the median, since the
/// launch of each graph takes one of two times, and the smallest size of all may have drawn the longer one.
double usual_gap_us(const std::vector<CurvePoint>& points) {
  std::array<double, sizes_of_gap> gaps_us;
  const std::size_t count = std::min(sizes_of_gap, points.size());
  std::transform(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count), gaps_us.begin(),
                 [](const CurvePoint& point) { return point.alone_us - point.kernel_us; });
  const auto median = gaps_us.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(gaps_us.begin(), median, gaps_us.begin() + static_cast<std::ptrdiff_t>(count));
  return *median;
}

/// Of a point. The smallest size takes no longer than the longest of the next ones: where it drew the longer launch and
/// none of these did, larger transfers would seem to be faster.
double alone_us_of(const std::vector<CurvePoint>& points, const CurvePoint& point) {
  const std::size_t count = std::min(sizes_of_gap, points.size());
  if (point.bytes != points.front().bytes || count == 1) return point.alone_us;
  double longest_us = 0;
  for (std::size_t i = 1; i < count; ++i) longest_us = std::max(longest_us, points[i].alone_us);
  return std::min(point.alone_us, longest_us);
}

/// The two points whose line a size lies on.
struct Segment {
  std::vector<CurvePoint>::const_iterator low, high;
};

constexpr double lever = 1.25;  // the slope of two sizes that are nearer is noise

/// Of points on one side of a change of protocol only, since the time jumps there: the two nearest with a lever.
Segment beside_change(const CollectiveCurve& curve, double bytes, Segment around) {
  const std::vector<CurvePoint>& points = curve.points;
  const auto at = [](const CurvePoint& point) { return static_cast<double>(point.bytes); };
  const auto change = static_cast<double>(curve.change_bytes);
  if (at(*around.low) >= change || at(*around.high) < change) return around;
  if (bytes < change) {
    auto other = around.low;
    while (other != points.begin() && at(*other) * lever > at(*around.low)) --other;
    return other == around.low ? around : Segment{other, around.low};
  }
  auto other = around.high;
  while (other + 1 != points.end() && at(*other) < at(*around.high) * lever) ++other;
  return other == around.high ? around : Segment{around.high, other};
}

Reading read(const CollectiveCurve& curve, double bytes) {
  const std::vector<CurvePoint>& points = curve.points;
  const double latency_us = points.front().kernel_us;
  const auto ctas_at = [&](const CurvePoint& point) { return point.ctas > 0 ? point.ctas : double(curve.ctas); };
  const auto smallest = static_cast<double>(points.front().bytes);
  if (bytes < smallest)
    return {latency_us, latency_us, latency_us + usual_gap_us(points), ctas_at(points.front()), curve.cluster};
  if (bytes == smallest)
    return {latency_us, latency_us, alone_us_of(points, points.front()), ctas_at(points.front()), curve.cluster};
  auto upper = std::lower_bound(points.begin(), points.end(), bytes,
                                [](const CurvePoint& point, double b) { return static_cast<double>(point.bytes) < b; });
  const bool is_behind = upper == points.end();  // the last two sizes may be near
  if (is_behind) --upper;
  const Segment segment = is_behind ? Segment{points.begin(), upper} : beside_change(curve, bytes, {upper - 1, upper});
  const CurvePoint &low = *segment.low, &high = *segment.high;
  const auto between_points = [&](double at_low, double at_high) {
    return line(bytes, static_cast<double>(low.bytes), at_low, static_cast<double>(high.bytes), at_high);
  };
  const double ctas = std::min(std::max(between_points(ctas_at(low), ctas_at(high)), 1.0), double(curve.ctas));
  return {std::max(between_points(low.kernel_us, high.kernel_us), latency_us), latency_us,
          between_points(alone_us_of(points, low), alone_us_of(points, high)), ctas, curve.cluster};
}

Reading between(const Reading& a, const Reading& b, double share) {
  return {line(share, 0, a.kernel_us, 1, b.kernel_us), line(share, 0, a.latency_us, 1, b.latency_us),
          line(share, 0, a.alone_us, 1, b.alone_us), line(share, 0, a.ctas, 1, b.ctas),
          share < 0.5 ? a.cluster : b.cluster};
}

using Curves = std::vector<CollectiveCurve>;

/// Those of one kind and GPU count, ascending in CTAs held.
std::vector<const CollectiveCurve*> curves_of(const Curves& curves, CollectiveKind kind, int gpus) {
  std::vector<const CollectiveCurve*> found;
  for (const CollectiveCurve& curve : curves)
    if (curve.kind == kind && curve.gpus == gpus) found.push_back(&curve);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->ctas < b->ctas; });
  return found;
}

/// `read_curve` says what a curve says of the size that is asked about, `read_fewer` what becomes of that with fewer
/// CTAs than any curve has. A limit that is not below the default's CTAs limits nothing.
template <class ReadCurve, class ReadFewer>
Reading read_limited(const std::vector<const CollectiveCurve*>& curves, int max_ctas, const ReadCurve& read_curve,
                     const ReadFewer& read_fewer) {
  const auto unlimited =
      std::find_if(curves.begin(), curves.end(), [](const auto* curve) { return curve->max_ctas == 0; });
  const CollectiveCurve& by_default = unlimited == curves.end() ? *curves.back() : **unlimited;
  if (max_ctas == 0 || max_ctas >= by_default.ctas) return read_curve(by_default);
  const CollectiveCurve* below = nullptr;
  const CollectiveCurve* above = &by_default;
  for (const CollectiveCurve* curve : curves) {
    if (curve->max_ctas == max_ctas) return read_curve(*curve);
    if (curve->ctas <= max_ctas) below = curve;
    if (curve->ctas > max_ctas && curve->ctas < above->ctas) above = curve;
  }
  if (below == nullptr) return read_fewer(*above);
  Reading reading = between(read_curve(*below), read_curve(*above), line(max_ctas, below->ctas, 0, above->ctas, 1));
  reading.ctas = max_ctas;
  return reading;
}

/// Of the same kind and limit of CTAs, on whatever number of GPUs, the curve that begins at the smallest size.
const CollectiveCurve& earliest(const Curves& curves, const CollectiveCurve& like) {
  const CollectiveCurve* found = &like;
  for (const CollectiveCurve& curve : curves)
    if (curve.kind == like.kind && curve.max_ctas == like.max_ctas &&
        curve.points.front().bytes < found->points.front().bytes)
      found = &curve;
  return *found;
}

/// Below its smallest size a curve falls as that one does that tells: by as many microseconds, to half at most, and in
/// proportion with its CTAs.
Reading read_below(const Curves& curves, const CollectiveCurve& curve, double bytes) {
  Reading reading = read(curve, bytes);
  const auto smallest = static_cast<double>(curve.points.front().bytes);
  if (bytes >= smallest) return reading;
  const CollectiveCurve& tells = earliest(curves, curve);
  const Reading here = read(tells, bytes), there = read(tells, smallest);
  const double less_us = std::clamp(there.kernel_us - here.kernel_us, 0.0, reading.kernel_us / 2);
  for (double* time_us : {&reading.kernel_us, &reading.latency_us, &reading.alone_us}) *time_us -= less_us;
  reading.ctas *= std::min(1.0, here.ctas / there.ctas);
  return reading;
}

/// Of a profile without protocols. With fewer CTAs than were measured each keeps its rate.
Reading read_limited(const Curves& all, const std::vector<const CollectiveCurve*>& curves, double bytes, int max_ctas) {
  const auto read_curve = [&](const CollectiveCurve& curve) { return read_below(all, curve, bytes); };
  const auto read_fewer = [&](const CollectiveCurve& above) {
    const Reading more = read_curve(above);
    const double scale = static_cast<double>(above.ctas) / max_ctas;
    const double longer_us = (more.kernel_us - more.latency_us) * (scale - 1);
    return Reading{more.kernel_us + longer_us, more.latency_us, more.alone_us + longer_us, double(max_ctas),
                   more.cluster};
  };
  return read_limited(curves, max_ctas, read_curve, read_fewer);
}

bool has_curve(const Curves& curves, CollectiveKind kind) {
  return std::any_of(curves.begin(), curves.end(), [&](const CollectiveCurve& curve) { return curve.kind == kind; });
}

/// The nearest counts below and above that have a curve, or one with a limit of CTAs; 0: none.
struct MeasuredCounts {
  int fewer = 0, more = 0;
};
MeasuredCounts counts_around(const Curves& curves, CollectiveKind kind, int gpus, bool with_limits = false) {
  MeasuredCounts counts;
  for (const CollectiveCurve& curve : curves) {
    if (curve.kind != kind || (with_limits && curve.max_ctas == 0)) continue;
    if (curve.gpus < gpus) counts.fewer = std::max(counts.fewer, curve.gpus);
    if (curve.gpus > gpus) counts.more = counts.more == 0 ? curve.gpus : std::min(counts.more, curve.gpus);
  }
  return counts;
}

Reading scaled(Reading reading, double scale) {
  for (double* time_us : {&reading.kernel_us, &reading.latency_us, &reading.alone_us}) *time_us *= scale;
  return reading;
}

/// The nearest other count, the fewer one of two, that has curves with a limit of CTAs; 0: none, or this one has some.
int other_count_with_limits(const Curves& curves, CollectiveKind kind, int gpus) {
  const bool has_some = std::any_of(curves.begin(), curves.end(), [&](const CollectiveCurve& curve) {
    return curve.kind == kind && curve.gpus == gpus && curve.max_ctas > 0;
  });
  if (has_some) return 0;
  const auto [fewer, more] = counts_around(curves, kind, gpus, true);
  const bool is_fewer = more == 0 || (fewer > 0 && gpus - fewer <= more - gpus);
  return is_fewer ? fewer : more;
}

/// Linear between measured GPU counts, of which there is one; beyond them the nearest count's time for the same bytes
/// through each port. A count that was measured by default only is as many times as slow with few CTAs as the nearest
/// one that tells.
Reading read_any(const Curves& curves, CollectiveKind kind, int gpus, double bytes, int max_ctas) {
  const auto at = [&](int count, int ctas) {
    const double same_port_bytes = bytes * bytes_out(CollectiveAlgorithm::ring, kind, gpus, 1) /
                                   bytes_out(CollectiveAlgorithm::ring, kind, count, 1);
    return read_limited(curves, curves_of(curves, kind, count), count == gpus ? bytes : same_port_bytes, ctas);
  };
  if (has_curve(curves, kind, gpus)) {
    const int tells = other_count_with_limits(curves, kind, gpus);
    if (max_ctas == 0 || tells == 0) return at(gpus, max_ctas);
    Reading reading = scaled(at(gpus, 0), at(tells, max_ctas).kernel_us / at(tells, 0).kernel_us);
    reading.ctas = std::min(reading.ctas, static_cast<double>(max_ctas));
    return reading;
  }
  const auto [fewer, more] = counts_around(curves, kind, gpus);
  if (fewer == 0) return at(more, max_ctas);
  if (more == 0) return at(fewer, max_ctas);
  return between(at(fewer, max_ctas), at(more, max_ctas), line(gpus, fewer, 0, more, 1));
}

/// The library's time is from call to call; its kernel is shorter by the gap between two.
Reading as_reading(const LibraryTime& time, const Machine& machine) {
  const double kernel_us = std::max(time.time_us() - machine.latencies.collective_graph_gap_us, time.time_us() / 2);
  const double latency_us = std::max(kernel_us - time.transfer_us, time.latency_us / 2);
  return {latency_us + time.transfer_us, latency_us, time.time_us(), double(time.channels), 1};
}

/// A curve that begins at so large a size that moving its bytes takes more than this share of its time says no latency
/// there.
constexpr double share_of_large_size = 0.1;

/// Of a count with a curve; the model says how it goes on below its smallest size, and how long fewer channels take
/// than were measured, at least, by whatever protocol the library has for them.
Reading read_with_model(const Machine& machine, CollectiveKind kind, int gpus, double bytes, int max_ctas) {
  const auto model_us = [&](double size, int ctas) { return library_time(machine, kind, gpus, size, ctas).time_us(); };
  const auto read_curve = [&](const CollectiveCurve& curve) {
    const auto smallest = static_cast<double>(curve.points.front().bytes);
    Reading reading = read(curve, std::max(bytes, smallest));
    const LibraryTime of_smallest = library_time(machine, kind, gpus, smallest, curve.max_ctas);
    if (of_smallest.transfer_us > share_of_large_size * of_smallest.time_us())
      reading.latency_us = curve.points.front().kernel_us * of_smallest.latency_us / of_smallest.time_us();
    if (bytes >= smallest) return reading;
    return scaled(reading, model_us(bytes, curve.max_ctas) / model_us(smallest, curve.max_ctas));
  };
  const auto read_fewer = [&](const CollectiveCurve& above) {
    Reading reading = read_curve(above);
    if (max_ctas >= reading.ctas) return reading;
    const Reading by_model = as_reading(library_time(machine, kind, gpus, bytes, max_ctas), machine);
    const double longer_us = std::max(0.0, by_model.kernel_us - reading.kernel_us);
    reading.kernel_us += longer_us;
    reading.alone_us += longer_us;
    reading.ctas = max_ctas;
    return reading;
  };
  return read_limited(curves_of(machine.collectives, kind, gpus), max_ctas, read_curve, read_fewer);
}

/// Of a profile with protocols. Between two counts with curves the model is taken to be as far off as there.
Reading read_or_model(const Machine& machine, CollectiveKind kind, int gpus, double bytes, int max_ctas) {
  if (has_curve(machine.collectives, kind, gpus)) return read_with_model(machine, kind, gpus, bytes, max_ctas);
  const Reading model = as_reading(library_time(machine, kind, gpus, bytes, max_ctas), machine);
  const auto [fewer, more] = counts_around(machine.collectives, kind, gpus);
  if (fewer == 0 || more == 0) return model;
  const auto over_model = [&](int count) {
    return read_with_model(machine, kind, count, bytes, max_ctas).alone_us /
           library_time(machine, kind, count, bytes, max_ctas).time_us();
  };
  return scaled(model, line(gpus, fewer, over_model(fewer), more, over_model(more)));
}

Curves curves_of(const Machine& machine, Transport transport) {
  Curves found;
  std::ranges::copy_if(machine.symmetric_collectives, std::back_inserter(found),
                       [&](const CollectiveCurve& curve) { return curve.transport == transport; });
  return found;
}

CollectiveTiming timing_of(const Reading& reading, CollectiveAlgorithm algorithm, double port_bytes) {
  return {.latency_us = reading.latency_us,
          .transfer_us = reading.kernel_us - reading.latency_us,
          .ctas = std::max(1, static_cast<int>(reading.ctas + 0.5)),
          .cluster = reading.cluster,
          .alone_us = reading.alone_us,
          .port_bytes = port_bytes,
          .algorithm = algorithm};
}

}  // namespace

bool has_curve(const std::vector<CollectiveCurve>& curves, CollectiveKind kind, int gpus) {
  return std::any_of(curves.begin(), curves.end(),
                     [&](const CollectiveCurve& curve) { return curve.kind == kind && curve.gpus == gpus; });
}

CollectiveTiming time_collective(const Machine& machine, CollectiveKind kind, int gpus, Bytes bytes, int max_ctas) {
  const auto size = static_cast<double>(bytes);
  const bool has_protocols = !machine.collective_protocols.empty();
  if (!has_protocols && !has_curve(machine.collectives, kind))
    throw InputError("collectives",
                     "expected a curve of " + std::string(name_of(kind)) + " in profile " + machine.name);
  const Reading reading = has_protocols ? read_or_model(machine, kind, gpus, size, max_ctas)
                                        : read_any(machine.collectives, kind, gpus, size, max_ctas);
  CollectiveAlgorithm algorithm =
      kind == CollectiveKind::all_to_all ? CollectiveAlgorithm::direct : CollectiveAlgorithm::ring;
  if (has_protocols) algorithm = library_time(machine, kind, gpus, size, max_ctas).algorithm;
  return timing_of(reading, algorithm, bytes_out(algorithm, kind, gpus, size));
}

CollectiveTiming time_in_windows(const Machine& machine, Transport transport, CollectiveKind kind, int gpus,
                                 Bytes bytes, int max_ctas) {
  const Curves curves = curves_of(machine, transport);
  if (!has_curve(curves, kind))
    throw InputError("transport", "expected one that " + machine.name + " has a curve of, for " +
                                      std::string(name_of(kind)) + ", got " + std::string(name_of(transport)));
  constexpr auto direct = CollectiveAlgorithm::direct;
  const auto size = static_cast<double>(bytes);
  CollectiveTiming timing =
      timing_of(read_any(curves, kind, gpus, size, max_ctas), direct, bytes_out(direct, kind, gpus, size));
  if (transport == Transport::nccl_copy_engine) timing.ctas = 0;
  return timing;
}

CollectiveTiming time_nvls_all_reduce(const Machine& machine, int gpus, Bytes bytes, int max_ctas) {
  constexpr auto kind = CollectiveKind::all_reduce;
  constexpr auto in_switch = CollectiveAlgorithm::in_switch;
  const auto size = static_cast<double>(bytes);
  const LibraryTime time = library_time(machine, kind, gpus, size, max_ctas, in_switch);
  if (library_time(machine, kind, gpus, size, max_ctas).algorithm == in_switch)
    return time_collective(machine, kind, gpus, bytes, max_ctas);
  return timing_of(as_reading(time, machine), in_switch, bytes_out(in_switch, kind, gpus, size));
}

}  // namespace weft
