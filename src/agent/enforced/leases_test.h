// For tests only: leases as an API server has them, and what it answers who gets one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kapi/call.h"
#include "kapi/decode.h"
#include "kapi/write.h"
#include "testing/builders.h"

namespace gs::agent {

/// Of namespace "leases", by name.
class FakeLeases {
 public:
  static constexpr const char* kNamespace = "leases";

  /// That pod has GPU `gpu` of node "n" alone.
  model::Lease& give(int gpu, const model::Pod& pod, const std::string& reservation,
                     const std::string& devices) {
    model::Lease lease = testing::makeLease("n", gpu, pod, reservation, devices);
    lease.key.ns = kNamespace;
    return all[lease.key.name] = std::move(lease);
  }
  /// Those share it.
  model::Lease& share(int gpu, std::vector<model::ShareHolder> holders) {
    model::Lease& lease = give(gpu, {}, "", "");
    lease.holder = "shared";
    lease.holders = std::move(holders);
    return lease;
  }
  [[nodiscard]] kapi::Outcome answer(const kapi::Call& call) const {
    const auto it = all.find(call.key.name);
    if (call.key.ns != kNamespace || it == all.end()) { return refused(call, 404, "NotFound"); }
    return kapi::decodeAnswerValue(call, 200, kapi::updateLease(it->second).body);
  }
  [[nodiscard]] static kapi::Outcome refused(const kapi::Call& call, int code, const char* reason) {
    return kapi::decodeAnswerValue(
        call, code, json::Value{json::Object{{"kind", "Status"}, {"reason", reason}, {"message", reason}}});
  }

  std::map<std::string, model::Lease> all;
};

/// Bound to node "n" with these devices, by that reservation; "" each: it does not say any.
inline model::Pod podWith(const std::string& name, const std::string& allocated,
                          const std::string& reservation) {
  testing::PodBuilder out{name};
  out.on("n").running();
  if (!allocated.empty()) { out.allocated(allocated); }
  if (!reservation.empty()) { out.annotate(model::kReservationKey, reservation); }
  return out.value();
}

}  // namespace gs::agent
