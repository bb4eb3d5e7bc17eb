// The part of a play that features bring (features.h): what is done by hand, what fails all the time, other
// installations, a server that goes back. Owned by one play, with the World,
// Judge and LedgerCheck that must outlive it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/random.h"
#include "sandbox/world/world.h"
#include "test/sim/judge.h"
#include "test/sim/ledger_check.h"
#include "test/sim/plan.h"

namespace gs::sim {

class Extras {
 public:
  Extras(sandbox::World& world, Judge& judge, LedgerCheck& ledgers, const Plan& plan);

  /// Of the replicas of our installation.
  [[nodiscard]] scheduler::Config config() const;
  /// What runs beside each; none: nothing.
  [[nodiscard]] sandbox::MakeCompanion companion() const;
  /// How long containers of a pod that was deleted by force go on.
  [[nodiscard]] Duration linger() const;
  void carryOut(const Step& step);
  /// What becomes of a call that fails all the time, or is late.
  [[nodiscard]] std::optional<sandbox::CallFault> resultOf(sandbox::ReplicaId from, const kapi::Call& call);
  /// A replica of another installation.
  [[nodiscard]] bool isAnother(sandbox::ReplicaId id) const { return another_ == id; }
  /// To be called whenever something changed.
  void look();
  void calmDown();
  /// For so long some replica may not hear what all others hear.
  void hindered(Duration how_long) {
    hindered_until_ = std::max(hindered_until_, world_.now().mono + how_long);
  }

  /// A request of a user that the judge is told of.
  void byHand(const std::string& method, const std::string& target, const json::Value& body = json::Object{},
              const std::string& type = "application/json");
  /// The lease of a pod that runs: taking the lease of one that is being placed takes the authority itself
  /// away.
  void dropLease(int which);

 private:
  [[nodiscard]] bool isOfExtender(sandbox::ReplicaId from, const kapi::Call& call) const;
  [[nodiscard]] std::optional<std::string> leaseOfRunning(int which);
  void renumber(const Step& s);
  void comesBound(const Step& s);
  void forge(const Step& s);
  void editLease(const Step& s);
  void editPod(const Step& s);
  void ownLease(const Step& s);
  void another(bool starts);
  void failUnstarted();
  void restore();
  [[nodiscard]] std::string leaderLease() const;
  void startAgain(sandbox::ReplicaId id);
  void enforce(int node, int how);
  void taint(int node, bool is);
  void limit(const Step& s);
  [[nodiscard]] bool sticks(const kapi::Call& call) const;

  sandbox::World& world_;
  Judge& judge_;
  LedgerCheck& ledgers_;
  const Plan& plan_;
  Rng rng_;
  std::optional<sandbox::ReplicaId> another_;
  json::Value saved_;
  Mono saved_at_{};
  Mono hindered_until_{};
  std::map<sandbox::ReplicaId, Mono> failing_;
  struct Stuck {
    int what = 0;
    int how = 0;
    Mono until{};
  };
  Stuck stuck_;
  std::map<int, Step> unstarted_;              // by slot: they wait for its pod to be bound
  std::map<int, std::pair<int, int>> limits_;  // by namespace: Limit's
  Mono late_until_{};
  Duration late_by_{};
  int replaced_ = 0;  // GPUs, so that each has a UUID of its own
};

}  // namespace gs::sim
