// DELETE: preconditions, grace, finalizers, and what goes with an object that went.
//
// What it refers to must outlive it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/call.h"
#include "apiserver/lifecycle/crd_controller.h"
#include "apiserver/lifecycle/deleter.h"
#include "apiserver/lifecycle/garbage_collector.h"
#include "apiserver/lifecycle/namespace_controller.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::apiserver {

class Deletes final : public Deleter {
 public:
  Deletes(Store& store, const Resources& resources, const Admission& admission, GarbageCollector& garbage,
          NamespaceController& namespaces, CrdController& definitions)
      : store_{store},
        resources_{resources},
        admission_{admission},
        garbage_{garbage},
        namespaces_{namespaces},
        definitions_{definitions} {}

  [[nodiscard]] Handled remove(Call& call);
  [[nodiscard]] Handled removeAll(Call& call);
  /// With these DeleteOptions, whose preconditions hold, and after admission.
  [[nodiscard]] Handled removeNow(Call& call, const StoredObject& there, const json::Value& options);
  /// Plugins are asked as about a request, and nobody can wait for them.
  void removeByItself(const StoreKey& key, Now now) override;
  ObjectPtr drop(const StoreKey& key, Now now) override;

 private:
  [[nodiscard]] Handled removeOne(Call& call, const StoredObject& there, const json::Value& options);
  [[nodiscard]] Handled terminate(Call& call, const StoredObject& there, std::int64_t grace);
  [[nodiscard]] Handled removeWithFinalizer(Call& call, const StoredObject& there,
                                            std::string_view finalizer);
  [[nodiscard]] Handled removeDefinition(Call& call, const StoredObject& there);
  [[nodiscard]] Handled removeNamespace(Call& call, const StoredObject& there);

  Store& store_;
  const Resources& resources_;
  const Admission& admission_;
  GarbageCollector& garbage_;
  NamespaceController& namespaces_;
  CrdController& definitions_;
};

/// What is wrong with DeleteOptions in themselves.
[[nodiscard]] Done checkDeleteOptions(const json::Value& options);
/// Error 409: the object with this metadata is not the one that the preconditions `wanted` are about.
[[nodiscard]] Done checkPreconditions(const Resource& resource, const std::string& name,
                                      const json::Value& meta, const json::Value& wanted);

}  // namespace gs::apiserver
