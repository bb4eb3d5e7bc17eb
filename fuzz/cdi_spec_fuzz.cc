// Any bytes as a CDI file: what is not read is answered with the file's name; what is read resolves by all of
// its names, in an index of which a later directory has the same file and another one has it twice, and can
// be written out or is refused by the file's name.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/cdi/edits.h"
#include "enforce/cdi/gpu_names.h"

namespace cdi = gs::enforce::cdi;

namespace {

void insist(bool holds) {
  if (!holds) { __builtin_trap(); }
}

cdi::SpecPtr specAs(const char* file, std::string_view in) {
  auto spec = cdi::readSpec(file, in);
  if (!spec) {
    insist(spec.error().code == gs::Code::Invalid && spec.error().message.starts_with(file));
    return nullptr;
  }
  return std::make_shared<const cdi::Spec>(*std::move(spec));
}

void checkWrittenOut(const cdi::Entry& entry) {
  cdi::Stats stats;
  for (const std::string& path : cdi::nodesToStat({entry})) { stats[path] = {"c", 195, 1, 0666}; }
  const auto written = cdi::writtenOut({entry}, stats);
  if (!written) {
    insist(written.error().message.starts_with(entry.spec->file));
    return;
  }
  insist(written->untold.empty() == written->untold.sentence().empty());
  for (const auto& device : written->adjustment.devices) {
    insist(device.path.starts_with('/') && (device.type == "c" || device.type == "b"));
    insist(!device.file_mode || *device.file_mode <= 0777);
  }
  for (const auto& mount : written->adjustment.mounts) { insist(mount.destination.starts_with('/')); }
  for (const auto& [name, value] : written->adjustment.env) { insist(!name.empty() && name.front() != '-'); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto first = specAs("first", in);
  if (first == nullptr) { return 0; }
  const auto second = specAs("second", in);
  insist(second != nullptr && second->devices == first->devices);
  const cdi::Index index{std::vector<cdi::SpecFile>{{0, first}, {1, second}}};
  const cdi::Index in_conflict{std::vector<cdi::SpecFile>{{0, first}, {0, second}}};
  insist(index.size() == first->devices.size() && index.broken().empty());
  insist(in_conflict.size() == 0 && in_conflict.broken().size() == 1);
  insist(index.devicesOfKind(first->kind.text()).size() == first->devices.size());
  std::size_t left = 16;  // what each costs grows with the file
  for (const cdi::Device& device : first->devices) {
    if (left-- == 0) { break; }
    const std::string name = first->kind.text() + "=" + device.name;
    const auto parsed = cdi::parseQualifiedName(name);
    insist(parsed && parsed->text() == name);
    const auto found = index.find(name);
    insist(found && found->spec == second && found->device->name == device.name && found->name() == name);
    const auto conflict = in_conflict.find(name);
    insist(!conflict && conflict.error().code == gs::Code::Conflict);
    checkWrittenOut(*found);
    cdi::Gpu gpu;
    gpu.uuid = device.name;
    gpu.minor = 1;
    const auto names = cdi::devicesOf(index, gpu);
    insist(!names.names.empty() || !names.refused.empty());
  }
  return 0;
}
