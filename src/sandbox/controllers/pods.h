// Pods as controllers see them: what state they are in, which go first,
// and how one is made from a template. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox::controllers {

[[nodiscard]] bool hasEnded(const json::Value& pod);  // Succeeded or Failed
/// It has not ended, and nobody deletes it.
[[nodiscard]] bool isActive(const json::Value& pod);
[[nodiscard]] bool isReady(const json::Value& pod);
[[nodiscard]] bool isRunningAndReady(const json::Value& pod);
/// Ready for `min_ready` seconds.
[[nodiscard]] bool isAvailable(const json::Value& pod, std::int64_t min_ready, Now now);
/// How long until a pod that is Ready is available.
[[nodiscard]] Duration untilAvailable(const json::Value& pod, std::int64_t min_ready, Now now);

/// Sorts pods so that those that are missed least come first: without a node, Pending, not Ready, of a low
/// `controller.kubernetes.io/pod-deletion-cost`, beside many of their like, Ready for a short time,
/// restarted often, young.
/// Times count by their order of magnitude, and between equals the uid decides,
/// so that not always the youngest goes.
/// `crowd`: how many of their like are on each node.
void sortForRemoval(std::vector<apiserver::ObjectPtr>& pods, const std::map<std::string, int>& crowd,
                    Now now);

/// A pod of `owner`, as spec.template says; it has no name yet.
[[nodiscard]] json::Value podOf(const json::Value& owner);

}  // namespace gs::sandbox::controllers
