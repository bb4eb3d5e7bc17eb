// What of a container runtime's words is looked at here. Whoever keeps them, keeps no more: anybody who may
// create pods writes annotations, variables and mounts, of any length.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "rpc/nri/messages.h"

namespace gs::enforce {

/// Of pods and of containers.
[[nodiscard]] bool readsAnnotation(std::string_view key);
[[nodiscard]] bool readsVariable(std::string_view name);
[[nodiscard]] bool readsMount(const std::string& destination);

/// The pod, and the container, without what a comparison (audit.h) does not look at: small enough to be kept.
/// Of each variable the value that counts; long texts without their ends, so that nothing is known of them.
[[nodiscard]] rpc::nri::PodSandbox whatMatters(const rpc::nri::PodSandbox& pod);
[[nodiscard]] rpc::nri::Container whatMatters(const rpc::nri::Container& container);

}  // namespace gs::enforce
