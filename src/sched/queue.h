// What to try next. Pods wait in three places: ready (by priority, then time of creation, then uid), backing off (until a
// given instant; 1 s doubling to 10 s as kube-scheduler's), or parked with their class because nothing fits it.
// A parked class costs nothing until it is unparked as a whole. No clock is read; instants are opaque integers (ns).
// Keys: a pod's uid. add() of a known uid replaces it (its place may change). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "sched/decider.h"

namespace gs::sched {

class Queue {
 public:
  struct Item {
    model::Uid uid;
    std::int32_t priority = 0;
    std::int64_t created_us = 0;
    ClassId pod_class = 0;
  };

  void add(const Item& item);            // ready, or parked when its class is parked
  void remove(const model::Uid& uid);
  /// The next to try; it leaves the queue (the caller adds it again, backs it off or parks its class).
  [[nodiscard]] std::optional<Item> pop();
  /// Tries again at `until_ns` (by tick()); the delay is the caller's through backoffNs().
  void backOff(const Item& item, std::int64_t until_ns);
  /// 1 s, 2 s, 4 s, 8 s, 10 s ... for the n-th failure of this uid; counts it.
  [[nodiscard]] std::int64_t nextBackoffNs(const model::Uid& uid);
  void forgetFailures(const model::Uid& uid);
  /// Everything of that class, now and later, waits until unpark(). Returns the uids that are newly parked.
  std::vector<model::Uid> park(ClassId pod_class);
  void unpark(ClassId pod_class);
  [[nodiscard]] std::vector<ClassId> parkedClasses() const;  // with at least one pod, ascending
  [[nodiscard]] std::vector<model::Uid> parkedPods(ClassId pod_class) const;  // in queue order
  void tick(std::int64_t now_ns);        // backed-off pods that are due become ready
  [[nodiscard]] std::optional<std::int64_t> nextDueNs() const;
  [[nodiscard]] bool ready() const;
  struct Sizes { std::size_t ready = 0, backoff = 0, parked = 0; };
  [[nodiscard]] Sizes sizes() const;

 private:
  // the implementer adds what it needs
};

}  // namespace gs::sched
