#include "cacherim/node/mount_paths.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr const char* kPathsFile = "paths.json";
constexpr const char* kPathsBeside = ".paths.json.new";
constexpr std::size_t kMostOfPaths = std::size_t{64} << 20;

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

}  // namespace

std::string printMountPaths(const kcache::MountPaths& paths) {
  json::Object pods;
  for (const auto& [uid, pod] : paths) {
    pods.set(uid, json::Object{{"volumes", json::fromStrings(pod.volumes)},
                               {"claims", json::fromStrings(pod.claims)}});
  }
  return json::print(json::Object{{"pods", std::move(pods)}});
}

Result<kcache::MountPaths> parseMountPaths(std::string_view text) {
  const auto value = json::parse(text, kMostOfPaths);
  if (!value || !(*value)["pods"].isObject()) {
    return fail(Code::Invalid, std::string{kPathsFile} + ": it is no JSON object with the member pods");
  }
  kcache::MountPaths out;
  for (const auto& [uid, pod] : (*value)["pods"].members()) {
    out.emplace(uid, kcache::PodPaths{textsOf(pod["volumes"]), textsOf(pod["claims"])});
  }
  return out;
}

Status writeMountPaths(const std::string& folder, const kcache::MountPaths& paths, const Disk& disk) {
  const auto at = usesFolder(folder);
  if (!at) { return because(at.error()); }
  if (Status gone = disk.remove(at->get(), kPathsBeside); !gone) { return gone; }
  Status out = disk.writeFile(at->get(), kPathsBeside, printMountPaths(paths), 0644);
  return out ? disk.rename(at->get(), kPathsBeside, at->get(), kPathsFile) : out;
}

Result<kcache::MountPaths> readMountPaths(const std::string& folder) {
  const auto at = usesFolder(folder);
  if (!at) { return because(at.error()); }
  const auto text = Disk::readAll(at->get(), kPathsFile, kMostOfPaths);
  if (!text) { return because(text.error()); }
  return parseMountPaths(*text);
}

}  // namespace gs::cacherim
