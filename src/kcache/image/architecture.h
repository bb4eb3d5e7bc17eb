// The architecture of this machine.
#pragma once

namespace gs::kcache {

/// As images name it: that of what is made, and of what is taken where there is a choice.
#if defined(__aarch64__)
inline constexpr const char* kArchitecture = "arm64";
#else
inline constexpr const char* kArchitecture = "amd64";
#endif

}  // namespace gs::kcache
