#include "scenarios/study/ranks.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "models/execution/execution_error.hpp"
#include "models/machine/program_file.hpp"

namespace weft::scenarios::study {
namespace {

/// What Open MPI, MPICH and others set for the processes that they start.
constexpr const char* rank_variables[]{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

const char* rank_in_environment() {
  for (const char* variable : rank_variables)
    if (const char* rank = std::getenv(variable); rank != nullptr && *rank != '\0') return rank;
  return nullptr;
}

}  // namespace

int rank_of_launcher() {
  const char* const rank = rank_in_environment();
  return rank == nullptr ? 0 : std::atoi(rank);
}

std::unique_ptr<Ranks> join_ranks() {
  if (rank_in_environment() == nullptr) return std::make_unique<Ranks>();
  const std::filesystem::path path = program_file().parent_path() / "libweft_mpi.so";
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // plug-ins of Open MPI look for it
  if (module == nullptr)
    throw ExecutionError("several processes need weft built with MPI (libboost-mpi-dev): " + std::string(dlerror()));
  const auto join = reinterpret_cast<JoinMpi*>(dlsym(module, join_mpi_name));
  if (join == nullptr) throw ExecutionError(path.string() + ": " + dlerror());
  return std::unique_ptr<Ranks>(join());
}

}  // namespace weft::scenarios::study
