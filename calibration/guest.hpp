// A guest: another program that takes turns with the schedules of a mix on the same GPUs, so that what it runs finds
// the same load and the same clock. PyTorch's own schedules are measured beside ours so (calibration/peers).
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace weft::calibration {

/// One rank's end of a connection with the guest that has the same GPU. Both sides write lines, of which ours are
///
///   mix CASE    prepare what you run of this case's workload (CASE as weft predict reads it)
///   turn        the GPU is yours: run each of yours for about turn_ms, and wait until all have ended
///   end N PERIODS  of the mix: its last N turns count, as PERIODS equal periods one after the other
///
/// and the guest answers each with a line "done", whatever it could prepare. It keeps what it measured to itself.
class Guest {
 public:
  /// Connects to the socket FOLDER/rank-RANK, which the guest may still have to make. Throws ExecutionError, as all of
  /// these do, where the guest does not answer within the limit, or ends.
  Guest(const std::filesystem::path& folder, int rank, std::chrono::duration<double> limit);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void prepare(const std::string& one_case);
  void turn();
  void end(int turns, int periods);

 private:
  void ask(const std::string& line);
  std::string answer();

  std::string path_;
  std::chrono::duration<double> limit_;
  int socket_ = -1;
};

}  // namespace weft::calibration
