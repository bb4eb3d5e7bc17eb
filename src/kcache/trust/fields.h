// Members of JSON texts that signatures come in. An error names the member by its path and says what is wrong
// with it; a text that is not what it should be is Code::Invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace gs::kcache::trust {

/// What one text may have of anything: certificates of a chain, entries, hashes of a proof, signatures.
inline constexpr std::size_t kMostItems = 32;

/// A text that is to be an object. `what`: how it is called in errors. JSON's parser bounds the nesting.
[[nodiscard]] Result<json::Value> objectOf(std::string_view what, std::string_view text,
                                           std::size_t max_bytes);
/// Bytes of a member in base64 (with padding); a missing one is refused.
[[nodiscard]] Result<std::string> bytesAt(const json::Value& in, const char* member, const std::string& path);
/// The same; a missing one is "".
[[nodiscard]] Result<std::string> bytesOrNone(const json::Value& in, const char* member,
                                              const std::string& path);
/// A whole number >= 0, written as one or, as protobuf's JSON has it, as a text; a missing one is 0.
[[nodiscard]] Result<std::int64_t> numberAt(const json::Value& in, const char* member,
                                            const std::string& path);
/// A list of at most kMostItems; a missing one is empty.
[[nodiscard]] Result<json::Array> listAt(const json::Value& in, const char* member, const std::string& path);

/// When a key or a CA counts; both ends belong to it.
struct Validity {
  Wall from{};
  std::optional<Wall> until{};
  [[nodiscard]] bool holds(Wall at) const { return at >= from && (!until || at <= *until); }
};
/// {"start","end"}; without a start it counted always.
[[nodiscard]] Result<Validity> validityAt(const json::Value& in, const char* member, const std::string& path);

}  // namespace gs::kcache::trust
