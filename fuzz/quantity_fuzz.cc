// Any bytes as a quantity: units are the milli amount rounded away from zero.
#include <cstdint>
#include <string_view>

#include "kapi/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto units = gs::kapi::quantityUnits(in);
  const auto milli = gs::kapi::quantityMilli(in);
  if (milli && !units) { __builtin_trap(); }
  if (!milli) { return 0; }
  const std::int64_t rest = *milli % 1000;
  const std::int64_t rounded = *milli / 1000 + (rest > 0 ? 1 : rest < 0 ? -1 : 0);
  if (*units != rounded) { __builtin_trap(); }
  return 0;
}
