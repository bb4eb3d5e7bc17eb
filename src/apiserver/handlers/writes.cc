#include "apiserver/handlers/writes.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/handlers/admit.h"
#include "apiserver/handlers/body.h"
#include "apiserver/meta/event_form.h"
#include "apiserver/registry/kind_checks.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

const Value kNothing;

/// Only fields that nobody may set are left to the server; what a body says of them is dropped.
void dropServerFields(Value& meta) {
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation", "selfLink",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    meta.erase(field);
  }
}

bool isGoing(const StoredObject* there) {
  return there != nullptr && !(*there->object)["metadata"]["deletionTimestamp"].isNull();
}

Refused notWhileTerminating(const Resource& r) {
  auto refused = methodNotAllowed();
  refused.value().message = "create not allowed while custom resource definition is terminating";
  refused.value().details = json::Object{{"group", r.group}, {"kind", r.plural}};
  return refused;
}

}  // namespace

/// What the server gives a new object: identity and birth.
void Writes::stamp(Call& call, json::Value& object) {
  static constexpr std::string_view kSuffix = "bcdfghjklmnpqrstvwxz2456789";
  const Resource& r = call.resource();
  Value& meta = object.child("metadata");
  dropServerFields(meta);
  if (meta["name"].str().empty() && !meta["generateName"].str().empty()) {
    std::string& suffix = call.kept.suffix;
    while (suffix.size() < 5) { suffix += kSuffix[rng_.below(kSuffix.size())]; }
    meta.set("name", std::string{meta["generateName"].str().substr(0, 58)} + suffix);
  }
  if (r.namespaced) {
    meta.set("namespace", call.route.ns);
  } else {
    meta.erase("namespace");
  }
  if (call.kept.uid.empty()) { call.kept.uid = rng_.uuid(); }
  const Now born{call.now.mono, call.kept.born ? *call.kept.born : call.kept.born.emplace(call.now.wall)};
  meta.set("uid", call.kept.uid);
  meta.set("creationTimestamp", kapi::timeText(born.wall));
  if (r.counted()) { meta.set("generation", 1); }
  if (r.is("/namespaces")) { defaultKind(r, object); }  // its name may have been generated just now
  beginKind(r, object, born);
}

Handled Writes::create(Call& call, json::Value object) {
  const Resource& r = call.resource();
  if (!object["metadata"]["resourceVersion"].str().empty() && !r.upsert) {
    return plainError("resourceVersion should not be set on objects to be created");
  }
  if (r.custom && isGoing(store_.find({std::string{kCrdsId}, "", r.plural + "." + r.group}))) {
    return notWhileTerminating(r);
  }
  if (r.namespaced) { object.child("metadata").set("namespace", call.route.ns); }  // plugins see it
  const std::string name{object["metadata"]["name"].str()};
  const Admitted what{Operation::Create, r, name, kNothing};
  if (auto fine = admitMutating(admission_, call, what, object); !fine) {
    return tl::unexpected(fine.error());
  }
  stamp(call, object);
  if (auto fine = validate(call, object, {}); !fine) { return tl::unexpected(fine.error()); }
  if (auto fine = admitValidating(admission_, call, what, object); !fine) {
    return tl::unexpected(fine.error());
  }
  call.route.name = object["metadata"]["name"].str();
  if (const auto* there = stored(store_, call)) {
    auto refused = alreadyExists(r.subject(), call.route.name);
    if (!(*there->object)["metadata"]["deletionTimestamp"].isNull()) {
      refused.value().message.insert(0, "object is being deleted: ");
    }
    return refused;
  }
  if (r.isWorkload()) { defaultKind(r, object); }  // as it is read from the store again
  OwnersPtr owners = call.owners ? std::move(call.owners) : owned(call, nullptr, {}, object);
  const auto object_ptr = commit(call, std::move(object), std::move(owners));
  if (r.isCrds() && !call.dry_run) { definitions_.establish(*object_ptr, call.now); }
  if (r.is("/namespaces") && !call.dry_run) { giveServiceAccount(call.route.name, call.now); }
  return Response{201, shown(r, *object_ptr)};
}

Handled Writes::update(Call& call) {
  const Resource& r = call.resource();
  auto body = readObject(call, resources_, r);
  if (!body) { return tl::unexpected(body.error()); }
  if (auto fine = checkNameOnUrl(call, *body); !fine) { return tl::unexpected(fine.error()); }
  const Value& meta = (*body)["metadata"];
  const std::string uid{meta["uid"].str()};
  const auto* there = stored(store_, call);
  if (there == nullptr && !r.upsert) { return notFound(r.subject(), call.route.name); }
  const std::string stored_uid{there == nullptr ? "" : (*there->object)["metadata"]["uid"].str()};
  if (!uid.empty() && uid != stored_uid) { return preconditionFailed(call, "UID", uid, stored_uid); }
  if (there == nullptr) { return create(call, *std::move(body)); }
  if (!r.unconditional() && meta["resourceVersion"].str().empty()) {
    return invalidKind(r.plural, r.group, call.route.name,
                       {fieldInvalid("metadata.resourceVersion", std::string{r.isDevices() ? "0" : "0x0"},
                                     "must be specified for an update")});
  }
  return replace(call, *there, *std::move(body), nullptr);
}

Refused preconditionFailed(const Call& call, const char* what, std::string_view want, std::string_view have) {
  const Resource& r = call.resource();
  return conflict(
      r.subject(), call.route.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}{}{}/{}/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: {} in precondition: {}, {} in object meta: {}",
                  r.custom ? r.group : "", r.custom ? "/" : "", r.plural, call.route.ns, call.route.name,
                  what, want, what, have));
}

OwnersPtr owned(const Call& call, const OwnersPtr& before, const json::Value& old, const json::Value& next) {
  const Resource& r = call.resource();
  if (!r.schema) { return before; }
  std::string name = call.query("fieldManager");
  if (name.empty()) { name = call.request.user_agent.substr(0, call.request.user_agent.find('/')); }
  if (name.empty()) { return before; }
  Owners owners = before ? *before : Owners{};
  if (!trackUpdate(owners, {std::move(name), false, call.route.subresource, r.apiVersion()}, old, next,
                   *r.schema)) {
    return before;
  }
  return std::make_shared<const Owners>(std::move(owners));
}

ObjectPtr Writes::commit(const Call& call, json::Value object, OwnersPtr owners) {
  if (call.resource().coreEvents()) { object = fromCoreEvent(std::move(object)); }
  if (call.dry_run) { return std::make_shared<const json::Value>(std::move(object)); }
  auto written = store_.put(call.key(), std::move(object), std::move(owners));
  if (call.resource().isEvents()) {
    events_.written(call.key(), call.now.mono);
    while (const auto old = events_.takeExpired(call.now.mono)) { deletes_.drop(*old, call.now); }
  }
  return written;
}

/// As the controller-manager does it.
void Writes::giveServiceAccount(const std::string& ns, Now now) {
  const Request request{"POST", "/api/v1/namespaces/" + ns + "/serviceaccounts", "application/json",
                        json::Object{{"metadata", json::Object{{"name", "default"}}}}};
  Kept kept;
  Call call{*resources_.route(request.target), request, now, kept};
  if (auto account = readObject(call, resources_, call.resource())) {
    (void)create(call, *std::move(account));
  }
}

}  // namespace gs::apiserver
