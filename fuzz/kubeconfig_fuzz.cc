// Any bytes as a kubeconfig: no crash, no hang; what is accepted gives an Access that is safe to use: a
// http(s) URL and a token without anything that would forge a header.
#include <cstdint>
#include <string_view>

#include "k8s/kubeconfig.h"

namespace {

bool isPlain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') { return false; }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  auto config = gs::k8s::parseKubeconfig(text, "/etc/k/config");
  if (!config) { return 0; }
  auto merged = *config;
  gs::k8s::mergeKubeconfig(merged, *config);
  if (merged.contexts.size() > config->contexts.size()) {
    __builtin_trap();
  }  // merging a file with itself adds nothing
  for (const auto& context : config->contexts) {
    const auto access = gs::k8s::resolveAccess(*config, context.name);
    if (!access) {
      if (access.error().message.empty()) { __builtin_trap(); }
      continue;
    }
    const bool url = access->server.starts_with("http://") || access->server.starts_with("https://");
    if (!url || !isPlain(access->server) || !isPlain(access->token) || access->ns.empty()) {
      __builtin_trap();
    }
  }
  return 0;
}
