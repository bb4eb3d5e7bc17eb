// The admission plugins that every kube-apiserver has, as far as what they look at is served here.
#pragma once

#include <memory>

#include "apiserver/admission/admission.h"
#include "apiserver/storage/store.h"

namespace gs::apiserver {

/// NamespaceLifecycle: nothing new in a namespace that is not there (404) or that is being deleted (403); the
/// namespaces of the system stay (403).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> namespaceLifecycle(const Store& store);
/// ServiceAccount: a pod that names none runs as `default`. Nothing is mounted. Accounts are not looked up,
/// but there is none of a name that none can have (403).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> serviceAccount();
/// Priority: a pod has the priority of its class (403: there is no such class), or of the one that is for
/// pods without one, and keeps it. There is one such class at most (403).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> priority(const Store& store);
/// DefaultTolerationSeconds: a pod stays 300 s on a node that is not ready or not reachable.
[[nodiscard]] std::unique_ptr<AdmissionPlugin> defaultTolerationSeconds();
/// RuntimeClass: none is looked up either (403: of a name that none can have).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> runtimeClass();
/// DefaultStorageClass: a claim that names no class gets the default one, of several the newest.
[[nodiscard]] std::unique_ptr<AdmissionPlugin> defaultStorageClass(const Store& store);
/// PersistentVolumeClaimResize: a claim grows only once it is bound, and if its class lets it (403).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> claimResize(const Store& store);

/// Devices that others use, too, are for the claims of namespaces that are labelled so (422).
[[nodiscard]] std::unique_ptr<AdmissionPlugin> adminAccess(const Store& store);

/// All of them, in kube-apiserver's order. Webhooks and policies come after these.
/// `store` must outlive `admission`.
void addBuiltins(Admission& admission, const Store& store);

}  // namespace gs::apiserver
