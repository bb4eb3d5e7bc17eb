#include "sandbox/serve/serve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/system_clock.h"
#include "sandbox/serve/remote.h"
#include "sandbox/serve/whole_file.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

struct Loopback {
  const char* address;
  bool is;
};
class Loopbacks : public testing::TestWithParam<Loopback> {};
TEST_P(Loopbacks, AreReadAsAddresses) { EXPECT_EQ(isLoopback(GetParam().address), GetParam().is); }
INSTANTIATE_TEST_SUITE_P(Table, Loopbacks,
                         testing::Values(Loopback{"127.0.0.1:0", true}, Loopback{"127.9.9.9:80", true},
                                         Loopback{"[::1]:80", true}, Loopback{"localhost:80", true},
                                         Loopback{"127.evil.example:80", false}, Loopback{"127.1:80", false},
                                         Loopback{"0.0.0.0:80", false}, Loopback{":80", false},
                                         Loopback{"*:80", false}, Loopback{"[::]:80", false},
                                         Loopback{"[::ffff:10.0.0.1]:80", false},
                                         Loopback{"10.0.0.1:80", false}));

class ServeTest : public testing::Test {
 protected:
  ServeTest() { std::filesystem::create_directory(folder_); }
  ~ServeTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Server::Options options(const std::string& data_file = "") const {
    Server::Options out;
    out.data_file = data_file;
    out.live.scheduler.reset();
    return out;
  }
  Result<std::unique_ptr<Server>> start(Server::Options options) {
    return Server::start(std::move(options), clock_);
  }
  std::string refusal(Server::Options options) {
    const auto server = start(std::move(options));
    return server ? "it came up" : server.error().message;
  }
  static std::string bytesOf(const std::string& path) { return readFile(path, 1 << 24).value_or("(none)"); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("serve_test." + std::to_string(::getpid()));
  const std::string file_ = folder_ / "state.json";
  SystemClock clock_;
};

TEST_F(ServeTest, ListensForOthersOnlyWhenTold) {
  auto open = options();
  open.address = "0.0.0.0:0";
  EXPECT_NE(refusal(open).find("--i-know-it-is-open"), std::string::npos);
  open.open = true;
  const auto server = start(std::move(open));
  ASSERT_TRUE(server.has_value());
  EXPECT_TRUE((*server)->url().starts_with("http://127.0.0.1:"));
}

TEST_F(ServeTest, AnAddressWithoutAPortIsRefusedWithOneThatItTakes) {
  auto wrong = options();
  wrong.address = "127.0.0.1";
  const std::string why = refusal(wrong);
  EXPECT_NE(why.find("127.0.0.1:8001"), std::string::npos) << why;
  EXPECT_EQ(why.find(":10259"), std::string::npos) << why;
  wrong.address = "nonsense";
  EXPECT_TRUE(refusal(wrong).starts_with("'nonsense' is not an address to listen on")) << refusal(wrong);
}

TEST_F(ServeTest, ABrokenStateFileIsNamedAndLeftAlone) {
  for (const char* bytes : {"", "{", "[]", R"({"objects":7})"}) {
    ASSERT_TRUE(replaceFile(file_, bytes));
    const std::string why = refusal(options(file_));
    EXPECT_NE(why.find(file_), std::string::npos) << why;
    EXPECT_EQ(bytesOf(file_), bytes);
  }
}

TEST_F(ServeTest, AFileThatCannotBeWrittenIsRefusedAtTheStart) {
  const std::string nowhere = folder_ / "none" / "state.json";
  EXPECT_NE(refusal(options(nowhere)).find("cannot write " + nowhere), std::string::npos);
}

TEST_F(ServeTest, AStateFileHasOneServer) {
  const auto first = start(options(file_));
  ASSERT_TRUE(first.has_value());
  const std::string why = refusal(options(file_));
  EXPECT_NE(why.find("belongs to another gpu-sandbox that runs"), std::string::npos) << why;
  (*first)->stop();
}

TEST_F(ServeTest, AStateThatCouldNotBeReadBackIsNotWritten) {
  const auto small = [this] {
    auto out = options(file_);
    out.max_state = std::size_t{512} << 10;
    return out;
  };
  auto server = start(small());
  ASSERT_TRUE(server.has_value());
  net::HttpClient client{{}};
  net::ClientRequest request;
  request.method = "POST";
  request.url = (*server)->url() + "/api/v1/namespaces/default/configmaps";
  request.body = R"({"metadata":{"name":"large"},"data":{"a":")" + std::string(600'000, 'x') + R"("}})";
  ASSERT_EQ(client.send(request).status, 201);
  testing::internal::CaptureStderr();
  server->reset();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("no more than 524288 can be read back"), std::string::npos) << told;
  EXPECT_TRUE(start(small()).has_value());
}

TEST_F(ServeTest, AServerThatDoesNotComeUpWritesNothing) {
  const auto other = start(options());
  ASSERT_TRUE(other.has_value());
  auto taken = options(file_);
  taken.address = (*other)->url().substr(7);
  EXPECT_NE(refusal(taken), "it came up");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(ServeTest, TheStateComesBackThroughALink) {
  const std::string link = folder_ / "link.json";
  std::filesystem::create_symlink("state.json", link);
  for (const bool again : {false, true}) {
    const auto server = start(options(link));
    ASSERT_TRUE(server.has_value()) << server.error().message;
    EXPECT_EQ((*server)->restored(), again);
    Remote remote{(*server)->url()};
    const auto node = json::parse(R"({"nodes":[{"name":"node-c","gpus":{"count":2}}]})");
    EXPECT_EQ(remote.addNodes(*node).has_value(), !again);  // it is there already
    (*server)->stop();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(file_));
}

TEST_F(ServeTest, ABodyThatIsTooLongIsAnsweredWithAStatus) {
  const auto server = start(options());
  ASSERT_TRUE(server.has_value());
  net::HttpClient client{{}};
  net::ClientRequest request;
  request.method = "POST";
  request.url = (*server)->url() + "/api/v1/namespaces/default/configmaps";
  request.body = std::string(std::size_t{4} << 20, 'x');
  const auto answer = client.send(request);
  EXPECT_EQ(answer.status, 413);
  const auto status = json::parse(answer.body);
  ASSERT_TRUE(status) << answer.body;
  EXPECT_EQ((*status)["reason"].str(), "RequestEntityTooLarge");
  EXPECT_EQ((*status)["message"].str(), "Request entity too large: limit is 3145728");
}

TEST_F(ServeTest, ARemoteChangesMachines) {
  const auto server = start(options());
  ASSERT_TRUE(server.has_value());
  Remote remote{(*server)->url()};
  ASSERT_TRUE(remote.addNodes(*json::parse(R"({"nodes":[{"name":"node-c","gpus":{"count":2}}]})")));
  EXPECT_TRUE(remote.failGpu("node-c", "1", 79));
  EXPECT_TRUE(remote.repairGpu("node-c", "1"));
  EXPECT_TRUE(remote.drainNode("node-c", std::chrono::seconds{10}, clock_));
  EXPECT_TRUE(remote.removeNode("node-c"));
  const auto gone = remote.failGpu("node-d", "0", 79);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "nodes \"node-d\" not found");
}

TEST_F(ServeTest, ARemoteNamesOneNodeWhateverIsInTheName) {
  const auto server = start(options());
  ASSERT_TRUE(server.has_value());
  Remote remote{(*server)->url()};
  for (const char* name : {"node-a?", "node-a#", "x/../node-a", "node-a/drain"}) {
    const auto gone = remote.removeNode(name);
    ASSERT_FALSE(gone) << name;
    EXPECT_EQ(gone.error().message, std::string{"nodes \""} + name + "\" not found");
  }
  EXPECT_TRUE(remote.failGpu("node-a", "0", 79));  // it is still there
}

TEST_F(ServeTest, ARemoteSaysThatNobodyIsThere) {
  const auto server = start(options());
  ASSERT_TRUE(server.has_value());
  const std::string url = (*server)->url();
  (*server)->stop();
  const auto nobody = Remote{url}.removeNode("node-a");
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message.find("nothing answers at " + url), std::string::npos)
      << nobody.error().message;
}

}  // namespace
}  // namespace gs::sandbox
