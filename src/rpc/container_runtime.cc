#include "rpc/container_runtime.h"

#include <cri.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/mutex.h"
#include "base/utf8.h"

namespace gs::rpc {
namespace cri = ::runtime::v1;

namespace {

// A node may have some hundred pods, each with annotations of up to 256 KiB.
constexpr int kMostBytes = 64 << 20;

std::shared_ptr<grpc::Channel> connectTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  // A runtime that starts again is found within a second. The least wait is also the most that one connect
  // may take, and a machine under load takes seconds.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 4000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

Code codeOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE: return Code::Unavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Code::Deadline;
    default: return Code::Internal;
  }
}

constexpr const char* kUidLabel = "io.kubernetes.pod.uid";
constexpr const char* kNameLabel = "io.kubernetes.pod.name";
constexpr const char* kNamespaceLabel = "io.kubernetes.pod.namespace";

std::string labelOf(const cri::Container& container, const char* key) {
  const auto it = container.labels().find(key);
  return it == container.labels().end() ? std::string{} : it->second;
}

Wall createdAt(const cri::Container& container) {
  const auto since = std::chrono::nanoseconds{std::max<std::int64_t>(0, container.created_at())};
  return Wall{std::chrono::duration_cast<Wall::duration>(since)};
}

/// Of sandboxes with a container that is not over, or that are ready themselves; and of containers without.
RuntimePods podsOf(const cri::ListPodSandboxResponse& sandboxes,
                   const cri::ListContainersResponse& containers, const std::set<std::string>& keys) {
  std::map<std::string, std::set<Wall>> in_use;
  for (const cri::Container& container : containers.containers()) {
    if (container.state() != cri::CONTAINER_EXITED) {
      in_use[container.pod_sandbox_id()].insert(createdAt(container));
    }
  }
  RuntimePods out;
  // A pod whose sandbox ended gets another one: the newest is right.
  std::map<std::string, std::uint32_t> attempts;
  std::set<std::string> listed;
  for (const cri::PodSandbox& sandbox : sandboxes.items()) {
    listed.insert(sandbox.id());
    const auto created = in_use.find(sandbox.id());
    const bool has_container = created != in_use.end();
    const cri::PodSandboxMetadata& who = sandbox.metadata();
    if (who.uid().empty() || (sandbox.state() != cri::SANDBOX_READY && !has_container)) { continue; }
    RuntimePod& pod = out[who.uid()];
    if (has_container) { pod.created.insert(created->second.begin(), created->second.end()); }
    const auto [attempt, is_first] = attempts.emplace(who.uid(), who.attempt());
    if (!is_first && attempt->second > who.attempt()) { continue; }
    attempt->second = who.attempt();
    pod.ns = who.namespace_();
    pod.name = who.name();
    pod.annotations.clear();
    for (const auto& key : keys) {
      const auto it = sandbox.annotations().find(key);
      const bool is_text = it != sandbox.annotations().end() && isUtf8(it->second);
      if (is_text) { pod.annotations.emplace(it->first, it->second); }
    }
  }
  for (const cri::Container& container : containers.containers()) {
    const std::string uid = labelOf(container, kUidLabel);
    const bool is_over = container.state() == cri::CONTAINER_EXITED;
    if (is_over || uid.empty() || listed.contains(container.pod_sandbox_id())) { continue; }
    RuntimePod& pod = out[uid];
    pod.created.insert(createdAt(container));
    if (pod.name.empty()) {
      pod.ns = labelOf(container, kNamespaceLabel);
      pod.name = labelOf(container, kNameLabel);
    }
  }
  return out;
}

}  // namespace

struct ContainerRuntime::Channel {
  explicit Channel(std::unique_ptr<cri::RuntimeService::Stub> to) : stub{std::move(to)} {}

  const std::unique_ptr<cri::RuntimeService::Stub> stub;
  Mutex mutex;
  grpc::ClientContext* under_way GS_GUARDED_BY(mutex) = nullptr;
  bool is_cancelled GS_GUARDED_BY(mutex) = false;

  /// One call that takes until `end` at most.
  template <class Request, class Response>
  grpc::Status call(grpc::Status (cri::RuntimeService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                      Response*),
                    Response& response, std::chrono::system_clock::time_point end) GS_EXCLUDES(mutex) {
    grpc::ClientContext context;
    context.set_deadline(end);
    if (!begin(context)) { return grpc::Status::CANCELLED; }
    grpc::Status out = (stub.get()->*method)(&context, Request{}, &response);
    MutexLock lock{mutex};
    under_way = nullptr;
    return out;
  }
  bool begin(grpc::ClientContext& context) GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    if (!is_cancelled) { under_way = &context; }
    return !is_cancelled;
  }
  void cancel() GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    is_cancelled = true;
    if (under_way != nullptr) { under_way->TryCancel(); }
  }
};

namespace {

std::chrono::system_clock::time_point within(Duration limit) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(limit);
}

tl::unexpected<Error> failed(const grpc::Status& status, const std::string& socket) {
  return fail(codeOf(status.error_code()),
              fmt::format("the container runtime at {}: {}", socket, status.error_message()));
}

}  // namespace

ContainerRuntime::ContainerRuntime(std::string socket, std::set<std::string> annotations)
    : socket_{std::move(socket)},
      annotations_{std::move(annotations)},
      channel_{std::make_unique<Channel>(cri::RuntimeService::NewStub(connectTo(socket_)))} {}

ContainerRuntime::~ContainerRuntime() = default;

Result<std::string> ContainerRuntime::version(Duration limit) const {
  cri::VersionResponse response;
  const grpc::Status done = channel_->call(&cri::RuntimeService::Stub::Version, response, within(limit));
  if (!done.ok()) { return failed(done, socket_); }
  return response.runtime_name() + " " + response.runtime_version();
}

Result<RuntimePods> ContainerRuntime::pods(Duration limit) const {
  const auto end = within(limit);
  // Containers first: one that comes in between belongs to a sandbox that is ready.
  cri::ListContainersResponse containers;
  if (const auto done = channel_->call(&cri::RuntimeService::Stub::ListContainers, containers, end);
      !done.ok()) {
    return failed(done, socket_);
  }
  cri::ListPodSandboxResponse sandboxes;
  if (const auto done = channel_->call(&cri::RuntimeService::Stub::ListPodSandbox, sandboxes, end);
      !done.ok()) {
    return failed(done, socket_);
  }
  return podsOf(sandboxes, containers, annotations_);
}

void ContainerRuntime::cancel() const { channel_->cancel(); }

}  // namespace gs::rpc
