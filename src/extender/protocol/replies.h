// What callers are told, and until when it may be: what was promised in a past in which we led may be another
// pod's by now, so a promise that comes after the lead has ended is withdrawn, and each says until when it is
// good. One thread.
#pragma once

#include <utility>
#include <vector>

#include "extender/protocol/caller.h"

namespace gs::extender {

class Replies {
 public:
  /// From then on nothing is promised to anybody, unless it is said again. Without it: for ever.
  void leadUntil(Mono until) { lead_until_ = until; }
  void give(RequestId request_id, Answer answer, Mono now) {
    const bool promises = answer.kind == Answer::Kind::Chosen || answer.kind == Answer::Kind::Done;
    if (promises && now >= lead_until_) {
      answer = {};
      answer.kind = Answer::Kind::Unavailable;
      answer.text = "this replica did not renew its lead in time";
    } else if (promises) {
      answer.good_until = lead_until_;
    }
    answers_.emplace_back(request_id, std::move(answer));
  }
  [[nodiscard]] std::vector<std::pair<RequestId, Answer>> take() { return std::exchange(answers_, {}); }

 private:
  Mono lead_until_ = Mono::max();
  std::vector<std::pair<RequestId, Answer>> answers_;
};

}  // namespace gs::extender
