// Evictions: pods that are told to go since they have what another pod's lease holds (--on-mismatch=evict):
// each once, by the eviction API, so that a PodDisruptionBudget is asked; while that refuses it is tried
// again, with backoff. Who has only its own again before that may stay.
// A part of its machine's; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "kapi/call.h"
#include "model/ids.h"

namespace gs::agent {

class Evictions final : public controller::Part {
 public:
  static constexpr std::size_t kUnderWay = 2;
  static constexpr kapi::RetryTerms kTerms{std::chrono::seconds{1}, std::chrono::seconds{60}};

  explicit Evictions(controller::Parts& parts) : calls_{parts.add(*this), kTerms} {}

  /// These have to go, and nobody else.
  void want(std::map<model::Uid, model::ObjectKey> pods);
  /// That pod is no more.
  void gone(const model::Uid& uid);

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  [[nodiscard]] std::size_t size() const override { return wanted_.size() + done_.size(); }

 private:
  controller::KeyedCalls<model::Uid> calls_;
  std::map<model::Uid, model::ObjectKey> wanted_;
  std::set<model::Uid> done_;  // they were told
};

}  // namespace gs::agent
