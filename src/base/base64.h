// Standard base64 with padding, as kubeconfig files, Secrets and admission reviews hold it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gs {

[[nodiscard]] std::string encodeBase64(std::string_view bytes);
/// nullopt: not base64. Line breaks are skipped.
[[nodiscard]] std::optional<std::string> decodeBase64(std::string_view text);

}  // namespace gs
