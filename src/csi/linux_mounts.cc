#include "csi/linux_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/clean_path.h"
#include "base/files.h"
#include "base/log.h"
#include "cacherim/disk/disk.h"
#include "net/socket.h"

namespace gs::csi {
namespace {

using net::Fd;

constexpr std::size_t kMostOfMountinfo = std::size_t{64} << 20;
constexpr int kMountinfoReads = 10;
constexpr std::uint64_t kBytesOfAFile = 16 << 10;  // so many files of this size may be in the limit
constexpr std::uint64_t kEmptyLimit = 64 << 10;
constexpr std::uint64_t kLeastInodes = 1024;
constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV;

/// Two reads that say the same: mounts come and go while it is read, and one must not be overlooked.
Result<std::vector<MountLine>> readMountinfo() {
  std::string last;
  for (int i = 0; i < kMountinfoReads; ++i) {
    auto text = readFile("/proc/self/mountinfo", kMostOfMountinfo);
    if (!text) { return tl::unexpected(text.error()); }
    if (i > 0 && *text == last) { return parseMountinfo(last); }
    last = *std::move(text);
  }
  return fail(Code::Unavailable, "the machine's mounts change too fast to be read; try again");
}

std::string realPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

/// A folder of our own where something is mounted while this lives. The one around it may have gone with
/// /run.
class Scratch {
 public:
  explicit Scratch(const std::string& in) : path_{in + "/XXXXXX"} {
    std::error_code said_below;
    std::filesystem::create_directories(in, said_below);
    if (::mkdtemp(path_.data()) == nullptr) { error_ = errno; }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (error_ != 0) { return; }
    while (::umount2(path_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {}
    if (::rmdir(path_.c_str()) != 0) { log::warn("a scratch folder stays", {{"path", path_}}); }
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// 0, or why it could not be made.
  [[nodiscard]] int error() const { return error_; }

 private:
  std::string path_;
  int error_ = 0;
};

Status mountAt(const TargetFolders& folders, const std::string& target, const std::string& source,
               const char* type, unsigned long flags, const std::string& options) {
  const auto folder = folders.open(target);
  if (!folder) { return tl::unexpected(folder.error()); }
  if (::mount(source.c_str(), byFd(*folder).c_str(), type, flags, options.c_str()) != 0) {
    return systemSaid("mount", fmt::format("{} at {}", type == nullptr ? "a bind" : type, target), errno);
  }
  return {};
}

/// Limits keep their sense with any page size: tmpfs counts whole pages.
std::string tmpfsOptions(std::uint64_t limit, std::uint64_t files) {
  return fmt::format("size={},nr_inodes={},mode=0700", limit,
                     std::max(kLeastInodes, limit / kBytesOfAFile) + files);
}

/// `files`: that are put in before the pod gets it.
Status makeUpper(const std::string& scratch, std::uint64_t limit, std::uint64_t files) {
  const auto failed = [&](const char* call) { return systemSaid(call, scratch, errno); };
  if (::mount("gkm", scratch.c_str(), "tmpfs", kFlags, tmpfsOptions(limit, files).c_str()) != 0) {
    return failed("mount tmpfs at");
  }
  const std::string upper = scratch + "/upper";
  const std::string work = scratch + "/work";
  const bool made = ::mkdir(upper.c_str(), 0700) == 0 && ::mkdir(work.c_str(), 0700) == 0 &&
                    ::chmod(upper.c_str(), 0777) == 0;  // whoever the pod runs as
  return made ? Status{} : failed("mkdir in");
}

/// The texts below `folder`, which is in a scratch of ours that nobody else gets to. Folders and files as the
/// tree's: pods may write beside them, and over them in their own layer.
Status writeLayer(const std::string& folder, const PathLayer& layer) {
  std::error_code error;
  for (const auto& [path, text] : layer.files) {
    const std::filesystem::path at = std::filesystem::path{folder} / path;
    for (auto above = std::filesystem::path{folder};
         const auto& part : std::filesystem::path{path}.parent_path()) {
      above /= part;
      if (std::filesystem::create_directory(above, error)) { (void)::chmod(above.c_str(), 0777); }
      if (error) { return fail(Code::Unavailable, fmt::format("mkdir {}: {}", path, error.message())); }
    }
    const Fd file{::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444)};
    const int failed = file.valid() ? cacherim::writeBytes(file.get(), text) : errno;
    if (failed != 0) { return systemSaid("write", path, failed); }
    (void)::fchmod(file.get(), 0444);
  }
  return {};
}

/// What lies below the pod's own layer, topmost first.
Result<std::string> lowerOf(const MountedTree& tree, const std::string& scratch) {
  if (tree.paths.files.empty()) { return byFd(tree.root); }
  const std::string folder = scratch + "/paths";
  if (::mkdir(folder.c_str(), 0777) != 0 || ::chmod(folder.c_str(), 0777) != 0) {
    return systemSaid("mkdir", folder, errno);
  }
  if (Status written = writeLayer(folder, tree.paths); !written) { return tl::unexpected(written.error()); }
  return folder + ':' + byFd(tree.root);
}

/// With their folders, and the one that they lie in.
std::uint64_t filesOf(const PathLayer& layer) {
  if (layer.files.empty()) { return 0; }
  std::set<std::filesystem::path> folders;
  for (const auto& [path, text] : layer.files) {
    for (auto at = std::filesystem::path{path}.parent_path(); !at.empty(); at = at.parent_path()) {
      folders.insert(at);
    }
  }
  return 1 + layer.files.size() + folders.size();
}

/// Room for the texts beside what a pod may write: each takes whole pages, and its folders.
std::uint64_t roomFor(const PathLayer& layer) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return layer.files.size() * page + layer.bytes();
}

}  // namespace

Result<std::unique_ptr<LinuxMounts>> LinuxMounts::open(Options options) {
  for (const std::string* path : {&options.target_root, &options.store, &options.scratch}) {
    if (!isCleanPath(*path)) {
      return fail(
          Code::Invalid,
          fmt::format("the path '{}' is not absolute, or has '..', '.', '//' or '/' at its end", *path));
    }
  }
  if (options.scratch.find_first_of(":,\\") != std::string::npos) {  // the kernel's, in options of an overlay
    return fail(Code::Invalid, fmt::format("the scratch folder '{}' has ':', ',' or '\\'", options.scratch));
  }
  std::unique_ptr<LinuxMounts> out{new LinuxMounts{std::move(options)}};
  if (Status clear = out->clearScratch(); !clear) { return tl::unexpected(clear.error()); }
  return out;
}

Status LinuxMounts::clearScratch() const {
  std::error_code error;
  std::filesystem::create_directories(options_.scratch, error);
  if (error) {
    return fail(Code::Unavailable, fmt::format("mkdir {}: {}", options_.scratch, error.message()));
  }
  const auto lines = readMountinfo();
  if (!lines) { return tl::unexpected(lines.error()); }
  const std::string below = realPath(options_.scratch) + '/';
  for (const MountLine& line : *lines) {
    if (line.point.starts_with(below)) { ::umount2(line.point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW); }
  }
  for (const auto& left : std::filesystem::directory_iterator{options_.scratch, error}) {
    ::rmdir(left.path().c_str());  // empty ones: whatever else is there is not ours
  }
  return {};
}

Result<std::vector<TargetMount>> LinuxMounts::list() {
  const auto lines = readMountinfo();
  if (!lines) { return tl::unexpected(lines.error()); }
  return targetMounts(*lines, {.target_root = options_.target_root,
                               .real_target_root = realPath(options_.target_root),
                               .real_store = realPath(options_.store)});
}

Status LinuxMounts::mountWritable(const MountedTree& tree, const std::string& target) {
  const Scratch scratch{options_.scratch};
  if (scratch.error() != 0) { return systemSaid("mkdir in", options_.scratch, scratch.error()); }
  const std::uint64_t limit = options_.writable_limit + roomFor(tree.paths);
  if (Status upper = makeUpper(scratch.path(), limit, filesOf(tree.paths)); !upper) { return upper; }
  const auto lower = lowerOf(tree, scratch.path());
  if (!lower) { return tl::unexpected(lower.error()); }
  return mountAt(
      folders_, target, overlaySource(tree.cache, tree.image), "overlay", kFlags,
      fmt::format("lowerdir={},upperdir={}/upper,workdir={}/work", *lower, scratch.path(), scratch.path()));
}

Status LinuxMounts::mountReadOnly(const MountedTree& tree, const std::string& target) {
  const Scratch scratch{options_.scratch};
  if (scratch.error() != 0) { return systemSaid("mkdir in", options_.scratch, scratch.error()); }
  const std::uint64_t limit = kEmptyLimit + roomFor(tree.paths);
  if (Status empty = makeUpper(scratch.path(), limit, filesOf(tree.paths)); !empty) { return empty; }
  const auto lower = lowerOf(tree, scratch.path());
  if (!lower) { return tl::unexpected(lower.error()); }
  return mountAt(folders_, target, overlaySource(tree.cache, tree.image), "overlay", kFlags | MS_RDONLY,
                 fmt::format("lowerdir={}:{}/upper", *lower, scratch.path()));
}

Status LinuxMounts::unmount(const std::string& target) {
  const auto in = folders_.above(target);
  if (!in) { return in.error().code == Code::NotFound ? Status{} : tl::unexpected(in.error()); }
  if (::umount2(in->path().c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) {
    return {};
  }
  if (errno == EBUSY) { return fail(Code::Unavailable, fmt::format("{} is in use, try again", target)); }
  return systemSaid("unmount", target, errno);
}

Result<rpc::VolumeStats> LinuxMounts::stats(const std::string& target) {
  const auto folder = folders_.open(target);
  if (!folder) { return tl::unexpected(folder.error()); }
  struct statfs is {};
  if (::fstatfs(folder->get(), &is) != 0) { return systemSaid("statfs", target, errno); }
  const auto block = static_cast<std::int64_t>(is.f_frsize);
  const auto times = [&](auto blocks) { return static_cast<std::int64_t>(blocks) * block; };
  const auto files = static_cast<std::int64_t>(is.f_files);
  const auto free_files = static_cast<std::int64_t>(is.f_ffree);
  return rpc::VolumeStats{.bytes = {.total = times(is.f_blocks),
                                    .used = times(is.f_blocks - is.f_bfree),
                                    .available = times(is.f_bavail)},
                          .inodes = {.total = files, .used = files - free_files, .available = free_files}};
}

}  // namespace gs::csi
