#include "apiserver/handlers/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/crd_schema.h"
#include "apiserver/schema/go_decode.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kHeader =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
    "\"json:\\\"kind,omitempty\\\"\" }";

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

/// Of new ones, metadata is looked at only where all else is right.
bool isKindFirst(const Resource& r) { return r.is("policy/poddisruptionbudgets"); }

NameRule nameRule(const Resource& r) {
  if (r.is("/services")) { return NameRule::Service; }
  if (!r.custom && (r.group == "rbac.authorization.k8s.io" || isKindFirst(r))) {
    return NameRule::PathSegment;
  }
  return r.is("/namespaces") || r.is("apps/statefulsets") ? NameRule::Label : NameRule::Subdomain;
}

/// As Go compares two: "" is as good as absent where a field is no pointer.
std::string ownerText(const json::Value& owner) {
  const auto text = [&](const char* field) { return json::print(Value{owner[field].str()}); };
  return fmt::format("{} {} {} {} {} {}", text("apiVersion"), text("kind"), text("name"), text("uid"),
                     json::print(owner["controller"]), json::print(owner["blockOwnerDeletion"]));
}

/// An owner that is there twice, alike in every field, is kept once (apiserver's dedupOwnerReferences).
void dropTwiceOwners(Call& call, json::Value& object) {
  if (object["metadata"]["ownerReferences"].items().size() < 2) { return; }
  std::set<std::string> seen;
  std::string twice;
  auto& owners = object.child("metadata").child("ownerReferences").array();
  const auto from = std::remove_if(owners.begin(), owners.end(), [&](const json::Value& owner) {
    if (seen.insert(ownerText(owner)).second) { return false; }
    twice += fmt::format("{}{}", twice.empty() ? "" : ", ", owner["uid"].str());
    return true;
  });
  if (from == owners.end()) { return; }
  owners.erase(from, owners.end());
  call.warnings.push_back(fmt::format(
      ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
      "and "
      "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
      twice));
}

}  // namespace

std::string noConversion(const Resource& to, std::string_view kind) {
  const std::string group = to.group.empty() ? "core" : to.group.substr(0, to.group.find('.'));
  return fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", to.version, kind, group, to.kind);
}

Answer<json::Value> readObject(Call& call, const Resources& resources, const Resource& r) {
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
  if (auto fine = checkType(resources, r, request.body); !fine) { return tl::unexpected(fine.error()); }
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

tl::expected<json::Value, std::string> decode(Call& call, const Resource& r, json::Value object,
                                              const json::Value& known) {
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
    defaultTaintTimes(r, object, call.now);
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
  dropTwiceOwners(call, object);
  return object;
}

Done validate(Call& call, const json::Value& object, const json::Value& old) {
  const Resource& r = call.resource();
  const std::string name{object["metadata"]["name"].str()};
  if (r.custom && object["kind"].str() != r.kind) {
    return invalidKind(object["kind"].str(), r.group, name,
                       {fieldInvalid("kind", object["kind"], "must be " + r.kind)});
  }
  if (const FieldErrors first = checkFirst(r, object); !first.empty()) {
    return invalidKind(r.kind, r.storeGroup(), name, first);
  }
  FieldErrors errors = r.custom ? validateSchema(*r.schema, object, old) : checkKind(r, object, old);
  if (errors.empty() || !isKindFirst(r) || !old.isNull()) {
    const auto rule = r.coreMeta() ? FinalizerRule::Core : FinalizerRule::AnyName;
    const auto of_meta = checkMeta(object["metadata"], nameRule(r), rule);
    errors.insert(errors.begin(), of_meta.begin(), of_meta.end());
  }
  if (!errors.empty()) { return invalidKind(r.kind, r.storeGroup(), name, errors); }
  if (r.isWorkload() && old.isNull()) {
    for (auto& warning : workloadWarnings(r, object)) { call.warnings.push_back(std::move(warning)); }
  }
  if (r.isWebhooks()) {
    for (auto& warning : webhookWarnings(object, old)) { call.warnings.push_back(std::move(warning)); }
  }
  if (r.isAdmissionPolicy()) {
    for (auto& warning : policyWarnings(r, object)) { call.warnings.push_back(std::move(warning)); }
  }
  for (auto& warning : deviceWarnings(r, object)) { call.warnings.push_back(std::move(warning)); }
  if (r.custom) {
    for (auto& warning : finalizerWarnings(object["metadata"], old["metadata"])) {
      call.warnings.push_back(std::move(warning));
    }
  }
  return {};
}

Done checkNameOnUrl(const Call& call, const json::Value& object) {
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

}  // namespace gs::apiserver
