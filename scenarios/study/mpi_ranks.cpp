// The module libweft_mpi.so: ranks over MPI. Calls come from one thread at a time, but not always the same.
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/request.hpp>
#include <boost/serialization/string.hpp>
#include <exception>
#include <list>
#include <memory>
#include <string>

#include "scenarios/study/ranks.hpp"

namespace weft::scenarios::study {
namespace {

namespace mpi = boost::mpi;

constexpr int answers_tag = 1;

/// More than so many messages under way are waited for: a slow store makes the others wait, too.
constexpr std::size_t most_under_way = 16;

class MpiRanks : public Ranks {
 public:
  MpiRanks() : environment_(std::make_unique<mpi::environment>(mpi::threading::serialized, false)) {}
  /// Where this rank fails the others cannot end together with it: mpirun ends them.
  ~MpiRanks() override {
    if (std::uncaught_exceptions() > 0) static_cast<void>(environment_.release());
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }

  std::string broadcast(std::string of_first) override {
    mpi::broadcast(world_, of_first, 0);
    return of_first;
  }

  void send_to_first(const std::string& message) override {
    while (!under_way_.empty() && (under_way_.size() >= most_under_way || under_way_.front().request.test())) {
      if (under_way_.size() >= most_under_way) under_way_.front().request.wait();
      under_way_.pop_front();
    }
    Sent& sent = under_way_.emplace_back();
    sent.message = message;
    sent.request = world_.isend(0, answers_tag, sent.message);
  }

  std::string receive(int from) override {
    std::string message;
    world_.recv(from, answers_tag, message);
    return message;
  }

  void finish() override {
    for (Sent& sent : under_way_) sent.request.wait();
    under_way_.clear();
  }

 private:
  struct Sent {
    std::string message;
    mpi::request request;
  };

  std::unique_ptr<mpi::environment> environment_;
  mpi::communicator world_;
  std::list<Sent> under_way_;
};

}  // namespace

extern "C" Ranks* weft_join_mpi() { return new MpiRanks(); }

}  // namespace weft::scenarios::study
