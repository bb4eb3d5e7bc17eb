// Names as Kubernetes has them (RFC 1123): lower-case letters, digits and '-', in parts with '.' between. A
// part begins and ends with a letter or a digit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gs {

/// One part of at most 63 bytes: a namespace, say.
[[nodiscard]] bool isDnsLabel(std::string_view name);
/// At most 253 bytes, in parts of any length: most other objects. (Kubernetes has no limit of a part there.)
[[nodiscard]] bool isDnsSubdomain(std::string_view name);

/// What isDnsSubdomain() asks, in words for people; without a comma.
inline constexpr const char* kDnsSubdomainRule =
    "lower-case letters and digits with '-' and '.' between them; 253 characters at most";

/// The name that a kubelet gives the Node of that host: in lower case. Error Invalid: no Node can have that
/// name.
[[nodiscard]] Result<std::string> nodeNameOfHost(std::string_view host);

/// The same whatever the length, for who says that by itself.
[[nodiscard]] bool hasFormOfDnsLabel(std::string_view name);
[[nodiscard]] bool hasFormOfDnsSubdomain(std::string_view name);

}  // namespace gs
