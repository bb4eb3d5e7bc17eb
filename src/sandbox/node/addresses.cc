#include "sandbox/node/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gs::sandbox {
namespace {

constexpr std::uint32_t kPerNet = 250;

/// Takes a number of 0 to 250 off the front; false: there is none.
bool takeByte(std::string_view& text, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} && out <= kPerNet;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) { return false; }
  text.remove_prefix(what.size());
  return true;
}

}  // namespace

void Addresses::inUse(std::string_view address) {
  std::uint32_t net = 0;
  std::uint32_t host = 0;
  const bool ours = take(address, prefix_) && take(address, ".") && takeByte(address, net) &&
                    take(address, ".") && takeByte(address, host) && address.empty() && host > 0;
  if (ours) { next_ = std::max(next_, net * kPerNet + host); }
}

std::string Addresses::next() {
  const std::uint32_t n = next_++ % (kPerNet * kPerNet);
  return fmt::format("{}.{}.{}", prefix_, n / kPerNet, n % kPerNet + 1);
}

}  // namespace gs::sandbox
