// A device of the record as the CDI index looks for it. Pure.
#pragma once

#include "enforce/cdi/gpu_names.h"
#include "enforce/gpu_node.h"
#include "enforce/node_record.h"

namespace gs::enforce {

[[nodiscard]] inline cdi::Gpu cdiGpu(const NodeDevice& device) {
  cdi::Gpu out;
  const bool is_amd = device.vendor == model::Vendor::Amd;
  out.vendor = is_amd ? cdi::GpuVendor::Amd : cdi::GpuVendor::Nvidia;
  out.uuid = device.uuid;
  if (!is_amd && device.minor >= 0) { out.minor = device.minor; }
  if (const auto render = renderNode(device)) { out.render = render->number; }
  if (!device.id.isWhole()) { return out; }  // a partition has neither address nor number of its own
  out.pci_bus_id = device.pci_bus_id;
  out.index = device.id.gpu;
  return out;
}

/// Which GPU a device node of a CDI file belongs to, on this host.
[[nodiscard]] inline std::optional<GpuNode> gpuNodeOf(const cdi::DeviceNode& node) {
  rpc::nri::LinuxDevice out;
  out.path = node.onHost();
  out.type = node.type.empty() ? "c" : node.type;
  out.major = node.major;
  out.minor = node.minor;
  return gpuNodeOf(out);
}

}  // namespace gs::enforce
