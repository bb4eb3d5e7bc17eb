#include "kcache/trust/fields.h"

#include <fmt/core.h>

#include <charconv>

#include "base/base64.h"
#include "kapi/time.h"

namespace gs::kcache::trust {
namespace {

tl::unexpected<Error> badField(const std::string& path, const char* member, std::string_view what) {
  return fail(Code::Invalid, fmt::format("{}{}{} {}", path, path.empty() ? "" : ".", member, what));
}

}  // namespace

Result<json::Value> objectOf(std::string_view what, std::string_view text, std::size_t max_bytes) {
  auto value = json::parse(text, max_bytes);
  if (!value) { return fail(Code::Invalid, fmt::format("{}: {}", what, value.error().message)); }
  if (!value->isObject()) { return fail(Code::Invalid, fmt::format("{}: it is no JSON object", what)); }
  return value;
}

Result<std::string> bytesOrNone(const json::Value& in, const char* member, const std::string& path) {
  const json::Value& value = in[member];
  if (value.isNull()) { return std::string{}; }
  auto bytes = value.isString() ? decodeBase64(value.str()) : std::nullopt;
  if (!bytes) { return badField(path, member, "is no base64"); }
  return std::move(*bytes);
}

Result<std::string> bytesAt(const json::Value& in, const char* member, const std::string& path) {
  auto bytes = bytesOrNone(in, member, path);
  if (bytes && bytes->empty()) { return badField(path, member, "is missing"); }
  return bytes;
}

Result<std::int64_t> numberAt(const json::Value& in, const char* member, const std::string& path) {
  const json::Value& value = in[member];
  if (value.isNull()) { return 0; }
  std::int64_t out = value.intOr(-1);
  if (value.isString()) {
    const std::string_view text = value.str();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size()) { out = -1; }
  }
  if (out < 0) { return badField(path, member, "is no number"); }
  return out;
}

Result<json::Array> listAt(const json::Value& in, const char* member, const std::string& path) {
  const json::Value& value = in[member];
  if (value.isNull()) { return json::Array{}; }
  if (!value.isArray()) { return badField(path, member, "is no list"); }
  if (value.items().size() > kMostItems) {
    return badField(path, member,
                    fmt::format("has {} entries; {} are allowed", value.items().size(), kMostItems));
  }
  return value.items();
}

Result<Validity> validityAt(const json::Value& in, const char* member, const std::string& path) {
  const json::Value& value = in[member];
  Validity out;
  for (const char* end : {"start", "end"}) {
    if (value[end].isNull()) { continue; }
    const auto time = kapi::parseTime(value[end].str());
    if (!time) {
      return badField(path, member,
                      fmt::format("has a member {} that is no time like 2025-06-15T15:06:40Z", end));
    }
    if (end[0] == 's') {
      out.from = *time;
    } else {
      out.until = *time;
    }
  }
  return out;
}

}  // namespace gs::kcache::trust
