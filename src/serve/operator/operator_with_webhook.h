// The operator, its webhook, the watch of the policy of signatures and what reads pull secrets as one
// machine, for one Host: each gets the answers to its own calls; what else the watches and the election
// bring is the operator's. All must outlive it. One thread.
#pragma once

#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "base/readiness.h"
#include "kapi/effects.h"
#include "operator/admission/webhook.h"
#include "operator/operator.h"
#include "operator/pull_secrets.h"
#include "operator/trust/policy_watch.h"

namespace gs::serve {

class OperatorWithWebhook {
 public:
  class Webhook {
   public:
    Webhook(gkm::Webhook& of, gkm::PolicyWatch& watch, gkm::PullSecrets& reads,
            std::function<std::string()> why_not)
        : machine{of}, policy{watch}, secrets{reads}, trouble_{std::move(why_not)} {}

    gkm::Webhook& machine;
    gkm::PolicyWatch& policy;
    gkm::PullSecrets& secrets;

    [[nodiscard]] Readiness readiness() const {
      Readiness out = machine.readiness();
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
    kapi::append(out, webhook_->machine.start(now));
    kapi::append(out, webhook_->policy.start(now));
    return out;
  }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    if (webhook_ == nullptr) { return operator_.handle(event, now); }
    if (gkm::Webhook::isForIt(event)) { return webhook_->machine.handle(event, now); }
    if (gkm::PullSecrets::isForIt(event)) { return webhook_->secrets.handle(event); }
    if (gkm::PolicyWatch::isForIt(event)) { return webhook_->policy.handle(event, now); }
    kapi::Effects out = operator_.handle(event, now);
    if (!std::holds_alternative<kapi::TimerDue>(event)) { return out; }
    kapi::append(out, webhook_->machine.handle(event, now));
    kapi::append(out, webhook_->policy.handle(event, now));
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
