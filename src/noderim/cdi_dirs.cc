#include "noderim/cdi_dirs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace gs::noderim {
namespace {

using enforce::cdi::NodeStat;
using enforce::cdi::Spec;

constexpr std::size_t kMostOfADirectory = 4 * kMostCdiFiles;  // entries of any name

bool isSpecName(std::string_view file) {
  return !file.starts_with('.') && (file.ends_with(".json") || file.ends_with(".yaml"));
}

/// Names of spec files, in order.
std::set<std::string> specNamesIn(const std::string& directory, std::vector<std::string>& broken) {
  std::set<std::string> out;
  std::error_code error;
  std::filesystem::directory_iterator it{directory, error};
  std::size_t entries = 0;
  for (; !error && it != std::filesystem::directory_iterator{}; it.increment(error)) {
    if (++entries > kMostOfADirectory || out.size() == kMostCdiFiles) {
      broken.push_back(
          fmt::format("{} has more than {} files, and the others are not read; remove what is "
                      "not used",
                      directory, kMostCdiFiles));
      return out;
    }
    std::string name = it->path().filename().string();
    if (isSpecName(name)) { out.insert(std::move(name)); }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    broken.push_back(fmt::format("cannot read {}: {}", directory, error.message()));
  }
  return out;
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string_view nodeTypeOf(mode_t mode) {
  if (S_ISCHR(mode)) { return "c"; }
  if (S_ISBLK(mode)) { return "b"; }
  return S_ISFIFO(mode) ? "p" : "";
}

}  // namespace

std::optional<enforce::cdi::Index> CdiDirs::look() {
  Seen seen;
  for (std::size_t i = 0; i < directories_.size(); ++i) { lookInto(i, seen); }
  const bool is_same = last_ && last_->specs == seen.specs && last_->broken == seen.broken;
  last_ = std::move(seen);
  if (is_same) { return std::nullopt; }
  return enforce::cdi::Index{last_->specs, last_->broken};
}

void CdiDirs::lookInto(std::size_t directory, Seen& seen) const {
  for (const std::string& name : specNamesIn(directories_[directory], seen.broken)) {
    lookAt(directories_[directory] + "/" + name, directory, seen);
  }
}

void CdiDirs::lookAt(const std::string& path, std::size_t directory, Seen& seen) const {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    const int why = errno;
    struct stat link {};
    if (::lstat(path.c_str(), &link) != 0) { return; }  // it went meanwhile
    seen.broken.push_back(
        fmt::format("cannot read {}: {}; where it is a link, the file that it leads to has "
                    "to be in the same directory",
                    path, std::strerror(why)));
    return;
  }
  if (S_ISDIR(found.st_mode)) { return; }
  if (!S_ISREG(found.st_mode)) {
    seen.broken.push_back(fmt::format("{} is no regular file; remove it", path));
    return;
  }
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size > enforce::cdi::kMostSpecBytes || seen.bytes + size > most_bytes_) {
    seen.broken.push_back(
        fmt::format("{} has {} bytes, and is not read: a CDI file has {} at most, and all "
                    "together {}",
                    path, size, enforce::cdi::kMostSpecBytes, most_bytes_));
    return;
  }
  seen.bytes += size;
  Known known = fileAt(path, {found.st_dev, found.st_ino, found.st_size, nanoseconds(found.st_mtim),
                              nanoseconds(found.st_ctim)});
  if (known.spec != nullptr) {
    seen.specs.push_back({directory, known.spec});
  } else {
    seen.broken.push_back(known.mistake);
  }
  seen.files.emplace(path, std::move(known));
}

CdiDirs::Known CdiDirs::fileAt(const std::string& path, const Stamp& stamp) const {
  if (last_) {
    const auto it = last_->files.find(path);
    if (it != last_->files.end() && it->second.stamp == stamp) { return it->second; }
  }
  const auto text = readFile(path, enforce::cdi::kMostSpecBytes);
  if (!text) { return {{}, nullptr, text.error().message}; }  // without a stamp: tried again
  auto spec = enforce::cdi::readSpec(path, *text);
  if (!spec) { return {stamp, nullptr, spec.error().message}; }
  return {stamp, std::make_shared<const Spec>(*std::move(spec)), ""};
}

enforce::cdi::Stats statNodes(const std::vector<std::string>& paths, const std::string& root) {
  enforce::cdi::Stats out;
  for (const std::string& path : paths) {
    struct stat found {};
    if (::lstat((root + path).c_str(), &found) != 0) { continue; }
    const auto type = nodeTypeOf(found.st_mode);
    if (type.empty()) { continue; }
    out[path] = NodeStat{std::string{type}, static_cast<std::int64_t>(major(found.st_rdev)),
                         static_cast<std::int64_t>(minor(found.st_rdev)), found.st_mode & 0777U};
  }
  return out;
}

}  // namespace gs::noderim
