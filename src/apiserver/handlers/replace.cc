// What is stored becomes something else: which parts a write may change, validation, generation,
// the last finalizer.
#include <fmt/format.h>

#include "apiserver/handlers/admit.h"
#include "apiserver/handlers/body.h"
#include "apiserver/handlers/writes.h"
#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

/// A write to it is one to the spec.
bool isSpec(const std::string& subresource) { return subresource.empty() || subresource == "scale"; }

/// Everything but metadata and status: a change of it counts as a new generation.
Value specPart(const Resource& r, const Value& object) {
  Value copy = object;
  copy.erase("metadata");
  if (r.has_status || !r.custom) { copy.erase("status"); }
  return copy;
}

void take(Value& to, const Value& from, const char* field) {
  if (const auto* value = from.find(field)) {
    to.set(field, *value);
  } else {
    to.erase(field);
  }
}

/// metadata that a write may leave out, and what it may not change silently keeps its value.
void keepServerFields(const Value& old, Value& next) {
  Value& meta = next.child("metadata");
  const Value& had = old["metadata"];
  for (const char* field : {"creationTimestamp", "generation", "resourceVersion"}) { take(meta, had, field); }
  if (meta["uid"].str().empty()) { take(meta, had, "uid"); }
  if (meta["namespace"].str().empty()) { take(meta, had, "namespace"); }
  if (!had["deletionTimestamp"].isNull()) { take(meta, had, "deletionTimestamp"); }
  if (meta["deletionGracePeriodSeconds"].isNull()) { take(meta, had, "deletionGracePeriodSeconds"); }
  meta.erase("managedFields");
  meta.erase("selfLink");
}

/// What the kind itself says of the part that is written.
void keepByKind(const Call& call, const Value& old, Value& next) {
  const Resource& r = call.resource();
  if (!isSpec(call.route.subresource)) { return keepStatus(r, old, next); }
  keepKind(r, old, next);
  keepTaintTime(r, old, next, call.now);
}

bool losesLastFinalizer(const Value& old, const Value& next) {
  return !old["metadata"]["deletionTimestamp"].isNull() && next["metadata"]["finalizers"].items().empty() &&
         !old["metadata"]["finalizers"].items().empty() &&
         next["metadata"]["deletionGracePeriodSeconds"].intOr(0) == 0;
}

}  // namespace

void keepOtherPart(const Resource& r, const std::string& subresource, const json::Value& old,
                   json::Value& next) {
  if (r.is("/namespaces")) {  // its finalizers have a subresource of their own
    take(next, old, "spec");
  }
  if (!r.has_status) { return; }
  if (isSpec(subresource)) {
    take(next, old, "status");
    return;
  }
  if (r.is("/pods") && next["status"].isObject() && next["status"]["qosClass"].str().empty()) {
    take(next.child("status"), old["status"], "qosClass");
  }
  Value out = old;
  take(out, next, "status");
  if (!r.custom && !r.isDevices()) {
    for (const char* field : {"labels", "annotations", "finalizers"}) {
      take(out.child("metadata"), next["metadata"], field);
    }
  }
  next = std::move(out);
}

Handled Writes::replace(Call& call, const StoredObject& there, json::Value next, OwnersPtr owners) {
  const Resource& r = call.resource();
  const Value old = shown(r, *there.object);
  const Admitted what{Operation::Update, r, call.route.name, old};
  if (auto fine = admitMutating(admission_, call, what, next); !fine) { return tl::unexpected(fine.error()); }
  const auto revision = next["metadata"]["resourceVersion"].str();
  if (!revision.empty() && revision != "0" && revision != old["metadata"]["resourceVersion"].str()) {
    return modified(r.subject(), call.route.name);
  }
  keepServerFields(old, next);
  if (const auto errors = checkMetaUpdate(next["metadata"], old["metadata"]); !errors.empty()) {
    return invalidKind(r.kind, r.storeGroup(), call.route.name, errors);
  }
  keepOtherPart(r, call.route.subresource, old, next);
  keepByKind(call, old, next);
  if (r.counted() && isSpec(call.route.subresource) && specPart(r, next) != specPart(r, old)) {
    next.child("metadata").set("generation", old["metadata"]["generation"].intOr(1) + 1);
  }
  if (auto fine = validate(call, next, old); !fine) { return tl::unexpected(fine.error()); }
  if (auto fine = admitValidating(admission_, call, what, next); !fine) {
    return tl::unexpected(fine.error());
  }
  if (next == old) {
    if (owners && !call.dry_run && there.owners && *owners != *there.owners) {
      store_.setOwners(call.key(), std::move(owners));
    }
    return Response{200, old};
  }
  if (losesLastFinalizer(old, next)) {
    if (!call.dry_run) { deletes_.drop(call.key(), call.now); }
    return Response{200, std::move(next)};
  }
  if (!owners) { owners = owned(call, there.owners, old, next); }
  const auto object = commit(call, std::move(next), std::move(owners));
  if (r.isCrds() && !call.dry_run) {
    definitions_.establish(*object, call.now);
    return Response{200, *stored(store_, call)->object};
  }
  return Response{200, shown(r, *object)};
}

}  // namespace gs::apiserver
