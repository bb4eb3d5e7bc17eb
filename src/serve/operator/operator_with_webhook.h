// The operator and its webhook as one machine, for one Host: each gets the answers to its own calls; what the
// watches and the election bring is the operator's. Both must outlive it. One thread.
#pragma once

#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "operator/admission/webhook.h"
#include "operator/operator.h"

namespace gs::serve {

class OperatorWithWebhook {
 public:
  /// `webhook`: nullptr where none is served.
  OperatorWithWebhook(gkm::Operator& of, gkm::Webhook* webhook) : operator_{of}, webhook_{webhook} {}

  [[nodiscard]] kapi::Effects start(Now now) {
    return joined(operator_.start(now), webhook_ == nullptr ? kapi::Effects{} : webhook_->start(now));
  }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    if (webhook_ == nullptr) { return operator_.handle(event, now); }
    if (gkm::Webhook::isForIt(event)) { return webhook_->handle(event, now); }
    kapi::Effects out = operator_.handle(event, now);
    if (!std::holds_alternative<kapi::TimerDue>(event)) { return out; }
    return joined(std::move(out), webhook_->handle(event, now));
  }
  void stopTaking() { operator_.stopTaking(); }
  [[nodiscard]] bool underWay() const { return operator_.underWay(); }
  [[nodiscard]] const std::string& failure() const { return operator_.failure(); }
  /// "1" when both are ready, else "0". Then a line for each check.
  [[nodiscard]] std::string readiness() const {
    std::string out = operator_.readiness();
    if (webhook_ == nullptr) { return out; }
    if (!webhook_->isReady()) { out.front() = '0'; }
    return out + webhook_->checks();
  }

 private:
  static kapi::Effects joined(kapi::Effects to, kapi::Effects more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return to;
  }

  gkm::Operator& operator_;
  gkm::Webhook* webhook_;
};

}  // namespace gs::serve
