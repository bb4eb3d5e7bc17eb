// Any bytes: no crash, no hang; both readers say the same; what was read prints to a text that reads to the
// same.
#include <cstdint>
#include <string_view>

#include "json/read_exact.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto v = gs::json::parse(in);
  const auto exact = gs::json::readExact(in);
  if (v.has_value() != exact.has_value() || (v && gs::json::print(*v) != gs::json::print(*exact))) {
    __builtin_trap();
  }
  if (!v) { return 0; }
  const auto again = gs::json::parse(gs::json::print(*v));
  if (!again || !(*again == *v)) { __builtin_trap(); }
  const auto pretty = gs::json::parse(gs::json::printPretty(*v));
  if (!pretty || !(*pretty == *v)) { __builtin_trap(); }
  return 0;
}
