#include "csi/gate/gate.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "csi/kubelet/request_checks.h"
#include "model/gate.h"

namespace gs::csi {
namespace {

tl::unexpected<Error> refusedCall(std::string text) { return fail(Code::Invalid, std::move(text)); }

/// As csi/volume_request.h checks a cache's; what else the volume says means nothing here.
Status checkGateCall(const rpc::PublishRequest& request, const std::string& target_root) {
  constexpr const char* kCall = "NodePublishVolume";
  if (Status fine = checkId(request.volume_id, kCall); !fine) { return fine; }
  if (request.target_path.empty()) {
    return refusedCall(fmt::format("must provide a TargetPath to {}", kCall));
  }
  if (!request.has_capability) {
    return refusedCall(fmt::format("must provide a VolumeCapability to {}", kCall));
  }
  if (request.is_block) {
    return refusedCall("volume_capability asks for a block device; the gate's volume is an empty folder");
  }
  if (Status fine = checkTarget(request.target_path, target_root, "target_path"); !fine) { return fine; }
  return checkPodInfo(request.context, model::kGateDriver);
}

}  // namespace

Gate::Gate(Options options, MayStart may_start, const Clock& clock)
    : options_{std::move(options)},
      may_start_{std::move(may_start)},
      clock_{clock},
      folders_{options_.target_root} {}

Result<Gate::Asked> Gate::read(const rpc::PublishRequest& request) const {
  if (Status fine = checkGateCall(request, options_.target_root); !fine) {
    return tl::unexpected(fine.error());
  }
  if (valueOf(request.context, kEphemeralKey) != "true") {
    return refusedCall(
        fmt::format("a PersistentVolume names the driver {}: it has none to give; the volume "
                    "stands in a pod's own spec",
                    model::kGateDriver));
  }
  const std::string uid = valueOf(request.context, kPodUidKey);
  const auto target = readTarget(request.target_path, options_.target_root);
  if (!target || target->pod_uid != uid) {
    return refusedCall(
        fmt::format("target_path '{}' is no volume of the pod with uid {}, which the kubelet "
                    "says it is of",
                    request.target_path, uid));
  }
  return Asked{model::Uid{uid}, valueOf(request.context, kPodNamespaceKey),
               valueOf(request.context, kPodNameKey)};
}

Status Gate::publish(const rpc::PublishRequest& request) {
  const auto asked = read(request);
  if (!asked) { return tl::unexpected(asked.error()); }
  Status may = waitFor(*asked);
  return may ? makeBare(request.target_path) : may;
}

Status Gate::waitFor(const Asked& asked) {
  const Mono until = clock_.now().mono + options_.patience;
  while (true) {
    const std::uint64_t seen = changes();  // before it is asked: no change is missed
    Status may = may_start_(asked.pod, asked.ns, asked.name);
    const bool may_pass = !may && may.error().code == Code::Unavailable;
    if (!may_pass || !isChangedSince(seen, until)) { return may; }
  }
}

std::uint64_t Gate::changes() const {
  const MutexLock lock{mutex_};
  return changes_;
}

/// False: not until then, or nobody is to wait.
bool Gate::isChangedSince(std::uint64_t seen, Mono until) {
  const MutexLock lock{mutex_};
  if (waiting_ >= options_.most_waiting) { return false; }
  ++waiting_;
  while (!stopping_ && changes_ == seen && clock_.now().mono < until) {
    static_cast<void>(woken_.waitUntil(mutex_, until));
  }
  --waiting_;
  return !stopping_ && changes_ != seen && clock_.now().mono < until;
}

/// One with something in it, or mounted at it, would keep the pod from ending: no kubelet removes that.
Status Gate::makeBare(const std::string& target) const {
  if (Status made = folders_.make(target); !made) { return made; }
  const auto bare = folders_.isBare(target);
  if (!bare) { return tl::unexpected(bare.error()); }
  if (*bare) { return {}; }
  return fail(Code::Conflict,
              fmt::format("{} is not empty, or something is mounted there that the gate did not make: look "
                          "what is in it (findmnt {}), and remove it",
                          target, target));
}

Status Gate::unpublish(const rpc::UnpublishRequest& request) {
  constexpr const char* kCall = "NodeUnpublishVolume";
  if (request.volume_id.empty()) { return refusedCall(fmt::format("must provide a VolumeId to {}", kCall)); }
  if (request.target_path.empty()) {
    return refusedCall(fmt::format("must provide a TargetPath to {}", kCall));
  }
  Status done = checkTarget(request.target_path, options_.target_root, "target_path");
  if (done) { done = folders_.remove(request.target_path); }
  if (!done) {
    log::warn("the gate's folder stays; the kubelet is told that it is done",
              {{"volume", isPlainText(request.volume_id) ? request.volume_id.substr(0, kMostOfAnId) : "?"},
               {"why", done.error().message}});
  }
  return {};
}

Result<rpc::VolumeStats> Gate::stats(const rpc::StatsRequest& request) {
  constexpr const char* kCall = "NodeGetVolumeStats";
  if (Status fine = checkId(request.volume_id, kCall); !fine) { return tl::unexpected(fine.error()); }
  if (request.volume_path.empty()) {
    return refusedCall(fmt::format("must provide a VolumePath to {}", kCall));
  }
  const bool is_below = checkTarget(request.volume_path, options_.target_root, "volume_path").has_value();
  if (!is_below || !folders_.open(request.volume_path)) {
    return fail(Code::NotFound, "no volume is at volume_path");
  }
  return rpc::VolumeStats{};  // nothing is in it
}

void Gate::stopping() {
  const MutexLock lock{mutex_};
  stopping_ = true;
  woken_.notifyAll();
}

void Gate::changed() {
  const MutexLock lock{mutex_};
  ++changes_;
  woken_.notifyAll();
}

std::size_t Gate::waiting() const {
  const MutexLock lock{mutex_};
  return waiting_;
}

}  // namespace gs::csi
