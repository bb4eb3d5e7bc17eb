#include "sched/doors/exact.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

namespace gs::sched {
namespace {

bool isNumber(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::vector<int>> allocatedIds(const model::Pod& pod) {
  const std::string* text = pod.annotation(model::kAllocatedKey);
  if (text == nullptr || !pod.bound()) { return std::nullopt; }
  auto allocation = model::parseAllocation(*text);
  if (!allocation || (!allocation->node.empty() && allocation->node != pod.node)) { return std::nullopt; }
  return std::move(allocation->ids);
}

std::vector<std::string> toldUuids(const model::Pod& pod) {
  constexpr std::size_t kMost = model::kMaxDeviceId + 1;
  const std::string* told = pod.annotation(model::kVisibleDevicesKey);
  std::vector<std::string> uuids;
  if (told == nullptr) { return uuids; }
  std::string_view rest = *told;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = rest.substr(0, comma);
    if (word.empty() || isNumber(word) || uuids.size() == kMost) { return {}; }
    uuids.emplace_back(word);
    rest.remove_prefix(more ? comma + 1 : rest.size());
  }
  return uuids;
}

const std::string& reservationOf(const model::Pod& pod) {
  static const std::string kNone;
  const std::string* bound_for = pod.annotation(model::kReservationKey);
  return bound_for == nullptr ? kNone : *bound_for;
}

bool wasGivenACount(const model::Pod& pod) {
  const std::string* allocated = pod.annotation(model::kAllocatedKey);
  return !reservationOf(pod).empty() && (allocated == nullptr || allocated->empty()) &&
         pod.requests.get(model::kNvidiaGpu) > 0;
}

void addExact(const model::Pod& pod, Holdings& holdings) {
  if (pod.annotations.empty()) { return; }
  holdings.ids = allocatedIds(pod);
  holdings.uuids = toldUuids(pod);
  holdings.reservation = reservationOf(pod);
}

/// Ids where a UUID is not known: an empty entry of CUDA_VISIBLE_DEVICES would hide all that follow.
Annotations exactAnnotations(const Decision& d) {
  if (d.ids.empty()) { return {{model::kReservationKey, d.reservation}}; }
  const bool known = !d.uuids.empty() &&
                     std::none_of(d.uuids.begin(), d.uuids.end(), [](const auto& u) { return u.empty(); });
  return {{model::kAllocatedKey, model::printAllocation(d.node, d.ids)},
          {model::kVisibleDevicesKey,
           known ? fmt::format("{}", fmt::join(d.uuids, ",")) : model::printIds(d.ids)},
          {model::kReservationKey, d.reservation}};
}

}  // namespace gs::sched
