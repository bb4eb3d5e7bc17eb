#include "sched/policy/first_set.h"

#include <algorithm>
#include <array>

namespace gs::sched {
namespace {

class Search {
 public:
  Search(const Topology& t, const std::vector<int>& order, const Terms& terms)
      : t_{t}, order_{order}, terms_{terms} {
    const auto pairs = static_cast<std::uint64_t>(order.size()) * order.size();
    most_steps_ = std::min(kFirstSetSteps, std::max(stepsLeft(terms.meter), pairs));
  }

  std::optional<Mask> run(Mask must) {
    Mask allowed = 0;
    for (const int i : order_) { allowed |= bit(i); }
    allowed &= ~must;
    for (Mask m = must; m != 0; m &= m - 1) {
      const Mask friends = friendsOf(lowestOf(m));
      if ((must & ~friends) != 0) { return std::nullopt; }
      allowed &= friends;
    }
    const bool found = grow(must, allowed, 0);
    addSteps(terms_.meter, pairs_ + steps_);
    return found ? std::optional{found_} : std::nullopt;
  }

 private:
  /// Those that may be in one set with this device. Asked very often of the same ones.
  [[nodiscard]] Mask friendsOf(int device) {
    Mask& friends = friends_[static_cast<std::size_t>(device)];
    if (friends != 0) { return friends; }
    friends = t_.islandOf(device);
    if (terms_.min_gbps <= 0) { return friends; }
    pairs_ += static_cast<std::uint64_t>(countOf(friends));
    for (Mask m = friends; m != 0; m &= m - 1) {
      const int other = lowestOf(m);
      if (other != device && t_.gbps(device, other) < terms_.min_gbps) { friends &= ~bit(other); }
    }
    return friends;
  }

  bool grow(Mask set, Mask allowed, std::size_t from) {
    if (countOf(set) == terms_.count) {
      found_ = set;
      return true;
    }
    for (std::size_t at = from; at < order_.size(); ++at) {
      if (countOf(set) + countOf(allowed) < terms_.count || ++steps_ > most_steps_) { return false; }
      const Mask next = bit(order_[at]);
      if ((allowed & next) == 0) { continue; }
      allowed &= ~next;
      if (grow(set | next, allowed & friendsOf(order_[at]), at + 1)) { return true; }
    }
    return false;
  }

  const Topology& t_;
  const std::vector<int>& order_;
  const Terms& terms_;
  Mask found_ = 0;
  std::array<Mask, kMaxDevices> friends_{};  // 0: not asked yet; each is one of its own
  std::uint64_t most_steps_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t pairs_ = 0;
};

}  // namespace

std::optional<Mask> firstSet(const Topology& t, const std::vector<int>& order, const Terms& terms,
                             Mask must) {
  if (countOf(must) > terms.count) { return std::nullopt; }
  if (terms.required && terms.count > 1) { return Search{t, order, terms}.run(must); }
  Mask set = must;
  for (const int i : order) {
    if (countOf(set) == terms.count) { break; }
    set |= bit(i);
  }
  return countOf(set) == terms.count ? std::optional{set} : std::nullopt;
}

}  // namespace gs::sched
