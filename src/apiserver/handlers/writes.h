// POST, PUT and PATCH of objects: from a body or a patch to what is stored.
//
// A write is decoded, admitted, validated and then stored, or refused and nothing happened. What it refers to
// must outlive it.
// One thread; uids and name suffixes come from the Rng.
#pragma once

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/call.h"
#include "apiserver/handlers/deletes.h"
#include "apiserver/lifecycle/crd_controller.h"
#include "apiserver/lifecycle/event_expiry.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/random.h"
#include "json/value.h"

namespace gs::apiserver {

class Writes {
 public:
  Writes(Rng rng, Store& store, const Resources& resources, const Admission& admission,
         CrdController& definitions, EventExpiry& events, Deletes& deletes)
      : rng_{rng},
        store_{store},
        resources_{resources},
        admission_{admission},
        definitions_{definitions},
        events_{events},
        deletes_{deletes} {}

  /// `object` as readObject() gives it.
  [[nodiscard]] Handled create(Call& call, json::Value object);
  [[nodiscard]] Handled update(Call& call);
  [[nodiscard]] Handled patch(Call& call);
  /// GET, PUT and PATCH of the scale subresource: how many replicas an object asks for,
  /// as a Scale of autoscaling/v1.
  [[nodiscard]] Handled scale(Call& call);

 private:
  [[nodiscard]] Handled apply(Call& call);
  void stamp(Call& call, json::Value& object);
  /// Admits `next` as the new state of what is stored: subresource rules, generation, validation, no-op.
  /// `owners` null: whoever writes owns what changed.
  [[nodiscard]] Handled replace(Call& call, const StoredObject& there, json::Value next, OwnersPtr owners);
  /// Stores it, unless it is a dry run; returns it as it is (would be) stored.
  ObjectPtr commit(const Call& call, json::Value object, OwnersPtr owners);
  void giveServiceAccount(const std::string& ns, Now now);

  Rng rng_;
  Store& store_;
  const Resources& resources_;
  const Admission& admission_;
  CrdController& definitions_;
  EventExpiry& events_;
  Deletes& deletes_;
};

/// The object after the patch of the request, decoded.
[[nodiscard]] Answer<json::Value> patched(Call& call, const json::Value& there);
/// Who owns what after a create, update or patch.
[[nodiscard]] OwnersPtr owned(const Call& call, const OwnersPtr& before, const json::Value& old,
                              const json::Value& next);
/// Error 409, as the storage of a real server words a precondition that does not hold.
[[nodiscard]] Refused preconditionFailed(const Call& call, const char* what, std::string_view want,
                                         std::string_view have);
/// The new object with what this kind of write may not change taken from the old one: the main resource keeps
/// status, `/status` keeps all but status (a pod's also takes metadata labels and annotations).
void keepOtherPart(const Resource& resource, const std::string& subresource, const json::Value& old,
                   json::Value& next);

}  // namespace gs::apiserver
