#include "noderim/nvml_calls.h"

#include <fmt/format.h>

#include <utility>

namespace gs::noderim {

Result<std::unique_ptr<NvmlCalls>> NvmlCalls::load(const std::string& library) {
  auto opened = Library::open(library);
  if (!opened) { return tl::unexpected(std::move(opened).error()); }
  auto out = std::make_unique<NvmlCalls>(*std::move(opened));
  NvmlCalls& c = *out;
  const Library& from = c.library_;
  from.find(c.init.function, {"nvmlInit_v2"});
  from.find(c.shutdown.function, {"nvmlShutdown"});
  from.find(c.error_text_, {"nvmlErrorString"});
  from.find(c.driver_version.function, {"nvmlSystemGetDriverVersion"});
  from.find(c.count.function, {"nvmlDeviceGetCount_v2"});
  from.find(c.by_index.function, {"nvmlDeviceGetHandleByIndex_v2"});
  from.find(c.uuid.function, {"nvmlDeviceGetUUID"});
  from.find(c.name.function, {"nvmlDeviceGetName"});
  from.find(c.compute.function, {"nvmlDeviceGetCudaComputeCapability"});
  from.find(c.minor_number.function, {"nvmlDeviceGetMinorNumber"});
  from.find(c.numa.function, {"nvmlDeviceGetNumaNodeId"});
  from.find(c.max_pcie_generation.function, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  from.find(c.max_pcie_width.function, {"nvmlDeviceGetMaxPcieLinkWidth"});
  from.find(c.max_mig.function, {"nvmlDeviceGetMaxMigDeviceCount"});
  from.find(c.memory.function, {"nvmlDeviceGetMemoryInfo"});
  from.find(c.memory_v2.function, {"nvmlDeviceGetMemoryInfo_v2"});
  from.find(c.pci.function, {"nvmlDeviceGetPciInfo_v3"});
  from.find(c.p2p.function, {"nvmlDeviceGetP2PStatus"});
  from.find(c.ancestor.function, {"nvmlDeviceGetTopologyCommonAncestor"});
  from.find(c.link_state.function, {"nvmlDeviceGetNvLinkState"});
  from.find(c.link_remote_pci.function, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  from.find(c.link_remote_type.function, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
  from.find(c.fields.function, {"nvmlDeviceGetFieldValues"});
  from.find(c.fabric.function, {"nvmlDeviceGetGpuFabricInfoV"});
  from.find(c.mig_mode.function, {"nvmlDeviceGetMigMode"});
  from.find(c.mig_by_index.function, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  from.find(c.attributes.function, {"nvmlDeviceGetAttributes_v2"});
  from.find(c.ecc_errors.function, {"nvmlDeviceGetTotalEccErrors"});
  from.find(c.remapped_rows.function, {"nvmlDeviceGetRemappedRows"});
  from.find(c.event_set_create.function, {"nvmlEventSetCreate"});
  from.find(c.event_set_free.function, {"nvmlEventSetFree"});
  from.find(c.supported_events.function, {"nvmlDeviceGetSupportedEventTypes"});
  from.find(c.register_events.function, {"nvmlDeviceRegisterEvents"});
  from.find(c.event_wait.function, {"nvmlEventSetWait_v2"});
  const bool is_nvml = c.init.function != nullptr && c.count.function != nullptr &&
                       c.by_index.function != nullptr && c.uuid.function != nullptr;
  if (!is_nvml) { return fail(Code::Invalid, "it lacks the functions of NVML"); }
  return out;
}

std::string NvmlCalls::text(int code) const {
  const char* said = error_text_ == nullptr ? nullptr : error_text_(code);
  return said == nullptr ? fmt::format("error {}", code) : fmt::format("{} ({})", said, code);
}

}  // namespace gs::noderim
