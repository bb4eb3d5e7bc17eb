// Any bytes as an allocation and as names: what is read survives being printed; names keep their limits.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/annotations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace model = gs::model;
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  if (const auto a = model::parseAllocation(in)) {
    if (a->ids.empty() || !std::is_sorted(a->ids.begin(), a->ids.end())) { __builtin_trap(); }
    if (a->ids.front() < 0 || a->ids.back() > 1023) { __builtin_trap(); }
    const auto text = a->node.empty() ? model::printIds(a->ids) : model::printAllocation(a->node, a->ids);
    const auto again = model::parseAllocation(text);
    if (!again || !(*again == *a)) { __builtin_trap(); }
  }
  const std::string_view name = in.substr(0, 253);
  if (model::leaseName(model::NodeName{name}, 1023).size() > 253) { __builtin_trap(); }
  if (model::podLabel(in).size() > 63) { __builtin_trap(); }
  return 0;
}
