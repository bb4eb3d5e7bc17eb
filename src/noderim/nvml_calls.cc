#include "noderim/nvml_calls.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace gs::noderim {
namespace {

/// The first of the names that the library has.
template <class Function>
void find(void* library, Function& into, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) { continue; }
    into = reinterpret_cast<Function>(symbol);
    return;
  }
}

}  // namespace

Result<std::unique_ptr<NvmlCalls>> NvmlCalls::load(const std::string& library) {
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* why = dlerror();
    return fail(Code::NotFound, why == nullptr ? "cannot be loaded" : why);
  }
  auto out = std::make_unique<NvmlCalls>();
  out->library_ = opened;
  NvmlCalls& c = *out;
  find(opened, c.init.function, {"nvmlInit_v2"});
  find(opened, c.shutdown.function, {"nvmlShutdown"});
  find(opened, c.error_text_, {"nvmlErrorString"});
  find(opened, c.driver_version.function, {"nvmlSystemGetDriverVersion"});
  find(opened, c.count.function, {"nvmlDeviceGetCount_v2"});
  find(opened, c.by_index.function, {"nvmlDeviceGetHandleByIndex_v2"});
  find(opened, c.uuid.function, {"nvmlDeviceGetUUID"});
  find(opened, c.name.function, {"nvmlDeviceGetName"});
  find(opened, c.compute.function, {"nvmlDeviceGetCudaComputeCapability"});
  find(opened, c.numa.function, {"nvmlDeviceGetNumaNodeId"});
  find(opened, c.max_pcie_generation.function, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(opened, c.max_pcie_width.function, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(opened, c.max_mig.function, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(opened, c.memory.function, {"nvmlDeviceGetMemoryInfo"});
  find(opened, c.memory_v2.function, {"nvmlDeviceGetMemoryInfo_v2"});
  find(opened, c.pci.function, {"nvmlDeviceGetPciInfo_v3"});
  find(opened, c.p2p.function, {"nvmlDeviceGetP2PStatus"});
  find(opened, c.ancestor.function, {"nvmlDeviceGetTopologyCommonAncestor"});
  find(opened, c.link_state.function, {"nvmlDeviceGetNvLinkState"});
  find(opened, c.link_remote_pci.function, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  find(opened, c.link_remote_type.function, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
  find(opened, c.fields.function, {"nvmlDeviceGetFieldValues"});
  find(opened, c.fabric.function, {"nvmlDeviceGetGpuFabricInfoV"});
  find(opened, c.mig_mode.function, {"nvmlDeviceGetMigMode"});
  find(opened, c.mig_by_index.function, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(opened, c.attributes.function, {"nvmlDeviceGetAttributes_v2"});
  find(opened, c.ecc_errors.function, {"nvmlDeviceGetTotalEccErrors"});
  find(opened, c.remapped_rows.function, {"nvmlDeviceGetRemappedRows"});
  find(opened, c.event_set_create.function, {"nvmlEventSetCreate"});
  find(opened, c.event_set_free.function, {"nvmlEventSetFree"});
  find(opened, c.supported_events.function, {"nvmlDeviceGetSupportedEventTypes"});
  find(opened, c.register_events.function, {"nvmlDeviceRegisterEvents"});
  find(opened, c.event_wait.function, {"nvmlEventSetWait_v2"});
  const bool is_nvml = c.init.function != nullptr && c.count.function != nullptr &&
                       c.by_index.function != nullptr && c.uuid.function != nullptr;
  if (!is_nvml) { return fail(Code::Invalid, "it lacks the functions of NVML"); }
  return out;
}

NvmlCalls::~NvmlCalls() {
  if (library_ != nullptr) { dlclose(library_); }
}

std::string NvmlCalls::text(int code) const {
  const char* said = error_text_ == nullptr ? nullptr : error_text_(code);
  return said == nullptr ? fmt::format("error {}", code) : fmt::format("{} ({})", said, code);
}

}  // namespace gs::noderim
