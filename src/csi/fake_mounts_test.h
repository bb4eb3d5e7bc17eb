// For tests only: mounts and folders of a machine as values. Each change first asks `fault`: an error is
// answered and nothing done, and what it throws is a crash before the change, or behind it (`is_done`).
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "csi/mounts.h"

namespace gs::csi {

struct Crash {};

class FakeMounts final : public Mounts {
 public:
  struct Mounted {
    TargetMount shown;
    std::string tree;
    std::map<std::string, std::string> paths{};  // texts above the tree's (PathLayer)
    std::set<std::string> written{};             // in the layer above the tree
  };
  std::function<Status(const char* call, bool is_done)> fault;
  std::set<std::string> folders;
  std::vector<Mounted> mounts;  // in the order in which they were made
  int calls = 0;

  std::string podVolume(const std::string& uid, const std::string& volume) {
    folders.insert(kRoot + "/" + uid);
    const std::string above = kRoot + "/" + uid + "/volumes/kubernetes.io~csi/" + volume;
    folders.insert(above);
    return above + "/mount";
  }
  void removePod(const std::string& uid) {
    std::erase_if(folders,
                  [&](const std::string& one) { return (one + "/").starts_with(kRoot + "/" + uid + "/"); });
  }
  [[nodiscard]] Mounted* top(const std::string& target) {
    const auto it = std::find_if(mounts.rbegin(), mounts.rend(),
                                 [&](const Mounted& one) { return one.shown.target == target; });
    return it == mounts.rend() ? nullptr : &*it;
  }
  [[nodiscard]] std::size_t count(const std::string& target) const {
    return static_cast<std::size_t>(std::count_if(
        mounts.begin(), mounts.end(), [&](const Mounted& one) { return one.shown.target == target; }));
  }
  void foreign(const std::string& target) { mounts.push_back({{.target = target}, "/elsewhere"}); }

  Result<std::vector<TargetMount>> list() override {
    if (Status fine = ask("list", false); !fine) { return tl::unexpected(fine.error()); }
    std::vector<TargetMount> out;
    for (const Mounted& one : mounts) { out.push_back(one.shown); }
    return out;
  }
  Result<bool> isThere(const std::string& path) override { return folders.contains(path); }
  Status makeTarget(const std::string& target) override {
    return change("mkdir", [&]() -> Status {
      if (!folders.contains(target.substr(0, target.rfind('/')))) {
        return fail(Code::Conflict, "no folder");
      }
      folders.insert(target);
      return {};
    });
  }
  Status mountWritable(const MountedTree& tree, const std::string& target) override {
    return mountOverlay(tree, target, false);
  }
  Status mountReadOnly(const MountedTree& tree, const std::string& target) override {
    return mountOverlay(tree, target, true);
  }
  Status unmount(const std::string& target) override {
    return change("unmount", [&] {
      if (Mounted* one = top(target)) { mounts.erase(mounts.begin() + (one - mounts.data())); }
      return Status{};
    });
  }
  Status removeTarget(const std::string& target) override {
    return change("rmdir", [&]() -> Status {
      if (top(target) != nullptr) { return fail(Code::Unavailable, "in use, try again"); }
      folders.erase(target);
      return {};
    });
  }
  Result<rpc::VolumeStats> stats(const std::string& target) override {
    if (top(target) == nullptr) { return fail(Code::NotFound, target); }
    return rpc::VolumeStats{.bytes = {10, 4, 6}, .inodes = {5, 2, 3}};
  }

  static inline const std::string kRoot = "/pods";

 private:
  Status mountOverlay(const MountedTree& tree, const std::string& target, bool is_read_only) {
    return change("mount", [&] {
      const auto line = MountLine{.device = "0:40",
                                  .root = "/",
                                  .point = target,
                                  .is_read_only = is_read_only,
                                  .type = "overlay",
                                  .source = overlaySource(tree.cache, tree.image)};
      const Places places{.target_root = kRoot, .real_target_root = kRoot, .real_store = "/none"};
      const auto at = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(tree.root.get()));
      mounts.push_back({targetMounts({line}, places).at(0), at, tree.paths.files});
      return Status{};
    });
  }
  Status ask(const char* call, bool is_done) {
    ++calls;
    return fault ? fault(call, is_done) : Status{};
  }
  template <class Change>
  Status change(const char* call, const Change& does) {
    if (Status fine = ask(call, false); !fine) { return fine; }
    Status out = does();
    if (out) { static_cast<void>(ask(call, true)); }
    return out;
  }
};

}  // namespace gs::csi
