// Which waiting pods a change concerns: of quotas, or of what is used of them.
//
// Problem: thousands of equivalence classes may wait, and every pod that comes or goes changes what its
// namespace uses.
// Classes stand here by namespace and by how much GPU one of their pods counts. So a change of use costs the
// models that the namespace's quota names, and the classes for which one of them became usable or ceased to
// be. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sched/ledger/quota.h"

namespace gs::sched {

class QuotaIndex {
 public:
  using EquivalenceClass = std::uint32_t;
  using RoomOf = std::function<std::optional<QuotaRoom>(const std::string& ns)>;
  using Bind = std::function<void(EquivalenceClass, const QuotaTerms&)>;

  void add(EquivalenceClass id, const QuotaBound& bound);
  void remove(EquivalenceClass id, const QuotaBound& bound);
  /// Calls `bind` with the new terms of each class whose terms are others than when it was added or this was
  /// last called; perhaps of more. `all`: the quotas themselves changed.
  void follow(const Ledger& ledger, const RoomOf& room_of, bool all, const Bind& bind);

 private:
  struct Namespace {
    std::optional<QuotaRoom> room;  // as its kinds, but for the fresh ones, are bound
    std::map<std::int64_t, std::set<EquivalenceClass>> kinds;  // by milli
  };
  using Fresh = std::tuple<std::string, std::int64_t, EquivalenceClass>;

  [[nodiscard]] static bool has(const Namespace& of, std::int64_t milli, EquivalenceClass id);
  static void bindRange(const Namespace& of, std::int64_t over, std::int64_t most, const QuotaRoom& room,
                        const Bind& bind);
  static void followOne(Namespace& of, std::optional<QuotaRoom> room, const Bind& bind);

  std::unordered_map<std::string, Namespace> namespaces_;
  std::vector<Fresh> fresh_;  // added since follow()
  std::uint64_t position_ = 0;
};

}  // namespace gs::sched
