#include "agent/enforced/enforced.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <variant>

#include "agent/enforced/metrics.h"
#include "base/due.h"
#include "model/annotations.h"
#include "model/resources.h"

namespace gs::agent {
namespace {

constexpr std::size_t kMostShown = 200;  // bytes of an annotation

bool isSame(const enforce::NodeRecord& a, const enforce::NodeRecord& b) {
  return a.node == b.node && a.devices == b.devices && a.holdings == b.holdings && a.held == b.held &&
         a.knows_pods == b.knows_pods && a.by_driver == b.by_driver;
}

}  // namespace

Enforced::Enforced(Config config, controller::Parts& parts, Rng& rng)
    : config_{std::move(config)},
      held_{{config_.node, config_.lease_namespace}, parts, rng},
      news_{config_.node, parts},
      evictions_{parts} {
  enforce::NodeRecord nothing;
  nothing.node = config_.node.text;
  record_ = std::make_shared<const enforce::NodeRecord>(std::move(nothing));
}

// ---- what is known

void Enforced::changed(const model::Pod& pod) {
  if (config_.is_on) { held_.changed(pod); }
  const std::string* allocated = pod.annotation(model::kAllocatedKey);
  const bool is_served_twice = allocated != nullptr && pod.requests.get(model::kNvidiaGpu) > 0;
  if (is_served_twice && !pod.finished()) {
    with_limits_[pod.uid] = {pod.key, allocated->substr(0, kMostShown)};
  } else {
    with_limits_.erase(pod.uid);
  }
}

void Enforced::gone(const model::Uid& uid) {
  held_.gone(uid);
  news_.gone(uid);
  evictions_.gone(uid);
  with_limits_.erase(uid);
}

void Enforced::setDevices(std::vector<enforce::NodeDevice> devices) {
  if (!config_.is_on) { return; }
  devices_ = std::move(devices);
  devices_changed_ = true;
}

void Enforced::advance(const Facts& facts, Now now, kapi::Effects& out) {
  if (config_.is_on) {
    held_.read(facts.knows_pods && !facts.by_driver);
    held_.sweep(facts.has_containers);
    held_.tick(now, out);
    evictions_.tick(now, out);
    renewRecord(facts);
    gauges_.tell(kNriConnected, is_connected_ ? 1 : 0, out);
  }
  if (is_set_unknown_) { sayUnknown(now, out); }
  news_.tick(now, out);
}

/// Whose containers were there before this process are not judged by a record that does not know yet what
/// their pods hold.
void Enforced::renewRecord(const Facts& facts) {
  knows_pods_ = facts.knows_pods && (knows_pods_ || facts.by_driver || held_.allAnswered());
  const bool is_seen = seen_ == held_.changes() && !devices_changed_ && record_->knows_pods == knows_pods_;
  if (is_seen && record_->by_driver == facts.by_driver) { return; }
  seen_ = held_.changes();
  devices_changed_ = false;
  enforce::NodeRecord next;
  next.node = config_.node.text;
  next.devices = devices_;
  next.knows_pods = knows_pods_;
  next.by_driver = facts.by_driver;
  if (!facts.by_driver) { held_.fill(next); }
  if (isSame(next, *record_)) { return; }
  next.version = record_->version + 1;
  record_ = std::make_shared<const enforce::NodeRecord>(std::move(next));
}

std::optional<Mono> Enforced::nextDue() const {
  const auto due = soonest({evictions_.nextDue(), news_.nextDue()});
  return config_.is_on ? sooner(due, held_.nextDue()) : due;
}

// ---- what is said

void Enforced::report(const enforce::Report& report, Now now, kapi::Effects& out) {
  is_connected_ = report.is_connected;
  why_not_ = report.is_connected ? "" : report.why;
  metrics_.tell(report, *record_, out);
  sayAll(report, now, out);
}

void Enforced::sayAll(const enforce::Report& report, Now now, kapi::Effects& out) {
  for (const enforce::Said& said : report.said) {
    if (std::holds_alternative<enforce::Reason>(said.what)) {
      news_.warnPod(said.pod, said.uid, "GpuRefused", said.text, now, out);
    } else if (said.what == decltype(said.what){enforce::Remark::Moved}) {
      news_.warnPod(said.pod, said.uid, "GpuMoved", said.text, now, out);
    }
  }
  std::map<model::Uid, model::ObjectKey> to_go;
  for (const enforce::Mismatch& mismatch : report.mismatches) {
    sayMismatch(mismatch, now, out);
    const bool is_known = !mismatch.pod.empty() && !mismatch.pod_name.empty();
    if (mismatch.wrong != enforce::Wrong::HasAnothers || !is_known) { continue; }
    to_go.emplace(mismatch.pod, model::ObjectKey{mismatch.ns, mismatch.pod_name});
  }
  if (config_.on_mismatch == OnMismatch::Evict) { evictions_.want(std::move(to_go)); }
}

void Enforced::sayMismatch(const enforce::Mismatch& mismatch, Now now, kapi::Effects& out) {
  news_.warnPod({mismatch.ns, mismatch.pod_name}, mismatch.pod, "GpuMismatch", mismatch.text, now, out);
  if (record_->holdings.contains(mismatch.pod)) { return; }
  news_.warnNode(node_uid_, "GpuMismatch", mismatch.text, now, out);
}

void Enforced::sayUnknown(Now now, kapi::Effects& out) {
  for (const auto& [uid, one] : with_limits_) {
    const std::string note = fmt::format(
        "the pod was given GPUs {} and has a limit of {}: a device plugin of node {} picks GPUs for that "
        "limit, and no agent sets it right, so its containers may have others; run gpu-scheduler-agent with "
        "--enforce=devices, or take that limit out of the pod",
        one.allocated, model::kNvidiaGpu, config_.node.text);
    news_.warnPod(one.pod, uid, "GpuSetUnknown", note, now, out);
  }
  with_limits_.clear();
}

}  // namespace gs::agent
