#include "enforce/told_file.h"

#include <fmt/core.h>

#include <vector>

#include "base/quoted.h"
#include "enforce/variables.h"

namespace gs::enforce {
namespace {

constexpr const char* kToldKind = "agent.gpu.scheduling/told";

std::string toldName(std::size_t gpus) { return gpus == 0 ? "none" : std::to_string(gpus); }

void appendDevice(std::string& out, std::size_t gpus) {
  std::vector<std::string> env{fmt::format("{}={}", kNvidiaVariable, kVoid)};
  for (const char* variable : {kCudaVariable, kRocrVariable, kHipVariable}) {
    if (gpus > 0) { env.push_back(fmt::format("{}={}", variable, numbersFrom0(gpus))); }
  }
  out += R"({"name":)";
  appendQuoted(out, toldName(gpus));
  out += R"(,"containerEdits":{"env":[)";
  for (std::size_t i = 0; i < env.size(); ++i) {
    if (i > 0) { out += ','; }
    appendQuoted(out, env[i]);
  }
  out += "]}}";
}

}  // namespace

std::string toldDevice(std::size_t gpus) { return fmt::format("{}={}", kToldKind, toldName(gpus)); }

std::string numbersFrom0(std::size_t gpus) {
  std::string out;
  for (std::size_t i = 0; i < gpus; ++i) {
    if (i > 0) { out += ','; }
    out += std::to_string(i);
  }
  return out;
}

std::string toldFile() {
  std::string out = R"({"cdiVersion":"0.6.0","kind":)";
  appendQuoted(out, kToldKind);
  out += R"(,"devices":[)";
  for (std::size_t gpus = 0; gpus <= kMostTold; ++gpus) {
    if (gpus > 0) { out += ",\n"; }
    appendDevice(out, gpus);
  }
  out += "]}\n";
  return out;
}

}  // namespace gs::enforce
