// Any bytes as a selector of DRA: read or refused; what is read says the same twice for a device, costs no
// more than others may, and is read again from its own text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/selector.h"

namespace {

const gs::model::SliceDevice& someDevice() {
  static const gs::model::SliceDevice kDevice = [] {
    gs::model::SliceDevice device;
    device.attributes[{"d", "s"}] = std::string{"H100"};
    device.attributes[{"d", "i"}] = std::int64_t{-1};
    device.attributes[{"d", "b"}] = true;
    device.attributes[{"d", "v"}] = *gs::model::parseSemVer("1.2.3-rc.1");
    device.capacity[{"d", "m"}] = {80, 500'000'000};
    return device;
  }();
  return kDevice;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  std::size_t patterns = gs::cel::kMaxPatterns;
  const auto selector = gs::cel::Selector::parse(in, patterns);
  if (patterns > gs::cel::kMaxPatterns) { __builtin_trap(); }
  if (!selector) {
    if (selector.error().message.empty()) { __builtin_trap(); }
    return 0;
  }
  std::uint64_t cost = 0;
  const auto outcome = selector->matches("d", someDevice(), &cost);
  // One operation may pass it, on a text as long as the selector; and each of those around it adds one.
  if (cost > gs::cel::kMaxCost + size + 256) { __builtin_trap(); }
  if (outcome.matches && !outcome.error.empty()) { __builtin_trap(); }
  const auto again = gs::cel::Selector::parse(selector->text());
  if (!again || again->matches("d", someDevice()) != outcome) { __builtin_trap(); }
  return 0;
}
