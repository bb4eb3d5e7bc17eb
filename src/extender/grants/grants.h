// Grants: those of all pods, what each holds in the ledger, and when each is to be looked at.
//
// A grant keeps its place in memory until it ends. What it holds in the ledger is what the pod was given, and
// had before, until it is known that its annotations say other; whoever decides anew about the pod, or asks
// what would fit it, sets that aside. After anything was done with a pod's grant plan() is to be called. The
// engine must outlive it. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "extender/grants/grant.h"

namespace gs::extender {

class Grants {
 public:
  /// `bound_count_only`: only bound pods count for a quota.
  Grants(engine::Engine& engine, bool bound_count_only)
      : engine_{engine}, bound_count_only_{bound_count_only} {}
  Grants(const Grants&) = delete;
  Grants& operator=(const Grants&) = delete;

  [[nodiscard]] Grant* find(const model::Uid& uid);
  /// The pod's grant; a new one, if it has none.
  Grant& of(const model::Uid& uid, const model::ObjectKey& pod);
  [[nodiscard]] std::map<model::Uid, Grant>& all() { return grants_; }
  [[nodiscard]] const std::map<model::Uid, Grant>& all() const { return grants_; }
  /// What it holds is free afterwards, in the ledger too. Only NoteWriter::end() calls it.
  void end(const model::Uid& uid);
  void clear();

  /// Holds all that it has, and had before.
  void reserve(Grant& grant, const model::Pod& pod);
  /// What it has now it will have had before.
  static void moves(Grant& grant);
  /// What the pod holds of an earlier decision, devices and quota, is free for it while this lives.
  class Aside {
   public:
    Aside(Grants& grants, Grant* own, const model::Pod& pod) : grants_{grants}, own_{own}, pod_{pod} {}
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside() {
      if (own_ != nullptr) { grants_.reserve(*own_, pod_); }
    }

   private:
    Grants& grants_;
    Grant* own_;
    const model::Pod& pod_;
  };
  [[nodiscard]] Aside setAside(const model::Pod& pod);

  void plan(const model::Uid& uid);
  /// One that is due, and has to be planned again; nullptr: none is.
  [[nodiscard]] Grant* takeDue(Mono now);
  /// Mono::max(): nothing is to be done before something happens.
  [[nodiscard]] Mono nextDue() const { return due_.empty() ? Mono::max() : due_.begin()->first; }
  /// Entries of a time at which something is to be done.
  [[nodiscard]] std::size_t timers() const { return due_.size(); }

 private:
  [[nodiscard]] sched::GpuCharge chargeOf(const model::Pod& pod) const;
  void reserveOn(Grant& grant, const model::NodeName& node, const sched::SharePicks& picks,
                 const sched::GpuCharge& charge, const std::string& gang);

  engine::Engine& engine_;
  const bool bound_count_only_;
  std::map<model::Uid, Grant> grants_;
  std::set<std::pair<Mono, model::Uid>> due_;
};

}  // namespace gs::extender
