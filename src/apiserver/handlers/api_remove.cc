// DELETE: preconditions, grace, finalizers, what goes with an object that went.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "apiserver/handlers/api.h"
#include "apiserver/handlers/list_options.h"
#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/go_decode.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

// What the garbage collector does before an object goes, as finalizers.
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr const char* kKeepsPods =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning";
constexpr const char* kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

bool isPods(const Resource& r) { return r.is("/pods"); }

bool isCollectors(const Value& finalizer) {
  return finalizer.str() == kOrphan || finalizer.str() == kForeground;
}

/// What becomes of its dependents: kOrphan, kForeground, or "" (they go after it). Without an option its finalizers say it.
std::string_view collectorsPart(const Value& options, const Value& meta) {
  if (const Value& orphan = options["orphanDependents"]; !orphan.isNull()) {
    return orphan.boolOr(false) ? kOrphan : "";
  }
  if (const auto policy = options["propagationPolicy"].str(); !policy.empty()) {
    return policy == "Orphan" ? kOrphan : policy == "Foreground" ? kForeground : "";
  }
  const auto& finalizers = meta["finalizers"].items();
  const auto it = std::find_if(finalizers.begin(), finalizers.end(), isCollectors);
  return it == finalizers.end() ? "" : it->str() == kOrphan ? kOrphan : kForeground;
}

bool saysNothingOfDependents(const Value& options) {
  return options["orphanDependents"].isNull() && options["propagationPolicy"].str().empty();
}

void takeCollectorsFinalizers(Value& object) {
  if (object["metadata"]["finalizers"].isNull()) { return; }
  auto& finalizers = object.child("metadata").child("finalizers").array();
  std::erase_if(finalizers, isCollectors);
  if (finalizers.empty()) { object.child("metadata").erase("finalizers"); }
}

std::vector<StoreKey> keysOf(const Store& store, const std::string& resource) {
  std::vector<StoreKey> keys;
  const auto [begin, end] = store.range(resource);
  for (auto it = begin; it != end; ++it) { keys.push_back(it->first); }
  return keys;
}

/// Seconds that the object has left. Only a pod that runs somewhere has any.
std::int64_t graceOf(const Resource& r, const Value& object, const Value& options) {
  const auto phase = object["status"]["phase"].str();
  if (!isPods(r) || object["spec"]["nodeName"].str().empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  const std::int64_t wanted =
      options["gracePeriodSeconds"].intOr(object["spec"]["terminationGracePeriodSeconds"].intOr(30));
  return wanted < 0 ? 1 : wanted;
}

Answer<Value> optionsIn(const Value& body) {
  if (!body.isObject()) { return plainError("couldn't get version/kind; json parse error: not an object"); }
  if (const auto kind = body["kind"].str(); !kind.empty() && kind != "DeleteOptions") {
    return plainError(
        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:110\"",
                    kind, body["apiVersion"].str()));
  }
  static const SchemaPtr kOptions = builtinType("DeleteOptions");
  auto options = goDecode(*kOptions, body);
  if (!options) { return plainError(options.error()); }
  return std::move(options->object);
}

Answer<Value> optionsIn(const Query& query) {
  Value out = json::Object{};
  if (const auto it = query.find("gracePeriodSeconds"); it != query.end()) {
    const auto seconds = readInteger(it->second);
    if (!seconds) { return tl::unexpected(seconds.error()); }
    out.set("gracePeriodSeconds", *seconds);
  }
  if (query.contains("orphanDependents")) { out.set("orphanDependents", isTrue(query, "orphanDependents")); }
  if (const auto it = query.find("propagationPolicy"); it != query.end()) {
    out.set("propagationPolicy", it->second);
  }
  return out;
}

}  // namespace

Done checkPreconditions(const Resource& r, const std::string& name, const json::Value& meta,
                        const json::Value& wanted) {
  const Subject by_kind{r.storeGroup(), r.kind, r.kind};
  const auto uid = wanted["uid"].str();
  const auto revision = wanted["resourceVersion"].str();
  if (!uid.empty() && uid != meta["uid"].str()) {
    return conflict(
        by_kind, name,
        fmt::format(
            "the UID in the precondition ({}) does not match the UID in record ({}). The object might "
            "have been deleted and then recreated",
            uid, meta["uid"].str()));
  }
  if (!revision.empty() && revision != meta["resourceVersion"].str()) {
    return conflict(
        by_kind, name,
        fmt::format(
            "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record "
            "({}). The object might have been modified",
            revision, meta["resourceVersion"].str()));
  }
  return {};
}

Done checkDeleteOptions(const json::Value& options) {
  const auto policy = options["propagationPolicy"].str();
  FieldErrors errors;
  if (!policy.empty() && !options["orphanDependents"].isNull()) {
    errors.push_back(fieldInvalid("propagationPolicy", options["propagationPolicy"],
                                  "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    errors.push_back(fieldNotSupported("propagationPolicy", options["propagationPolicy"],
                                       {"Foreground", "Background", "Orphan", "nil"}));
  }
  if (errors.empty()) { return {}; }
  return invalidKind("DeleteOptions", "meta.k8s.io", "", errors);
}

/// What a DELETE asks for: its body or, where there is none, its query. Never both, as in a real server.
Answer<json::Value> Api::deleteOptions(Call& call) const {
  const Value& body = call.request.body;
  auto options = body.isNull() ? optionsIn(call.route.query) : optionsIn(body);
  if (!options) { return options; }
  if (auto fine = checkDeleteOptions(*options); !fine) { return tl::unexpected(fine.error()); }
  if (!body.isNull()) { call.dry_run = !(*options)["dryRun"].items().empty(); }
  return options;
}

Api::Result Api::remove(Call& call) {
  const auto options = deleteOptions(call);
  if (!options) { return tl::unexpected(options.error()); }
  const auto* there = stored(call);
  if (there == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  return removeNow(call, *there, *options);
}

Api::Result Api::removeNow(Call& call, const StoredObject& there, const json::Value& options) {
  const Resource& r = call.resource();
  const Value& old = *there.object;
  if (r.is("/namespaces") && (call.route.name == "default" || call.route.name.starts_with("kube-"))) {
    return forbidden(r.subject(), call.route.name, "this namespace may not be deleted");
  }
  if (auto fine = checkPreconditions(r, call.route.name, old["metadata"], options["preconditions"]); !fine) {
    return tl::unexpected(fine.error());
  }
  if (r.is("/namespaces")) { return terminateNamespace(call, there); }
  if (r.isCrds()) { return removeCrd(call, there); }
  std::string_view part = collectorsPart(options, old["metadata"]);
  if (r.is("batch/jobs") && saysNothingOfDependents(options)) {
    if (part.empty()) { part = kOrphan; }
    call.warnings.assign({kKeepsPods});
  }
  if (!isPods(r) && !part.empty() && old["metadata"]["deletionTimestamp"].isNull()) {
    return removeWithFinalizer(call, there, part);
  }
  const std::int64_t grace = graceOf(r, old, options);
  if (isPods(r) && part == kOrphan && !call.dry_run) { disown(old["metadata"]["uid"].str()); }
  if (isPods(r) || grace > 0 || !old["metadata"]["finalizers"].items().empty()) {
    return terminate(call, there, grace);
  }
  const Value uid = old["metadata"]["uid"];
  if (!call.dry_run) { drop(keyOf(call), call.now); }
  Value details = json::Object{{"name", call.route.name}};
  if (!r.group.empty()) { details.set("group", r.group); }
  details.set("kind", r.plural);
  details.set("uid", uid);
  return Response{200, successBody(std::move(details))};
}

/// Marks the object; what has neither time nor finalizers left goes at once. A longer grace than it has is ignored. The
/// garbage collector has nothing to wait for.
Api::Result Api::terminate(Call& call, const StoredObject& there, std::int64_t grace) {
  const Value& old = *there.object;
  const Value& meta = old["metadata"];
  const bool begun = !meta["deletionTimestamp"].isNull();
  if (begun && grace >= meta["deletionGracePeriodSeconds"].intOr(0)) {
    return Response{200, shown(call.resource(), old)};
  }
  Value next = old;
  Value& next_meta = next.child("metadata");
  next_meta.set("deletionTimestamp", kapi::timeText(call.now.wall + std::chrono::seconds{grace}));
  next_meta.set("deletionGracePeriodSeconds", grace);
  if (call.resource().counted() && !begun) { next_meta.set("generation", meta["generation"].intOr(1) + 1); }
  takeCollectorsFinalizers(next);
  const bool goes = grace == 0 && next["metadata"]["finalizers"].items().empty();
  if (call.dry_run) { return Response{200, shown(call.resource(), next)}; }
  const auto object = store_.put(keyOf(call), std::move(next), there.owners);
  if (!goes) { return Response{200, shown(call.resource(), *object)}; }
  return Response{200, shown(call.resource(), *drop(keyOf(call), call.now))};
}

/// Foreground and orphaning: a finalizer marks it until its dependents are seen to, which is at once here. With others it
/// stays, and goes with the last of them.
Api::Result Api::removeWithFinalizer(Call& call, const StoredObject& there, std::string_view finalizer) {
  Value next = *there.object;
  Value& meta = next.child("metadata");
  meta.set("deletionTimestamp", kapi::timeText(call.now.wall));
  meta.set("deletionGracePeriodSeconds", 0);
  takeCollectorsFinalizers(next);
  meta.child("finalizers").array().emplace_back(finalizer);
  if (call.resource().counted()) { meta.set("generation", meta["generation"].intOr(1) + 1); }
  if (call.dry_run) { return Response{200, shown(call.resource(), next)}; }
  const auto object = store_.put(keyOf(call), std::move(next), there.owners);
  if (finalizer == kOrphan) { disown((*object)["metadata"]["uid"].str()); }
  if ((*object)["metadata"]["finalizers"].items().size() == 1) {
    drop(keyOf(call), call.now);
  } else {
    Value seen_to = *stored(call)->object;
    takeCollectorsFinalizers(seen_to);
    store_.put(keyOf(call), std::move(seen_to), stored(call)->owners);
  }
  return Response{200, shown(call.resource(), *object)};
}

/// Takes the owner out of all ownerReferences.
void Api::disown(std::string_view uid) {
  std::vector<std::pair<StoreKey, Value>> changed;
  for (const auto& [key, stored] : store_.objects()) {
    const auto& owners = (*stored.object)["metadata"]["ownerReferences"].items();
    if (std::none_of(owners.begin(), owners.end(), [&](const Value& o) { return o["uid"].str() == uid; })) {
      continue;
    }
    Value next = *stored.object;
    auto& list = next.child("metadata").child("ownerReferences").array();
    std::erase_if(list, [&](const Value& o) { return o["uid"].str() == uid; });
    if (list.empty()) { next.child("metadata").erase("ownerReferences"); }
    changed.emplace_back(key, std::move(next));
  }
  for (auto& [key, object] : changed) { store_.put(key, std::move(object), store_.find(key)->owners); }
}

Api::Result Api::removeCrd(Call& call, const StoredObject& there) {
  if (!(*there.object)["metadata"]["deletionTimestamp"].isNull()) { return Response{200, *there.object}; }
  Value next = *there.object;
  next.child("metadata").set("deletionTimestamp", kapi::timeText(call.now.wall));
  next.child("metadata").child("finalizers").array().emplace_back(kCrdFinalizer);
  auto& conditions = next.child("status").child("conditions").array();
  conditions.emplace_back(json::Object{
      {"lastTransitionTime", kapi::timeText(call.now.wall)},
      {"message", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"},
      {"reason", "InstanceDeletionPending"},
      {"status", "True"},
      {"type", "Terminating"}});
  if (call.dry_run) { return Response{200, std::move(next)}; }
  const auto object = store_.put(keyOf(call), std::move(next), there.owners);
  emptyCrd(call.route.name, call.now);
  return Response{200, *object};
}

void Api::emptyCrd(const std::string& name, Now now) {
  const StoreKey key{std::string{kCrdsId}, "", name};
  const auto* crd = store_.find(key);
  if (crd == nullptr || (*crd->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  const auto& spec = (*crd->object)["spec"];
  const auto* served = resources_.find(spec["group"].str(), spec["names"]["plural"].str());
  if (served != nullptr && served->custom) {
    const std::string id = served->storeId();
    for (const auto& each : keysOf(store_, id)) { removeByItself(each, now); }
    if (!keysOf(store_, id).empty()) { return; }
  }
  crd = store_.find(key);
  if (crd == nullptr) { return; }  // its last object took it along
  Value next = *crd->object;
  auto& finalizers = next.child("metadata").child("finalizers").array();
  std::erase_if(finalizers, [](const Value& f) { return f.str() == kCrdFinalizer; });
  if (finalizers.empty()) {
    drop(key, now);
  } else if (next != *crd->object) {
    store_.put(key, std::move(next), crd->owners);
  }
}

/// Nothing of it can be asked for or watched any more, so that objects which are left would be in nobody's way for ever.
void Api::forgetCrd(const json::Value& crd) {
  const auto* served = resources_.find(crd["spec"]["group"].str(), crd["spec"]["names"]["plural"].str());
  if (served == nullptr || !served->custom) { return; }  // a built-in one is not its to take along
  for (const auto& key : keysOf(store_, served->storeId())) { store_.remove(key); }
  endWatches(*served);
  resources_.forget(crd);
}

Api::Result Api::terminateNamespace(Call& call, const StoredObject& there) {
  if (!(*there.object)["metadata"]["deletionTimestamp"].isNull()) { return Response{200, *there.object}; }
  Value next = *there.object;
  next.child("metadata").set("deletionTimestamp", kapi::timeText(call.now.wall));
  next.child("status").set("phase", "Terminating");
  if (call.dry_run) { return Response{200, std::move(next)}; }
  const auto object = store_.put(keyOf(call), std::move(next), there.owners);
  emptyNamespace(call.route.name, call.now);
  return Response{200, *object};
}

void Api::emptyNamespace(const std::string& ns, Now now) {
  const auto* space = store_.find({"/namespaces", "", ns});
  if (space == nullptr || (*space->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  std::vector<StoreKey> inside;
  for (const auto& [id, r] : resources_.all()) {
    if (!r.namespaced || r.create_only || r.coreEvents()) { continue; }
    const auto [begin, end] = store_.range(r.storeId());
    for (auto it = begin; it != end; ++it) {
      if (it->first.ns == ns) { inside.push_back(it->first); }
    }
  }
  bool left = false;
  for (const auto& key : inside) {
    removeByItself(key, now);
    left = left || store_.find(key) != nullptr;
  }
  if (!left && store_.find({"/namespaces", "", ns}) != nullptr) { store_.remove({"/namespaces", "", ns}); }
}

/// Ends at the first that cannot be deleted.
Api::Result Api::removeAll(Call& call) {
  if (call.resource().is("/namespaces") || (call.resource().namespaced && call.route.ns.empty())) {
    return methodNotAllowed();
  }
  const auto options = deleteOptions(call);
  if (!options) { return tl::unexpected(options.error()); }
  auto all = list(call);
  if (!all) { return all; }
  for (const auto& item : all->body["items"].items()) {
    Call one{call.route, call.request, call.now};
    one.dry_run = call.dry_run;
    one.route.ns = item["metadata"]["namespace"].str();
    one.route.name = item["metadata"]["name"].str();
    const auto* there = stored(one);
    if (there == nullptr) { continue; }  // it went with another one
    if (auto gone = removeNow(one, *there, *options); !gone) { return gone; }
    call.warnings = std::move(one.warnings);
  }
  return all;
}

void Api::removeByItself(const StoreKey& key, Now now) {
  const auto* there = store_.find(key);
  if (there == nullptr || !(*there->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  static const Request kDelete{"DELETE", ""};
  const Resource* resource = resources_.stored(key.resource);
  if (resource == nullptr) { return; }
  Call call{Route{resource, key.ns, key.name, "", {}}, kDelete, now};
  Value options = json::Object{};
  if (resource->is("batch/jobs")) { options.set("propagationPolicy", "Background"); }
  (void)removeNow(call, *there, options);
}

/// What it owned goes with it, and its namespace or its CRD if that waited for it only. Returns its last state.
ObjectPtr Api::drop(const StoreKey& key, Now now) {
  auto last = store_.remove(key);
  if (last && key.resource == kCrdsId) { forgetCrd(*last); }
  collectGarbage(now);
  if (emptying_) { return last; }
  emptying_ = true;
  if (!key.ns.empty()) { emptyNamespace(key.ns, now); }
  if (const auto* r = resources_.stored(key.resource); r != nullptr && r->custom) {
    emptyCrd(r->plural + "." + r->group, now);
  }
  emptying_ = false;
  return last;
}

void Api::collectGarbage(Now now) {
  if (std::exchange(collecting_, true)) { return; }  // who is at it will see to this too
  for (auto orphans = store_.takeOrphans(); !orphans.empty(); orphans = store_.takeOrphans()) {
    for (const auto& key : orphans) {
      if (isGarbage(key)) { removeByItself(key, now); }
    }
  }
  collecting_ = false;
}

bool Api::isGarbage(const StoreKey& orphan) const {
  const auto* there = store_.find(orphan);
  if (there == nullptr) { return false; }  // it went with another one
  const auto& owners = (*there->object)["metadata"]["ownerReferences"].items();
  return std::all_of(owners.begin(), owners.end(), [&](const Value& owner) {
    return resources_.ofKind(owner["apiVersion"].str(), owner["kind"].str()) != nullptr;
  });
}

}  // namespace gs::apiserver
