#include "admission/review.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"

namespace gs::admission {
namespace {

using json::Object;
using json::Value;

constexpr std::string_view kVersions[] = {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"};
constexpr int kUnprocessable = 422;

bool isServed(std::string_view version) { return version == kVersions[0] || version == kVersions[1]; }

std::string_view beginning(std::string_view text) { return utf8Prefix(text, 100); }

/// In a warning of an API server there is none of these.
bool isControl(std::string_view character) {
  const unsigned char first = character[0];
  const bool is_c1 = first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || is_c1;
}

std::string sendable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || isControl(character)) {
      out += ' ';
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

Result<Review> readReview(const json::View& body) {
  Review out;
  out.version = body["apiVersion"].str();
  if (body["kind"].str() != "AdmissionReview" || !isServed(out.version)) {
    return fail(
        Code::Invalid,
        fmt::format("the body is apiVersion '{}', kind '{}'; send an AdmissionReview of {} or {}",
                    beginning(out.version), beginning(body["kind"].str()), kVersions[0], kVersions[1]));
  }
  const json::View request = body["request"];
  if (!request.isObject()) {
    return fail(Code::Invalid, "empty request: the AdmissionReview has no request");
  }
  out.uid = request["uid"].str();
  if (out.uid.empty()) {
    return fail(Code::Invalid, "request.uid is empty: the answer could not say what it answers");
  }
  out.group = request["kind"]["group"].str();
  out.kind = request["kind"]["kind"].str();
  out.operation = request["operation"].str();
  out.subresource = request["subResource"].str();
  out.ns = request["namespace"].str();
  out.user = request["userInfo"]["username"].str();
  out.object = request["object"];
  out.old_object = request["oldObject"];
  return out;
}

std::string printAnswer(const Review& review, const Verdict& verdict) {
  Object response{{"uid", review.uid}, {"allowed", verdict.allowed}};
  if (!verdict.allowed) {
    response.append("status",
                    Object{{"code", kUnprocessable}, {"reason", "Invalid"}, {"message", verdict.message}});
  } else if (!verdict.patch.empty()) {
    response.append("patchType", "JSONPatch");
    response.append("patch", encodeBase64(verdict.patch));
  }
  if (!verdict.warnings.empty()) {
    json::Array warnings;
    for (const std::string& warning : verdict.warnings) { warnings.emplace_back(sendable(warning)); }
    response.append("warnings", std::move(warnings));
  }
  return json::print(Object{{"kind", "AdmissionReview"},
                            {"apiVersion", review.version},
                            {"response", std::move(response)}}) +
         "\n";
}

std::string printRefusal(std::string_view why) {
  return json::print(
             Object{{"kind", "AdmissionReview"},
                    {"apiVersion", kVersions[0]},
                    {"response", Object{{"uid", ""},
                                        {"allowed", false},
                                        {"status", Object{{"metadata", Object{}}, {"message", why}}}}}}) +
         "\n";
}

}  // namespace gs::admission
