#include <utility>

#include "apiserver/admission/default_class.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kBetaClassNote = "volume.beta.kubernetes.io/storage-class";

bool isMarkedDefault(const Value& storage_class) {
  const Value& notes = storage_class["metadata"]["annotations"];
  return notes["storageclass.kubernetes.io/is-default-class"].str() == "true" ||
         notes["storageclass.beta.kubernetes.io/is-default-class"].str() == "true";
}

/// A claim as such, and not a subresource of it.
bool isOfClaim(const AdmissionRequest& request, Operation operation) {
  return request.operation == operation && request.subresource.empty() &&
         request.resource.is("/persistentvolumeclaims");
}

class DefaultStorageClass final : public AdmissionPlugin {
 public:
  explicit DefaultStorageClass(const Store& store) : store_{store} {}

  std::optional<AdmissionResponse> mutate(const AdmissionRequest& request, Value& claim) override {
    if (!isOfClaim(request, Operation::Create) || namesClass(claim)) { return AdmissionResponse{}; }
    std::string name = defaultClassName(store_);
    if (!name.empty()) { claim.child("spec").set("storageClassName", std::move(name)); }
    return AdmissionResponse{};
  }

 private:
  const Store& store_;
};

class ClaimResize final : public AdmissionPlugin {
 public:
  explicit ClaimResize(const Store& store) : store_{store} {}

  std::optional<AdmissionResponse> validate(const AdmissionRequest& request, const Value& claim) override {
    AdmissionResponse response;
    if (!isOfClaim(request, Operation::Update)) { return response; }
    const auto size = [](const Value& of) { return of["spec"]["resources"]["requests"]["storage"]; };
    if (compareAmounts(size(claim), size(request.old)) <= 0) { return response; }
    const char* why = request.old["status"]["phase"].str() != "Bound"
                          ? "Only bound persistent volume claims can be expanded"
                      : mayGrow(claim, request.old)
                          ? nullptr
                          : "only dynamically provisioned pvc can be resized and the storageclass that "
                            "provisions the pvc must support resize";
    if (why == nullptr) { return response; }
    response.refused = forbidden(request.resource.subject(), request.name, why).value();
    return response;
  }

 private:
  [[nodiscard]] bool mayGrow(const Value& claim, const Value& old) const {
    const std::string name = classOfClaim(claim);
    if (name.empty() || name != classOfClaim(old)) { return false; }
    const StoredObject* there = store_.find({kStorageClassesId, "", name});
    return there != nullptr && (*there->object)["allowVolumeExpansion"].boolOr(false);
  }

  const Store& store_;
};

}  // namespace

std::string classOfClaim(const json::Value& claim) {
  const Value* note = claim["metadata"]["annotations"].find(kBetaClassNote);
  return std::string{note != nullptr ? note->str() : claim["spec"]["storageClassName"].str()};
}

bool namesClass(const json::Value& claim) {
  return claim["metadata"]["annotations"].find(kBetaClassNote) != nullptr ||
         !claim["spec"]["storageClassName"].isNull();
}

/// Times are texts that sort as they are.
std::string defaultClassName(const Store& store) {
  const Value* out = nullptr;
  const auto born = [](const Value& one) { return one["metadata"]["creationTimestamp"].str(); };
  const auto [begin, end] = store.range(kStorageClassesId);
  for (auto it = begin; it != end; ++it) {
    const Value& one = *it->second.object;
    if (isMarkedDefault(one) && (out == nullptr || born(one) > born(*out))) { out = &one; }
  }
  return out == nullptr ? "" : std::string{(*out)["metadata"]["name"].str()};
}

std::unique_ptr<AdmissionPlugin> defaultStorageClass(const Store& store) {
  return std::make_unique<DefaultStorageClass>(store);
}
std::unique_ptr<AdmissionPlugin> claimResize(const Store& store) {
  return std::make_unique<ClaimResize>(store);
}

}  // namespace gs::apiserver
