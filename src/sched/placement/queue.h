// What to try next. Pods wait in three places: ready (by priority, then time of creation, then uid), backing
// off (until an instant that the caller gives), or unschedulable with their class because nothing fits it. An
// unschedulable class costs nothing until it is activated as a whole: both are O(log classes), however many
// pods it has. No clock is read; instants are opaque integers (ns).
// An unschedulable class whose last pod is removed is forgotten: its next pod is ready,
// and costs one decision.
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
#include "sched/placement/decider.h"

namespace gs::sched {

class Queue {
 public:
  struct Item {
    model::Uid uid;
    std::int32_t priority = 0;
    std::int64_t created_us = 0;
    EquivalenceClass pod_class = 0;
    friend bool operator==(const Item&, const Item&) = default;
  };

  /// Ready, or unschedulable when its class is unschedulable: true then, and the next markUnschedulable() of
  /// the class returns it.
  bool add(const Item& item);
  void remove(const model::Uid& uid);
  /// The next to try; it leaves the queue (the caller adds it again,
  /// backs it off or marks its class unschedulable).
  [[nodiscard]] std::optional<Item> pop();
  /// Tries again at `until_ns` (by tick()).
  void backOff(const Item& item, std::int64_t until_ns);
  /// Everything of that class, now and later, waits until activate();
  /// those backing off join when they are due.
  /// Returns, in queue order, the uids that no markUnschedulable() returned since they were added: a class
  /// that is activated and unschedulable again costs only what was touched.
  /// `on_node`: the name of the one node that may take it, as its request says; "": any may.
  std::vector<model::Uid> markUnschedulable(EquivalenceClass pod_class, const std::string& on_node = {});
  void activate(EquivalenceClass pod_class);
  /// Unschedulable classes with at least one pod, ascending.
  [[nodiscard]] const std::set<EquivalenceClass>& unschedulableClasses() const { return unschedulable_; }
  /// Of these those that any node may take.
  [[nodiscard]] const std::set<EquivalenceClass>& unschedulableAnywhere() const { return anywhere_; }
  /// The one after `id`, after the last one the first; nullopt: there is none.
  [[nodiscard]] std::optional<EquivalenceClass> nextAnywhere(EquivalenceClass id) const {
    return nextOf(anywhere_, id);
  }
  /// And those that only the node of that name may.
  [[nodiscard]] const std::set<EquivalenceClass>& unschedulableOn(const std::string& name) const;
  [[nodiscard]] std::vector<model::Uid> unschedulablePods(
      EquivalenceClass pod_class) const;  // in queue order
  /// Backed-off pods that are due become ready, or unschedulable with their class. Returns those classes:
  /// nobody may have looked at them while nobody waited in them.
  std::vector<EquivalenceClass> tick(std::int64_t now_ns);
  [[nodiscard]] std::optional<std::int64_t> nextDueNs() const;
  [[nodiscard]] bool ready() const { return !fronts_.empty(); }
  struct Sizes {
    std::size_t ready = 0, backoff = 0, unschedulable = 0;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  [[nodiscard]] Sizes sizes() const { return sizes_; }

 private:
  struct Before {
    bool operator()(const Item* a, const Item* b) const;
  };
  using Items = std::set<const Item*, Before>;
  struct Class {
    Items waiting;
    Items untold;  // of those: no markUnschedulable() returned them
    bool unschedulable = false;
    std::string on_node{};  // as it was marked
  };
  struct Entry {
    Item item;
    std::optional<std::int64_t> until_ns;  // set: backing off
  };

  std::optional<EquivalenceClass> leave(const model::Uid& uid);
  Entry& put(const Item& item);
  void enter(Entry& entry);
  void showFront(Class& c);
  void hideFront(const Class& c);
  void forgetIfEmpty(EquivalenceClass id);
  void noteUnschedulable(EquivalenceClass id, const Class& c);
  [[nodiscard]] static std::optional<EquivalenceClass> nextOf(const std::set<EquivalenceClass>& classes,
                                                              EquivalenceClass id);

  std::unordered_map<model::Uid, Entry> entries_;
  std::unordered_map<EquivalenceClass, Class> classes_;
  Items fronts_;                              // the first of each class that is not unschedulable
  std::set<EquivalenceClass> unschedulable_;  // these two together
  std::set<EquivalenceClass> anywhere_;
  std::unordered_map<std::string, std::set<EquivalenceClass>> by_node_;  // none is empty
  std::set<std::pair<std::int64_t, model::Uid>> backing_off_;
  Sizes sizes_;
};

}  // namespace gs::sched
