#include <algorithm>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

constexpr KindInfo kServerVersionInfo{"", "", "version", "Info", false, decodedBy<decodeServerVersion>};
constexpr int kMostMinor = 10'000;

}  // namespace

constinit const Kind kServerVersion{kServerVersionInfo};

/// Some providers write "33+".
model::ServerVersion decodeServerVersion(const json::View& v) {
  const std::string_view minor = v["minor"].str();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto end = std::find_if_not(minor.begin(), minor.end(), is_digit);
  const std::string_view digits = minor.substr(0, static_cast<std::size_t>(end - minor.begin()));
  model::ServerVersion out;
  if (v["major"].str() == "1") { out.minor = smallNumber(digits, kMostMinor).value_or(0); }
  return out;
}

}  // namespace gs::kapi
