#include "calibration/support.hpp"

namespace weft::calibration {
namespace {

/// Looks at one operation of a valid schedule; every refusal is an InputError on its field.
class Support {
 public:
  Support(const Schedule& schedule, std::size_t index)
      : schedule_(schedule),
        operation_(schedule.operations[index]),
        field_("operations[" + std::to_string(index) + "] \"" + operation_.name + "\"") {}

  void check() const {
    for (const After& after : operation_.after)
      if (after.point != Point::end) refuse("following " + std::string(name_of(after.point)));
    std::visit([this](const auto& work) { check(work); }, operation_.work);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(field_, "expected what the hardware executor supports, got " + what);
  }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }

  void check_place(const Slice& slice) const {
    if (slice.place != 0) refuse("a slice on another rank");
    const Layout& layout = buffer(slice).layout;
    if (layout.kind != LayoutKind::row_major) refuse("layout " + std::string(name_of(layout.kind)));
  }
  void check_bf16(const Slice& slice) const {
    check_place(slice);
    if (buffer(slice).dtype != DataType::bf16) refuse("dtype " + std::string(name_of(buffer(slice).dtype)));
  }

  void check(const Gemm& gemm) const {
    for (const Slice* slice : {&gemm.a, &gemm.b, &gemm.c}) check_bf16(*slice);
    if (gemm.kernel) refuse("a GEMM with a kernel of its own");
  }
  void check(const Collective& collective) const {
    if (collective.transport != Transport::nccl) refuse("transport " + std::string(name_of(collective.transport)));
    check_place(collective.input);
    check_place(collective.output);
    if (buffer(collective.input).dtype == DataType::fp8) refuse("a collective of fp8");
    if (collective.kind == CollectiveKind::all_to_all && collective.input == collective.output)
      refuse("an all_to_all in place");
  }
  void check(const Copy& copy) const {
    check_place(copy.source);
    check_place(copy.destination);
    if (copy.path == CopyPath::sms) check_bf16(copy.source);
  }
  void check(const MemoryBound& work) const {
    const bool is_known = work.kernel == MemoryKernel::fill || work.kernel == MemoryKernel::add ||
                          work.kernel == MemoryKernel::partial_sum;
    if (!is_known) refuse("memory kernel " + std::string(name_of(work.kernel)));
    if (work.reads.size() > max_summands) refuse(std::to_string(work.reads.size()) + " reads");
    if (work.kernel == MemoryKernel::partial_sum && work.reads.size() > 1) refuse("partial_sum of several reads");
    if (work.writes.size() > 1) refuse(std::to_string(work.writes.size()) + " writes");
    for (const Slice& slice : work.reads) check_bf16(slice);
    for (const Slice& slice : work.writes) check_bf16(slice);
  }
  void check(const Attention&) const { refuse("attention"); }
  void check(const Signal&) const { refuse("a signal"); }
  void check(const Wait&) const { refuse("a wait"); }
  void check(const Barrier&) const { refuse("a barrier"); }
  void check(const Delay&) const {}

  const Schedule& schedule_;
  const Operation& operation_;
  std::string field_;
};

}  // namespace

std::optional<InputError> why_not_runnable(const Schedule& schedule) {
  try {
    if (schedule.operations.empty()) throw InputError("operations", "expected at least one");
    for (std::size_t i = 0; i < schedule.operations.size(); ++i) Support(schedule, i).check();
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace weft::calibration
