// The map door: annotation gpu-scheduling-map says by a pod's ordinal on which node it runs, and with which
// GPUs (model/map.h, R74). They are Shared: two pods may name one GPU. Its containers are told at admission
// what stands there, so a map that says something else by now is refused.
#include <fmt/format.h>

#include "base/utf8.h"
#include "model/map.h"
#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

constexpr std::size_t kMostShown = 128;  // of a value, which may be long

Blocked wrong(const char* kind, const std::string& what) {
  return {kind, fmt::format("annotation {}{}", model::kMapKey, what)};
}

std::string shown(std::string_view text) {
  return fmt::format("\"{}{}\"", utf8Prefix(text, kMostShown), text.size() > kMostShown ? "..." : "");
}

Blocked noEntry(std::int64_t ordinal, const model::MapReading& read) {
  std::string what = fmt::format(" has no line for index {}; add {}=<node>:<GPU ids>", ordinal, ordinal);
  if (!read.without_colon.empty()) {
    what = fmt::format(", line {}: it has no ':'; write {}=<node>:<GPU ids>",
                       shown(fmt::format("{}={}", ordinal, read.without_colon)), ordinal);
  }
  if (!read.ended_at.empty()) {
    what += fmt::format(" (it is read up to the line {} only: what stands before its = is no whole number)",
                        shown(read.ended_at));
  }
  return wrong("MapNoEntry", what);
}

/// What is wrong with the name of its node; "": nothing.
std::string wrongName(const std::string& node, std::int64_t ordinal) {
  if (node.empty()) {
    return fmt::format("no node is named between = and :; write {}=<node>:<GPU ids>", ordinal);
  }
  if (node.size() > model::kMostNodeName) {
    return fmt::format(
        "what stands between = and : has more than {} characters, which no node's name has; "
        "write {}=<node>:<GPU ids>",
        model::kMostNodeName, ordinal);
  }
  if (model::isLabelValue(node) || model::isNodeName(node)) { return {}; }
  return fmt::format("{} can be no node's name and no value of the label {}; write that of a node",
                     shown(node), model::kNodeNameLabel);
}

std::optional<AskedBy> mapAsked(const model::Pod& pod) {
  return pod.annotation(model::kMapKey) != nullptr ? std::optional{AskedBy{"annotation", model::kMapKey}}
                                                   : std::nullopt;
}

DoorResult mapRequest(const model::Pod& pod, const Objects& /*named*/, PodRequest base) {
  if (const std::int64_t limit = pod.requests.get(model::kNvidiaGpu); limit != 0) {  // R46
    return wrong("LimitOnMap",
                 fmt::format(" names the pod's GPUs, but the pod sets resources.limits[\"{}\"]={}; remove "
                             "the limit",
                             model::kNvidiaGpu, limit));
  }
  const std::string_view name = pod.key.name;
  const auto ordinal = model::ordinalOf(name, name.substr(0, pod.generated));
  if (!ordinal) {
    return wrong("MapNoOrdinal", fmt::format(": the name of pod {} ends with no number behind a -, so no "
                                             "line is its; name it as a StatefulSet does: {}-0",
                                             name, name));
  }
  const model::MapReading read = model::readMap(*pod.annotation(model::kMapKey), *ordinal);
  if (!read.entry) { return noEntry(*ordinal, read); }
  const auto& [node, gpus] = *read.entry;
  const std::string line = ", line " + shown(fmt::format("{}={}:{}", *ordinal, node, gpus));
  if (const std::string what = wrongName(node, *ordinal); !what.empty()) {
    return wrong("MapNoNode", fmt::format("{}: {}", line, what));
  }
  auto ids = model::parseMapGpus(gpus);
  if (!ids) { return wrong("MapGpus", fmt::format("{}: {}", line, ids.error().message)); }
  if (!pod.told_otherwise.empty()) {
    return wrong("MapToldOther",
                 fmt::format("{}: when the pod was created {}; delete the pod and create it again", line,
                             *pod.told_otherwise));
  }
  base.on_node = node;
  if (ids->empty()) { return base; }
  DeviceRequest d;
  d.count = static_cast<std::int64_t>(ids->size());
  d.exact = *std::move(ids);
  d.shared = true;
  base.devices = std::move(d);
  return base;
}

/// Which devices, the claim door reads.
void addShared(const model::Pod& pod, Holdings& holdings) {
  holdings.shared = holdings.shared || (!pod.annotations.empty() && mapAsked(pod) && claimName(pod).empty());
}

/// Ids, always: its containers were told what stands in the map.
Annotations mapAnnotations(const Decision& decision) {
  Decision by_ids = decision;
  by_ids.uuids.clear();
  return exactAnnotations(by_ids);
}

}  // namespace

constinit const Door kMapDoor{.name = "map",
                              .by_id = true,
                              .kept_by = kOurEnforcers,
                              .written = kExactKeys,
                              .asked = mapAsked,
                              .request = mapRequest,
                              .holdings = addShared,
                              .annotations = mapAnnotations};

}  // namespace gs::sched
