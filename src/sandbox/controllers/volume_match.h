// Which volume a claim is bound to, as the controller-manager chooses. Pure.
#pragma once

#include <string>
#include <vector>

#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::sandbox::controllers {

/// It is for that claim, or for one of its name whose uid nobody has written yet.
[[nodiscard]] bool isFor(const json::Value& volume, const json::Value& claim);
/// Why a volume that a claim names cannot be bound to it, in the words of the controller-manager; "": it can.
[[nodiscard]] std::string whyNotBound(const json::Value& volume, const json::Value& claim);
/// For a claim that names no volume: one that is for it, else the smallest of those that serve it; of equal
/// ones the first by name. Null: none. `waits`: for a pod, so nobody takes one for it here.
[[nodiscard]] apiserver::ObjectPtr bestVolume(const std::vector<apiserver::ObjectPtr>& volumes,
                                              const json::Value& claim, bool waits);

}  // namespace gs::sandbox::controllers
