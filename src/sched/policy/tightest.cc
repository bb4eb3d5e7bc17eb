#include "sched/policy/tightest.h"

#include <algorithm>
#include <tuple>

namespace gs::sched {
namespace {

/// Empty: no device has room.
std::vector<int> takeShare(std::vector<FreeShare>& devices, const ContainerShare& asked) {
  FreeShare* best = nullptr;
  for (FreeShare& d : devices) {
    const bool has_room = d.milli >= asked.milli && d.mib >= asked.mib;
    if (has_room && (best == nullptr || isTighter(d, *best))) { best = &d; }
  }
  if (best == nullptr) { return {}; }
  best->milli -= asked.milli;
  best->mib -= asked.mib;
  return {best->id};
}

/// Empty: too few are untouched.
std::vector<int> takeWhole(std::vector<FreeShare>& devices, std::int64_t count) {
  std::vector<FreeShare*> untouched;
  for (FreeShare& d : devices) {
    if (d.milli == kWholeMilli) { untouched.push_back(&d); }
  }
  if (static_cast<std::int64_t>(untouched.size()) < count) { return {}; }
  std::sort(untouched.begin(), untouched.end(),
            [](const FreeShare* a, const FreeShare* b) { return isTighter(*a, *b); });
  untouched.resize(static_cast<std::size_t>(count));
  std::vector<int> ids;
  for (FreeShare* d : untouched) {
    ids.push_back(d->id);
    d->milli = 0;
    d->mib = 0;
  }
  return ids;
}

}  // namespace

bool isTighter(const FreeShare& a, const FreeShare& b) {
  return std::tie(a.milli, a.mib, a.id) < std::tie(b.milli, b.mib, b.id);  // equivalent: no two have one id
}

std::optional<ShareChoice> tightestFit(std::vector<FreeShare> devices,
                                       const std::vector<ContainerShare>& containers) {
  ShareChoice choice;
  choice.reserve(containers.size());
  for (const ContainerShare& asked : containers) {
    const bool wants_none = asked == ContainerShare{};
    auto ids = wants_none        ? std::vector<int>{}
               : asked.whole > 0 ? takeWhole(devices, asked.whole)
                                 : takeShare(devices, asked);
    if (ids.empty() && !wants_none) { return std::nullopt; }
    choice.push_back(std::move(ids));
  }
  return choice;
}

}  // namespace gs::sched
