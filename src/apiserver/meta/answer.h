// What the API server answers when it refuses: code, reason,
// message and details as kube-apiserver words them.
//
// Handlers return Answer<T>: the value, or an ApiError that becomes a Status body. FieldErrors collect what
// validation found; several make one 422.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gs::apiserver {

struct ApiError {
  int code = 500;
  std::string reason;  // "NotFound"; "" where the real server gives none
  std::string message;
  json::Value details;   // null: no member `details`
  json::Value metadata;  // of the Status (a fresh continue token), null: {}
  bool text = false;     // a plain text answer ("404 page not found"), no Status
};

template <class T>
using Answer = tl::expected<T, ApiError>;
using Done = Answer<void>;
using Refused = tl::unexpected<ApiError>;

/// One finding of validation. `reason` is the cause type without "FieldValue": Invalid,
/// Required, NotSupported ...
struct FieldError {
  std::string field;
  std::string reason;
  std::string message;  // "Invalid value: ...", "Required value"
};
using FieldErrors = std::vector<FieldError>;

[[nodiscard]] FieldError fieldRequired(std::string field, std::string_view detail = {});
/// `shown` is the value as Go prints it: quoted for strings.
[[nodiscard]] FieldError fieldInvalid(std::string field, const std::string& shown, std::string_view detail);
[[nodiscard]] FieldError fieldInvalid(std::string field, const json::Value& value, std::string_view detail);
[[nodiscard]] FieldError fieldNotSupported(std::string field, const std::string& shown,
                                           const std::vector<std::string>& supported);
[[nodiscard]] FieldError fieldNotSupported(std::string field, const json::Value& value,
                                           const std::vector<std::string>& supported);
[[nodiscard]] FieldError fieldDuplicate(std::string field, const std::string& shown);
[[nodiscard]] FieldError fieldForbidden(std::string field, std::string_view detail);

/// Text quoted and escaped as Go's %q does.
[[nodiscard]] std::string goQuote(std::string_view text);

/// Names a resource in messages and details: `resource` is the plural ("widgets"), `kind` the Kind;
/// group "" is core.
struct Subject {
  std::string group;
  std::string resource;
  std::string kind;
  [[nodiscard]] std::string qualifiedResource() const {
    return group.empty() ? resource : resource + "." + group;
  }
};

[[nodiscard]] Refused refuse(int code, std::string reason, std::string message);
[[nodiscard]] Refused badRequest(std::string message);
/// 500 without a reason, as where the real server passes a plain Go error through.
[[nodiscard]] Refused plainError(std::string message);
[[nodiscard]] Refused notFound(const Subject& s, std::string_view name);
[[nodiscard]] Refused alreadyExists(const Subject& s, std::string_view name);
/// 409 "Operation cannot be fulfilled on <resource> "name": <why>"
[[nodiscard]] Refused conflict(const Subject& s, std::string_view name, std::string_view why);
[[nodiscard]] Refused modified(const Subject& s, std::string_view name);
[[nodiscard]] Refused forbidden(const Subject& s, std::string_view name, std::string_view why);
/// 422 from validation; `errors` is not empty. `kind` and `group` as in the message.
[[nodiscard]] Refused invalid(const Subject& s, std::string_view name, const FieldErrors& errors);
[[nodiscard]] Refused invalidKind(std::string_view kind, std::string_view group, std::string_view name,
                                  const FieldErrors& errors);
[[nodiscard]] Refused noSuchResource();  // 404 inside a served group
[[nodiscard]] Refused noSuchPage();      // 404 as text
[[nodiscard]] Refused methodNotAllowed();
[[nodiscard]] Refused expired(std::string message);

[[nodiscard]] json::Value statusBody(const ApiError& error);
/// The Status of a success; `details` null leaves it out.
[[nodiscard]] json::Value successBody(json::Value details, int code = 0);

}  // namespace gs::apiserver
