// What the kernel has of one device on the PCI bus (/sys/bus/pci/devices/*).
#pragma once

#include <string>

namespace gs::noderim {

/// Of "00000000:1B:00.0" the folder, by `sysfs` ("/sys"); "": that is no address.
[[nodiscard]] std::string pciFolder(const std::string& bus_id, const std::string& sysfs);
/// "/dev/dri/renderD128", by which programs use that GPU; "": the kernel has none for it.
[[nodiscard]] std::string renderNodeOf(const std::string& bus_id, const std::string& sysfs);

}  // namespace gs::noderim
