// Any bytes as a driver file: what is read has the known drivers and no more than a file may add, each once
// and with all that it must have; what is not read is answered with what to write.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "dra/file/driver_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto v = gs::json::parse(in);
  if (!v) { return 0; }
  const auto drivers = gs::dra::readDrivers(*v);
  if (!drivers) {
    if (drivers.error().message.find("; ") == std::string::npos) { __builtin_trap(); }
    return 0;
  }
  std::set<std::string> names;
  for (const auto& driver : *drivers) {
    const bool is_whole = !driver.name.empty() && driver.name.size() <= 63 && !driver.device_class.empty() &&
                          driver.resource.find('/') != std::string::npos;
    // Without a value every device is a whole GPU; with one an attribute has it.
    const bool tells = driver.whole.empty() == driver.kind.name.empty();
    if (!is_whole || !tells || !names.insert(driver.name).second) { __builtin_trap(); }
    if (gs::dra::findDriver(*drivers, driver.name) != &driver) { __builtin_trap(); }
  }
  for (const auto& known : gs::dra::knownDrivers()) {
    if (!names.contains(known.name)) { __builtin_trap(); }
  }
  if (names.size() > gs::dra::kMostDrivers + gs::dra::knownDrivers().size()) { __builtin_trap(); }
  return 0;
}
