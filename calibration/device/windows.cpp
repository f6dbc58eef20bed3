#include "calibration/device/windows.hpp"

namespace weft::calibration::device {

void Windows::add(const Program& program, const Launcher& launcher, int launches) {
  const cudaStream_t stream = program.origin();
  if (!windows_.empty() && windows_.back().program != &program)
    WEFT_CHECK(cudaStreamWaitEvent(stream, windows_.back().end.get(), cudaEventWaitDefault));
  if (meeting_ != nullptr) meeting_->enqueue(stream);
  Window window{&program, launches, make_event(Timed::yes), make_event(Timed::yes)};
  WEFT_CHECK(cudaEventRecord(window.start.get(), stream));
  for (int i = 0; i < launches; ++i) launcher.launch();
  WEFT_CHECK(cudaEventRecord(window.end.get(), stream));
  windows_.push_back(std::move(window));
  if (windows_.size() > queued_) wait_for(windows_.size() - queued_);
}

int Windows::read_clock() { return read_clock(*windows_.back().program); }

void Windows::finish() {
  wait_for(windows_.size());
  if (!windows_.empty()) windows_.back().program->wait();  // for the reading of the clock behind the last one
}

void Windows::wait_for(std::size_t windows) {
  for (; ended_ < windows; ++ended_) {
    Window& window = windows_[ended_];
    window.program->wait_for(window.end);
    window.seen_end_ns = steady_now_ns();
  }
}

double Windows::iteration_us(std::size_t window) const {
  return elapsed_us(windows_[window].start, windows_[window].end) / windows_[window].launches;
}

}  // namespace weft::calibration::device
