#include "agent/numberings.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/ids.h"

namespace gs::agent {

bool isGpuId(std::string_view name) {
  int id = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  return error == std::errc{} && end == name.data() + name.size() && id >= 0 && id <= model::kMaxDeviceId;
}

Numberings::Numbering Numberings::numberingOf(const std::vector<Device>& devices,
                                              const std::vector<Numbers>& numbers) {
  Numbering out;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Gpu& gpu = devices[i].gpu;
    const std::string name = nameOf(devices[i]);
    for (int n = numbers[i].first; n <= numbers[i].last; ++n) { out.names[std::to_string(n)].insert(name); }
    if (!gpu.uuid.empty()) { out.names[gpu.uuid].insert(name); }
    for (const Partition& partition : gpu.partitions) { out.names[partition.uuid].insert(name); }
  }
  return out;
}

void Numberings::published(const std::vector<Device>& devices) {
  std::vector<Numbers> ids;
  ids.reserve(devices.size());
  for (const Device& device : devices) { ids.push_back({device.id, device.id}); }
  Numbering before = numberingOf(devices, ids);
  const bool is_known = !all_.empty() && all_.front().names == before.names;
  if (is_known || all_.size() == kMost) { return; }
  all_.insert(all_.begin(), std::move(before));
}

bool Numberings::looked(const std::vector<Device>& devices, Mono now) {
  Numbering seen = numberingOf(devices, numbersOf(devices));
  if (all_.empty() || all_.back().names != seen.names) {
    seen.first = seen.last = now;
    all_.push_back(std::move(seen));
    if (all_.size() > kMost) { all_.erase(all_.begin()); }
    return true;
  }
  Numbering& known = all_.back();
  if (known.first == Mono::min()) { known.first = now; }
  known.before_last = std::exchange(known.last, now);
  return false;
}

/// From the last moment at which the one before it was surely in force, until another one was seen. Of
/// several that were published before there was a look, each may have been in force until then.
bool Numberings::mayHold(std::size_t which, Span when) const {
  const auto next = std::find_if(all_.begin() + static_cast<std::ptrdiff_t>(which) + 1, all_.end(),
                                 [](const Numbering& other) { return other.first != Mono::min(); });
  const bool is_over = next != all_.end() && next->first < when.from;
  return !is_over && (which == 0 || all_[which - 1].before_last <= when.to);
}

std::set<std::string> Numberings::meant(const std::string& name, Span when) const {
  std::set<std::string> out;
  const bool is_id = isGpuId(name);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto at = all_[i].names.find(name);
    if (at == all_[i].names.end()) { continue; }
    const bool is_first_later = out.empty() && i > 0 && all_[i - 1].before_last > when.to;
    if (!is_id || mayHold(i, when) || is_first_later) { out.insert(at->second.begin(), at->second.end()); }
  }
  return out;
}

}  // namespace gs::agent
