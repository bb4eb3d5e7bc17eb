#include "noderim/rocm_calls.h"

#include <fmt/format.h>

namespace gs::noderim {

Result<std::unique_ptr<RocmCalls>> RocmCalls::load(const std::string& library) {
  auto opened = Library::open(library);
  if (!opened) { return tl::unexpected(std::move(opened).error()); }
  auto out = std::make_unique<RocmCalls>(*std::move(opened));
  RocmCalls& c = *out;
  const Library& from = c.library_;
  from.find(c.init.function, {"rsmi_init"});
  from.find(c.shut_down.function, {"rsmi_shut_down"});
  from.find(c.status_text_.function, {"rsmi_status_string"});
  from.find(c.count.function, {"rsmi_num_monitor_devices"});
  from.find(c.pci_id.function, {"rsmi_dev_pci_id_get"});
  from.find(c.unique_id.function, {"rsmi_dev_unique_id_get"});
  from.find(c.memory_total.function, {"rsmi_dev_memory_total_get"});
  from.find(c.name.function, {"rsmi_dev_name_get"});
  from.find(c.version.function, {"rsmi_version_str_get"});
  const bool is_rocm = c.init.function != nullptr && c.shut_down.function != nullptr &&
                       c.count.function != nullptr && c.pci_id.function != nullptr;
  if (!is_rocm) { return fail(Code::Invalid, "it lacks the functions of rocm_smi"); }
  return out;
}

std::string RocmCalls::text(int code) const {
  const char* said = nullptr;
  const bool says = status_text_(code, &said) == kRocmOk && said != nullptr;
  const auto number = static_cast<unsigned>(code);
  return says ? fmt::format("{} ({})", said, number) : fmt::format("error {}", number);
}

}  // namespace gs::noderim
