#include "cacherim/node/usage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLockFile = "lock";
constexpr const char* kVolumes = "volumes";
constexpr std::string_view kUseEnds = ".json";
constexpr std::size_t kMostOfAUse = std::size_t{64} << 10;
constexpr milliseconds kLockPace{5};

std::string useName(const std::string& volume_id) { return sha256Hex(volume_id).append(kUseEnds); }

/// What is written to the side by a process that died is no use.
bool isUseName(std::string_view name) {
  return name.size() == 64 + kUseEnds.size() && name.ends_with(kUseEnds) &&
         kcache::Digest::parse(std::string{kcache::Digest::kPrefix}.append(name.substr(0, 64))).has_value();
}

Result<VolumeUse> readUse(int volumes, const std::string& name) {
  const auto text = Disk{}.readAll(volumes, name, kMostOfAUse);
  auto use = text ? parseUse(*text) : Result<VolumeUse>{because(text.error())};
  if (use && useName(use->volume_id) != name) {
    use = fail(Code::Invalid, "it is of another volume than its name says");
  }
  if (!use) {
    return fail(use.error().code, fmt::format("the use {}/{}: {}", kVolumes, name, use.error().message));
  }
  return use;
}

bool isSameFile(int one, int folder, const char* name) {
  struct stat open {};
  struct stat named {};
  return ::fstat(one, &open) == 0 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

std::string printUse(const VolumeUse& use) {
  return json::print(json::Object{{"volumeId", use.volume_id},
                                  {"target", use.target},
                                  {"cacheFolder", use.cache.folder()},
                                  {"cacheName", use.cache.name()},
                                  {"digest", use.image.text()},
                                  {"podNamespace", use.pod_ns},
                                  {"podName", use.pod_name},
                                  {"podUid", use.pod_uid},
                                  {"readOnly", use.is_read_only}});
}

Result<VolumeUse> parseUse(std::string_view text) {
  const auto value = json::parse(text, kMostOfAUse);
  if (!value) { return fail(Code::Invalid, "no JSON: " + value.error().message); }
  const auto str = [&](const char* key) { return std::string{(*value)[key].str()}; };
  auto cache = CacheName::fromFolder(str("cacheFolder"), str("cacheName"));
  if (!cache) { return fail(Code::Invalid, "cacheFolder or cacheName: " + cache.error().message); }
  auto image = kcache::Digest::parse(str("digest"));
  if (!image) { return fail(Code::Invalid, "digest: " + image.error().message); }
  VolumeUse out{.volume_id = str("volumeId"),
                .target = str("target"),
                .cache = *std::move(cache),
                .image = *std::move(image),
                .pod_ns = str("podNamespace"),
                .pod_name = str("podName"),
                .pod_uid = str("podUid"),
                .is_read_only = (*value)["readOnly"].boolOr(false)};
  if (out.volume_id.empty() || !out.target.starts_with('/') || !(*value)["readOnly"].isBool()) {
    return fail(Code::Invalid, "volumeId, target or readOnly is not there");
  }
  return out;
}

Result<Usage> Usage::open(const std::string& folder, Disk disk) {
  if (!folder.starts_with('/')) {
    return fail(Code::Invalid, fmt::format("the usage folder '{}' is no absolute path", folder));
  }
  Usage out{std::move(disk), folder};
  if (const auto made = out.volumes(); !made) { return because(made.error()); }
  return out;
}

namespace {

constexpr const char* kComplete = "complete";
constexpr std::size_t kMostOfABootId = 64;

Result<std::string> bootId() {
  auto text = readFile("/proc/sys/kernel/random/boot_id", kMostOfABootId);
  if (!text) { return fail(Code::Unavailable, "which boot is this? " + text.error().message); }
  return text;
}

}  // namespace

Result<Fd> Usage::opened() const {
  std::error_code error;  // said by the open
  std::filesystem::create_directories(folder_, error);
  Fd out{::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!out.valid()) {
    return fail(Code::Unavailable, fmt::format("cannot open {}: {}", folder_, std::strerror(errno)));
  }
  return out;
}

Result<Fd> Usage::volumes() const {
  const auto folder = opened();
  if (!folder) { return because(folder.error()); }
  return disk_.folder(folder->get(), kVolumes);
}

Result<Usage::Lock> Usage::lock(Hold hold, Duration limit) const {
  const int how = (hold == Hold::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (Duration waited{}; waited <= limit; waited += kLockPace) {
    const auto folder = opened();
    if (!folder) { return because(folder.error()); }
    Fd fd{::openat(folder->get(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!fd.valid()) {
      return fail(Code::Unavailable,
                  fmt::format("cannot open {}/{}: {}", folder_, kLockFile, std::strerror(errno)));
    }
    const bool got = ::flock(fd.get(), how) == 0;
    if (got && isSameFile(fd.get(), folder->get(), kLockFile)) { return Lock{std::move(fd)}; }
    if (!got && errno != EWOULDBLOCK && errno != EINTR) {
      return fail(Code::Unavailable,
                  fmt::format("cannot lock {}/{}: {}", folder_, kLockFile, std::strerror(errno)));
    }
    ::poll(nullptr, 0, kLockPace.count());
  }
  return fail(Code::Deadline,
              fmt::format("{}/{} is held by somebody else for more than {} ms", folder_, kLockFile,
                          std::chrono::duration_cast<milliseconds>(limit).count()));
}

Status Usage::add(const VolumeUse& use) const {
  const auto folder = volumes();
  if (!folder) { return because(folder.error()); }
  const std::string name = useName(use.volume_id);
  const std::string beside = name + ".new";
  Status out = disk_.remove(folder->get(), beside);  // of a crash
  if (out) { out = disk_.writeFile(folder->get(), beside, printUse(use), 0644); }
  if (out) { out = disk_.rename(folder->get(), beside, folder->get(), name); }
  if (!out) { static_cast<void>(disk_.remove(folder->get(), beside)); }
  return out;
}

Status Usage::sayComplete() const {
  const auto boot = bootId();
  if (!boot) { return because(boot.error()); }
  const auto folder = volumes();
  if (!folder) { return because(folder.error()); }
  if (const auto there = Disk{}.readAll(folder->get(), kComplete, kMostOfABootId); there && *there == *boot) {
    return {};
  }
  const std::string beside = std::string{kComplete} + ".new";
  Status out = disk_.remove(folder->get(), beside);  // of a crash
  if (out) { out = disk_.writeFile(folder->get(), beside, *boot, 0644); }
  if (out) { out = disk_.rename(folder->get(), beside, folder->get(), kComplete); }
  return out;
}

Result<bool> Usage::isComplete() const {
  const auto boot = bootId();
  if (!boot) { return because(boot.error()); }
  const auto folder = volumes();
  if (!folder) { return because(folder.error()); }
  const auto there = Disk{}.readAll(folder->get(), kComplete, kMostOfABootId);
  if (!there && there.error().code != Code::NotFound) { return because(there.error()); }
  return there && *there == *boot;
}

Status Usage::remove(const std::string& volume_id) const {
  const auto folder = volumes();
  if (!folder) { return because(folder.error()); }
  return disk_.remove(folder->get(), useName(volume_id));
}

Result<VolumeUse> Usage::find(const std::string& volume_id) const {
  const auto folder = volumes();
  if (!folder) { return because(folder.error()); }
  return readUse(folder->get(), useName(volume_id));
}

Result<std::vector<VolumeUse>> Usage::all() const {
  const auto folder = volumes();
  const auto entries = folder ? Disk::list(folder->get()) : because(folder.error());
  if (!entries) { return because(entries.error()); }
  std::vector<VolumeUse> out;
  for (const Disk::Entry& entry : *entries) {
    if (!isUseName(entry.name)) { continue; }
    auto use = readUse(folder->get(), entry.name);
    if (!use && use.error().code == Code::NotFound) { continue; }  // gone since it was listed
    if (!use) { return because(use.error()); }
    out.push_back(*std::move(use));
  }
  std::sort(out.begin(), out.end(),
            [](const VolumeUse& a, const VolumeUse& b) { return a.volume_id < b.volume_id; });
  return out;
}

Result<std::vector<std::string>> Usage::dropUnreadable() const {
  const auto folder = volumes();
  const auto entries = folder ? Disk::list(folder->get()) : because(folder.error());
  if (!entries) { return because(entries.error()); }
  std::vector<std::string> out;
  for (const Disk::Entry& entry : *entries) {
    if (!isUseName(entry.name)) { continue; }
    const auto use = readUse(folder->get(), entry.name);
    if (use || use.error().code != Code::Invalid) { continue; }
    if (Status gone = disk_.remove(folder->get(), entry.name); !gone) { return because(gone.error()); }
    out.push_back(entry.name);
  }
  return out;
}

}  // namespace gs::cacherim
