#include "apiserver/meta/answer.h"

#include <fmt/core.h>

#include <algorithm>

namespace gs::apiserver {

std::string goQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

namespace {

std::string shownValue(const json::Value& value) {
  return value.isString() ? goQuote(value.str()) : json::print(value);
}

json::Value subjectDetails(std::string_view name, std::string_view group, std::string_view kind) {
  json::Value details = json::Object{};
  if (!name.empty()) { details.set("name", name); }
  if (!group.empty()) { details.set("group", group); }
  if (!kind.empty()) { details.set("kind", kind); }
  return details;
}

Refused about(const Subject& s, std::string_view name, int code, std::string reason, std::string message) {
  ApiError error{code, std::move(reason), std::move(message), subjectDetails(name, s.group, s.resource), {},
                 false};
  return Refused{std::move(error)};
}

}  // namespace

FieldError fieldRequired(std::string field, std::string_view detail) {
  std::string message = "Required value";
  if (!detail.empty()) { message += fmt::format(": {}", detail); }
  return {std::move(field), "Required", std::move(message)};
}

FieldError fieldInvalid(std::string field, const std::string& shown, std::string_view detail) {
  return {std::move(field), "Invalid", fmt::format("Invalid value: {}: {}", shown, detail)};
}

FieldError fieldInvalid(std::string field, const json::Value& value, std::string_view detail) {
  return fieldInvalid(std::move(field), shownValue(value), detail);
}

FieldError fieldNotSupported(std::string field, const std::string& shown,
                             const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& s : supported) { list += (list.empty() ? "" : ", ") + goQuote(s); }
  return {std::move(field), "NotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", shown, list)};
}

FieldError fieldNotSupported(std::string field, const json::Value& value,
                             const std::vector<std::string>& supported) {
  return fieldNotSupported(std::move(field), shownValue(value), supported);
}

FieldError fieldDuplicate(std::string field, const std::string& shown) {
  return {std::move(field), "Duplicate", fmt::format("Duplicate value: {}", shown)};
}

FieldError fieldForbidden(std::string field, std::string_view detail) {
  return {std::move(field), "Forbidden", fmt::format("Forbidden: {}", detail)};
}

Refused refuse(int code, std::string reason, std::string message) {
  return Refused{ApiError{code, std::move(reason), std::move(message), {}, {}, false}};
}

Refused badRequest(std::string message) { return refuse(400, "BadRequest", std::move(message)); }
Refused plainError(std::string message) { return refuse(500, "", std::move(message)); }

Refused notFound(const Subject& s, std::string_view name) {
  return about(s, name, 404, "NotFound", fmt::format("{} \"{}\" not found", s.qualifiedResource(), name));
}

Refused alreadyExists(const Subject& s, std::string_view name) {
  return about(s, name, 409, "AlreadyExists",
               fmt::format("{} \"{}\" already exists", s.qualifiedResource(), name));
}

Refused conflict(const Subject& s, std::string_view name, std::string_view why) {
  return about(
      s, name, 409, "Conflict",
      fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", s.qualifiedResource(), name, why));
}

Refused modified(const Subject& s, std::string_view name) {
  return conflict(
      s, name, "the object has been modified; please apply your changes to the latest version and try again");
}

Refused forbidden(const Subject& s, std::string_view name, std::string_view why) {
  return about(s, name, 403, "Forbidden",
               fmt::format("{} \"{}\" is forbidden: {}", s.qualifiedResource(), name, why));
}

Refused invalid(const Subject& s, std::string_view name, const FieldErrors& errors) {
  return invalidKind(s.kind, s.group, name, errors);
}

Refused invalidKind(std::string_view kind, std::string_view group, std::string_view name,
                    const FieldErrors& errors) {
  json::Value causes = json::Array{};
  std::vector<std::string> texts;
  for (const FieldError& e : errors) {
    json::Value cause = json::Object{};
    cause.set("reason", e.reason == "InternalError" ? e.reason : "FieldValue" + e.reason);
    cause.set("message", e.message);
    cause.set("field", e.field);
    causes.array().push_back(std::move(cause));
    std::string text = fmt::format("{}: {}", e.field, e.message);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) { texts.push_back(std::move(text)); }
  }
  std::string all;
  for (const std::string& t : texts) { all += (all.empty() ? "" : ", ") + t; }
  if (texts.size() > 1) { all = fmt::format("[{}]", all); }
  ApiError error{422, "Invalid", {}, subjectDetails(name, group, kind), {}, false};
  error.message =
      fmt::format("{}{}{} \"{}\" is invalid: {}", kind, group.empty() ? "" : ".", group, name, all);
  error.details.set("causes", std::move(causes));
  return Refused{std::move(error)};
}

Refused noSuchResource() {
  return Refused{ApiError{
      404, "NotFound", "the server could not find the requested resource", json::Object{}, {}, false}};
}

Refused noSuchPage() { return Refused{ApiError{404, "", "404 page not found", {}, {}, true}}; }

Refused methodNotAllowed() {
  return Refused{ApiError{405,
                          "MethodNotAllowed",
                          "the server does not allow this method on the requested resource",
                          json::Object{},
                          {},
                          false}};
}

Refused expired(std::string message) { return refuse(410, "Expired", std::move(message)); }

json::Value statusBody(const ApiError& error) {
  json::Value body = json::Object{};
  body.set("kind", "Status");
  body.set("apiVersion", "v1");
  body.set("metadata", error.metadata.isObject() ? error.metadata : json::Value{json::Object{}});
  body.set("status", "Failure");
  body.set("message", error.message);
  if (!error.reason.empty()) { body.set("reason", error.reason); }
  if (error.details.isObject()) { body.set("details", error.details); }
  body.set("code", error.code);
  return body;
}

json::Value successBody(json::Value details, int code) {
  json::Value body = json::Object{};
  body.set("kind", "Status");
  body.set("apiVersion", "v1");
  body.set("metadata", json::Object{});
  body.set("status", "Success");
  if (details.isObject()) { body.set("details", std::move(details)); }
  if (code != 0) { body.set("code", code); }
  return body;
}

}  // namespace gs::apiserver
