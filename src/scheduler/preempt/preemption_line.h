// Pods that wait for a search for whom may go for them, and which of them may have a nomination.
//
// Order: priority, then who was searched for in vain less often, then creation, then uid. So those for whom
// there is nobody, however many, keep nobody of their priority waiting.
// There are kMost nominations at a time. Only those of its own priority and higher ones count for a pod, so
// that it never waits for less important ones, and of these a namespace has no more than it leaves to others
// (controller/fair_share.h): some of them may last very long, as victims end when they want to.
// A pod stands here once. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/clock.h"
#include "controller/fair_share.h"
#include "model/pod.h"

namespace gs::scheduler {

class PreemptionLine {
 public:
  static constexpr int kMost = 512;

  /// `tries`: searches for it that came to nothing. One that stands here already: no effect.
  void add(const model::Pod& pod, int tries);
  void remove(const model::Uid& uid);
  /// Somebody may have a nomination now.
  [[nodiscard]] bool any() const { return next().has_value(); }
  /// The first of these leaves.
  [[nodiscard]] std::optional<model::Uid> take();

  /// A pod of that namespace and priority may have one.
  [[nodiscard]] bool hasRoom(const std::string& ns, std::int32_t priority) const;
  /// It has one; and has it no more.
  void hold(const std::string& ns, std::int32_t priority);
  void giveBack(const std::string& ns, std::int32_t priority);

  [[nodiscard]] std::size_t size() const { return place_.size(); }
  void reset();

 private:
  using Turn = std::tuple<std::int64_t, int, Wall, model::Uid>;
  struct Place {
    std::string ns;
    Turn turn;
  };
  [[nodiscard]] std::optional<model::Uid> next() const;
  [[nodiscard]] int heldFrom(std::int32_t priority) const;

  std::unordered_map<model::Uid, Place> place_;
  std::map<std::string, std::set<Turn>> by_namespace_;  // none is empty
  std::map<Turn, std::string> fronts_;                  // the first of each, and its namespace
  std::map<std::int32_t, controller::FairShare> held_;  // by priority; none is of nobody
};

}  // namespace gs::scheduler
