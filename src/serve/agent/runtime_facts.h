// What a container runtime can do, by the name and the version that it says. Pure.
#pragma once

#include "rpc/nri/messages.h"

namespace gs::serve {

/// It brings CDI devices into a container that NRI names: containerd from 2.1, CRI-O from 1.34. Of whom
/// this is not known it is false: the CDI files are written out then, which every runtime takes.
[[nodiscard]] bool injectsCdi(const rpc::nri::Runtime& runtime);

}  // namespace gs::serve
