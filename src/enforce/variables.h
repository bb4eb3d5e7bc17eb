// The variables by which containers are told their GPUs, and which value counts in the end.
//
// A variable that image and pod both set stands twice in what a runtime shows. NRI then replaces the first
// one, and the last one counts: the plugin's answer changes nothing, silently. So it is with
// NVIDIA_VISIBLE_DEVICES of every CUDA image whose container got a GPU from a device plugin that names it
// by variable. What a CDI device sets comes after all others and counts. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/cdi/index.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

inline constexpr const char* kCudaVariable = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kNvidiaVariable = "NVIDIA_VISIBLE_DEVICES";
inline constexpr const char* kRocrVariable = "ROCR_VISIBLE_DEVICES";
inline constexpr const char* kHipVariable = "HIP_VISIBLE_DEVICES";

/// To nvidia-container-runtime: this container is none of its business. Unset is not the same: an image
/// with CUDA_VERSION and without NVIDIA_REQUIRE_CUDA gets all GPUs then. ("none" brings the driver's
/// libraries in, which a container without GPUs has no use for.)
inline constexpr const char* kVoid = "void";

/// The value that counts of "K=V" lines; none: it is not set.
[[nodiscard]] std::optional<std::string_view> lastOf(const std::vector<std::string>& env,
                                                     std::string_view key);

/// A variable that a container is to have.
struct Told {
  std::string key;
  std::string value;
  std::vector<std::string> also;  // other values that say the same
};

/// What `key` is in the container after the adjustment, as a runtime applies it.
[[nodiscard]] std::optional<std::string> valueAfter(const std::vector<std::string>& env,
                                                    const rpc::nri::Adjustment& adjustment,
                                                    const cdi::Index& index, std::string_view key);
/// NRI takes each key once: one that is there is replaced.
void setVariable(rpc::nri::Adjustment& adjustment, const std::string& key, const std::string& value);

/// The first of them that would not be as it is to be.
[[nodiscard]] const Told* firstLost(const std::vector<std::string>& env,
                                    const rpc::nri::Adjustment& adjustment, const cdi::Index& index,
                                    const std::vector<Told>& told);

}  // namespace gs::enforce
