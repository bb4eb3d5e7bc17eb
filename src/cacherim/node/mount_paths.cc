#include "cacherim/node/mount_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr const char* kPathsFile = "paths.json";
constexpr const char* kPathsBeside = ".paths.json.new";
constexpr std::string_view kBegin = R"({"pods":{)";
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

PrintedPaths printMountPaths(const kcache::MountPaths& paths, std::size_t most) {
  std::vector<PrintedPod> pods;
  pods.reserve(paths.size());
  for (const auto& [uid, pod] : paths) { pods.push_back(printed(uid, pod)); }
  std::stable_sort(pods.begin(), pods.end(),
                   [](const PrintedPod& a, const PrintedPod& b) { return a.body.size() < b.body.size(); });
  PrintedPaths out;
  std::size_t used = kBegin.size() + kEnd.size();
  std::erase_if(pods, [&](const PrintedPod& pod) {  // each is seen at the least
    const std::size_t size = pod.name.size() + std::min(kSeen.size(), pod.body.size()) + 2;
    const bool is_too_much = used + size > most;
    out.cut += is_too_much ? 1 : 0;
    used += is_too_much ? 0 : size;
    return is_too_much;
  });
  out.text = kBegin;
  for (const PrintedPod& pod : pods) {
    const std::size_t more = pod.body.size() - std::min(kSeen.size(), pod.body.size());
    const bool fits = used + more <= most;
    used += fits ? more : 0;
    out.cut += fits ? 0 : 1;
    out.text.append(out.text.size() > kBegin.size() ? "," : "").append(pod.name).append(":");
    out.text.append(fits ? std::string_view{pod.body} : kSeen);
  }
  out.text += kEnd;
  return out;
}

Result<kcache::MountPaths> parseMountPaths(std::string_view text) {
  const auto value = json::parse(text, kMostOfMountPaths);
  if (!value || !(*value)["pods"].isObject()) {
    return fail(Code::Invalid, std::string{kPathsFile} + ": it is no JSON object with the member pods");
  }
  kcache::MountPaths out;
  for (const auto& [uid, pod] : (*value)["pods"].members()) {
    out.emplace(uid, kcache::PodPaths{textsOf(pod["volumes"]), textsOf(pod["claims"]),
                                      pod["more"] == json::Value{true}});
  }
  return out;
}

Result<std::size_t> writeMountPaths(const std::string& folder, const kcache::MountPaths& paths,
                                    const Disk& disk) {
  const auto at = usesFolder(folder);
  if (!at) { return because(at.error()); }
  const PrintedPaths printed = printMountPaths(paths);
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
  auto pods = parseMountPaths(*text);
  if (!pods) { return because(pods.error()); }
  // A newer one may be there by now, and is as good.
  struct stat is {};
  const bool is_there = ::fstatat(at->get(), kPathsFile, &is, AT_SYMLINK_NOFOLLOW) == 0;
  return ToldPaths{*std::move(pods), is_there ? Wall{std::chrono::seconds{is.st_mtim.tv_sec}} : Wall{}};
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
