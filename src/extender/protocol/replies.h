// Replies: answers on their way to callers. An answer that gives devices to a pod is a promise, and only a
// leader may make one: when our time as leader is over, another replica may give the same devices to
// another pod. So a promise that is ready after that time becomes "unavailable", and every other one
// carries the time until which it is good (Answer::good_until). One thread.
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
