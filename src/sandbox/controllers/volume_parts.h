// What the controllers of volumes and of claims write: phases, finalizers, and the two halves of a binding.
// One write at a turn: what it changes is the next turn's cause.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

inline constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";

[[nodiscard]] inline Again afterWrite(const apiserver::Response& response) {
  return {.failed = !succeeded(response)};
}
[[nodiscard]] std::string_view phaseOf(const json::Value& object);
[[nodiscard]] Again setPhase(Client& client, const json::Value& object, const char* phase);
[[nodiscard]] Again takeFinalizer(Client& client, const json::Value& object, std::string_view name);
/// The volume first: a claim is bound only when its volume says so.
[[nodiscard]] Again bindVolume(Client& client, const json::Value& claim, const json::Value& volume);

}  // namespace gs::sandbox::controllers
