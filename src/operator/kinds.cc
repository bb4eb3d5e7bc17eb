#include "operator/kinds.h"

#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::gkm {
namespace {

using json::View;

constexpr std::size_t kMostModes = 8;

CsiDriverObject decodeCsiDriver(const View& v) {
  CsiDriverObject out;
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  const View spec = v["spec"];
  out.attach_required = spec["attachRequired"].boolOr(true);
  out.pod_info_on_mount = spec["podInfoOnMount"].boolOr(false);
  out.fs_group_policy = kapi::text(spec["fsGroupPolicy"]);
  for (const View mode : spec["volumeLifecycleModes"].items()) {
    if (out.modes.size() == kMostModes) { break; }
    out.modes.push_back(kapi::text(mode));
  }
  return out;
}

NodePresence decodePresence(const View& v) {
  return {kapi::objectKey(v), kapi::uidField(v), kapi::objectRevision(v)};
}

constexpr kapi::KindInfo kCsiDriverInfo{"storage.k8s.io", "v1",  "csidrivers",
                                        "CSIDriver",      false, kapi::decodedBy<decodeCsiDriver>};
constexpr kapi::KindInfo kNodePresenceInfo{"", "v1", "nodes", "Node", false, kapi::decodedBy<decodePresence>};

}  // namespace

constinit const kapi::Kind kCsiDriver{kCsiDriverInfo};
constinit const kapi::Kind kNodePresence{kNodePresenceInfo};

}  // namespace gs::gkm
