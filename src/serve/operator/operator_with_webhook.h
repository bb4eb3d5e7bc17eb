// The operator, its webhook, the watch of the policy of signatures and what reads pull secrets as one
// machine, for one Host: each gets what is its own; what else comes is the operator's. All must outlive it,
// and have numbers of the same controller::Owners. One thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "base/readiness.h"
#include "controller/parts.h"
#include "operator/admission/webhook.h"
#include "operator/operator.h"
#include "operator/trust/policy_watch.h"
#include "serve/operator/cache_webhook.h"

namespace gs::serve {

class OperatorWithWebhook {
 public:
  class Webhook {
   public:
    /// `all`: of which they are.
    Webhook(controller::Parts& all, gkm::Webhook& of, gkm::PolicyWatch& watch,
            std::function<std::string()> why_not)
        : parts{all}, webhook{of}, policy{watch}, trouble_{std::move(why_not)} {}
    Webhook(controller::Parts& all, CacheWebhook& of)
        : Webhook{all, of.machine(), of.policy(), [&of] { return of.policyTrouble(); }} {}

    controller::Parts& parts;
    gkm::Webhook& webhook;
    gkm::PolicyWatch& policy;

    [[nodiscard]] Readiness readiness() const {
      Readiness out = webhook.readiness();
      Readiness::Check known = policy.check();
      if (const std::string trouble = trouble_(); !trouble.empty()) { known.state = trouble; }
      out.need(known.what, policy.isKnown(), known.state);
      return out;
    }

   private:
    std::function<std::string()> trouble_;  // why the policy refuses everything; "" it does not
  };
  /// `webhook`: nullptr where none is served.
  OperatorWithWebhook(gkm::Operator& of, Webhook* webhook) : operator_{of}, webhook_{webhook} {}

  [[nodiscard]] kapi::Effects start(Now now) {
    kapi::Effects out = operator_.start(now);
    if (webhook_ == nullptr) { return out; }
    webhook_->webhook.start(now, out);
    webhook_->policy.start(now, out);
    return out;
  }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    kapi::Effects out;
    if (webhook_ != nullptr && webhook_->parts.handle(event, now, out)) { return out; }
    out = operator_.handle(event, now);
    const bool is_time = std::holds_alternative<kapi::TimerDue>(event);
    if (is_time && webhook_ != nullptr) { webhook_->parts.tick(now, out); }
    return out;
  }
  void stopTaking() { operator_.stopTaking(); }
  [[nodiscard]] bool underWay() const { return operator_.underWay(); }
  [[nodiscard]] const std::string& failure() const { return operator_.failure(); }
  [[nodiscard]] Readiness readiness() const {
    Readiness out = operator_.readiness();
    if (webhook_ != nullptr) { out.add(webhook_->readiness()); }
    return out;
  }

 private:
  gkm::Operator& operator_;
  Webhook* webhook_;
};

}  // namespace gs::serve
