#include "apiserver/handlers/list_options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace gs::apiserver {
namespace {

template <class Number>
std::optional<Number> numberIn(const std::string& text) {
  Number n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return n;
}

std::string notANumber(const char* function, const std::string& text, const char* why = "invalid syntax") {
  return fmt::format("strconv.{}: parsing {}: {}", function, goQuote(text), why);
}

std::string notARevision(const std::string& text) {
  return fmt::format("resourceVersion: Invalid value: {}: {}", goQuote(text), notANumber("ParseUint", text));
}

Done checkMatch(const Query& query, bool watches) {
  const std::string match = valueOf(query, "resourceVersionMatch");
  const std::string revision = valueOf(query, "resourceVersion");
  FieldErrors errors;
  if (!match.empty()) {
    if (!valueOf(query, "continue").empty()) {
      errors.push_back(fieldForbidden("resourceVersionMatch",
                                      "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (revision.empty()) {
      errors.push_back(fieldForbidden(
          "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (match == "Exact" && revision == "0") {
      errors.push_back(fieldForbidden(
          "resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
    if (match != "Exact" && match != "NotOlderThan") {
      errors.push_back(
          fieldNotSupported("resourceVersionMatch", json::Value{match}, {"Exact", "NotOlderThan", ""}));
    }
  }
  if (query.contains("sendInitialEvents")) {
    if (match != "NotOlderThan") {
      errors.push_back(fieldForbidden(
          "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    errors.push_back(fieldForbidden(
        "sendInitialEvents",
        watches ? "sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
                  "enabled"
                : "sendInitialEvents is forbidden for list"));
  }
  if (!errors.empty()) { return invalidKind("ListOptions", "meta.k8s.io", "", errors); }
  return {};
}

Refused tooLarge(std::uint64_t wanted, std::uint64_t now) {
  ApiError error{
      504, "Timeout", fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, now),
      {},  {},        false};
  error.details = json::Object{
      {"causes", json::Array{json::Value{json::Object{{"reason", "ResourceVersionTooLarge"},
                                                      {"message", "Too large resource version"}}}}},
      {"retryAfterSeconds", 1}};
  return Refused{std::move(error)};
}

}  // namespace

Answer<ListOptions> readListOptions(const Query& query, std::uint64_t now) {
  if (auto fine = checkMatch(query, false); !fine) { return tl::unexpected(fine.error()); }
  ListOptions out;
  if (const std::string limit = valueOf(query, "limit"); !limit.empty()) {
    const auto n = readInteger(limit);
    if (!n) { return tl::unexpected(n.error()); }
    out.limit = static_cast<std::uint64_t>(std::max<std::int64_t>(*n, 0));
  }
  out.token = valueOf(query, "continue");
  const std::string text = valueOf(query, "resourceVersion");
  if (text.empty()) { return out; }
  const auto revision = numberIn<std::uint64_t>(text);
  if (!revision) { return badRequest("invalid resource version: " + notARevision(text)); }
  if (!out.token.empty() && *revision != 0) {
    return badRequest("specifying resource version is not allowed when using continue");
  }
  if (*revision > now) { return tooLarge(*revision, now); }
  if (*revision == 0) { out.limit = 0; }
  if (valueOf(query, "resourceVersionMatch") == "Exact") { out.exact = *revision; }
  return out;
}

Answer<std::int64_t> readInteger(const std::string& text) {
  if (const auto n = numberIn<std::int64_t>(text)) { return *n; }
  const bool digits = text.find_first_not_of("0123456789", text.starts_with('-')) == std::string::npos;
  const bool large = digits && text.size() > 18;  // fewer always fit
  return badRequest(notANumber("ParseInt", text, large ? "value out of range" : "invalid syntax"));
}

Answer<std::uint64_t> readWatchOptions(const Query& query) {
  if (auto fine = checkMatch(query, true); !fine) { return tl::unexpected(fine.error()); }
  const std::string text = valueOf(query, "resourceVersion");
  if (text.empty()) { return 0; }
  const auto revision = numberIn<std::uint64_t>(text);
  if (!revision) { return plainError(notARevision(text)); }
  return *revision;
}

}  // namespace gs::apiserver
