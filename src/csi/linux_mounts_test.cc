// Real mounts, in a mount namespace of the test's own. Only root may make one: skipped for others.
#include "csi/linux_mounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "csi/volume_request.h"
#include "net/socket.h"

namespace gs::csi {
namespace {

namespace fs = std::filesystem;

const kcache::Digest kRealImage = kcache::Digest::of("image");
const cacherim::CacheName kRealCache = *cacherim::CacheName::inNamespace("ml", "vectors");
constexpr std::uint64_t kLimit = std::uint64_t{1} << 20;

/// 0, or errno.
int write(const std::string& path, std::size_t bytes = 1) {
  const net::Fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (!fd.valid()) { return errno; }
  return cacherim::writeBytes(fd.get(), std::string(bytes, 'x'));
}

unsigned long flagsOf(const std::string& path) {
  struct statvfs is {};
  EXPECT_EQ(::statvfs(path.c_str(), &is), 0);
  return is.f_flag & (ST_NOSUID | ST_NODEV | ST_RDONLY | ST_NOEXEC);
}

const PathLayer kNoPaths;

class LinuxMountsTest : public testing::Test {
 protected:
  LinuxMountsTest() {
    fs::create_directories(tree_ + "/key");
    std::ofstream{tree_ + "/key/kernel.so"} << "native";
    fs::permissions(tree_ + "/key", fs::perms{0777});
    fs::permissions(tree_ + "/key/kernel.so", fs::perms{0444});
    // The target root is reached by a link, as with a kubelet whose folder was moved.
    fs::create_directories(folder_.path("data/pods"));
    fs::create_directory_symlink(folder_.path("data"), folder_.path("kubelet"));
    for (const char* uid : {"u1", "u2"}) { fs::create_directories(above(uid)); }
  }
  [[nodiscard]] std::string above(const std::string& uid) const {
    return root_ + "/" + uid + "/volumes/kubernetes.io~csi/k";
  }
  [[nodiscard]] std::string target(const std::string& uid) const { return above(uid) + "/mount"; }
  [[nodiscard]] std::unique_ptr<LinuxMounts> open() const {
    auto out = LinuxMounts::open({root_, store_, folder_.path("scratch"), kLimit});
    EXPECT_TRUE(out) << out.error().message;
    return *std::move(out);
  }
  [[nodiscard]] net::Fd openTree() const {
    return net::Fd{::open(tree_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }
  static MountedTree tree(const net::Fd& fd, const PathLayer& paths = kNoPaths) {
    return {fd, kRealCache, kRealImage, paths};
  }
  void mountBoth(LinuxMounts& mounts) const {
    const net::Fd fd = openTree();
    for (const char* uid : {"u1", "u2"}) {
      ASSERT_TRUE(mounts.makeTarget(target(uid)));
      const Status done = mounts.mountWritable(tree(fd), target(uid));
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  /// In a process and a mount namespace of its own, which go together with all mounts.
  static void apart(const std::function<void()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool can =
          ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
      if (can) { body(); }
      std::fflush(stdout);
      ::_exit(!can ? 2 : HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    // Only root may mount. CI runs as root, and the case gkm-csi mounts on a node.
    if (WEXITSTATUS(status) == 2) { GTEST_SKIP() << "only root may mount; CI is root"; }
    EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
  }

  const TempFolder folder_;
  const std::string store_ = folder_.path("st,o:re");  // characters that mean something to overlayfs
  const std::string tree_ = cacherim::treeRootBelow(store_, kRealImage);
  const std::string root_ = folder_.path("kubelet/pods");
};

TEST_F(LinuxMountsTest, APodWritesForItselfAndNobodySeesIt) {
  apart([&] {
    const auto mounts = open();
    mountBoth(*mounts);
    EXPECT_EQ(mounts->list(),
              (std::vector<TargetMount>{{target("u1"), true, kRealImage, kRealCache, false},
                                        {target("u2"), true, kRealImage, kRealCache, false}}));
    EXPECT_EQ(readFile(target("u1") + "/key/kernel.so"), "native");
    ASSERT_EQ(write(target("u1") + "/key/poison.so"), 0);
    ASSERT_EQ(write(target("u1") + "/key/kernel.so"), 0) << "root may; it is a copy of its own";
    EXPECT_FALSE(fs::exists(target("u2") + "/key/poison.so"));
    EXPECT_EQ(readFile(target("u2") + "/key/kernel.so"), "native");
    EXPECT_EQ(readFile(tree_ + "/key/kernel.so"), "native");
    EXPECT_FALSE(fs::exists(tree_ + "/key/poison.so"));
    EXPECT_TRUE(fs::is_empty(folder_.path("scratch"))) << "nothing of ours is left behind the mounts";
    EXPECT_EQ(flagsOf(target("u1")), ST_NOSUID | ST_NODEV);
  });
}

// Two pods that have one tree at two places: each finds paths of its own, and one kernel.
TEST_F(LinuxMountsTest, FilesOfAMountsOwnLieAboveTheTree) {
  apart([&] {
    const auto mounts = open();
    const net::Fd fd = openTree();
    const PathLayer first{
        .files = {{"key/__grp__a.json", "first"}, {"other/deep/vllm_compile_cache.py", "x"}}};
    const PathLayer second{.files = {{"key/__grp__a.json", std::string(100'000, '2')}}};
    for (const char* uid : {"u1", "u2"}) { ASSERT_TRUE(mounts->makeTarget(target(uid))); }
    const Status writable = mounts->mountWritable(tree(fd, first), target("u1"));
    ASSERT_TRUE(writable) << writable.error().message;
    const Status read_only = mounts->mountReadOnly(tree(fd, second), target("u2"));
    ASSERT_TRUE(read_only) << read_only.error().message;
    EXPECT_EQ(readFile(target("u1") + "/key/__grp__a.json"), "first");
    EXPECT_EQ(readFile(target("u1") + "/other/deep/vllm_compile_cache.py"), "x");
    EXPECT_EQ(readFile(target("u2") + "/key/__grp__a.json"), std::string(100'000, '2'));
    for (const char* uid : {"u1", "u2"}) {
      EXPECT_EQ(readFile(target(uid) + "/key/kernel.so"), "native") << "beside what the tree has";
    }
    EXPECT_FALSE(fs::exists(tree_ + "/key/__grp__a.json"));
    EXPECT_EQ(write(target("u1") + "/key/beside"), 0);
    EXPECT_EQ(mounts->list()->size(), 2U);
    EXPECT_TRUE(fs::is_empty(folder_.path("scratch")));
    PathLayer deep;  // more folders than files, and none of them shared
    for (int i = 0; i < 300; ++i) {
      deep.files["a" + std::to_string(i) + "/b/c/d/e/f/g/__grp__x.json"] = "x";
    }
    ASSERT_TRUE(mounts->unmount(target("u2")));
    const Status many = mounts->mountReadOnly(tree(fd, deep), target("u2"));
    ASSERT_TRUE(many) << many.error().message;
    EXPECT_EQ(readFile(target("u2") + "/a299/b/c/d/e/f/g/__grp__x.json"), "x");
    ASSERT_TRUE(mounts->unmount(target("u1")));
    ASSERT_TRUE(mounts->unmount(target("u2")));
  });
}

TEST_F(LinuxMountsTest, AnyUserOfThePodMayWriteUpToTheLimit) {
  apart([&] {
    const auto mounts = open();
    mountBoth(*mounts);
    for (const std::string& path : {folder_.path().string(), root_ + "/u1"}) {
      fs::permissions(path, fs::perms{0755});
    }
    ASSERT_TRUE(::setgid(1234) == 0 && ::setuid(1234) == 0);
    EXPECT_EQ(write(target("u1") + "/beside"), 0);
    EXPECT_EQ(write(target("u1") + "/key/beside"), 0);
    EXPECT_EQ(write(target("u1") + "/key/kernel.so"), EACCES);
    EXPECT_EQ(::rename((target("u1") + "/key/beside").c_str(), (target("u1") + "/key/kernel.so").c_str()), 0);
    EXPECT_EQ(write(target("u1") + "/large", 2 * kLimit), ENOSPC);
    EXPECT_EQ(write(target("u2") + "/beside"), 0) << "of its own limit";
  });
}

TEST_F(LinuxMountsTest, StatsAreThoseOfTheLimit) {
  apart([&] {
    const auto mounts = open();
    mountBoth(*mounts);
    ASSERT_EQ(write(target("u1") + "/some", 100'000), 0);
    const auto stats = mounts->stats(target("u1"));
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->bytes.total, static_cast<std::int64_t>(kLimit));
    EXPECT_GE(stats->bytes.used, 100'000);
    EXPECT_EQ(stats->bytes.available + stats->bytes.used, stats->bytes.total);
    EXPECT_EQ(stats->inodes.total, 1024);
    EXPECT_GT(stats->inodes.used, 0);
  });
}

TEST_F(LinuxMountsTest, ReadOnlyIsReadOnlyForRoot) {
  apart([&] {
    const auto mounts = open();
    ASSERT_TRUE(mounts->makeTarget(target("u1")));
    const net::Fd fd = openTree();
    const Status done = mounts->mountReadOnly(tree(fd), target("u1"));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(mounts->list(), (std::vector<TargetMount>{{target("u1"), true, kRealImage, kRealCache, true}}))
        << "it says whose it is";
    EXPECT_EQ(readFile(target("u1") + "/key/kernel.so"), "native");
    EXPECT_EQ(write(target("u1") + "/key/poison.so"), EROFS);
    EXPECT_TRUE(fs::is_empty(folder_.path("scratch")));
    EXPECT_EQ(flagsOf(target("u1")), ST_NOSUID | ST_NODEV | ST_RDONLY);
    EXPECT_TRUE(mounts->unmount(target("u1")));
    EXPECT_TRUE(mounts->removeTarget(target("u1")));
    EXPECT_EQ(readFile(tree_ + "/key/kernel.so"), "native");
  });
}

TEST_F(LinuxMountsTest, WhatIsGoneIsFineAndWhatIsInUseIsNot) {
  apart([&] {
    const auto mounts = open();
    EXPECT_TRUE(mounts->unmount(target("u1")));
    EXPECT_TRUE(mounts->removeTarget(target("u1")));
    EXPECT_TRUE(mounts->unmount(root_ + "/gone/a/mount"));
    EXPECT_TRUE(mounts->removeTarget(root_ + "/gone/a/mount"));
    EXPECT_EQ(mounts->isThere(root_ + "/gone"), false);
    EXPECT_EQ(mounts->isThere(root_ + "/u1"), true);
    EXPECT_EQ(mounts->makeTarget(root_ + "/gone/mount").error().code, Code::Conflict);
    mountBoth(*mounts);
    {
      const net::Fd held{::open((target("u1") + "/key/kernel.so").c_str(), O_RDONLY | O_CLOEXEC)};
      const Status busy = mounts->unmount(target("u1"));
      ASSERT_FALSE(busy);
      EXPECT_EQ(busy.error(), (Error{Code::Unavailable, target("u1") + " is in use, try again"}));
      EXPECT_EQ(mounts->removeTarget(target("u1")).error().code, Code::Unavailable);
    }
    EXPECT_TRUE(mounts->unmount(target("u1")));
    EXPECT_TRUE(mounts->removeTarget(target("u1")));
    EXPECT_FALSE(fs::exists(target("u1")));
    ASSERT_TRUE(mounts->makeTarget(target("u1")));
    ASSERT_EQ(write(target("u1") + "/somebodys"), 0);
    EXPECT_EQ(mounts->removeTarget(target("u1")).error().code, Code::Conflict);
    EXPECT_TRUE(fs::exists(target("u1") + "/somebodys"));
  });
}

TEST_F(LinuxMountsTest, NoLinkOnTheWayIsFollowed) {
  apart([&] {
    const auto mounts = open();
    fs::create_directories(folder_.path("outside/volumes/kubernetes.io~csi/k/mount"));
    fs::create_directory_symlink(folder_.path("outside"), root_ + "/u3");
    const net::Fd fd = openTree();
    for (const auto& done : {mounts->makeTarget(target("u3")), mounts->mountWritable(tree(fd), target("u3")),
                             mounts->mountReadOnly(tree(fd), target("u3")), mounts->unmount(target("u3")),
                             mounts->removeTarget(target("u3"))}) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, Code::Conflict) << done.error().message;
    }
    fs::create_directory_symlink(folder_.path("outside"), target("u1"));
    EXPECT_EQ(mounts->makeTarget(target("u1")).error().code, Code::Conflict);
    EXPECT_EQ(mounts->mountReadOnly(tree(fd), target("u1")).error().code, Code::Conflict);
    EXPECT_TRUE(fs::exists(folder_.path("outside/volumes/kubernetes.io~csi/k/mount")));
    EXPECT_EQ(mounts->list(), std::vector<TargetMount>{});
  });
}

TEST_F(LinuxMountsTest, WhatACrashLeftInTheScratchFolderGoes) {
  apart([&] {
    const std::string left = folder_.path("scratch/abc");
    fs::create_directories(left);
    ASSERT_EQ(::mount("gkm", left.c_str(), "tmpfs", 0, "size=64k"), 0);
    static_cast<void>(open());
    EXPECT_FALSE(fs::exists(left));
  });
}

TEST_F(LinuxMountsTest, WhatTookTheTreesPlaceMeanwhileIsNotMounted) {
  apart([&] {
    const auto mounts = open();
    const net::Fd fd = openTree();
    fs::rename(tree_, store_ + "/moved");
    fs::create_directory_symlink(root_, tree_);
    for (const char* uid : {"u1", "u2"}) { ASSERT_TRUE(mounts->makeTarget(target(uid))); }
    ASSERT_TRUE(mounts->mountWritable(tree(fd), target("u1")));
    ASSERT_TRUE(mounts->mountReadOnly(tree(fd), target("u2")));
    for (const char* uid : {"u1", "u2"}) {
      EXPECT_EQ(readFile(target(uid) + "/key/kernel.so"), "native");
      EXPECT_FALSE(fs::exists(target(uid) + "/u1"));
    }
  });
}

TEST_F(LinuxMountsTest, AScratchFolderThatWasTakenAwayIsMadeAgain) {
  apart([&] {
    const auto mounts = open();
    fs::remove_all(folder_.path("scratch"));
    mountBoth(*mounts);
    EXPECT_EQ(readFile(target("u2") + "/key/kernel.so"), "native");
  });
}

TEST_F(LinuxMountsTest, AMountThatCannotBeLeavesNothing) {
  apart([&] {
    const auto mounts = open();
    ASSERT_TRUE(mounts->makeTarget(target("u1")));
    const net::Fd none;
    const Status done = mounts->mountWritable(tree(none), target("u1"));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Unavailable);
    EXPECT_NE(done.error().message.find("mount overlay at " + target("u1")), std::string::npos)
        << done.error().message;
    EXPECT_FALSE(mounts->mountReadOnly(tree(none), target("u1")));
    EXPECT_EQ(mounts->list(), std::vector<TargetMount>{});
    EXPECT_TRUE(fs::is_empty(folder_.path("scratch")));
  });
}

TEST(LinuxMountsOptions, PathsMustBeClean) {
  for (const char* bad : {"relative", "/a/../b", "/a/", ""}) {
    const auto got = LinuxMounts::open({bad, "/store", "/scratch", kLimit});
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Code::Invalid);
  }
  EXPECT_EQ(LinuxMounts::open({"/pods", "/store", "/scr,atch", kLimit}).error().code, Code::Invalid);
}

}  // namespace
}  // namespace gs::csi
