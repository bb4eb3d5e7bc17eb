#include "model/told.h"

#include <optional>

#include "model/annotations.h"
#include "model/map.h"

namespace gs::model {
namespace {

std::optional<std::int64_t> numberOf(const Pod& pod) {
  const std::string_view name = pod.key.name;
  return ordinalOf(name, name.substr(0, pod.generated));
}

}  // namespace

std::string keptOf(const Pod& pod, std::string_view key, std::string_view value) {
  if (key != kMapKey) { return std::string{value}; }
  const auto ordinal = pod.bound() ? std::nullopt : numberOf(pod);
  return ordinal ? ownMap(value, *ordinal) : std::string{};
}

bool isToldByValue(const Pod& pod) { return pod.annotation(kMapKey) != nullptr; }

bool saysOthers(const Pod& pod, std::string_view told) {
  const std::string* map = pod.annotation(kMapKey);
  const auto ordinal = map == nullptr ? std::nullopt : numberOf(pod);
  const auto entry = ordinal ? readMap(*map, *ordinal).entry : std::nullopt;
  return entry && !tellsSame(told, entry->gpus);
}

}  // namespace gs::model
