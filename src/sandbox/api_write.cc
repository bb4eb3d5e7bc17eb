// Changing what is stored: PUT, PATCH, apply, DELETE, Binding.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kapi/time.h"
#include "sandbox/api.h"
#include "sandbox/apply.h"
#include "sandbox/meta_check.h"
#include "sandbox/patch.h"

namespace gs::sandbox {
namespace {

bool isPods(const Resource& r) { return r.id() == "/pods"; }

/// Everything but metadata and status: a change of it counts as a new generation.
json::Value specPart(const json::Value& object) {
  json::Value copy = object;
  copy.erase("metadata");
  copy.erase("status");
  return copy;
}

/// metadata that only the server sets, taken over from the stored object.
void keepServerFields(const json::Value& old, json::Value& next) {
  json::Value& meta = next.child("metadata");
  for (const char* field : {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "namespace"}) {
    if (const auto* v = old["metadata"].find(field)) {
      meta.set(field, *v);
    } else {
      meta.erase(field);
    }
  }
  meta.set("resourceVersion", old["metadata"]["resourceVersion"]);
  meta.erase("managedFields");
}

}  // namespace

void keepOtherPart(const Resource& r, const std::string& subresource, const json::Value& old,
                   json::Value& next) {
  if (!r.has_status) { return; }
  if (subresource.empty()) {
    if (const auto* status = old.find("status")) {
      next.set("status", *status);
    } else {
      next.erase("status");
    }
    return;
  }
  json::Value out = old;
  if (const auto* status = next.find("status")) {
    out.set("status", *status);
  } else {
    out.erase("status");
  }
  if (!r.custom) {
    for (const char* field : {"labels", "annotations"}) {
      if (const auto* v = next["metadata"].find(field)) {
        out.child("metadata").set(field, *v);
      } else {
        out.child("metadata").erase(field);
      }
    }
  }
  next = std::move(out);
}

Api::Result Api::replace(const Route& route, const StoredObject& stored, json::Value next, OwnersPtr owners) {
  const Resource& r = *route.resource;
  const json::Value& old = *stored.object;
  const auto uid = next["metadata"]["uid"].str();
  const auto revision = next["metadata"]["resourceVersion"].str();
  if (!revision.empty() && revision != old["metadata"]["resourceVersion"].str()) {
    return modified(r.subject(), route.name);
  }
  if (!uid.empty() && uid != old["metadata"]["uid"].str()) {
    return invalid(r.subject(), route.name,
                   {fieldInvalid("metadata.uid", goQuote(uid), "field is immutable")});
  }
  keepServerFields(old, next);
  keepOtherPart(r, route.subresource, old, next);
  auto shaped = shape(r, std::move(next), old);
  if (!shaped) { return tl::unexpected(shaped.error()); }
  if (*shaped == old) { return Response{200, old}; }
  const bool counted = r.custom || isPods(r);
  if (counted && route.subresource.empty() && !(specPart(*shaped) == specPart(old))) {
    shaped->child("metadata").set("generation", old["metadata"]["generation"].intOr(1) + 1);
  }
  const bool last_finalizer = !old["metadata"]["deletionTimestamp"].isNull() &&
                              (*shaped)["metadata"]["finalizers"].items().empty() &&
                              !old["metadata"]["finalizers"].items().empty();
  const auto object =
      store_.put(keyOf(route), *std::move(shaped), owners ? std::move(owners) : stored.owners);
  if (last_finalizer) {
    store_.remove(keyOf(route));
  } else {
    finish(r, *object);
  }
  return Response{200, *object};
}

Api::Result Api::update(const Route& route, json::Value body) {
  const Resource& r = *route.resource;
  const auto name = body["metadata"]["name"].str();
  if (!name.empty() && name != route.name) {
    return badRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, route.name));
  }
  const auto* stored = store_.find(keyOf(route));
  const std::string uid{body["metadata"]["uid"].str()};
  if (stored == nullptr && r.upsert && uid.empty() && route.subresource.empty()) {
    Route collection = route;
    collection.name.clear();
    body.child("metadata").set("name", route.name);
    return create(collection, std::move(body), {});
  }
  if (stored == nullptr && r.upsert) {
    return conflict(
        r.subject(), route.name,
        fmt::format("StorageError: invalid object, Code: 4, Key: /{}/{}/{}, ResourceVersion: 0, "
                    "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: ",
                    r.plural, route.ns, route.name, uid));
  }
  if (stored == nullptr) { return notFound(r.subject(), route.name); }
  const auto stored_uid = (*stored->object)["metadata"]["uid"].str();
  if (!uid.empty() && uid != stored_uid) {
    return conflict(
        r.subject(), route.name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, stored_uid));
  }
  if (r.custom && body["metadata"]["resourceVersion"].str().empty()) {
    return invalid(
        r.subject(), route.name,
        {fieldInvalid("metadata.resourceVersion", std::string{"0x0"}, "must be specified for an update")});
  }
  return replace(route, *stored, std::move(body), nullptr);
}

Api::Result Api::patch(const Route& route, const Request& request, Now now) {
  const Resource& r = *route.resource;
  if (request.content_type == "application/apply-patch+yaml") { return apply(route, request.body, now); }
  const auto* stored = store_.find(keyOf(route));
  if (stored == nullptr) { return notFound(r.subject(), route.name); }
  json::Value next = *stored->object;
  if (request.content_type == "application/merge-patch+json") {
    applyMergePatch(next, request.body);
  } else if (request.content_type == "application/strategic-merge-patch+json" && !r.custom) {
    if (auto done = applyStrategicPatch(next, request.body, r.schema.get()); !done) {
      return tl::unexpected(done.error());
    }
  } else if (request.content_type == "application/json-patch+json") {
    if (auto done = applyJsonPatch(next, request.body); !done) { return tl::unexpected(done.error()); }
  } else {
    return refuse(415, "UnsupportedMediaType",
                  "the body of the request was in an unknown format - accepted media types include: "
                  "application/json-patch+json, "
                  "application/merge-patch+json, application/apply-patch+yaml");
  }
  return replace(route, *stored, std::move(next), nullptr);
}

Api::Result Api::apply(const Route& route, const json::Value& config, Now now) {
  const Resource& r = *route.resource;
  const auto query = [&](const char* key) {
    const auto it = route.query.find(key);
    return it == route.query.end() ? std::string{} : it->second;
  };
  const auto* stored = store_.find(keyOf(route));
  if (stored == nullptr && !route.subresource.empty()) { return notFound(r.subject(), route.name); }
  const json::Value live = stored != nullptr
                               ? *stored->object
                               : json::Value{json::Object{{"apiVersion", r.apiVersion()},
                                                          {"kind", r.kind},
                                                          {"metadata", json::Object{{"name", route.name}}}}};
  const Manager manager{query("fieldManager"), true, route.subresource, r.apiVersion()};
  const Owners none;
  static const Schema kAnything{};
  auto applied = serverSideApply(live, config, r.schema ? *r.schema : kAnything,
                                 stored != nullptr && stored->owners ? *stored->owners : none, manager,
                                 query("force") == "true");
  if (!applied) { return tl::unexpected(applied.error()); }
  auto owners = std::make_shared<const Owners>(std::move(applied->owners));
  if (stored != nullptr) { return replace(route, *stored, std::move(applied->object), std::move(owners)); }
  Route collection = route;
  collection.name.clear();
  return create(collection, std::move(applied->object), now);
}

Api::Result Api::remove(const Route& route, const json::Value& options, Now now) {
  const auto* stored = store_.find(keyOf(route));
  if (stored == nullptr) { return notFound(route.resource->subject(), route.name); }
  return removeStored(route, *stored, options, now);
}

Api::Result Api::removeStored(const Route& route, const StoredObject& stored, const json::Value& options,
                              Now now) {
  const Resource& r = *route.resource;
  const json::Value& old = *stored.object;
  const auto& meta = old["metadata"];
  const Subject by_kind{"", r.kind, r.kind};
  const auto want_uid = options["preconditions"]["uid"].str();
  const auto want_revision = options["preconditions"]["resourceVersion"].str();
  if (!want_uid.empty() && want_uid != meta["uid"].str()) {
    return conflict(by_kind, route.name,
                    fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                                "object might have been deleted and then recreated",
                                want_uid, meta["uid"].str()));
  }
  if (!want_revision.empty() && want_revision != meta["resourceVersion"].str()) {
    return conflict(by_kind, route.name,
                    fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                                "ResourceVersion in record ({}). The object might have been modified",
                                want_revision, meta["resourceVersion"].str()));
  }
  const bool scheduled_pod = isPods(r) && !old["spec"]["nodeName"].str().empty() &&
                             old["status"]["phase"].str() != "Succeeded" &&
                             old["status"]["phase"].str() != "Failed";
  std::int64_t grace = 0;
  if (scheduled_pod) {
    grace = options["gracePeriodSeconds"].intOr(old["spec"]["terminationGracePeriodSeconds"].intOr(30));
  }
  const bool finalizers = !meta["finalizers"].items().empty();
  if (grace > 0 || finalizers) {
    const bool shorter =
        !meta["deletionGracePeriodSeconds"].isNull() && grace < meta["deletionGracePeriodSeconds"].intOr(0);
    if (!meta["deletionTimestamp"].isNull() && !shorter) { return Response{200, old}; }
    json::Value next = old;
    next.child("metadata").set("deletionTimestamp", kapi::timeText(now.wall + std::chrono::seconds{grace}));
    next.child("metadata").set("deletionGracePeriodSeconds", grace);
    if (isPods(r) || r.custom) { next.child("metadata").set("generation", meta["generation"].intOr(1) + 1); }
    return Response{200, *store_.put(keyOf(route), std::move(next), stored.owners)};
  }
  const auto last = store_.remove(keyOf(route));
  if (r.id() == "apiextensions.k8s.io/customresourcedefinitions") {
    if (const auto* served =
            resources_.find((*last)["spec"]["group"].str(), (*last)["spec"]["names"]["plural"].str())) {
      std::vector<StoreKey> keys;
      const auto [begin, end] = store_.range(served->id());
      for (auto it = begin; it != end; ++it) { keys.push_back(it->first); }
      for (const auto& key : keys) { store_.remove(key); }
    }
    std::erase_if(watches_, [&](const auto& w) { return w.second.resource->custom; });
    resources_.forget(*last);
  }
  collectGarbage(now);
  if (isPods(r)) { return Response{200, *last}; }
  return Response{200, successBody(json::Object{
                           {"name", route.name}, {"kind", r.plural}, {"uid", (*last)["metadata"]["uid"]}})};
}

Api::Result Api::removeAll(const Route& route, const json::Value& options, Now now) {
  auto all = list(route);
  if (!all) { return all; }
  for (const auto& item : all->body["items"].items()) {
    Route one = route;
    one.ns = item["metadata"]["namespace"].str();
    one.name = item["metadata"]["name"].str();
    (void)remove(one, options, now);
  }
  return all;
}

Api::Result Api::bind(const Route& route, const json::Value& binding, Now now) {
  if (!isPods(*route.resource)) { return noSuchResource(); }
  const Subject subject{"", "pods/binding", "Binding"};
  const auto node = binding["target"]["name"].str();
  const auto name = binding["metadata"]["name"].str();
  if (!name.empty() && name != route.name) {
    return badRequest("name in URL does not match name in Binding object");
  }
  if (node.empty()) { return plainError("target.name: Required value"); }
  const auto* stored = store_.find(keyOf(route));
  if (stored == nullptr) { return notFound(route.resource->subject(), route.name); }
  const json::Value& old = *stored->object;
  const auto& meta = old["metadata"];
  const auto precondition = [&](const char* what, std::string_view want, std::string_view have) {
    return conflict(
        route.resource->subject(), route.name,
        fmt::format("StorageError: invalid object, Code: 4, Key: /pods/{}/{}, ResourceVersion: 0, "
                    "AdditionalErrorMsg: Precondition failed: {} in precondition: {}, {} in object meta: {}",
                    route.ns, route.name, what, want, what, have));
  };
  const auto uid = binding["metadata"]["uid"].str();
  const auto revision = binding["metadata"]["resourceVersion"].str();
  if (!uid.empty() && uid != meta["uid"].str()) { return precondition("UID", uid, meta["uid"].str()); }
  if (!revision.empty() && revision != meta["resourceVersion"].str()) {
    return precondition("ResourceVersion", revision, meta["resourceVersion"].str());
  }
  if (!meta["deletionTimestamp"].isNull()) {
    return conflict(subject, route.name,
                    fmt::format("pod {} is being deleted, cannot be assigned to a host", route.name));
  }
  if (const auto bound = old["spec"]["nodeName"].str(); !bound.empty()) {
    return conflict(subject, route.name,
                    fmt::format("pod {} is already assigned to node \"{}\"", route.name, bound));
  }
  if (!old["spec"]["schedulingGates"].items().empty()) {
    return conflict(subject, route.name,
                    fmt::format("pod {} has non-empty .spec.schedulingGates", route.name));
  }
  json::Value next = old;
  next.child("spec").set("nodeName", node);
  for (const auto& [key, value] : binding["metadata"]["annotations"].members()) {
    next.child("metadata").child("annotations").set(key, value);
  }
  auto& conditions = next.child("status").child("conditions").array();
  std::erase_if(conditions, [](const json::Value& c) { return c["type"].str() == "PodScheduled"; });
  conditions.emplace_back(json::Object{{"type", "PodScheduled"},
                                       {"status", "True"},
                                       {"lastProbeTime", nullptr},
                                       {"lastTransitionTime", kapi::timeText(now.wall)}});
  store_.put(keyOf(route), std::move(next), stored->owners);
  return Response{201, successBody({}, 201)};
}

void Api::collectGarbage(Now) {
  std::set<std::string, std::less<>> uids;
  for (const auto& [key, stored] : store_.objects()) {
    uids.emplace((*stored.object)["metadata"]["uid"].str());
  }
  std::vector<StoreKey> orphans;
  for (const auto& [key, stored] : store_.objects()) {
    const auto& owners = (*stored.object)["metadata"]["ownerReferences"].items();
    if (!owners.empty() && std::none_of(owners.begin(), owners.end(),
                                        [&](const auto& o) { return uids.contains(o["uid"].str()); })) {
      orphans.push_back(key);
    }
  }
  for (const auto& key : orphans) { store_.remove(key); }
}

}  // namespace gs::sandbox
