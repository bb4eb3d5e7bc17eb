// The file by which the agent tells the CSI driver where pods mount their caches (kcache/node/mount_paths.h):
//
//   /run/gkm/usage/paths.json
//   {"pods":{"<uid>":{"volumes":{"<name>":"/cache"},"claims":{"<claim>":"/cache"}}}}
//
// Written to the side and renamed, so that a reader sees all of it. Members that are not known are passed
// over. Any thread and process. Errors: NotFound, there is none (no agent of this version has run since the
// machine was started); Invalid, it is not such a file; Unavailable, the disk said no.
#pragma once

#include <string>
#include <string_view>

#include "cacherim/disk/disk.h"
#include "kcache/node/mount_paths.h"

namespace gs::cacherim {

[[nodiscard]] std::string printMountPaths(const kcache::MountPaths& paths);
[[nodiscard]] Result<kcache::MountPaths> parseMountPaths(std::string_view text);

/// `folder`: of the uses (usage.h).
[[nodiscard]] Status writeMountPaths(const std::string& folder, const kcache::MountPaths& paths,
                                     const Disk& disk);
[[nodiscard]] Result<kcache::MountPaths> readMountPaths(const std::string& folder);

}  // namespace gs::cacherim
