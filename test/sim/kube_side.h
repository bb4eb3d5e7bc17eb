// A simulated kube-scheduler, for pods of gpu-kube: it filters, ranks and binds through gpu-scheduler as its
// extender, one pod after another or several at once. It is late, binds twice and elsewhere, gives up calls
// that are answered later, and restarts, which forgets all of that. Where no node fits a pod of its it asks
// what preemption would bring, and sometimes evicts whom it is told.
// Owned by one play, with the World that must outlive it; what it draws at random shifts nothing of the rest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sandbox/world/world.h"
#include "test/sim/plan.h"

namespace gs::sim {

inline constexpr const char* kKubeName = "gpu-kube";

class KubeSide {
 public:
  KubeSide(sandbox::World& world, const Plan& plan);
  /// A pod of that slot and flavour is its.
  [[nodiscard]] static bool takes(int slot, int flavour);
  /// Then it is made so.
  static void takeOver(json::Value& pod, int slot);
  /// A pod of its came.
  void comes(const std::string& ns, const std::string& name);
  void restart();
  /// To be called whenever something changed: who fits nowhere is looked at again when its object changes,
  /// and not otherwise for 5 minutes.
  void look();
  /// False: somebody else asked.
  bool answered(extender::RequestId request_id, const extender::Answer& answer);
  /// From now on it does what schedulers should.
  void calmDown() { calm_ = true; }
  /// Until then it binds no pod of that namespace: their volumes are never bound, say.
  void hang(const std::string& ns, Mono until) { hanging_[ns] = until; }
  /// "" or what it was told and is not so.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t bound() const { return bound_; }

 private:
  struct Waiting {
    std::string ns, name;
    std::uint64_t turn = 0;  // counts when it is to be considered
    std::string asked{};     // the version of its object that was asked about last
    bool unschedulable = false;
  };
  struct Asked {
    std::string uid;
    extender::Verb verb{};
    std::vector<std::string> nodes;
  };
  using Tries = std::map<std::string, Waiting>;  // by uid

  [[nodiscard]] json::Value objectOf(const Waiting& pod) const;
  [[nodiscard]] bool waits(const std::string& uid) const;
  [[nodiscard]] std::vector<std::string> feasibleFor(const json::Value& pod);
  void considerLater(const std::string& uid, Duration by);
  void backOff(const std::string& uid);
  void consider(const std::string& uid);
  void ask(extender::Verb verb, const std::string& uid, std::vector<std::string> nodes, Duration patience);
  void filtered(const Asked& asked, const extender::Answer& answer);
  void ranked(const Asked& asked, const extender::Answer& answer);
  void preemptionAnswered(const Asked& asked, const extender::Answer& answer);
  void checkVictim(const std::string& uid, const std::string& victim, const std::string& node);
  void bindLater(const std::string& uid, const std::string& node);
  void bind(const std::string& uid, const std::string& node);
  void bindAnswered(const Asked& asked, const extender::Answer& answer);
  [[nodiscard]] Duration upTo(std::uint64_t ms) {
    return Duration{std::chrono::milliseconds{1}} * static_cast<std::int64_t>(rng_.below(ms));
  }

  sandbox::World& world_;
  Rng rng_;
  const int nodes_;
  bool may_go_back_;  // what was bound may not be any more
  bool calm_ = false;
  std::map<std::string, Mono> hanging_;  // by namespace
  Tries waiting_;
  std::map<extender::RequestId, Asked> asked_;
  std::uint64_t turns_ = 0;
  extender::RequestId last_;
  std::string problem_;
  std::size_t bound_ = 0;
};

}  // namespace gs::sim
