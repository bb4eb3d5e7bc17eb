// Any bytes as an allocation, as a map and as names: what is read survives being printed; of a map a pod's
// own part is as good as all of it; names keep their limits.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/annotations.h"
#include "model/map.h"

namespace {

void readAsMap(std::string_view in) {
  namespace model = gs::model;
  const std::string_view name = in.substr(0, in.find('\n'));
  const auto ordinal = model::ordinalOf(name, name.substr(0, name.size() / 2)).value_or(0);
  const auto read = model::readMap(in, ordinal);
  const std::string own = model::ownMap(in, ordinal);
  const auto again = model::readMap(own, ordinal);
  if (own.size() > 2'048 || again.entry.has_value() != read.entry.has_value()) { __builtin_trap(); }
  if (again.ended_at.empty() != read.ended_at.empty()) { __builtin_trap(); }
  if (!read.entry) { return; }
  const auto ids = model::parseMapGpus(read.entry->gpus);
  const auto own_ids = model::parseMapGpus(again.entry->gpus);
  if (ids.has_value() != own_ids.has_value() || (ids && *ids != *own_ids)) { __builtin_trap(); }
  if (!ids) { return; }
  const bool ascending = std::adjacent_find(ids->begin(), ids->end(), std::greater_equal<>{}) == ids->end();
  if (!ascending || ids->size() > model::kMostMapGpus) { __builtin_trap(); }
  if (!model::tellsSame(model::printIds(*ids), read.entry->gpus)) { __builtin_trap(); }
}

}  // namespace

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
  readAsMap(in);
  const std::string_view name = in.substr(0, 253);
  if (model::leaseName(model::NodeName{name}, 1023).size() > 253) { __builtin_trap(); }
  if (model::podLabel(in).size() > 63) { __builtin_trap(); }
  return 0;
}
