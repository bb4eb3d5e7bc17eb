#include "serve/agent/node_cdi.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "enforce/told_file.h"

namespace gs::serve {
namespace {

class ToldFileOnDisk : public ::testing::Test {
 protected:
  const TempFolder folder_;
  const std::string directory_ = folder_.path("cdi");
  const std::string path_ = directory_ + "/" + enforce::kToldFile;
};

TEST_F(ToldFileOnDisk, IsWrittenWhereItIsNotAsItShouldBe) {
  ASSERT_TRUE(putToldFile(directory_)) << "the folder too";
  EXPECT_EQ(readFile(path_), enforce::toldFile());
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0644});
  ASSERT_TRUE(replaceFile(path_, "{"));
  ASSERT_TRUE(putToldFile(directory_));
  EXPECT_EQ(readFile(path_), enforce::toldFile());
}

/// Container runtimes and others read all files again when one changed.
TEST_F(ToldFileOnDisk, IsLeftAloneWhereItIs) {
  ASSERT_TRUE(putToldFile(directory_));
  const auto long_ago = std::filesystem::last_write_time(path_) - std::chrono::hours{1};
  std::filesystem::last_write_time(path_, long_ago);
  ASSERT_TRUE(putToldFile(directory_));
  EXPECT_EQ(std::filesystem::last_write_time(path_), long_ago);
}

TEST_F(ToldFileOnDisk, WhereItCannotBeWrittenThatIsSaid) {
  ASSERT_TRUE(replaceFile(directory_, "a file"));
  const Status put = putToldFile(directory_);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::Unavailable);
  EXPECT_NE(put.error().message.find(directory_), std::string::npos) << put.error().message;
}

/// The system ends the process at the byte after the first thousand.
[[noreturn]] void putAndCrash(const std::string& directory) {
  const rlimit none{0, 0};
  const rlimit thousand{1000, 1000};
  const bool is_set = ::setrlimit(RLIMIT_CORE, &none) == 0 && ::setrlimit(RLIMIT_FSIZE, &thousand) == 0;
  if (is_set) { (void)putToldFile(directory); }
  std::_Exit(1);
}

TEST_F(ToldFileOnDisk, ACrashInTheMiddleLeavesNoHalfFile) {
  std::filesystem::create_directory(directory_);
  EXPECT_EXIT(putAndCrash(directory_), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(std::filesystem::file_size(besideOf(path_)), 1000U) << "what was begun lies beside it";
  NodeCdi cdi{{.directories = {directory_}}};
  cdi.look();
  EXPECT_TRUE(cdi.index()->broken().empty()) << "and nobody reads it";
  EXPECT_FALSE(cdi.hasToldFile());
  ASSERT_TRUE(putToldFile(directory_));
  EXPECT_FALSE(std::filesystem::exists(besideOf(path_)));
  cdi.look();
  EXPECT_TRUE(cdi.hasToldFile());
}

TEST(NodeCdi, LooksAtTheHostsNodesBelowItsRoot) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("host/dev"));
  NodeCdi cdi{{.directories = {folder.path("cdi")}, .host_root = folder.path("host")}};
  cdi.look();
  EXPECT_TRUE(cdi.statNodes({}, true).empty());
  ASSERT_EQ(::mkfifo(folder.path("host/dev/kfd").c_str(), 0600), 0);  // a node needs a right to be made
  const auto stats = cdi.statNodes({}, true);
  ASSERT_TRUE(stats.contains("/dev/kfd"));
  EXPECT_EQ(stats.at("/dev/kfd").type, "p");
}

TEST(NodeCdi, KeepsItsIndexWhileNothingChanges) {
  const TempFolder folder;
  NodeCdi cdi{{.directories = {folder.path("cdi")}}};
  cdi.look();
  const auto first = cdi.index();
  cdi.look();
  EXPECT_EQ(cdi.index(), first);
  ASSERT_TRUE(putToldFile(folder.path("cdi")));
  cdi.look();
  EXPECT_NE(cdi.index(), first);
}

}  // namespace
}  // namespace gs::serve
