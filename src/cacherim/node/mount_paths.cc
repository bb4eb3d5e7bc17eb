#include "cacherim/node/mount_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr const char* kPathsFile = "paths.json";
constexpr const char* kPathsBeside = ".paths.json.new";
constexpr const char* kTold = "told";
constexpr std::int64_t kMostTold = 1'000'000'000;  // seconds that a machine is on
constexpr std::string_view kEnd = "}}";
constexpr std::string_view kSeen = R"({"more":true})";

Result<Fd> usesFolder(const std::string& folder) {
  Fd out{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (out.valid()) { return out; }
  return fail(errno == ENOENT ? Code::NotFound : Code::Unavailable,
              "open " + folder + ": " + std::strerror(errno));
}

std::map<std::string, std::string> textsOf(const json::Value& value) {
  std::map<std::string, std::string> out;
  for (const auto& [name, path] : value.members()) {
    if (path.isString()) { out.emplace(name, path.str()); }
  }
  return out;
}

struct PrintedPod {
  std::string name;
  std::string body;
};
PrintedPod printed(const std::string& uid, const kcache::PodPaths& pod) {
  json::Object body{{"volumes", json::fromStrings(pod.volumes)}, {"claims", json::fromStrings(pod.claims)}};
  if (pod.has_more) { body.set("more", true); }
  return {json::print(json::Value{uid}), json::print(std::move(body))};
}

}  // namespace

PrintedPaths printMountPaths(const kcache::MountPaths& paths, Mono now, std::size_t most) {
  std::vector<PrintedPod> pods;
  pods.reserve(paths.size());
  for (const auto& [uid, pod] : paths) { pods.push_back(printed(uid, pod)); }
  std::stable_sort(pods.begin(), pods.end(),
                   [](const PrintedPod& a, const PrintedPod& b) { return a.body.size() < b.body.size(); });
  PrintedPaths out;
  const auto told = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const std::string begin = fmt::format(R"({{"{}":{},"pods":{{)", kTold, told.count());
  std::size_t used = begin.size() + kEnd.size();
  std::erase_if(pods, [&](const PrintedPod& pod) {  // each is seen at the least
    const std::size_t size = pod.name.size() + std::min(kSeen.size(), pod.body.size()) + 2;
    const bool is_too_much = used + size > most;
    out.cut += is_too_much ? 1 : 0;
    used += is_too_much ? 0 : size;
    return is_too_much;
  });
  out.text = begin;
  for (const PrintedPod& pod : pods) {
    const std::size_t more = pod.body.size() - std::min(kSeen.size(), pod.body.size());
    const bool fits = used + more <= most;
    used += fits ? more : 0;
    out.cut += fits ? 0 : 1;
    out.text.append(out.text.size() > begin.size() ? "," : "").append(pod.name).append(":");
    out.text.append(fits ? std::string_view{pod.body} : kSeen);
  }
  out.text += kEnd;
  return out;
}

Result<ToldPaths> parseMountPaths(std::string_view text) {
  const auto value = json::parse(text, kMostOfMountPaths);
  if (!value || !(*value)["pods"].isObject()) {
    return fail(Code::Invalid, std::string{kPathsFile} + ": it is no JSON object with the member pods");
  }
  ToldPaths out;
  if (const auto told = (*value)[kTold].integer(); told && *told >= 0 && *told <= kMostTold) {
    out.told_at = Mono{std::chrono::seconds{*told}};
  }
  for (const auto& [uid, pod] : (*value)["pods"].members()) {
    out.pods.emplace(uid, kcache::PodPaths{textsOf(pod["volumes"]), textsOf(pod["claims"]),
                                           pod["more"] == json::Value{true}});
  }
  return out;
}

Result<std::size_t> writeMountPaths(const std::string& folder, const kcache::MountPaths& paths, Mono now,
                                    const Disk& disk) {
  std::error_code ignored;  // said by the open
  std::filesystem::create_directories(folder, ignored);
  const auto at = usesFolder(folder);
  if (!at) { return because(at.error()); }
  if (::flock(at->get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::Unavailable, folder + ": another process writes " + kPathsFile);
  }
  const PrintedPaths printed = printMountPaths(paths, now);
  Status done = disk.remove(at->get(), kPathsBeside);
  if (done) { done = disk.writeFile(at->get(), kPathsBeside, printed.text, 0644); }
  if (done) { done = disk.rename(at->get(), kPathsBeside, at->get(), kPathsFile); }
  if (!done) { return because(done.error()); }
  return printed.cut;
}

Result<ToldPaths> readMountPaths(const std::string& folder) {
  const auto at = usesFolder(folder);
  if (!at) { return because(at.error()); }
  const auto text = Disk{}.readAll(at->get(), kPathsFile, kMostOfMountPaths);
  if (!text) { return because(text.error()); }
  return parseMountPaths(*text);
}

Result<std::shared_ptr<const ToldPaths>> MountPathsFile::read() {
  const auto at = usesFolder(folder_);
  if (!at) { return because(at.error()); }
  const MutexLock lock{mutex_};
  const auto is = Disk::look(at->get(), kPathsFile);
  if (!is) { return because(is.error()); }
  const bool is_known =
      known_ && known_->inode == is->inode && known_->changed == is->changed && known_->size == is->size;
  if (is_known) { return told_; }
  auto read = readMountPaths(folder_);
  if (!read) { return because(read.error()); }
  told_ = std::make_shared<const ToldPaths>(*std::move(read));
  known_ = *is;
  return told_;
}

}  // namespace gs::cacherim
