// FrontDesk: where requests come in. It is asked with whoever answers for the pod: the extender, or in the
// same process the scheduler, for pods whose GPUs it finds. What is to be refused whoever that is, is refused
// here, in this order:
//   1. nobody is answered now: this replica does not lead, or is stopping;
//   2. the caller waits no more. It may have asked somebody else since, and a late decision would undo that
//      one;
//   3. nodes came or went since the caller looked their names up: it looks them up again.
// It keeps nothing of a request. One thread.
#pragma once

#include <optional>
#include <string>

#include "extender/protocol/caller.h"

namespace gs::extender {

inline constexpr const char* kStopping = "this replica is stopping";

/// Who decides about some pods. Each request is answered once, at once or later.
class Answerer {
 public:
  virtual ~Answerer() = default;
  /// Why nobody is answered now; "": they are.
  [[nodiscard]] virtual std::string refusesBecause() const = 0;
  /// It goes by the numbers of the nodes in such requests.
  [[nodiscard]] virtual bool readsNodes(Verb verb) const = 0;
  /// Of these numbers.
  [[nodiscard]] virtual const NodeTablePtr& table() = 0;
  virtual void serve(Caller caller, Now now) = 0;
  /// It is answered with this, and not served.
  virtual void refuse(const Caller& caller, Answer answer) = 0;
};

/// An answer to who asks with numbers of another table; nullopt: this is the one.
[[nodiscard]] std::optional<Answer> otherTableAnswer(const Caller& caller, const NodeTablePtr& table);

class FrontDesk {
 public:
  /// Nobody waits for an answer any longer than that.
  explicit FrontDesk(Duration answer_within) : answer_within_{answer_within} {}

  void ask(Answerer& answerer, RequestId request_id, Request request, Now now) const;

 private:
  [[nodiscard]] static std::optional<Answer> refusalOf(Answerer& answerer, const Caller& caller, Now now);

  const Duration answer_within_;
};

}  // namespace gs::extender
