// The folders of a tree, by which its files are reached: each is opened by its name in the one above it, and
// no symbolic link is followed.
#pragma once

#include <string>

#include "cacherim/disk/disk.h"

namespace gs::cacherim {

/// What stands where a folder should be.
enum class InTheWay { Stays, Goes };

/// The folder of `path` below `root`, made where it is missing, and the last part of it. A pod's user,
/// whoever that is, may make files in it beside those of the tree: in the pod's own layer above it (nobody of
/// this machine gets there, see trees/ in store.h). Error Conflict: something is there that is no folder, and
/// it stays.
[[nodiscard]] Result<Disk::Below> makeBelow(const Disk& disk, int root, const std::string& path,
                                            InTheWay other = InTheWay::Stays);

}  // namespace gs::cacherim
