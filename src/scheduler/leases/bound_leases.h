// The leases of bound pods: each device that a pod of ours has has a lease that names it, of the reservation
// that it was bound for, and no other lease names it. What is missing is written again, with backoff for each
// (pod, lease); what landed late, or is an ancestor's, is deleted. Where another pod's lease stands on its
// device it is said once. A part of the scheduler's; one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/backoff.h"
#include "scheduler/core/context.h"
#include "scheduler/leases/lease_desk.h"
#include "scheduler/term/lease_record.h"

namespace gs::scheduler {

class BoundLeases : public controller::Part {
 public:
  BoundLeases(Context& context, LeaseDesk& desk, const LeaseRecord& record)
      : c_{context}, desk_{desk}, record_{record} {
    c_.parts.add(*this);
  }

  /// Sees to the leases of this pod, which is bound and ours.
  /// Returns the devices of its node that it has now, ascending.
  std::vector<int> see(const model::Pod& pod);
  /// What came of a missing lease of a bound pod.
  void repaired(const model::Pod& pod, const LeaseNotice& notice);
  void podEnded(const model::Uid& uid) override { forget(uid, {}); }
  [[nodiscard]] std::size_t size() const override { return failing(); }

  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return repairs_.nextDue(); }
  void reset() override;

  /// Leases of running pods that are missing and cannot be written.
  [[nodiscard]] std::size_t failing() const { return failing_.size(); }
  /// Why not, of one of them.
  [[nodiscard]] const std::string& oneFailure() const { return failing_.begin()->second; }
  /// How often a lease or an id of one was looked at.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  using LeaseOf = std::pair<model::Uid, model::ObjectKey>;  // one pod's part of one lease
  [[nodiscard]] std::optional<std::vector<int>> devicesOf(const model::Pod& pod,
                                                          const std::optional<std::vector<int>>& told) const;
  [[nodiscard]] bool sharesDevices(const model::Pod& pod, const std::vector<int>& ids) const;
  [[nodiscard]] bool anotherOfOursHas(const model::Pod& pod, int id,
                                      const std::function<bool(const model::Pod&)>& is) const;
  [[nodiscard]] bool anotherWasTold(const model::Pod& pod, int id) const;
  [[nodiscard]] std::vector<int> leasable(const model::Pod& pod, const std::vector<int>& ids) const;
  [[nodiscard]] std::string uuidGiven(const model::Pod& pod, const std::vector<int>& given, int id) const;
  void keepLeases(const model::Pod& pod, const std::vector<int>& given, const std::vector<int>& held);
  void dropOrphans(const model::Pod& pod, const std::optional<std::vector<int>>& ids);
  void forget(const model::Uid& uid, const std::set<model::ObjectKey>& but);

  Context& c_;
  LeaseDesk& desk_;
  const LeaseRecord& record_;
  controller::Backoff<LeaseOf> repairs_{{std::chrono::milliseconds{200}, std::chrono::seconds{30}}};
  std::map<LeaseOf, std::string> failing_;  // repairs that failed, and why
  mutable std::uint64_t looks_ = 0;
};

}  // namespace gs::scheduler
