// What agents are asked to fetch first, as somebody wrote it on a node object: any bytes in, no crash, and
// names that are taken survive a round trip.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kcache/kinds/first.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gs::kcache;
  const auto first = parseFirst({reinterpret_cast<const char*>(data), size});
  if (!first) { return 0; }
  if (first->caches.empty() || first->caches.size() > kMostFirst) { __builtin_trap(); }
  const auto again = parseFirst(printFirst({gs::Wall{}, first->caches}));
  if (!again || again->caches != first->caches) { __builtin_trap(); }
  return 0;
}
