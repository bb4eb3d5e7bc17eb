// Any bytes as docker's config.json and as a pull secret: no crash, no hang; what is accepted is safe in a
// header.
#include <cstdint>
#include <string_view>

#include "cacherim/registry/credentials.h"

namespace {

void look(const gs::cacherim::Credentials& all) {
  for (const auto& credential : all.of("quay.io", "team/a")) {
    if (credential.username.find(':') != std::string::npos ||
        credential.registry_token.find_first_of("\r\n ") != std::string::npos) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto all = gs::cacherim::Credentials::parseDockerConfig(text)) { look(*all); }
  if (const auto all = gs::cacherim::Credentials::parsePullSecret(text)) { look(*all); }
  return 0;
}
