// Which SMs a GPU has and what each can hold: the same for all GPUs of a machine.
#pragma once

#include <map>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft::sim {

/// What one CTA takes of an SM.
struct CtaShape {
  int threads = 0;
  int registers = 0;
  Bytes shared_memory = 0;

  bool operator==(const CtaShape&) const = default;
};

/// What an SM can still take.
struct SmRoom {
  int slots = 0, threads = 0, registers = 0;
  Bytes shared_memory = 0;

  bool operator==(const SmRoom&) const = default;
  bool fits(const CtaShape& cta) const {
    return slots > 0 && threads >= cta.threads && registers >= cta.registers && shared_memory >= cta.shared_memory;
  }
  /// CTAs of this shape that fit at once.
  int ctas(const CtaShape& cta) const;
  /// With `ctas` more of them gone; below 0: come.
  SmRoom without(const CtaShape& cta, int ctas) const;
};

/// SMs are numbered GPC by GPC.
class SmLayout {
 public:
  explicit SmLayout(const Gpu& gpu);
  bool is_of(const Gpu& gpu) const;

  int sms() const { return static_cast<int>(gpc_of_.size()); }
  int gpcs() const { return static_cast<int>(gpc_sms_.size()); }
  int first_sm(int gpc) const { return first_sm_[gpc]; }
  int gpc_of(int sm) const { return gpc_of_[sm]; }
  /// Two SMs that form clusters with no others: they are taken first.
  bool is_pair(int gpc) const { return gpc_sms_[gpc] == 2; }
  const SmRoom& empty_sm() const { return empty_sm_; }
  /// CTAs of this shape that the empty GPU holds at once, in whole clusters.
  int capacity(const CtaShape& cta, int cluster) const;
  /// The order in which an empty GPU's SMs take a CTA each, in clusters of so many.
  const std::vector<int>& round_of(int cluster);
  /// How clusters go to GPCs: `takes_one(gpc)` is asked of each in turn, round and round as long as one takes any,
  /// first of those that are pairs.
  template <class TakesOne>
  void go_round(const TakesOne& takes_one) const;

 private:
  std::vector<int> gpc_sms_, first_sm_, gpc_of_;
  SmRoom empty_sm_;
  std::map<int, std::vector<int>> rounds_;  // by cluster
};

template <class TakesOne>
void SmLayout::go_round(const TakesOne& takes_one) const {
  for (const bool pairs : {true, false})
    for (bool one_took = true; one_took;) {
      one_took = false;
      for (int gpc = 0; gpc < gpcs(); ++gpc)
        if (is_pair(gpc) == pairs && takes_one(gpc)) one_took = true;
    }
}

}  // namespace weft::sim
