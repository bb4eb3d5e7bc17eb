// The annotations of NVIDIA's own NRI plugin: `nvidia.cdi.k8s.io/container.<name>`, and `.../pod` for all
// containers of a pod. Whoever writes one names CDI devices and gets them, any GPU of the node among them.
// A container by whose annotations it would have a GPU that is not its pod's does not start: the other
// plugin may be on this node, and of two plugins nobody has the last word. A GPU's is what is called so, and
// any other device whose CDI file brings a GPU's node (NVIDIA's DRA driver writes such ones). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "enforce/cdi/index.h"
#include "enforce/device_table.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

inline constexpr const char* kNvidiaCdiAnnotations = "nvidia.cdi.k8s.io/";

struct CdiAnnotation {
  bool is_there = false;  // one that speaks of this container
  std::string key;
  std::string not_its_own;  // the first GPU that it names and that is not among `own`; "" none
};
[[nodiscard]] CdiAnnotation cdiAnnotation(const rpc::nri::PodSandbox& pod, std::string_view container,
                                          const std::vector<model::DeviceId>& own, const DeviceTable& table,
                                          const cdi::Index& index);

}  // namespace gs::enforce
