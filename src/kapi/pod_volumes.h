// What a pod mounts: claims of persistent volumes, and disks that count or that it cannot share.
#pragma once

#include <set>
#include <string>

#include "json/document.h"
#include "model/pod.h"

namespace gs::kapi {

/// Of the volumes of a pod whose name is read; more of them than honest pods have are left out, and it is
/// said so in `unsupported`.
void readPodVolumes(const json::View& spec, model::Pod& pod, std::set<std::string>& unsupported);

}  // namespace gs::kapi
