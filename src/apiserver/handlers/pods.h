// What is done to pods beside writing them: binding and eviction. What it refers to must outlive it.
// One thread.
#pragma once

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/call.h"
#include "apiserver/handlers/deletes.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"

namespace gs::apiserver {

class PodSubresources {
 public:
  PodSubresources(Store& store, const Resources& resources, const Admission& admission, Deletes& deletes)
      : store_{store}, resources_{resources}, admission_{admission}, deletes_{deletes} {}

  /// Of the pod of the URL, or of the one that the Binding names when it is posted to `bindings`.
  [[nodiscard]] Handled bind(Call& call);
  [[nodiscard]] Handled evict(Call& call);

 private:
  void disrupt(const Call& call, const StoredObject& there);

  Store& store_;
  const Resources& resources_;
  const Admission& admission_;
  Deletes& deletes_;
};

}  // namespace gs::apiserver
