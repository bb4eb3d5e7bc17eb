#include "rpc/container_runtime.h"

#include <cri.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

namespace gs::rpc {
namespace {

namespace cri = ::runtime::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPatience = std::chrono::minutes{10};  // of a broken one; never a measure

/// A container runtime that says what the test wants.
class FakeRuntime final : public cri::RuntimeService::Service {
 public:
  grpc::Status Version(grpc::ServerContext*, const cri::VersionRequest*, cri::VersionResponse* out) override {
    out->set_runtime_name("containerd");
    out->set_runtime_version("v2.2.9");
    return answer();
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest*,
                              cri::ListPodSandboxResponse* out) override {
    *out = sandboxes;
    return answer();
  }
  grpc::Status ListContainers(grpc::ServerContext* context, const cri::ListContainersRequest*,
                              cri::ListContainersResponse* out) override {
    ++calls;
    while (hangs && !context->IsCancelled()) { ::usleep(1000); }
    *out = containers;
    return answer();
  }

  void sandbox(const std::string& id, const std::string& uid, cri::PodSandboxState state,
               std::uint32_t attempt = 0, const std::string& allocated = "") {
    cri::PodSandbox& added = *sandboxes.add_items();
    added.set_id(id);
    added.set_state(state);
    added.mutable_metadata()->set_uid(uid);
    added.mutable_metadata()->set_namespace_("ml");
    added.mutable_metadata()->set_name("pod-" + uid);
    added.mutable_metadata()->set_attempt(attempt);
    if (!allocated.empty()) { (*added.mutable_annotations())["gpu"] = allocated; }
    (*added.mutable_annotations())["other"] = other;
  }
  void container(const std::string& sandbox, cri::ContainerState state, const std::string& uid = "",
                 std::int64_t created_at = 0) {
    cri::Container& added = *containers.add_containers();
    if (!uid.empty()) {
      (*added.mutable_labels())["io.kubernetes.pod.uid"] = uid;
      (*added.mutable_labels())["io.kubernetes.pod.name"] = "pod-" + uid;
      (*added.mutable_labels())["io.kubernetes.pod.namespace"] = "ml";
    }
    added.set_pod_sandbox_id(sandbox);
    added.set_state(state);
    added.set_created_at(created_at);
  }

  cri::ListPodSandboxResponse sandboxes;
  cri::ListContainersResponse containers;
  std::string other = "of no interest";
  std::atomic<grpc::StatusCode> code = grpc::StatusCode::OK;
  std::atomic<int> calls = 0;
  std::atomic<bool> hangs = false;

 private:
  grpc::Status answer() const {
    return code == grpc::StatusCode::OK ? grpc::Status::OK : grpc::Status{code, "no"};
  }
};

const std::set<std::string> kKeys{"gpu", "none has this"};

class ContainerRuntimeTest : public ::testing::Test {
 protected:
  ContainerRuntimeTest() {
    std::string name = (std::filesystem::temp_directory_path() / "criXXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    socket_ = folder_ + "/cri.sock";
  }
  ~ContainerRuntimeTest() override {
    end();
    std::filesystem::remove_all(folder_);
  }
  void begin() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
  }
  void end() {
    if (server_ != nullptr) { server_->Shutdown(std::chrono::system_clock::now()); }
    server_.reset();
  }

  FakeRuntime fake_;
  std::unique_ptr<grpc::Server> server_;
  std::string folder_;
  std::string socket_;
};

TEST_F(ContainerRuntimeTest, SaysWhatItIs) {
  begin();
  EXPECT_EQ((ContainerRuntime{socket_, kKeys}).version(kPatience), "containerd v2.2.9");
}

TEST_F(ContainerRuntimeTest, APodIsListedWhileSomethingOfItMayUseAGpu) {
  fake_.sandbox("s-ready", "ready", cri::SANDBOX_READY, 0, "node-a:0");
  fake_.sandbox("s-over", "over", cri::SANDBOX_NOTREADY);
  fake_.sandbox("s-gone", "gone", cri::SANDBOX_NOTREADY);
  for (const auto& [name, state] :
       {std::pair{"created", cri::CONTAINER_CREATED}, std::pair{"running", cri::CONTAINER_RUNNING},
        std::pair{"unknown", cri::CONTAINER_UNKNOWN}, std::pair{"exited", cri::CONTAINER_EXITED}}) {
    fake_.sandbox(std::string{"s-"} + name, name, cri::SANDBOX_NOTREADY);
    fake_.container(std::string{"s-"} + name, state);
  }
  fake_.container("s-over", cri::CONTAINER_EXITED);
  fake_.container("s-nobody's", cri::CONTAINER_RUNNING);
  fake_.sandbox("s-of-crictl", "", cri::SANDBOX_READY, 0, "node-a:0");
  fake_.container("s-that-went", cri::CONTAINER_RUNNING, "left");
  fake_.container("s-that-went-too", cri::CONTAINER_EXITED, "left over");
  fake_.container("s-over", cri::CONTAINER_EXITED, "over");
  begin();
  const auto pods = ContainerRuntime{socket_, kKeys}.pods(kPatience);
  ASSERT_TRUE(pods) << pods.error().message;
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : *pods) {
    uids.push_back(uid);
    EXPECT_EQ(pod.created.empty(), uid == "ready") << uid;
  }
  EXPECT_EQ(uids, (std::vector<std::string>{"created", "left", "ready", "running", "unknown"}));
  EXPECT_EQ(pods->at("ready"), (RuntimePod{"ml", "pod-ready", {{"gpu", "node-a:0"}}, {}}));
  EXPECT_EQ(pods->at("left"), (RuntimePod{"ml", "pod-left", {}, {Wall{}}}));
}

TEST_F(ContainerRuntimeTest, OfTwoSandboxesOfAPodTheNewerOneCounts) {
  fake_.sandbox("s-2", "twice", cri::SANDBOX_READY, 2, "new");
  fake_.sandbox("s-1", "twice", cri::SANDBOX_READY, 1, "old");
  fake_.sandbox("s-3", "again", cri::SANDBOX_READY, 1, "old");
  fake_.sandbox("s-4", "again", cri::SANDBOX_READY, 2, "new");
  fake_.container("s-1", cri::CONTAINER_RUNNING, "twice");
  begin();
  const auto pods = ContainerRuntime{socket_, kKeys}.pods(kPatience);
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_FALSE(pods->at("twice").created.empty()) << "of whichever sandbox";
  EXPECT_EQ(pods->at("twice").annotations.at("gpu"), "new");
  EXPECT_EQ(pods->at("again").annotations.at("gpu"), "new");
}

TEST_F(ContainerRuntimeTest, SaysWhenContainersWereCreated) {
  fake_.sandbox("s-1", "p", cri::SANDBOX_READY);
  fake_.container("s-1", cri::CONTAINER_RUNNING, "p", 1'750'000'000'000'001'999);
  fake_.container("s-1", cri::CONTAINER_CREATED, "p", 1'750'000'001'000'000'000);
  fake_.container("s-1", cri::CONTAINER_EXITED, "p", 1'750'000'002'000'000'000);
  fake_.container("s-that-went", cri::CONTAINER_RUNNING, "q", -5);
  begin();
  const auto pods = ContainerRuntime{socket_, kKeys}.pods(kPatience);
  ASSERT_TRUE(pods) << pods.error().message;
  const Wall first{seconds{1'750'000'000}};
  EXPECT_EQ(pods->at("p").created,
            (std::set<Wall>{first + std::chrono::microseconds{1}, first + seconds{1}}));
  EXPECT_EQ(pods->at("q").created, std::set<Wall>{Wall{}}) << "not said";
}

/// A node may have hundreds of pods with annotations of 256 KiB; gRPC's own limit is 4 MiB.
TEST_F(ContainerRuntimeTest, AnAnswerMayBeLarge) {
  fake_.other.assign(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    fake_.sandbox("s-" + name, name, cri::SANDBOX_READY, 0, "n:" + name);
  }
  begin();
  const auto pods = ContainerRuntime{socket_, kKeys}.pods(kPatience);
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->size(), 100U);
  EXPECT_EQ(pods->at("99").annotations, (std::map<std::string, std::string>{{"gpu", "n:99"}}));
}

/// An API server takes such annotations when they come as protobuf, and passes them on.
TEST_F(ContainerRuntimeTest, AnAnnotationThatIsNoUtf8SaysNothingAndHarmsNoOther) {
  fake_.sandbox("s-1", "author", cri::SANDBOX_READY, 0, "node-a:\xff");
  fake_.other = "\xc3(";
  fake_.sandbox("s-2", "other", cri::SANDBOX_READY, 0, "node-a:1");
  begin();
  const auto pods = ContainerRuntime{socket_, kKeys}.pods(kPatience);
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->at("author"), (RuntimePod{"ml", "pod-author", {}, {}}));
  EXPECT_EQ(pods->at("other").annotations.at("gpu"), "node-a:1");
}

TEST_F(ContainerRuntimeTest, SaysWhyThereIsNoAnswer) {
  const ContainerRuntime runtime{socket_, kKeys};
  const auto nobody = runtime.pods(kPatience);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::Unavailable);
  EXPECT_EQ(nobody.error().message.find("the container runtime at " + socket_ + ": "), 0)
      << nobody.error().message;
  begin();
  fake_.code = grpc::StatusCode::UNIMPLEMENTED;
  auto refused = runtime.pods(kPatience);  // it connects anew a moment after somebody is there
  for (int i = 0; i < 1000 && !refused && refused.error().code == Code::Unavailable; ++i) {
    ::usleep(10'000);
    refused = runtime.pods(kPatience);
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::Internal, "the container runtime at " + socket_ + ": no"}));
  fake_.code = grpc::StatusCode::OK;
  fake_.hangs = true;
  const auto late = runtime.pods(milliseconds{50});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::Deadline);
  fake_.hangs = false;
  EXPECT_TRUE(runtime.pods(kPatience));
}

TEST_F(ContainerRuntimeTest, ACallThatIsCancelledComesBackAndLaterOnesToo) {
  fake_.hangs = true;
  begin();
  const ContainerRuntime runtime{socket_, kKeys};
  std::thread other{[&] {
    while (fake_.calls == 0) { ::usleep(1000); }
    runtime.cancel();
  }};
  EXPECT_FALSE(runtime.pods(std::chrono::hours{1}));
  other.join();
  const int before = fake_.calls;
  EXPECT_FALSE(runtime.pods(std::chrono::hours{1}));
  EXPECT_EQ(fake_.calls, before);
}

TEST_F(ContainerRuntimeTest, FindsOneThatStartedAgain) {
  begin();
  const ContainerRuntime runtime{socket_, kKeys};
  ASSERT_TRUE(runtime.pods(kPatience));
  end();
  EXPECT_FALSE(runtime.pods(kPatience));
  begin();
  auto found = runtime.pods(kPatience);
  for (int i = 0; i < 1000 && !found; ++i) {
    ::usleep(10'000);
    found = runtime.pods(kPatience);
  }
  EXPECT_TRUE(found) << found.error().message;
}

}  // namespace
}  // namespace gs::rpc
