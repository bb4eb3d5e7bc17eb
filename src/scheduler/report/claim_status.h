// Writes GpuClaim status: off the critical path, at most one write a second per claim, never read as truth
// (R45). A pure machine.
//
// A touched claim's status is computed from the cache (its pods) when it is written. Server-side apply, so a
// write needs no read and repeating it does no harm: an outcome that is unknown or refused is tried again
// after a while, longer each time. At most kMaxInFlight at once; namespaces share them fairly and take turns.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "controller/fair_share.h"
#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "engine/cache.h"
#include "kapi/call.h"
#include "kapi/write.h"

namespace gs::scheduler {

class ClaimStatusWriter : public controller::Part {
 public:
  static constexpr Duration kGap = std::chrono::seconds{1};
  static constexpr int kMaxInFlight = 8;
  static constexpr std::size_t kPodsPerTurn =
      4'096;  // of claims that are looked at in one event, and those of one more claim

  /// What else a status says about unbound pods: why one waits, and whether a Binding has been unresolved for
  /// over a second.
  struct View {
    std::function<std::string(const model::Uid&)> why_waiting;  // "" unknown
    std::function<bool(const model::Uid&)> reserved;
  };

  ClaimStatusWriter(const engine::Cache& cache, View view, controller::Parts& parts)
      : cache_{cache}, view_{std::move(view)}, calls_{parts.add(*this), {kGap, std::chrono::minutes{1}}} {}

  void touched(const model::ObjectKey& claim) { dirty_.insert(claim); }
  void pump(Mono now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

  [[nodiscard]] kapi::ClaimStatus compute(const model::GpuClaim& claim) const;

 private:
  struct Written {
    model::Uid claim;              // another one of the same name has no status yet
    model::Revision revision = 0;  // of the claim, by our last answer
    kapi::ClaimStatus status;
    Mono not_before{};   // a second after the last write, or when a failed one may be repeated
    bool known = false;  // the API has `status` for all we know
    bool later = false;  // stands in later_
  };
  using Claims = std::set<model::ObjectKey>;
  void pumpFrom(Claims::iterator it, Claims::iterator end, Mono now, kapi::Effects& out);
  bool pumpOne(const model::ObjectKey& claim, Mono now, kapi::Effects& out);
  void lookAgain(const model::ObjectKey& claim, Written& w, Mono at);
  const engine::Cache& cache_;
  View view_;
  Claims dirty_;
  model::ObjectKey last_;  // the one that was last looked at
  controller::FairShare in_flight_{kMaxInFlight};
  controller::KeyedCalls<model::ObjectKey> calls_;
  std::multimap<Mono, model::ObjectKey> later_;
  std::unordered_map<model::ObjectKey, Written> written_;
  std::size_t pods_ = 0;  // that this turn looked at
};

}  // namespace gs::scheduler
