// Which SMs of a GPU take the CTAs of a grid: the emptiest first, so that CTAs spread before they double up; clusters
// go round the GPCs, one to each in turn.
#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/sm_layout.hpp"

namespace weft::sim {

/// What the SMs of one GPU hold. SMs with the same room are alike: there are few kinds at a time.
struct SmOccupancy {
  struct Kind {
    SmRoom room;  ///< that of nobody where no SM is of this kind
    int sms = 0;
    bool operator==(const Kind&) const = default;
  };
  int residents = 0;  ///< CTAs on all SMs
  std::vector<Kind> kinds;
  std::vector<std::uint16_t> kind_of;  ///< by SM

  explicit SmOccupancy(const SmLayout& layout);
  SmOccupancy() = default;
  bool operator==(const SmOccupancy&) const = default;
  /// The same for what is equal.
  std::size_t digest() const;
  /// Each of the SMs takes so many CTAs; below 0: they leave.
  void take_room(std::span<const int> sms, const CtaShape& cta, int ctas);

 private:
  std::uint16_t kind_with(const SmRoom& room);
};

/// An occupancy that does not change, so that all GPUs and moments that are in it can share it.
struct SmState : boost::intrusive_ref_counter<SmState, boost::thread_unsafe_counter> {
  explicit SmState(SmOccupancy of_sms, std::uint64_t number_of_state)
      : occupancy(std::move(of_sms)), number(number_of_state) {}
  const SmOccupancy occupancy;
  const std::uint64_t number;  ///< no other state of the placement has it

  /// CTAs of this shape that would fit at once, wherever they are: mostly those are asked about that were before.
  int room(const CtaShape& cta) const;

 private:
  mutable CtaShape asked_;
  mutable int room_ = -1;  // for those; -1: nobody has asked
};
using SmStatePointer = boost::intrusive_ptr<const SmState>;

/// SMs that took CTAs, one entry a CTA: whoever holds them may share it.
struct SmList : boost::intrusive_ref_counter<SmList, boost::thread_unsafe_counter> {
  std::vector<int> sms;
};
using SmListPointer = boost::intrusive_ptr<const SmList>;

/// Serves all GPUs of a machine: the same CTAs on a GPU that holds the same find the same SMs, which happens wave after
/// wave, so that the last answers are kept.
class SmPlacement {
 public:
  explicit SmPlacement(SmLayout& layout);
  SmPlacement(const SmPlacement&) = delete;

  const SmLayout& layout() const { return layout_; }
  const SmStatePointer& nobody() const { return nobody_; }
  /// Places at most so many CTAs on the SMs that it returns.
  SmListPointer place(SmStatePointer& state, const CtaShape& cta, int cluster, int most);
  /// One such CTA leaves each of the SMs.
  void leave(SmStatePointer& state, std::span<const int> sms, const CtaShape& cta);

 private:
  struct Request {
    CtaShape cta;
    int cluster = 0, most = 0;
    bool operator==(const Request&) const = default;
  };
  struct Placed {
    Request request;
    std::uint64_t before = 0;  // number of the state
    SmStatePointer after;      // null: it is no answer
    SmListPointer list;
    explicit operator bool() const { return after != nullptr; }
  };
  struct Left {
    CtaShape cta;
    std::uint64_t before = 0;
    SmStatePointer after;
    std::vector<int> sms;
    explicit operator bool() const { return after != nullptr; }
  };
  /// SMs of one GPC that may take a CTA in this round, the emptiest first.
  struct Candidates {
    const int* next = nullptr;
    int* end = nullptr;
  };
  static constexpr std::size_t kept = 1024,
                               places = 4;  // answers of each kind; among them a question has so many places

  /// Where the answer stands that `is_it`, or is to stand; and is it there?
  template <class Answer, class IsIt>
  static std::pair<Answer&, bool> find(std::array<Answer, kept>& answers, std::size_t first, const IsIt& is_it);

  SmStatePointer state_of(const SmOccupancy& occupancy);
  SmListPointer place_ctas(const Request& request, SmOccupancy& occupancy);
  bool is_placed_at_once(const Request& request, const SmOccupancy& occupancy) const;
  void place_at_once(const Request& request, SmOccupancy& occupancy, std::vector<int>& placed);
  void place_round_by_round(const Request& request, SmOccupancy& occupancy, std::vector<int>& placed);
  void place_round(const Request& request, std::vector<int>& placed);
  void find_fitting(const Request& request, const SmOccupancy& occupancy);
  int least_load(int from) const;
  void find_candidates(const SmOccupancy& occupancy, int most_load);

  SmLayout& layout_;
  const SmStatePointer nobody_;
  const SmListPointer no_sms_{new SmList};
  std::uint64_t last_number_ = 0;
  std::array<SmStatePointer, kept> states_;  // by digest
  std::array<Placed, kept> placed_;
  std::array<Left, kept> left_;
  std::vector<int> fitting_load_;       // by kind: residents of an SM that can take one more; -1: it cannot
  std::vector<Candidates> candidates_;  // by GPC
  std::vector<int> candidate_sms_;      // GPC by GPC
};

/// The SMs of a GPU and what was placed on them before.
struct KnownSms {
  explicit KnownSms(const Gpu& gpu) : layout(gpu), placement(layout) {}
  /// Those of the calling thread's last simulation where its GPUs had the same SMs, else new ones.
  static std::shared_ptr<KnownSms> of_thread(const Gpu& gpu);

  SmLayout layout;
  SmPlacement placement;
};

}  // namespace weft::sim
