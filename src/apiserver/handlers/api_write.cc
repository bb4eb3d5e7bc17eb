// POST and PUT: from a body to what is stored.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/handlers/api.h"
#include "apiserver/meta/event_form.h"
#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/crd_schema.h"
#include "apiserver/schema/go_decode.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kHeader =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
    "\"json:\\\"kind,omitempty\\\"\" }";

/// Only fields that nobody may set are left to the server; what a body says of them is dropped.
void dropServerFields(Value& meta) {
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation", "selfLink",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    meta.erase(field);
  }
}

Refused unrecognized(const Resource& r, const std::string& why, const std::string& shown) {
  return badRequest(
      fmt::format("the object provided is unrecognized (must be of type {}): {} ({})", r.kind, why, shown));
}

/// Whether the body's kind and version are those of the resource. Built-in kinds may leave them out.
Done checkType(const Resources& all, const Resource& r, const Value& body) {
  const std::string kind{body["kind"].str()};
  const std::string version{body["apiVersion"].str()};
  if (r.custom) {
    for (const char* field : {"kind", "apiVersion"}) {
      if (!body[field].str().empty()) { continue; }
      const std::string text = json::print(body);
      return unrecognized(
          r, fmt::format("Object '{}' is missing in '{}'", *field == 'k' ? "Kind" : field, text), text);
    }
    if (version == r.apiVersion()) { return {}; }
    return badRequest(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})", version,
                    r.apiVersion()));
  }
  const bool expected = version.empty() || version == r.apiVersion();
  if (expected && (kind.empty() || kind == r.kind)) { return {}; }
  const Resource* other = expected ? nullptr : all.ofKind(version, kind);
  const bool known = expected || (other != nullptr && !other->custom);
  const std::string why =
      known ? noConversion(r, kind)
            : fmt::format(
                  "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:110\"",
                  kind, version);
  return badRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind,
                                version.substr(version.rfind('/') + 1), r.kind, why));
}

Refused cannotHandle(const Resource& r, const std::string& why) {
  return badRequest(
      fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", r.kind, r.version, r.kind, why));
}

NameRule nameRule(const Resource& r) {
  return r.is("/namespaces") || r.is("apps/statefulsets") ? NameRule::Label : NameRule::Subdomain;
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

std::string noConversion(const Resource& to, std::string_view kind) {
  const std::string group = to.group.empty() ? "core" : to.group.substr(0, to.group.find('.'));
  return fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", to.version, kind, group, to.kind);
}

Answer<json::Value> Api::readObject(Call& call, const Resource& r) const {
  const Request& request = call.request;
  const std::string parse_error = "couldn't get version/kind; json parse error: ";
  if (!request.bad_body.empty()) {
    return unrecognized(r, parse_error + request.bad_body, request.shown_body);
  }
  if (request.body.isNull()) {
    return unrecognized(r, parse_error + "unexpected end of JSON input", "<empty>");
  }
  if (!request.body.isObject()) {
    return unrecognized(r,
                        fmt::format("{}json: cannot unmarshal {} into Go value of type {}", parse_error,
                                    request.body.isArray() ? "array" : "string", kHeader),
                        request.shown_body);
  }
  if (auto fine = checkType(resources_, r, request.body); !fine) { return tl::unexpected(fine.error()); }
  const Value& meta = request.body["metadata"];
  if (!meta.isNull() && !meta.isObject()) {
    return cannotHandle(
        r, fmt::format("json: cannot unmarshal {} into Go struct field {}.metadata of type v1.ObjectMeta",
                       meta.isString()  ? "string"
                       : meta.isArray() ? "array"
                                        : "number",
                       r.kind));
  }
  auto object = decode(call, r, request.body);
  if (!object) { return cannotHandle(r, object.error()); }
  const auto ns = (*object)["metadata"]["namespace"].str();
  if (r.namespaced && !ns.empty() && ns != call.route.ns) {
    return badRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return *std::move(object);
}

tl::expected<json::Value, std::string> Api::decode(Call& call, const Resource& r, json::Value object,
                                                   const json::Value& known) const {
  std::vector<std::string> unknown;
  if (r.custom) {
    unknown = prune(*r.schema, object);
    applyDefaults(*r.schema, object);
    static const SchemaPtr kMeta = builtinType("ObjectMeta");
    if (object["metadata"].isObject()) {
      auto meta = goDecode(*kMeta, object["metadata"], known["metadata"]);
      if (!meta) { return tl::unexpected(meta.error()); }
      object.set("metadata", std::move(meta->object));
      for (const auto& field : meta->unknown) { unknown.push_back("metadata." + field); }
    }
  } else {
    defaultKind(r, object);
    auto decoded = goDecode(*r.schema, object, known);
    if (!decoded) { return tl::unexpected(decoded.error()); }
    object = std::move(decoded->object);
    unknown = std::move(decoded->unknown);
    object.set("apiVersion", r.apiVersion());
    object.set("kind", r.kind);
  }
  if (!unknown.empty() && call.checking == Checking::Strict) {
    std::string text;
    for (const auto& field : unknown) {
      text += fmt::format("{}unknown field \"{}\"", text.empty() ? "" : ", ", field);
    }
    return tl::unexpected("strict decoding error: " + text);
  }
  for (const auto& field : unknown) {
    if (call.checking == Checking::Warn) {
      call.warnings.push_back(fmt::format("unknown field \"{}\"", field));
    }
  }
  return object;
}

/// What the server gives a new object: identity and birth.
void Api::stamp(Call& call, json::Value& object) {
  static constexpr std::string_view kSuffix = "bcdfghjklmnpqrstvwxz2456789";
  const Resource& r = call.resource();
  Value& meta = object.child("metadata");
  dropServerFields(meta);
  if (meta["name"].str().empty() && !meta["generateName"].str().empty()) {
    std::string name{meta["generateName"].str().substr(0, 58)};
    for (int i = 0; i < 5; ++i) { name += kSuffix[rng_.below(kSuffix.size())]; }
    meta.set("name", name);
  }
  if (r.namespaced) {
    meta.set("namespace", call.route.ns);
  } else {
    meta.erase("namespace");
  }
  meta.set("uid", rng_.uuid());
  meta.set("creationTimestamp", kapi::timeText(call.now.wall));
  if (r.counted()) { meta.set("generation", 1); }
  if (r.is("/namespaces")) { defaultKind(r, object); }  // its name may have been generated just now
  beginKind(r, object, call.now);
}

Done Api::check(Call& call, const json::Value& object, const json::Value& old) const {
  const Resource& r = call.resource();
  const std::string name{object["metadata"]["name"].str()};
  if (r.custom && object["kind"].str() != r.kind) {
    return invalidKind(object["kind"].str(), r.group, name,
                       {fieldInvalid("kind", object["kind"], "must be " + r.kind)});
  }
  FieldErrors errors =
      checkMeta(object["metadata"], nameRule(r), r.coreMeta() ? FinalizerRule::Core : FinalizerRule::AnyName);
  const auto more = r.custom ? validateSchema(*r.schema, object, old) : checkKind(r, object, old);
  errors.insert(errors.end(), more.begin(), more.end());
  if (!errors.empty()) { return invalidKind(r.kind, r.storeGroup(), name, errors); }
  if (r.isWorkload() && old.isNull()) {
    for (auto& warning : workloadWarnings(r, object)) { call.warnings.push_back(std::move(warning)); }
  }
  if (r.custom) {
    for (auto& warning : finalizerWarnings(object["metadata"], old["metadata"])) {
      call.warnings.push_back(std::move(warning));
    }
  }
  return {};
}

Done Api::admit(const Call& call, json::Value& object) const {
  const Resource& r = call.resource();
  if (r.custom && isGoing(store_.find({std::string{kCrdsId}, "", r.plural + "." + r.group}))) {
    return notWhileTerminating(r);
  }
  if (r.namespaced) {
    const auto* space = store_.find({"/namespaces", "", call.route.ns});
    if (space == nullptr) { return notFound({"", "namespaces", "Namespace"}, call.route.ns); }
    if (isGoing(space)) {
      auto refused =
          forbidden(r.subject(), object["metadata"]["name"].str(),
                    fmt::format("unable to create new content in namespace {} because it is being terminated",
                                call.route.ns));
      refused.value().details.set(
          "causes", json::Array{Value{json::Object{
                        {"reason", "NamespaceTerminating"},
                        {"message", fmt::format("namespace {} is being terminated", call.route.ns)},
                        {"field", "metadata.namespace"}}}});
      return refused;
    }
  }
  if (!r.is("/pods")) { return {}; }
  const std::string wanted{object["spec"]["priorityClassName"].str()};
  const auto* known =
      wanted.empty() ? nullptr : store_.find({"scheduling.k8s.io/priorityclasses", "", wanted});
  return admitPriority(object, known == nullptr ? Value{} : *known->object);
}

Api::Result Api::create(Call& call, json::Value object) {
  const Resource& r = call.resource();
  if (!object["metadata"]["resourceVersion"].str().empty() && !r.upsert) {
    return plainError("resourceVersion should not be set on objects to be created");
  }
  if (auto fine = admit(call, object); !fine) { return tl::unexpected(fine.error()); }
  stamp(call, object);
  if (auto fine = check(call, object, {}); !fine) { return tl::unexpected(fine.error()); }
  call.route.name = object["metadata"]["name"].str();
  if (const auto* there = stored(call)) {
    auto refused = alreadyExists(r.subject(), call.route.name);
    if (!(*there->object)["metadata"]["deletionTimestamp"].isNull()) {
      refused.value().message.insert(0, "object is being deleted: ");
    }
    return refused;
  }
  OwnersPtr owners = call.owners ? std::move(call.owners) : owned(call, nullptr, {}, object);
  const auto object_ptr = commit(call, std::move(object), std::move(owners));
  if (r.isCrds() && !call.dry_run) { establish(*object_ptr, call.now); }
  if (r.is("/namespaces") && !call.dry_run) { giveServiceAccount(call.route.name, call.now); }
  return Response{201, shown(r, *object_ptr)};
}

Api::Result Api::update(Call& call) {
  const Resource& r = call.resource();
  auto body = readObject(call, r);
  if (!body) { return tl::unexpected(body.error()); }
  if (auto fine = checkNameOnUrl(call, *body); !fine) { return tl::unexpected(fine.error()); }
  const Value& meta = (*body)["metadata"];
  const std::string uid{meta["uid"].str()};
  const auto* there = stored(call);
  if (there == nullptr && !r.upsert) { return notFound(r.subject(), call.route.name); }
  const std::string stored_uid{there == nullptr ? "" : (*there->object)["metadata"]["uid"].str()};
  if (!uid.empty() && uid != stored_uid) { return preconditionFailed(call, "UID", uid, stored_uid); }
  if (there == nullptr) { return create(call, *std::move(body)); }
  if (!r.unconditional() && meta["resourceVersion"].str().empty()) {
    return invalidKind(
        r.plural, r.group, call.route.name,
        {fieldInvalid("metadata.resourceVersion", std::string{"0x0"}, "must be specified for an update")});
  }
  return replace(call, *there, *std::move(body), nullptr);
}

Done Api::checkNameOnUrl(const Call& call, const json::Value& object) const {
  const auto name = object["metadata"]["name"].str();
  if (name == call.route.name) { return {}; }
  if (name.empty()) {
    return badRequest(
        fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided",
                    call.route.name));
  }
  return badRequest(fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                                call.route.name));
}

Refused Api::preconditionFailed(const Call& call, const char* what, std::string_view want,
                                std::string_view have) {
  const Resource& r = call.resource();
  return conflict(
      r.subject(), call.route.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}{}{}/{}/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: {} in precondition: {}, {} in object meta: {}",
                  r.custom ? r.group : "", r.custom ? "/" : "", r.plural, call.route.ns, call.route.name,
                  what, want, what, have));
}

/// As the controller-manager does it.
void Api::giveServiceAccount(const std::string& ns, Now now) {
  const Request request{"POST", "/api/v1/namespaces/" + ns + "/serviceaccounts", "application/json",
                        json::Object{{"metadata", json::Object{{"name", "default"}}}}};
  (void)handle(request, now);
}

void Api::establish(const json::Value& crd, Now now) {
  resources_.serve(crd);
  if (!crd["metadata"]["deletionTimestamp"].isNull()) { return; }
  json::Value next = crd;
  next.set("status", establishedStatus(crd, now));
  const StoreKey key{std::string{kCrdsId}, "", std::string{crd["metadata"]["name"].str()}};
  const auto* there = store_.find(key);
  if (next != *there->object) { store_.put(key, std::move(next), there->owners); }
}

json::Value Api::shown(const Resource& r, const json::Value& object) {
  return r.coreEvents() ? toCoreEvent(object) : object;
}

}  // namespace gs::apiserver
