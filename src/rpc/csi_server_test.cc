#include "rpc/csi_server.h"

#include <csi.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>
#include <pluginregistration.grpc.pb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/temp_folder_test.h"

namespace gs::rpc {
namespace {

using std::chrono::milliseconds;
namespace wire = ::csi::v1;

/// Called by gRPC's threads, asked by the test's.
class FakeDriver final : public CsiDriver {
 public:
  Status publish(const PublishRequest& request) override {
    ++inside;
    while (hangs) { ::usleep(1000); }
    const std::lock_guard lock{mutex_};
    published_ = request;
    return answer_;
  }
  Status unpublish(const UnpublishRequest& request) override {
    const std::lock_guard lock{mutex_};
    unpublished_ = request;
    return answer_;
  }
  Result<VolumeStats> stats(const StatsRequest&) override {
    if (Status now = ready(); !now) { return tl::unexpected(now.error()); }
    return VolumeStats{{10, 4, 6}, {5, 2, 3}};
  }
  Status ready() override {
    const std::lock_guard lock{mutex_};
    return answer_;
  }
  void registered(bool is_registered, const std::string& error) override {
    const std::lock_guard lock{mutex_};
    said_ = (is_registered ? "yes" : "no") + error;
  }

  void stopping() override { hangs = false; }

  void answerWith(Status answer) {
    const std::lock_guard lock{mutex_};
    answer_ = std::move(answer);
  }
  PublishRequest published() {
    const std::lock_guard lock{mutex_};
    return published_;
  }
  UnpublishRequest unpublished() {
    const std::lock_guard lock{mutex_};
    return unpublished_;
  }
  std::string said() {
    const std::lock_guard lock{mutex_};
    return said_;
  }
  std::atomic<bool> hangs = false;
  std::atomic<int> inside = 0;

 private:
  std::mutex mutex_;
  Status answer_;
  PublishRequest published_;
  UnpublishRequest unpublished_;
  std::string said_;
};

class CsiServerTest : public testing::Test {
 protected:
  void start(std::size_t most_calls = 8, Duration look_every = milliseconds{5}) {
    auto server = CsiServer::start({.socket = socket_,
                                    .driver = "csi.gkm.io",
                                    .version = "1.2",
                                    .node_id = "node-a",
                                    .most_calls = most_calls,
                                    .look_every = look_every,
                                    .on_failure = [this](const Error&) { failed_ = true; }},
                                   driver_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  std::shared_ptr<grpc::Channel> channel() {
    grpc::ChannelArguments own;  // no channel of another test
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(), own);
  }
  template <class Service, class Request, class Response>
  grpc::Status call(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes{5});
    context.set_wait_for_ready(true);
    const auto stub = Service::NewStub(channel());
    return (stub.get()->*method)(&context, request, &response);
  }
  grpc::Status publish(const wire::NodePublishVolumeRequest& request) {
    wire::NodePublishVolumeResponse response;
    return call<wire::Node>(&wire::Node::Stub::NodePublishVolume, request, response);
  }

  const TempFolder folder_;
  const std::string socket_ = folder_.path("csi.sock");
  FakeDriver driver_;
  std::atomic<bool> failed_ = false;
  std::unique_ptr<CsiServer> server_;
};

TEST_F(CsiServerTest, TheKubeletLearnsWhoItIsAtOneSocket) {
  start();
  ::pluginregistration::PluginInfo info;
  ASSERT_TRUE(call<::pluginregistration::Registration>(&::pluginregistration::Registration::Stub::GetInfo,
                                                       ::pluginregistration::InfoRequest{}, info)
                  .ok());
  EXPECT_EQ(info.type(), "CSIPlugin");
  EXPECT_EQ(info.name(), "csi.gkm.io");
  EXPECT_EQ(info.endpoint(), socket_);
  ASSERT_EQ(info.supported_versions_size(), 1);
  EXPECT_EQ(info.supported_versions(0), "1.0.0");
  ::pluginregistration::RegistrationStatus status;
  status.set_error("no such node");
  ::pluginregistration::RegistrationStatusResponse nothing;
  ASSERT_TRUE(call<::pluginregistration::Registration>(
                  &::pluginregistration::Registration::Stub::NotifyRegistrationStatus, status, nothing)
                  .ok());
  EXPECT_EQ(driver_.said(), "nono such node");
  wire::NodeGetInfoResponse node;
  ASSERT_TRUE(call<wire::Node>(&wire::Node::Stub::NodeGetInfo, wire::NodeGetInfoRequest{}, node).ok());
  EXPECT_EQ(node.node_id(), "node-a");
  EXPECT_FALSE(node.has_accessible_topology());
  wire::NodeGetCapabilitiesResponse can;
  ASSERT_TRUE(
      call<wire::Node>(&wire::Node::Stub::NodeGetCapabilities, wire::NodeGetCapabilitiesRequest{}, can).ok());
  ASSERT_EQ(can.capabilities_size(), 1);
  EXPECT_EQ(can.capabilities(0).rpc().type(), wire::NodeServiceCapability::RPC::GET_VOLUME_STATS);
}

TEST_F(CsiServerTest, IdentityIsReadyWhenTheDriverIs) {
  start();
  wire::GetPluginInfoResponse info;
  ASSERT_TRUE(
      call<wire::Identity>(&wire::Identity::Stub::GetPluginInfo, wire::GetPluginInfoRequest{}, info).ok());
  EXPECT_EQ(info.name() + " " + info.vendor_version(), "csi.gkm.io 1.2");
  wire::GetPluginCapabilitiesResponse can;
  ASSERT_TRUE(call<wire::Identity>(&wire::Identity::Stub::GetPluginCapabilities,
                                   wire::GetPluginCapabilitiesRequest{}, can)
                  .ok());
  EXPECT_EQ(can.capabilities_size(), 0);
  for (const bool is_ready : {true, false}) {
    driver_.answerWith(is_ready ? Status{} : fail(Code::Unavailable, "no store"));
    wire::ProbeResponse probe;
    ASSERT_TRUE(call<wire::Identity>(&wire::Identity::Stub::Probe, wire::ProbeRequest{}, probe).ok());
    EXPECT_TRUE(probe.has_ready());
    EXPECT_EQ(probe.ready().value(), is_ready);
  }
}

TEST_F(CsiServerTest, RequestsComeAsTheyWereSent) {
  start();
  wire::NodePublishVolumeRequest request;
  request.set_volume_id("v");
  request.set_target_path("/t");
  request.set_readonly(true);
  request.mutable_volume_capability()->mutable_mount()->add_mount_flags("noexec");
  (*request.mutable_volume_context())["csi.gkm.io/GKMCache"] = "vectors";
  ASSERT_TRUE(publish(request).ok());
  EXPECT_EQ(driver_.published().volume_id, "v");
  EXPECT_EQ(driver_.published().target_path, "/t");
  EXPECT_TRUE(driver_.published().read_only && driver_.published().has_capability &&
              !driver_.published().is_block);
  EXPECT_EQ(driver_.published().mount_flags, std::vector<std::string>{"noexec"});
  EXPECT_EQ(driver_.published().context,
            (std::map<std::string, std::string>{{"csi.gkm.io/GKMCache", "vectors"}}));
  request.mutable_volume_capability()->mutable_block();
  ASSERT_TRUE(publish(request).ok());
  EXPECT_TRUE(driver_.published().is_block);
  request.clear_volume_capability();
  ASSERT_TRUE(publish(request).ok());
  EXPECT_FALSE(driver_.published().has_capability);

  wire::NodeUnpublishVolumeRequest other;
  other.set_volume_id("v");
  other.set_target_path("/t");
  wire::NodeUnpublishVolumeResponse nothing;
  ASSERT_TRUE(call<wire::Node>(&wire::Node::Stub::NodeUnpublishVolume, other, nothing).ok());
  EXPECT_EQ(driver_.unpublished().volume_id + driver_.unpublished().target_path, "v/t");

  wire::NodeGetVolumeStatsResponse stats;
  ASSERT_TRUE(
      call<wire::Node>(&wire::Node::Stub::NodeGetVolumeStats, wire::NodeGetVolumeStatsRequest{}, stats).ok());
  ASSERT_EQ(stats.usage_size(), 2);
  EXPECT_EQ(stats.usage(0).unit(), wire::VolumeUsage::BYTES);
  EXPECT_EQ(stats.usage(0).available(), 6);
  EXPECT_EQ(stats.usage(1).unit(), wire::VolumeUsage::INODES);
  EXPECT_EQ(stats.usage(1).used(), 2);
}

TEST_F(CsiServerTest, ErrorsHaveTheCodesOfTheSpecification) {
  start();
  for (const auto& [code, expected] : {std::pair{Code::Invalid, grpc::StatusCode::INVALID_ARGUMENT},
                                       {Code::NotFound, grpc::StatusCode::NOT_FOUND},
                                       {Code::Conflict, grpc::StatusCode::FAILED_PRECONDITION},
                                       {Code::Unavailable, grpc::StatusCode::UNAVAILABLE},
                                       {Code::Deadline, grpc::StatusCode::DEADLINE_EXCEEDED},
                                       {Code::Internal, grpc::StatusCode::INTERNAL}}) {
    driver_.answerWith(fail(code, "because"));
    const grpc::Status got = publish({});
    EXPECT_EQ(got.error_code(), expected);
    EXPECT_EQ(got.error_message(), "because");
  }
}

TEST_F(CsiServerTest, MethodsThatAreNotServedAreUnimplemented) {
  start();
  const grpc::internal::RpcMethod method{"/csi.v1.Node/NodeStageVolume",
                                         grpc::internal::RpcMethod::NORMAL_RPC};
  grpc::ClientContext context;
  wire::NodePublishVolumeResponse response;
  const auto to = channel();
  const grpc::Status got =
      grpc::internal::BlockingUnaryCallImpl<google::protobuf::MessageLite, google::protobuf::MessageLite>(
          to.get(), method, &context, wire::NodePublishVolumeRequest{}, &response)
          .status();
  EXPECT_EQ(got.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(CsiServerTest, RequestsThatAreTooLargeOrTooManyAreRefused) {
  start(1);
  wire::NodePublishVolumeRequest large;
  large.set_volume_id(std::string(2 << 20, 'a'));
  EXPECT_EQ(publish(large).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(driver_.inside, 0);
  driver_.hangs = true;
  std::jthread first{[&] { EXPECT_TRUE(publish({}).ok()); }};
  while (driver_.inside == 0) { ::usleep(1000); }
  EXPECT_EQ(publish({}).error_code(), grpc::StatusCode::UNAVAILABLE);
  driver_.hangs = false;
  first.join();
  EXPECT_TRUE(publish({}).ok());
}

TEST_F(CsiServerTest, AStaleSocketIsReplacedAndAnythingElseIsLeftAlone) {
  start();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_)) << "it cleans up";
  std::ofstream{socket_} << "mine";
  const auto refused =
      CsiServer::start({.socket = socket_, .driver = "d", .version = "1", .node_id = "n"}, driver_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_TRUE(std::filesystem::exists(socket_));
  std::filesystem::remove(socket_);
  start();
  server_.reset();
  {  // as a process that was killed leaves it
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    socket_.copy(at.sun_path, sizeof at.sun_path - 1);
    const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ::close(left);
  }
  start();
  EXPECT_TRUE(publish({}).ok());
  struct stat is {};
  ASSERT_EQ(::stat(socket_.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0600U);
}

TEST_F(CsiServerTest, ASocketThatVanishesIsMadeAgain) {
  start();
  ASSERT_TRUE(publish({}).ok());
  std::filesystem::remove(socket_);
  while (!std::filesystem::exists(socket_)) { ::usleep(1000); }
  EXPECT_TRUE(publish({}).ok());
  EXPECT_FALSE(failed_);
}

TEST_F(CsiServerTest, WhenItCannotBeMadeAgainThatIsAFailure) {
  start();
  std::filesystem::remove_all(folder_.path());
  while (!failed_) { ::usleep(1000); }
  server_.reset();
}

TEST_F(CsiServerTest, WhenAnotherProcessHasTakenThePlaceThatIsAFailure) {
  start();
  const std::string other = folder_.path("other.sock");
  auto server = CsiServer::start({.socket = other, .driver = "d", .version = "1", .node_id = "n"}, driver_);
  ASSERT_TRUE(server);
  std::filesystem::rename(other, socket_);
  while (!failed_) { ::usleep(1000); }
}

TEST_F(CsiServerTest, StoppingLetsCallsComeToTheirEnd) {
  start();
  driver_.hangs = true;
  std::jthread first{[&] { EXPECT_TRUE(publish({}).ok()); }};
  while (driver_.inside == 0) { ::usleep(1000); }
  std::jthread stopping{[&] { server_->stop(std::chrono::minutes{5}); }};
  driver_.hangs = false;
}

TEST_F(CsiServerTest, StoppingTellsTheDriverSoThatNoCallIsWaitedFor) {
  start();
  driver_.hangs = true;
  std::jthread waits{[&] { EXPECT_TRUE(publish({}).ok()); }};
  while (driver_.inside == 0) { ::usleep(1000); }
  server_->stop(std::chrono::minutes{5});
  EXPECT_FALSE(driver_.hangs);
}

// The watcher waits for calls too, when the socket has to be made again.
TEST_F(CsiServerTest, StoppingWhileTheSocketIsMadeAgainTellsTheDriverToo) {
  start();
  driver_.hangs = true;
  std::jthread waits{[&] { static_cast<void>(publish({})); }};
  while (driver_.inside == 0) { ::usleep(1000); }
  const auto stub = wire::Node::NewStub(channel());
  const auto isServed = [&] {
    grpc::ClientContext context;
    wire::NodeGetInfoResponse node;
    return stub->NodeGetInfo(&context, wire::NodeGetInfoRequest{}, &node).ok();
  };
  ASSERT_TRUE(isServed());
  std::filesystem::remove(socket_);
  while (isServed()) {}  // until the watcher has seen it, and ends what is under way
  server_->stop(std::chrono::minutes{5});
  EXPECT_FALSE(driver_.hangs);
}

TEST(SocketPath, FormsOfEndpoints) {
  EXPECT_EQ(socketPathOf("unix:///csi/csi.sock"), "/csi/csi.sock");
  EXPECT_EQ(socketPathOf("unix:/csi/csi.sock"), "/csi/csi.sock");
  EXPECT_EQ(socketPathOf("/csi/csi.sock"), "/csi/csi.sock");
  for (const char* bad : {"", "/", "unix://", "unix://csi.sock", "tcp://1.2.3.4:5", "csi.sock"}) {
    EXPECT_FALSE(socketPathOf(bad)) << bad;
  }
  FakeDriver driver;
  EXPECT_EQ(
      CsiServer::start({.socket = '/' + std::string(200, 'a'), .driver = "d", .version = "1", .node_id = "n"},
                       driver)
          .error()
          .code,
      Code::Invalid);
}

}  // namespace
}  // namespace gs::rpc
