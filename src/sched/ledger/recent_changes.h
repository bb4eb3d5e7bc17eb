// Nodes in the order in which they changed last, each once: so that somebody who knows all nodes as they were
// at some moment need only look at those that changed since, and may stop anywhere and go on there later.
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace gs::sched {

class RecentChanges {
 public:
  using Node = std::uint32_t;
  /// Grows with every change; 0: before the first.
  using Moment = std::uint64_t;

  void note(Node node);
  [[nodiscard]] Moment now() const { return now_; }
  /// The nodes that changed after that moment, the longest unchanged first, each with the moment of its last
  /// change, while `visit` returns true.
  template <class Visit>
  void since(Moment moment, const Visit& visit) const {
    if (moment >= now_) { return; }
    for (auto at = after(moment); at != log_.end(); ++at) {
      if (last_[at->node] == at->moment && !visit(at->node, at->moment)) { return; }
    }
  }
  /// How many they are; perhaps fewer: some are counted more than once.
  [[nodiscard]] std::size_t countSince(Moment moment) const {
    return moment >= now_ ? 0 : static_cast<std::size_t>(log_.end() - after(moment));
  }

 private:
  struct Entry {
    Moment moment = 0;
    Node node = 0;
  };
  using Log = std::vector<Entry>;

  [[nodiscard]] Log::const_iterator after(Moment moment) const {
    constexpr int kFew = 8;  // mostly it is one of the last
    auto at = log_.end();
    for (int i = 0; i < kFew; ++i) {
      if (at == log_.begin() || std::prev(at)->moment <= moment) { return at; }
      --at;
    }
    return std::upper_bound(log_.begin(), log_.end(), moment,
                            [](Moment m, const Entry& entry) { return m < entry.moment; });
  }

  Log log_;                   // ascending; an entry counts when it is the last one of its node
  std::vector<Moment> last_;  // by node
  Moment now_ = 0;
};

}  // namespace gs::sched
