// Standard base64 with padding, as kubeconfig files and Secrets hold it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gs::k8s {

/// nullopt: not base64. Line breaks are skipped.
[[nodiscard]] std::optional<std::string> decodeBase64(std::string_view text);

}  // namespace gs::k8s
