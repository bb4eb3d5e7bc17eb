#include "apiserver/handlers/deletes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "apiserver/handlers/admit.h"
#include "apiserver/handlers/list_options.h"
#include "apiserver/handlers/reads.h"
#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/go_decode.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kKeepsPods =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning";

bool isPods(const Resource& r) { return r.is("/pods"); }

bool saysNothingOfDependents(const Value& options) {
  return options["orphanDependents"].isNull() && options["propagationPolicy"].str().empty();
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

/// What a DELETE asks for: its body or, where there is none, its query. Never both, as in a real server.
Answer<Value> deleteOptions(Call& call) {
  const Value& body = call.request.body;
  auto options = body.isNull() ? optionsIn(call.route.query) : optionsIn(body);
  if (!options) { return options; }
  if (auto fine = checkDeleteOptions(*options); !fine) { return tl::unexpected(fine.error()); }
  if (!body.isNull()) { call.dry_run = !(*options)["dryRun"].items().empty(); }
  return options;
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

Handled Deletes::remove(Call& call) {
  const auto options = deleteOptions(call);
  if (!options) { return tl::unexpected(options.error()); }
  const auto* there = stored(store_, call);
  if (there == nullptr) { return notFound(call.resource().subject(), call.route.name); }
  return removeOne(call, *there, *options);
}

Handled Deletes::removeOne(Call& call, const StoredObject& there, const json::Value& options) {
  const Resource& r = call.resource();
  const Value& old = *there.object;
  if (auto fine = checkPreconditions(r, call.route.name, old["metadata"], options["preconditions"]); !fine) {
    return tl::unexpected(fine.error());
  }
  const Value seen = shown(r, old);
  const Admitted what{Operation::Delete, r, call.route.name, seen};
  Value none;
  if (auto fine = admitMutating(admission_, call, what, none); !fine) { return tl::unexpected(fine.error()); }
  if (auto fine = admitValidating(admission_, call, what, none); !fine) {
    return tl::unexpected(fine.error());
  }
  return removeNow(call, there, options);
}

Handled Deletes::removeNow(Call& call, const StoredObject& there, const json::Value& options) {
  const Resource& r = call.resource();
  const Value& old = *there.object;
  if (r.is("/namespaces")) { return removeNamespace(call, there); }
  if (r.isCrds()) { return removeDefinition(call, there); }
  std::string_view part = collectorsFinalizer(options, old["metadata"]);
  if (r.is("batch/jobs") && saysNothingOfDependents(options)) {
    if (part.empty()) { part = kOrphanFinalizer; }
    call.warnings.emplace_back(kKeepsPods);
  }
  if (!isPods(r) && !part.empty() && old["metadata"]["deletionTimestamp"].isNull()) {
    return removeWithFinalizer(call, there, part);
  }
  const std::int64_t grace = graceOf(r, old, options);
  if (isPods(r) && part == kOrphanFinalizer && !call.dry_run) {
    garbage_.orphanDependentsOf(old["metadata"]["uid"].str());
  }
  if (isPods(r) || grace > 0 || !old["metadata"]["finalizers"].items().empty()) {
    return terminate(call, there, grace);
  }
  const Value uid = old["metadata"]["uid"];
  const bool answers_object = r.isDevices() && !r.is("resource.k8s.io/devicetaintrules");
  const ObjectPtr last = call.dry_run ? there.object : drop(call.key(), call.now);
  if (answers_object) { return Response{200, *last}; }
  Value details = json::Object{{"name", call.route.name}};
  if (!r.group.empty()) { details.set("group", r.group); }
  details.set("kind", r.plural);
  details.set("uid", uid);
  return Response{200, successBody(std::move(details))};
}

/// Marks the object; what has neither time nor finalizers left goes at once. A longer grace than it has is
/// ignored. The garbage collector has nothing to wait for.
Handled Deletes::terminate(Call& call, const StoredObject& there, std::int64_t grace) {
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
  const auto object = store_.put(call.key(), std::move(next), there.owners);
  if (!goes) { return Response{200, shown(call.resource(), *object)}; }
  return Response{200, shown(call.resource(), *drop(call.key(), call.now))};
}

/// Foreground and orphaning: a finalizer marks it until its dependents are seen to, which is at once here.
/// With others it stays, and goes with the last of them.
Handled Deletes::removeWithFinalizer(Call& call, const StoredObject& there, std::string_view finalizer) {
  Value next = *there.object;
  Value& meta = next.child("metadata");
  meta.set("deletionTimestamp", kapi::timeText(call.now.wall));
  meta.set("deletionGracePeriodSeconds", 0);
  takeCollectorsFinalizers(next);
  meta.child("finalizers").array().emplace_back(finalizer);
  if (call.resource().counted()) { meta.set("generation", meta["generation"].intOr(1) + 1); }
  if (call.dry_run) { return Response{200, shown(call.resource(), next)}; }
  const auto object = store_.put(call.key(), std::move(next), there.owners);
  if (finalizer == kOrphanFinalizer) { garbage_.orphanDependentsOf((*object)["metadata"]["uid"].str()); }
  if ((*object)["metadata"]["finalizers"].items().size() == 1) {
    drop(call.key(), call.now);
  } else {
    Value seen_to = *stored(store_, call)->object;
    takeCollectorsFinalizers(seen_to);
    store_.put(call.key(), std::move(seen_to), stored(store_, call)->owners);
  }
  return Response{200, shown(call.resource(), *object)};
}

Handled Deletes::removeDefinition(Call& call, const StoredObject& there) {
  if (!(*there.object)["metadata"]["deletionTimestamp"].isNull()) { return Response{200, *there.object}; }
  Value next = CrdController::terminating(*there.object, call.now);
  if (call.dry_run) { return Response{200, std::move(next)}; }
  const auto object = store_.put(call.key(), std::move(next), there.owners);
  definitions_.empty(call.route.name, *this, call.now);
  return Response{200, *object};
}

Handled Deletes::removeNamespace(Call& call, const StoredObject& there) {
  if (!(*there.object)["metadata"]["deletionTimestamp"].isNull()) { return Response{200, *there.object}; }
  Value next = NamespaceController::terminating(*there.object, call.now);
  if (call.dry_run) { return Response{200, std::move(next)}; }
  const auto object = store_.put(call.key(), std::move(next), there.owners);
  namespaces_.empty(call.route.name, *this, call.now);
  return Response{200, *object};
}

/// Ends at the first that cannot be deleted.
Handled Deletes::removeAll(Call& call) {
  if (call.resource().is("/namespaces") || (call.resource().namespaced && call.route.ns.empty())) {
    return methodNotAllowed();
  }
  const auto options = deleteOptions(call);
  if (!options) { return tl::unexpected(options.error()); }
  Kept& kept = call.kept;
  if (!kept.list) {
    auto all = list(store_, call);
    if (!all) { return all; }
    kept.list = *std::move(all);
  }
  const auto& items = kept.list->body["items"].items();
  for (; kept.deleted < items.size(); ++kept.deleted) {
    const Value& meta = items[kept.deleted]["metadata"];
    Call one{call.route, call.request, call.now, kept};
    one.dry_run = call.dry_run;
    one.route.ns = meta["namespace"].str();
    one.route.name = meta["name"].str();
    const auto* there = stored(store_, one);
    if (there == nullptr) { continue; }  // it went with another one
    auto gone = removeOne(one, *there, *options);
    std::move(one.warnings.begin(), one.warnings.end(), std::back_inserter(call.warnings));
    if (!gone) { return gone; }
  }
  return *std::move(kept.list);
}

void Deletes::removeByItself(const StoreKey& key, Now now) {
  const auto* there = store_.find(key);
  if (there == nullptr || !(*there->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  static const Request kDelete{"DELETE", ""};
  const Resource* resource = resources_.stored(key.resource);
  if (resource == nullptr) { return; }
  Kept kept;
  Call call{Route{resource, key.ns, key.name, "", {}}, kDelete, now, kept};
  Value options = json::Object{};
  if (resource->is("batch/jobs")) { options.set("propagationPolicy", "Background"); }
  (void)removeOne(call, *there, options);
}

ObjectPtr Deletes::drop(const StoreKey& key, Now now) {
  auto last = store_.remove(key);
  if (last && key.resource == kCrdsId) { definitions_.forget(*last); }
  garbage_.collect(*this, now);
  namespaces_.objectWent(key.ns, *this, now);
  definitions_.objectWent(key.resource, *this, now);
  return last;
}

}  // namespace gs::apiserver
