#include "rpc/container_runtime.h"

#include <cri.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <set>
#include <utility>

namespace gs::rpc {
namespace cri = ::runtime::v1;

namespace {

// A node may have some hundred pods, each with annotations of up to 256 KiB.
constexpr int kMostBytes = 64 << 20;

std::shared_ptr<grpc::Channel> connectTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  // A runtime that starts again is found within a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
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

/// Of sandboxes with a container that is not over, or that are ready themselves.
RuntimePods podsOf(const cri::ListPodSandboxResponse& sandboxes,
                   const cri::ListContainersResponse& containers) {
  std::set<std::string> in_use;
  for (const cri::Container& container : containers.containers()) {
    if (container.state() != cri::CONTAINER_EXITED) { in_use.insert(container.pod_sandbox_id()); }
  }
  RuntimePods out;
  std::map<std::string, std::uint32_t>
      attempts;  // a pod whose sandbox ended gets another one: the newest is right
  for (const cri::PodSandbox& sandbox : sandboxes.items()) {
    if (sandbox.state() != cri::SANDBOX_READY && !in_use.contains(sandbox.id())) { continue; }
    const cri::PodSandboxMetadata& who = sandbox.metadata();
    const auto [attempt, is_first] = attempts.emplace(who.uid(), who.attempt());
    if (!is_first && attempt->second > who.attempt()) { continue; }
    attempt->second = who.attempt();
    out[who.uid()] = {
        who.namespace_(), who.name(), {sandbox.annotations().begin(), sandbox.annotations().end()}};
  }
  return out;
}

}  // namespace

struct ContainerRuntime::Channel {
  std::unique_ptr<cri::RuntimeService::Stub> stub;

  /// One call that takes until `end` at most.
  template <class Request, class Response>
  grpc::Status call(grpc::Status (cri::RuntimeService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                      Response*),
                    Response& response, std::chrono::system_clock::time_point end) const {
    grpc::ClientContext context;
    context.set_deadline(end);
    return (stub.get()->*method)(&context, Request{}, &response);
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

ContainerRuntime::ContainerRuntime(std::string socket)
    : socket_{std::move(socket)},
      channel_{std::make_unique<Channel>(Channel{cri::RuntimeService::NewStub(connectTo(socket_))})} {}

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
  return podsOf(sandboxes, containers);
}

}  // namespace gs::rpc
