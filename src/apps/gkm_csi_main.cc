// gkm-csi: which flags, and what is run. The service is csi/node_service.h, its parts are put together in
// serve/csi/driver.h.
#include "process/process.h"
#include "process/program.h"
#include "serve/csi/driver.h"
#include "serve/csi/flags.h"

namespace gs {
namespace {

int run(const serve::CsiFlags& flags, const process::Program& program) {
  const auto surroundings = k8s::Surroundings::ofProcess();
  process::useLog(process::goLogOf(flags.log, surroundings));
  auto driver = serve::CsiDriverProcess::make(flags, surroundings, process::versionOf(program.name()));
  if (!driver) { return process::refuse(driver.error()); }
  return flags.only_test ? 0 : (*driver)->run();
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::keepMemorySmall();
  gs::process::Program program{
      "gkm-csi",
      "CSI driver of kernel caches: mounts what gkm-agent has extracted into the pods of its node."};
  gs::serve::CsiFlags flags;
  gs::serve::addCsi(program.root(), flags);
  program.root().does([&] { return gs::run(flags, program); });
  return program.run(argc, argv);
}
