#include "cacherim/image/fresh_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace gs::cacherim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".gpu-scheduler-fresh.";
constexpr std::size_t kRandom = 6;  // letters behind it, of mkdtemp()
constexpr int kMostTries = 16;

tl::unexpected<Error> cannotMake(const std::string& path, const std::string& why) {
  return fail(Code::Unavailable, fmt::format("cannot make '{}': {}", path, why));
}

bool lock(const Fd& folder, int how) {
  int done = 0;
  do { done = ::flock(folder.get(), how); } while (done != 0 && errno == EINTR);
  return done == 0;
}

bool isOurs(const Fd& folder) {
  struct stat is {};
  return ::fstat(folder.get(), &is) == 0 && is.st_uid == ::geteuid();
}

/// What others left behind who are no more. What may not be looked at or taken away stays.
void sweep(const Disk& disk, int folder) {
  const auto entries = Disk::list(folder);
  if (!entries) { return; }
  for (const Disk::Entry& one : *entries) {
    if (!one.isFolder() || !one.name.starts_with(kPrefix) || one.name.size() != kPrefix.size() + kRandom) {
      continue;
    }
    const auto left = Disk::openFolder(folder, one.name);
    if (left && isOurs(*left) && lock(*left, LOCK_EX | LOCK_NB)) { (void)disk.removeAll(folder, one.name); }
  }
}

/// Calls `both` with the two open folders of this name.
template <class Both>
Status within(int from, int to, const std::string& name, const Both& both) {
  const auto inner = Disk::openFolder(from, name);
  if (!inner) { return because(inner.error()); }
  const auto there = Disk::openFolder(to, name);
  if (!there) { return because(there.error()); }
  return both(inner->get(), there->get());
}

/// Error Conflict: something of `to` keeps merge() from being done; `path` is that of `to`.
Status nothingInTheWay(int from, int to, const std::string& path) {
  const auto entries = Disk::list(from);
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& one : *entries) {
    const auto there = Disk::look(to, one.name);
    if (!there && there.error().code == Code::NotFound) { continue; }
    if (!there) { return because(there.error()); }
    const std::string whole = fmt::format("{}/{}", path, one.name);
    if (one.isFolder() != there->isFolder()) {
      return fail(Code::Conflict, fmt::format("'{}' is in the way: it is {}", whole,
                                              there->isFolder() ? "a folder" : "no folder"));
    }
    if (!one.isFolder()) { continue; }
    Status fine = within(from, to, one.name,
                         [&](int inner, int below) { return nothingInTheWay(inner, below, whole); });
    if (!fine) { return fine; }
  }
  return {};
}

/// Moves what is in `from` into `to`. A folder takes the place of an empty one.
Status merge(const Disk& disk, int from, int to, const std::string& path) {
  const auto entries = Disk::list(from);
  if (!entries) { return because(entries.error()); }
  for (const Disk::Entry& one : *entries) {
    const std::string whole = fmt::format("{}/{}", path, one.name);
    Status moved = disk.rename(from, one.name, to, one.name);
    if (!moved && one.isFolder() && moved.error().code == Code::Conflict) {
      moved =
          within(from, to, one.name, [&](int inner, int below) { return merge(disk, inner, below, whole); });
      if (!moved) { return moved; }  // says itself which
    }
    if (!moved) { return cannotMake(whole, moved.error().message); }
  }
  return {};
}

/// Absolute, behind links that whoever names it has set: ~/.triton/cache may be one.
Result<fs::path> realPath(const std::string& target) {
  std::error_code error;
  const fs::path whole = fs::absolute(target, error);
  fs::path real = error ? fs::path{} : fs::weakly_canonical(whole, error);
  if (error) { return cannotMake(target, error.message()); }
  if (real.filename().empty()) { real = real.parent_path(); }
  if (real.filename().empty()) { return fail(Code::Unavailable, "cannot extract to /"); }
  return real;
}

}  // namespace

Result<FreshFolder> FreshFolder::towards(const std::string& target, Disk disk) {
  const auto real = realPath(target);
  if (!real) { return because(real.error()); }
  std::error_code error;
  const bool is_there = fs::exists(*real, error);
  const fs::path above = is_there ? *real : real->parent_path();
  if (!error && !is_there) { fs::create_directories(above, error); }
  if (error) { return cannotMake(target, error.message()); }
  FreshFolder out{above.string(), Fd{::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
                  std::move(disk)};
  out.target_ = real->string();
  if (!is_there) { out.becomes_ = real->filename().string(); }
  if (Status begun = out.begin(); !begun) { return because(begun.error()); }
  return out;
}

Result<FreshFolder> FreshFolder::in(const std::string& folder, Disk disk) {
  FreshFolder out{folder, Fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}, std::move(disk)};
  if (Status begun = out.begin(); !begun) { return because(begun.error()); }
  return out;
}

Status FreshFolder::begin() {
  if (!above_.valid()) { return cannotMake(above_path_, std::strerror(errno)); }
  sweep(disk_, above_.get());
  for (int left = kMostTries; left > 0; --left) {
    const auto begun = tryToBegin();
    if (!begun) { return because(begun.error()); }
    if (*begun) { return {}; }
  }
  return cannotMake(fmt::format("{}/{}", above_path_, kPrefix), "others take it away each time");
}

/// False: another process took it for one that was left behind, before it had its lock.
Result<bool> FreshFolder::tryToBegin() {
  std::string path = fmt::format("{}/{}{}", above_path_, kPrefix, std::string(kRandom, 'X'));
  if (::mkdtemp(path.data()) == nullptr) { return cannotMake(path, std::strerror(errno)); }
  name_ = path.substr(path.rfind('/') + 1);
  auto fresh = Disk::openFolder(above_.get(), name_);
  if (!fresh && fresh.error().code == Code::NotFound) { return false; }
  if (!fresh) { return cannotMake(path, fresh.error().message); }
  // Where a file system has no locks, nothing is swept either.
  if (lock(*fresh, LOCK_EX) && !Disk::look(above_.get(), name_)) { return false; }
  fresh_ = std::move(*fresh);
  return true;
}

FreshFolder::FreshFolder(FreshFolder&& other) noexcept
    : above_path_{std::move(other.above_path_)},
      above_{std::move(other.above_)},
      disk_{std::move(other.disk_)},
      target_{std::move(other.target_)},
      becomes_{std::move(other.becomes_)},
      name_{std::exchange(other.name_, "")},
      fresh_{std::move(other.fresh_)} {}

FreshFolder::~FreshFolder() {
  // What cannot be taken away lies there under a name that says what it is, until the next sweep.
  if (!name_.empty()) { (void)disk_.removeAll(above_.get(), name_); }
}

Status FreshFolder::publish() {
  if (Status safe = disk_.sync(fresh_.get()); !safe) { return cannotMake(target_, safe.error().message); }
  if (becomes_.empty()) { return publishInto(above_.get()); }
  Status named = disk_.setMode(above_.get(), name_, 0755);
  if (named) { named = disk_.rename(above_.get(), name_, above_.get(), becomes_); }
  if (named) {
    name_.clear();
    named = disk_.sync(above_.get());
  } else if (named.error().code == Code::Conflict) {  // somebody made it meanwhile
    const auto there = Disk::openFolder(above_.get(), becomes_);
    return there ? publishInto(there->get()) : cannotMake(target_, there.error().message);
  }
  return named ? Status{} : cannotMake(target_, named.error().message);
}

Status FreshFolder::publishInto(int folder) {
  if (Status free = nothingInTheWay(fresh_.get(), folder, target_); !free) { return free; }
  if (Status moved = merge(disk_, fresh_.get(), folder, target_); !moved) { return moved; }
  const Status safe = disk_.sync(folder);
  return safe ? Status{} : cannotMake(target_, safe.error().message);
}

}  // namespace gs::cacherim
