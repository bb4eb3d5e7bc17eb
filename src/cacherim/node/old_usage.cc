#include "cacherim/node/old_usage.h"

#include <fcntl.h>

#include "cacherim/disk/disk.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kMostOfAnOldUsage = std::size_t{4} << 20;
constexpr int kFoldersAbove = 3;  // <namespace>/<name>/<digest>/

void readBelow(int folder, int depth, OldPods& out) {
  if (depth == 0) {
    if (const auto text = Disk{}.readAll(folder, "usage.json", kMostOfAnOldUsage)) {
      out.merge(parseOldUsage(*text));
    }
    return;
  }
  const auto entries = Disk::list(folder);
  if (!entries) { return; }
  for (const Disk::Entry& entry : *entries) {
    const auto next = Disk::openFolder(folder, entry.name);
    if (next) { readBelow(next->get(), depth - 1, out); }
  }
}

}  // namespace

OldPods parseOldUsage(std::string_view text) {
  OldPods out;
  const auto value = json::parse(text, kMostOfAnOldUsage);
  if (!value) { return out; }
  for (const json::Value& pod : (*value)["pods"].items()) {
    const std::string volume{pod["volumeId"].str()};
    if (volume.empty()) { continue; }
    out[volume] = {std::string{pod["podNamespace"].str()}, std::string{pod["podName"].str()}};
  }
  return out;
}

OldPods readOldUsage(const std::string& folder) {
  OldPods out;
  const Fd root{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (root.valid()) { readBelow(root.get(), kFoldersAbove, out); }
  return out;
}

}  // namespace gs::cacherim
