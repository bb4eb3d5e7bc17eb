#include <fmt/core.h>

#include <algorithm>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/lease_format.h"
#include "kapi/time.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

using json::View;
using model::Lease;

constexpr std::int64_t kMostMilli = 1'000'000;
constexpr std::int64_t kMostMib = std::int64_t{1} << 40;

/// The lease's annotations by their names below gpu.scheduling/.
class Annotations {
 public:
  explicit Annotations(const View& meta) : values_{meta["annotations"]} {}
  [[nodiscard]] bool has(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::string get(std::string_view name) const { return text(find(name).value_or(View{})); }

 private:
  [[nodiscard]] std::optional<View> find(std::string_view name) const {
    return values_.find("gpu.scheduling/" + std::string{name});
  }
  View values_;
};

/// Keeps the first complaint.
void malformed(Lease& lease, std::string what) {
  if (lease.malformed.empty()) { lease.malformed = std::move(what); }
}

/// "" when `devices` is "<node>:<ids>" of this lease's node with this lease's gpu among them. A lease that
/// says which GPU it is for follows it when its node numbers its GPUs anew: then `devices` still says what
/// the pod was given.
std::string devicesTrouble(const Lease& lease, const std::string& devices) {
  const auto all = model::parseAllocation(devices);
  if (!all) { return all.error().message; }
  const bool is_given = std::find(all->ids.begin(), all->ids.end(), lease.gpu) != all->ids.end();
  if (all->node != lease.node || (!is_given && lease.uuid.empty())) {
    return fmt::format("devices '{}' do not contain GPU {} of node {}", devices, lease.gpu, lease.node.text);
  }
  return "";
}

void readShare(const View& v, Lease& lease) {
  model::ShareHolder h;
  h.uid = model::Uid{v["uid"].str()};
  h.pod = {text(v["namespace"]), text(v["name"])};
  h.milli = bounded(v["milli"], kMostMilli, -1);
  h.mib = bounded(v["mib"], kMostMib, -1);
  h.reservation = model::ReservationId{v["reservation"].str()};
  h.devices = text(v["devices"]);
  if (h.uid.empty() || h.pod.ns.empty() || h.pod.name.empty() || h.reservation.empty() || h.milli < 0 ||
      h.mib < 0) {
    malformed(lease,
              fmt::format("holders has an entry without uid, namespace, name, milli, mib or reservation: {}",
                          json::print(v.value()).substr(0, 200)));
  }
  if (auto trouble = devicesTrouble(lease, h.devices); !trouble.empty()) {
    malformed(lease, "holders: " + trouble);
  }
  h.milli = std::max<std::int64_t>(h.milli, 0);
  h.mib = std::max<std::int64_t>(h.mib, 0);
  if (!h.uid.empty()) { lease.holders.push_back(std::move(h)); }
}

void readHolders(const std::string& json_text, Lease& lease) {
  const auto list = json::parse(json_text);
  if (!list || !list->isArray()) {
    malformed(lease, fmt::format("holders is no JSON array: '{}'", json_text.substr(0, 200)));
    return;
  }
  std::size_t entries = 0;
  for (const View entry : list->items()) {
    if (++entries <= model::kMaxSharers) { readShare(entry, lease); }
  }
  std::sort(lease.holders.begin(), lease.holders.end());
  const auto same = [](const auto& a, const auto& b) { return a.uid == b.uid; };
  if (std::adjacent_find(lease.holders.begin(), lease.holders.end(), same) != lease.holders.end()) {
    malformed(lease, "holders names a pod twice");
  }
  if (lease.holders.empty()) { malformed(lease, "holders is empty"); }
  if (entries > model::kMaxSharers) {  // the first ones hold it: nobody else can take it
    malformed(lease, fmt::format("holders has {} entries, more than {}", entries, model::kMaxSharers));
  }
}

void readOwner(const Annotations& from, Lease& lease) {
  lease.pod = {from.get("pod-namespace"), from.get("pod-name")};
  lease.pod_uid = model::Uid{from.get("pod-uid")};
  lease.reservation = model::ReservationId{from.get("reservation")};
  lease.devices = from.get("devices");
  for (const char* name : {"pod-namespace", "pod-name", "pod-uid", "reservation"}) {
    if (from.get(name).empty()) {
      malformed(lease, fmt::format("annotation gpu.scheduling/{} is missing", name));
    }
  }
  if (lease.holder != lease.pod_uid.text) {
    malformed(lease,
              fmt::format("holderIdentity '{}' is not the pod-uid '{}'", lease.holder, lease.pod_uid.text));
  }
  if (auto trouble = devicesTrouble(lease, lease.devices); !trouble.empty()) {
    malformed(lease, std::move(trouble));
  }
}

/// The annotations of R63. What can be read is read even when another part is malformed.
void readGpuLease(const Annotations& from, Lease& lease) {
  lease.format = smallNumber(from.get("format"), 1'000'000).value_or(0);
  if (lease.format != leaseFormat()) {
    malformed(lease, fmt::format("format '{}' is not this version's, {}: its GPU is held until its "
                                 "pod has ended",
                                 from.get("format"), leaseFormat()));
    lease.format = std::max(lease.format, 1);
    lease.other_format = true;
  }
  lease.node = model::NodeName{from.get("node")};
  lease.gpu = smallNumber(from.get("gpu"), model::kMaxDeviceId).value_or(-1);
  lease.uuid = from.get("uuid");
  if (lease.node.empty()) { malformed(lease, "annotation gpu.scheduling/node is missing"); }
  if (lease.gpu < 0) {
    malformed(lease, fmt::format("annotation gpu.scheduling/gpu='{}' is not an id from 0 to {}",
                                 from.get("gpu"), model::kMaxDeviceId));
  }
  if (lease.shared()) {
    readHolders(from.get("holders"), lease);
  } else {
    readOwner(from, lease);
  }
}

std::string asWritten(const View& v) {
  json::Value all = v.value();
  all.child("metadata").erase("managedFields");
  return json::print(all);
}

constexpr KindInfo kLeaseInfo{"coordination.k8s.io", "v1", "leases", "Lease", true, decodedBy<decodeLease>};

}  // namespace

constinit const Kind kLease{kLeaseInfo};

Lease decodeLease(const View& v) {
  const View meta = v["metadata"];
  const View spec = v["spec"];
  Lease lease;
  lease.key = objectKey(v);
  lease.uid = uidField(v);
  lease.revision = objectRevision(v);
  lease.created = parseTime(meta["creationTimestamp"].str()).value_or(Wall{});
  lease.managed = meta["labels"][model::kManagedLabel].str() == "true";
  lease.holder = text(spec["holderIdentity"]);
  lease.record = {bounded(spec["leaseDurationSeconds"], INT32_MAX),
                  bounded(spec["leaseTransitions"], INT32_MAX),
                  text(spec["acquireTime"]),
                  text(spec["renewTime"]),
                  text(meta["annotations"][model::kAddressKey]),
                  text(meta["annotations"][model::kLeaseSchedulerKey]),
                  text(meta["annotations"][model::kHolderContainerKey])};
  const Annotations annotations{meta};
  if (annotations.has("format")) {
    readGpuLease(annotations, lease);
    if (lease.shared() && !lease.malformed.empty()) { lease.as_written = asWritten(v); }
  } else if (
      lease.managed) {  // an ancestor's: it stands in its pod's namespace and has the pod's name as a label
    lease.pod = {lease.key.ns, text(meta["labels"][model::kPodLabel])};
  }
  return lease;
}

}  // namespace gs::kapi
