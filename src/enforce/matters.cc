#include "enforce/matters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "enforce/cdi_annotations.h"
#include "enforce/given.h"
#include "enforce/gpu_node.h"
#include "enforce/moves.h"
#include "enforce/variables.h"
#include "model/annotations.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kMostOfAText = std::size_t{64} << 10;  // that is kept
constexpr const char* kSys = "/sys";                         // by which privileged containers are told

constexpr std::array<const char*, 6> kVariables{kCudaVariable, kNvidiaVariable, kRocrVariable,
                                                kHipVariable,  "CUDA_VERSION",  "NVIDIA_REQUIRE_CUDA"};

std::string cut(std::string_view text) { return std::string{text.substr(0, kMostOfAText)}; }

}  // namespace

bool readsAnnotation(std::string_view key) {
  return key == model::kAllocatedKey || key == model::kReservationKey || key == kMovedAnnotation ||
         key.starts_with(kCdiAnnotations) || key.starts_with(kNvidiaCdiAnnotations);
}

bool readsVariable(std::string_view name) {
  return std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end();
}

bool readsMount(const std::string& destination) {
  return destination == kSys || listedByMount(destination).has_value();
}

rpc::nri::PodSandbox whatMatters(const rpc::nri::PodSandbox& pod) {
  rpc::nri::PodSandbox out;
  out.id = pod.id;
  out.name = pod.name;
  out.uid = pod.uid;
  out.ns = pod.ns;
  for (const char* key : {model::kAllocatedKey, model::kReservationKey}) {
    if (const auto it = pod.annotations.find(key); it != pod.annotations.end()) {
      out.annotations.emplace(key, cut(it->second));
    }
  }
  return out;
}

rpc::nri::Container whatMatters(const rpc::nri::Container& container) {
  rpc::nri::Container out;
  out.id = container.id;
  out.pod_sandbox_id = container.pod_sandbox_id;
  out.name = container.name;
  out.state = container.state;
  if (const auto it = container.annotations.find(kMovedAnnotation); it != container.annotations.end()) {
    out.annotations.emplace(kMovedAnnotation, cut(it->second));
  }
  for (const char* variable : kVariables) {
    const auto value = lastOf(container.env, variable);
    if (value) { out.env.push_back(fmt::format("{}={}", variable, cut(*value))); }
  }
  std::copy_if(container.devices.begin(), container.devices.end(), std::back_inserter(out.devices),
               [](const auto& device) { return gpuNodeOf(device).has_value(); });
  for (const auto& mount : container.mounts) {
    if (mount.destination == kSys) { out.mounts.push_back(mount); }
    if (listedByMount(mount.destination)) { out.mounts.push_back({mount.destination, "", "", {}}); }
  }
  return out;
}

}  // namespace gs::enforce
