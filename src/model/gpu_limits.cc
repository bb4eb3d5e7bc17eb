#include "model/gpu_limits.h"

#include <map>
#include <utility>

namespace gs::model {

std::vector<GpuRange> rangesOf(const std::vector<GpuLimit>& limits) {
  std::vector<GpuRange> out;
  out.reserve(limits.size());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  std::size_t running = 0;  // GPUs of the sidecars and containers so far
  for (const auto& limit : limits) {
    const auto count = static_cast<std::size_t>(limit.count);
    const auto by = known.try_emplace({running, count}, out.size()).first->second;
    out.push_back({running, count, by});
    if (limit.of != GpuLimit::Of::Init) { running += count; }
  }
  return out;
}

std::size_t resultsFor(const std::vector<GpuLimit>& limits) {
  const auto ranges = rangesOf(limits);
  std::size_t out = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].by == i) { out += ranges[i].count; }
  }
  return out;
}

}  // namespace gs::model
