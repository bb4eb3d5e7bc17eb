#include "noderim/all_gpus.h"

#include <utility>

#include "base/log.h"
#include "noderim/nvml.h"
#include "noderim/rocm.h"

namespace gs::noderim {
namespace {

using agent::Fault;

void add(agent::Hardware& all, const agent::Hardware& more) {
  const std::size_t before = all.gpus.size();
  for (agent::Gpu gpu : more.gpus) {
    gpu.driver_version = more.driver_version;
    all.gpus.push_back(std::move(gpu));
  }
  for (agent::PairLink link : more.links) {
    link.a += before;
    link.b += before;
    all.links.push_back(link);
  }
}

void add(std::optional<Fault>& all, const Fault& more) {
  all = all ? Fault{all->kind, all->text + "; " + more.text} : more;
}

}  // namespace

AllGpus::AllGpus(std::vector<std::unique_ptr<GpuSource>> drivers) {
  for (auto& source : drivers) { drivers_.push_back({.source = std::move(source)}); }
}

agent::Look AllGpus::look() {
  agent::Hardware out;
  std::optional<Fault> absent;
  std::optional<Fault> failing;
  bool is_any_there = false;
  for (Driver& driver : drivers_) {
    agent::Look look = driver.source->look();
    if (look) {
      driver.known = *std::move(look);
    } else if (look.error().kind == Fault::Kind::Absent) {
      driver.known.reset();
      add(absent, look.error());
    } else {
      add(failing, look.error());
    }
    is_any_there = is_any_there || driver.known;
    if (driver.known) { add(out, *driver.known); }
  }
  if (failing && out.gpus.empty()) { return tl::unexpected(*failing); }
  const std::string trouble = failing ? failing->text : "";
  if (std::exchange(said_, trouble) != trouble && failing) {
    log::warn("a GPU driver does not answer; its GPUs are as it said last", {{"why", failing->text}});
  }
  if (!is_any_there && absent) { return tl::unexpected(*absent); }
  return out;
}

std::unique_ptr<GpuSource> gpusOfBothVendors(const std::string& nvml_library, const std::string& rocm_library,
                                             const std::string& sysfs) {
  std::vector<std::unique_ptr<GpuSource>> drivers;
  drivers.push_back(std::make_unique<Nvml>(Nvml::Options{.library = nvml_library, .sysfs = sysfs}));
  drivers.push_back(std::make_unique<Rocm>(Rocm::Options{.library = rocm_library, .sysfs = sysfs}));
  return std::make_unique<AllGpus>(std::move(drivers));
}

}  // namespace gs::noderim
