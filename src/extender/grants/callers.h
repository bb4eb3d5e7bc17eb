// Who waits for one pod's grant: for its annotations to be written, or for another decision, which needs the
// write under way to end first. In the order in which they came; each waits in one of the two,
// until Caller::until.
// Who is taken is no more here: whoever takes a caller answers it, or lets it wait again. One thread.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "extender/protocol/caller.h"

namespace gs::extender {

class Callers {
 public:
  using List = std::vector<Caller>;

  void awaitWrite(Caller caller) { for_write_.push_back(std::move(caller)); }
  void awaitDecision(Caller caller) { for_decision_.push_back(std::move(caller)); }

  [[nodiscard]] bool empty() const { return for_write_.empty() && for_decision_.empty(); }
  [[nodiscard]] bool awaitWrite() const { return !for_write_.empty(); }
  [[nodiscard]] bool awaitDecision() const { return !for_decision_.empty(); }

  [[nodiscard]] List takeForWrite() { return std::exchange(for_write_, {}); }
  [[nodiscard]] List takeForDecision() { return std::exchange(for_decision_, {}); }
  /// Those for the write first.
  [[nodiscard]] List takeAll() { return joined(takeForWrite(), takeForDecision()); }
  /// Whose time is over, in the same order.
  [[nodiscard]] List takeLate(Mono now) {
    return joined(lateOf(for_write_, now), lateOf(for_decision_, now));
  }
  /// When takeLate() has somebody; Mono::max(): nobody waits.
  [[nodiscard]] Mono nextLate() const {
    Mono due = Mono::max();
    for (const List* list : {&for_write_, &for_decision_}) {
      for (const Caller& caller : *list) { due = std::min(due, caller.until); }
    }
    return due;
  }

 private:
  static List joined(List first, List then) {
    std::move(then.begin(), then.end(), std::back_inserter(first));
    return first;
  }
  static List lateOf(List& list, Mono now) {
    const auto late = std::stable_partition(list.begin(), list.end(),
                                            [&](const Caller& caller) { return now < caller.until; });
    List out{std::make_move_iterator(late), std::make_move_iterator(list.end())};
    list.erase(late, list.end());
    return out;
  }

  List for_write_;
  List for_decision_;
};

}  // namespace gs::extender
