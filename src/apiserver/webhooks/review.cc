#include "apiserver/webhooks/review.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apiserver/patch/patch.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;
using Read = std::variant<HookVerdict, HookFailure>;

constexpr std::array<const char*, 3> kOperations{"CREATE", "UPDATE", "DELETE"};  // by Operation
constexpr std::array<const char*, 3> kOptions{"CreateOptions", "UpdateOptions", "DeleteOptions"};
constexpr std::size_t kMostOfBody = 500;  // that a message shows

Value kindOf(const AdmissionRequest& request, const Value& object) {
  const Value& shown = object.isNull() ? request.old : object;
  const std::string version{shown["apiVersion"].str()};
  if (version.empty()) {
    const Resource& r = request.resource;
    return Object{{"group", r.group}, {"version", r.version}, {"kind", r.kind}};
  }
  const auto slash = version.find('/');
  const bool core = slash == std::string::npos;
  return Object{{"group", core ? "" : version.substr(0, slash)},
                {"version", core ? version : version.substr(slash + 1)},
                {"kind", shown["kind"]}};
}

HookFailure notCalled(std::string_view why) { return {fmt::format("failed to call webhook: {}", why)}; }
HookFailure invalidAnswer(std::string_view why) {
  return {fmt::format("received invalid webhook response: {}", why)};
}
HookVerdict internal(std::string_view why) {
  HookVerdict out;
  out.refused = refuse(500, "InternalError", fmt::format("Internal error occurred: {}", why)).value();
  return out;
}

/// As a Go client words an answer that is no success.
std::string statusText(const HookAnswer& answer) {
  const std::string shown = answer.body.substr(0, kMostOfBody);
  switch (answer.status) {
    case 400: return "the server rejected our request for an unknown reason";
    case 401: return "the server has asked for the client to provide credentials";
    case 404: return "the server could not find the requested resource";
    case 405: return "the server does not allow this method on the requested resource";
    case 503: return "the server is currently unable to handle the request";
    default: break;
  }
  if (answer.status >= 500) {
    return fmt::format("an error on the server ({}) has prevented the request from succeeding",
                       goQuote(shown));
  }
  return fmt::format("the server responded with the status code {} but did not return more information",
                     answer.status);
}

/// What Go's decoder would not take; "": nothing.
std::string wrongType(const Value& response) {
  const auto complain = [](const char* member, const char* type) {
    return fmt::format("json: cannot unmarshal into Go struct field AdmissionReview.response.{} of type {}",
                       member, type);
  };
  const auto is = [&](const char* member, bool fine) { return response[member].isNull() || fine; };
  if (!is("allowed", response["allowed"].isBool())) { return complain("allowed", "bool"); }
  if (!is("uid", response["uid"].isString())) { return complain("uid", "types.UID"); }
  if (!is("status", response["status"].isObject())) { return complain("status", "v1.Status"); }
  if (!is("patchType", response["patchType"].isString())) { return complain("patchType", "v1.PatchType"); }
  if (!is("warnings", response["warnings"].isArray())) { return complain("warnings", "[]string"); }
  if (!is("patch", response["patch"].isString())) { return complain("patch", "[]uint8"); }
  return decodeBase64(response["patch"].str()) ? "" : "illegal base64 data in response.patch";
}

std::string shownKind(const Value& review) {
  const std::string version{review["apiVersion"].str()};
  const bool grouped = version.find('/') != std::string::npos;
  return fmt::format("{}{}, Kind={}", grouped || version.empty() ? "" : "/", version.empty() ? "/" : version,
                     review["kind"].str());
}

/// What a real server checks of an answer of v1; "": nothing is wrong. It lets v1beta1 pass.
std::string unfit(const Asked& asked, const Value& review) {
  const Value& response = review["response"];
  if (asked.version != "v1") { return {}; }
  if (response["uid"].str() != asked.uid) {
    return fmt::format("expected response.uid={}, got {}", goQuote(asked.uid),
                       goQuote(response["uid"].str()));
  }
  if (review["apiVersion"].str() != "admission.k8s.io/v1" || review["kind"].str() != "AdmissionReview") {
    return fmt::format("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}",
                       shownKind(review));
  }
  const bool patch = !response["patch"].str().empty();
  const bool type = !response["patchType"].isNull();
  if (asked.pass == HookPass::Validating) {
    if (patch) { return "validating webhook may not return response.patch"; }
    return type ? "validating webhook may not return response.patchType" : "";
  }
  if (patch && !type) { return "webhook returned response.patch but not response.patchType"; }
  if (type && !patch) { return "webhook returned response.patchType but not response.patch"; }
  if (type && response["patchType"].str().empty()) {
    return R"(webhook returned invalid response.patchType of "")";
  }
  return {};
}

/// A refusal is never a success: its code is 400 at least.
ApiError denied(const Hook& hook, const Value& status) {
  std::string message = fmt::format("admission webhook {} denied the request", goQuote(hook.name()));
  if (!status["message"].str().empty()) {
    message += fmt::format(": {}", status["message"].str());
  } else if (!status["reason"].str().empty()) {
    message += fmt::format(": {}", status["reason"].str());
  } else {
    message += " without explanation";
  }
  const auto code = status["code"].intOr(400);
  ApiError out{.code = code < 400 || code > 599 ? 400 : static_cast<int>(code),
               .reason = std::string{status["reason"].str()},
               .message = std::move(message),
               .details = {},
               .metadata = {}};
  if (status["details"].isObject()) { out.details = status["details"]; }
  return out;
}

/// The object after the patch; the verdict is done with.
HookVerdict patched(const Hook& hook, const Value& response, Value object, HookVerdict verdict) {
  const auto operations = json::parse(*decodeBase64(response["patch"].str()));
  if (!operations) { return internal(fmt::format("the patch is no JSON: {}", operations.error().message)); }
  if (operations->isArray() && operations->items().empty()) { return verdict; }
  if (object.isNull()) {
    return internal(
        fmt::format("admission webhook {} attempted to modify the object, which is not supported for this "
                    "operation",
                    goQuote(hook.name())));
  }
  if (!operations->isArray() || !applyJsonPatch(object, *operations)) {
    return internal(fmt::format("the patch of webhook {} does not fit the object: {}", goQuote(hook.name()),
                                json::print(*operations).substr(0, kMostOfBody)));
  }
  verdict.object = std::move(object);
  return verdict;
}

}  // namespace

std::string reviewVersion(const Hook& hook) {
  for (const Value& version : hook.spec["admissionReviewVersions"].items()) {
    if (version.str() == "v1" || version.str() == "v1beta1") { return std::string{version.str()}; }
  }
  return {};
}

json::Value reviewOf(const AdmissionRequest& request, const json::Value& object, const std::string& version,
                     const std::string& uid) {
  const Resource& r = request.resource;
  const Value kind = kindOf(request, object);
  const Value resource = Object{{"group", r.group}, {"version", r.version}, {"resource", r.plural}};
  const auto operation = static_cast<std::size_t>(request.operation);
  Value asked = Object{{"uid", uid}, {"kind", kind}, {"resource", resource}};
  if (!request.subresource.empty()) { asked.set("subResource", request.subresource); }
  asked.set("requestKind", kind);
  asked.set("requestResource", resource);
  if (!request.subresource.empty()) { asked.set("requestSubResource", request.subresource); }
  if (!request.name.empty()) { asked.set("name", request.name); }
  if (!request.ns.empty()) { asked.set("namespace", request.ns); }
  asked.set("operation", kOperations.at(operation));
  asked.set("userInfo", Object{{"username", request.user.empty() ? "nobody asks who you are" : request.user},
                               {"groups", json::Array{Value{"system:masters"}}}});
  asked.set("object", object);
  asked.set("oldObject", request.old);
  asked.set("dryRun", request.dry_run);
  asked.set("options", Object{{"kind", kOptions.at(operation)}, {"apiVersion", "meta.k8s.io/v1"}});
  return Object{{"kind", "AdmissionReview"},
                {"apiVersion", "admission.k8s.io/" + version},
                {"request", std::move(asked)}};
}

std::variant<HookVerdict, HookFailure> readAnswer(const Hook& hook, const Asked& asked,
                                                  const HookAnswer& answer, const json::Value& object) {
  if (answer.status == 0) {
    return notCalled(fmt::format("Post {}: {}", goQuote(asked.url), answer.trouble));
  }
  if (answer.status < 200 || answer.status > 299) { return notCalled(statusText(answer)); }
  const auto review = json::parse(answer.body);
  if (!review) {
    return notCalled(fmt::format("couldn't get version/kind; json parse error: {}", review.error().message));
  }
  const Value& response = (*review)["response"];
  if (!response.isObject()) { return invalidAnswer("webhook response was absent"); }
  if (const auto wrong = wrongType(response); !wrong.empty()) { return notCalled(wrong); }
  if (const auto why = unfit(asked, *review); !why.empty()) { return invalidAnswer(why); }
  HookVerdict verdict;
  for (const Value& warning : response["warnings"].items()) { verdict.warnings.emplace_back(warning.str()); }
  if (!response["allowed"].boolOr(false)) {
    verdict.refused = denied(hook, response["status"]);
    return verdict;
  }
  if (asked.pass == HookPass::Validating || response["patch"].str().empty()) { return verdict; }
  const auto type = response["patchType"].str();
  if (asked.version == "v1" && type != "JSONPatch") {
    return HookFailure{fmt::format("unsupported patch type {}", goQuote(type))};
  }
  return patched(hook, response, object, std::move(verdict));
}

}  // namespace gs::apiserver
