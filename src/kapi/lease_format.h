// Which format the annotations of GPU leases have (R63), and what a version makes of leases of another one.
//
// Two versions may work side by side, while one replaces the other. Each writes its own format and reads
// its own. Of another format it reads what these annotations say all the same, and believes that the GPU
// is held until the pod has ended; it neither joins such a lease nor adopts it for a pod that is not
// bound. Who leaves a shared one is taken out of it, and all else in it stays as it was written.
#pragma once

namespace gs::kapi {

/// Of this version, in annotation gpu.scheduling/format. (The one function of its file: the testbed links a
/// version with another format, cmake/GsPreviousVersion.cmake.)
[[nodiscard]] int leaseFormat();

}  // namespace gs::kapi
