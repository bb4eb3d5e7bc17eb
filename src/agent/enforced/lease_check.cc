#include "agent/enforced/lease_check.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "enforce/holder.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

constexpr std::size_t kShown = 200;  // bytes of what somebody wrote

std::string shown(const std::string& text) { return text.substr(0, kShown); }

class Check {
 public:
  Check(const model::Lease& lease, const LeaseQuestion& asked)
      : lease_{lease}, asked_{asked}, part_{lease.partOf(asked.pod)} {}

  LeaseSays run() {
    LeaseSays out;
    out.is_shared = lease_.shared();
    out.uuid = lease_.uuid;
    out.why = whyNot();
    out.is_its = out.why.empty();
    if (isOfDevice() && !part_) { out.holder = firstHolder(); }
    return out;
  }

 private:
  [[nodiscard]] std::string whyNot() const {
    if (!isOfDevice()) {
      return fmt::format("lease {} is not one of GPU {} of node {} that gpu-scheduler wrote", name(),
                         model::print(asked_.device), asked_.node.text);
    }
    if (!part_) { return notNamed(); }
    if (!lease_.malformed.empty() && !lease_.shared() && !lease_.other_format) {
      return fmt::format("lease {} cannot be read: {}", name(), lease_.malformed);
    }
    if (!isOfReservation()) {
      return fmt::format("lease {} gives it GPU {} by reservation '{}', and it was bound with '{}'", name(),
                         model::print(asked_.device), shown(part_->reservation.text),
                         shown(asked_.said.reservation));
    }
    return differs();
  }
  [[nodiscard]] bool isOfDevice() const {
    const bool is_of_gpu = lease_.gpu == asked_.device.gpu && asked_.device.isWhole();
    return lease_.isOurs() && lease_.node == asked_.node && is_of_gpu;
  }
  [[nodiscard]] std::string notNamed() const {
    if (lease_.shared()) {
      return fmt::format("lease {} shares GPU {} of node {} among other pods, and does not name this one",
                         name(), model::print(asked_.device), asked_.node.text);
    }
    return fmt::format("lease {} gives GPU {} of node {} to pod {} (uid '{}'), and not to this one", name(),
                       model::print(asked_.device), asked_.node.text, lease_.pod.text(),
                       shown(firstHolder().text));
  }
  [[nodiscard]] bool isOfReservation() const {
    const bool says_none = lease_.other_format && part_->reservation.empty();
    return asked_.said.reservation.empty() || says_none || part_->reservation.text == asked_.said.reservation;
  }
  /// The reservation may be of other devices than the pod says.
  [[nodiscard]] std::string differs() const {
    if (lease_.other_format) { return ""; }
    const auto all = enforce::devicesSaid(part_->devices, asked_.node.text);
    if (all && *all == asked_.said.devices) { return ""; }
    return fmt::format("lease {} says that it was given '{}', and its annotation {} says '{}'", name(),
                       shown(part_->devices), model::kAllocatedKey, shown(asked_.said.allocated));
  }
  [[nodiscard]] model::Uid firstHolder() const {
    const std::vector<model::Uid> uids = lease_.uids();
    return uids.empty() ? model::Uid{} : uids.front();
  }
  [[nodiscard]] std::string name() const { return lease_.key.text(); }

  const model::Lease& lease_;
  const LeaseQuestion& asked_;
  std::optional<model::ShareHolder> part_;
};

}  // namespace

LeaseSays leaseSays(const model::Lease& lease, const LeaseQuestion& question) {
  return Check{lease, question}.run();
}

}  // namespace gs::agent
