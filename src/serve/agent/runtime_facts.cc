#include "serve/agent/runtime_facts.h"

#include <charconv>
#include <compare>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/ascii.h"

namespace gs::serve {
namespace {

struct RuntimeVersion {
  unsigned major = 0;
  unsigned minor = 0;
  friend auto operator<=>(const RuntimeVersion&, const RuntimeVersion&) = default;
};

/// Takes a number off its begin.
std::optional<unsigned> takeNumber(std::string_view& text) {
  unsigned out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc{}) { return std::nullopt; }
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return out;
}

/// "v2.2.9", "1.7.27~ds1", "2.1.0-rc.1": what follows the second number is of no account.
std::optional<RuntimeVersion> versionIn(std::string_view text) {
  if (text.starts_with('v')) { text.remove_prefix(1); }
  const auto major = takeNumber(text);
  if (!major || !text.starts_with('.')) { return std::nullopt; }
  text.remove_prefix(1);
  const auto minor = takeNumber(text);
  if (!minor) { return std::nullopt; }
  return RuntimeVersion{*major, *minor};
}

struct RuntimeRow {
  std::string_view name;
  RuntimeVersion from;
};
constexpr RuntimeRow kInjectors[] = {{"containerd", {2, 1}}, {"cri-o", {1, 34}}};

}  // namespace

bool injectsCdi(const rpc::nri::Runtime& runtime) {
  const auto version = versionIn(trim(runtime.version));
  if (!version) { return false; }
  for (const RuntimeRow& row : kInjectors) {
    if (equalInAnyCase(trim(runtime.name), row.name)) { return *version >= row.from; }
  }
  return false;
}

}  // namespace gs::serve
