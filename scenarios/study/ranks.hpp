// The processes that share a sweep: one alone, or those that mpirun started.
#pragma once

#include <memory>
#include <string>

namespace weft::scenarios::study {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// Called by all; each gets what rank 0 says.
  virtual std::string broadcast(std::string of_first) { return of_first; }
  /// To rank 0, in order; does not wait until it is received.
  virtual void send_to_first(const std::string&) {}
  /// The next of that rank.
  virtual std::string receive(int /*from*/) { return ""; }
  /// Waits until all that was sent is received.
  virtual void finish() {}
};

/// This process's rank as mpirun has set it in the environment; 0 where nothing has started it.
int rank_of_launcher();

/// All processes that mpirun started with this one; one alone where nothing did. Throws ExecutionError where weft was
/// built without MPI. Called once, by all of them.
std::unique_ptr<Ranks> join_ranks();

/// What the module with MPI offers: the command itself needs no MPI library, and starts fast.
extern "C" using JoinMpi = Ranks * ();
inline constexpr const char* join_mpi_name = "weft_join_mpi";

}  // namespace weft::scenarios::study
