#include "sandbox/world/claim_warnings.h"

#include <optional>
#include <string>

#include "kapi/decode.h"
#include "sched/placement/claim_oddities.h"

namespace gs::sandbox {
namespace {

using apiserver::AdmissionRequest;
using apiserver::AdmissionResponse;
using json::Value;

class ClaimWarnings final : public apiserver::AdmissionPlugin {
 public:
  explicit ClaimWarnings(const apiserver::Store& store) : store_{store} {}

  std::optional<AdmissionResponse> validate(const AdmissionRequest& request, const Value& object) override {
    AdmissionResponse response;
    if (!request.resource.is("gpu.scheduling/gpuclaims") || !request.subresource.empty()) { return response; }
    const auto warn = [&](const std::optional<sched::ClaimOddity>& oddity) {
      if (oddity) { response.warnings.push_back(oddity->text); }
    };
    if (object.isNull()) {
      warn(oddityOfDeletion(usersOf(kapi::decodeClaim(request.old))));
      return response;
    }
    const model::GpuClaim claim = kapi::decodeClaim(object);
    if (!request.old.isNull() && kapi::decodeClaim(request.old).count != claim.count) {
      warn(oddityOfCount(usersOf(claim)));
    }
    return response;
  }

 private:
  [[nodiscard]] sched::ClaimUsers usersOf(const model::GpuClaim& claim) const {
    sched::ClaimUsers users{claim.key, claim.count};
    const auto& objects = store_.objects();
    for (auto it = objects.lower_bound({"/pods", claim.key.ns, ""});
         it != objects.end() && it->first.resource == "/pods" && it->first.ns == claim.key.ns; ++it) {
      const Value& pod = *it->second.object;
      if (mentions(pod, claim.key.name)) { users.add(kapi::decodePod(pod)); }
    }
    return users;
  }

  /// Whoever names a claim does it in an annotation; decoding every pod would be dear.
  static bool mentions(const Value& pod, const std::string& name) {
    const json::View annotations{pod["metadata"]["annotations"]};
    for (const auto [key, value] : annotations.members()) {
      if (value.str() == name) { return true; }
    }
    return false;
  }

  const apiserver::Store& store_;
};

}  // namespace

std::unique_ptr<apiserver::AdmissionPlugin> claimWarnings(const apiserver::Store& store) {
  return std::make_unique<ClaimWarnings>(store);
}

}  // namespace gs::sandbox
