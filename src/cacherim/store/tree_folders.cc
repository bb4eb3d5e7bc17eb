#include "cacherim/store/tree_folders.h"

#include <utility>

namespace gs::cacherim {
namespace {

constexpr mode_t kAnybodys = 0777;

Result<Fd> treeFolder(const Disk& disk, int at, const std::string& name, InTheWay other) {
  if (auto there = Disk::openFolder(at, name)) { return there; }
  if (other == InTheWay::Goes) {
    if (Status gone = disk.removeUnlessFolder(at, name); !gone) { return because(gone.error()); }
  }
  Status made = disk.makeFolder(at, name);
  if (made) { made = disk.setMode(at, name, kAnybodys); }
  if (!made) { return because(made.error()); }
  return Disk::openFolder(at, name);
}

}  // namespace

Result<Disk::Below> makeBelow(const Disk& disk, int root, const std::string& path, InTheWay other) {
  auto folder = Disk::openFolder(root, ".");
  if (!folder) { return because(folder.error()); }
  Disk::Below out{std::move(*folder), path};
  for (auto slash = out.name.find('/'); slash != std::string::npos; slash = out.name.find('/')) {
    auto next = treeFolder(disk, out.folder.get(), out.name.substr(0, slash), other);
    if (!next) { return because(next.error()); }
    out.folder = std::move(*next);
    out.name.erase(0, slash + 1);
  }
  return out;
}

}  // namespace gs::cacherim
