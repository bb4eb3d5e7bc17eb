// ContainerRuntime: which pods a node's container runtime has containers of, by the CRI (rpc/cri.proto) over
// its unix socket. Read only: it starts, stops and changes nothing.
//
// A pod is listed while something of it may use a GPU: a container that is created, running or of unknown
// state, or a sandbox that is ready, so that a container may come. Containers that have exited hold nothing.
// A container whose sandbox is not listed is known by the label that the kubelet gave it. What has no pod's
// uid is left out: no kubelet made it.
// One call at a time; any thread. gRPC is behind this header.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace gs::rpc {

/// Of one pod, as the kubelet gave it to the runtime: annotations are those of the moment in which the pod's
/// sandbox was made, when the pod was bound already.
struct RuntimePod {
  std::string ns;
  std::string name;
  std::map<std::string, std::string> annotations;  // of those that were asked for, if it is UTF-8
  /// When its containers were created that have not exited; Wall{}: it does not say. None: there are none.
  std::set<Wall> created;
  friend bool operator==(const RuntimePod&, const RuntimePod&) = default;
};
/// By uid.
using RuntimePods = std::map<std::string, RuntimePod>;

class ContainerRuntime {
 public:
  /// `socket`: its path, /run/containerd/containerd.sock say. Connects when it is asked. `annotations`: the
  /// keys that are kept (a pod may have 256 KiB of others).
  ContainerRuntime(std::string socket, std::set<std::string> annotations);
  ContainerRuntime(const ContainerRuntime&) = delete;
  ContainerRuntime& operator=(const ContainerRuntime&) = delete;
  ~ContainerRuntime();

  /// "containerd 2.2.9". Errors as pods().
  [[nodiscard]] Result<std::string> version(Duration limit) const;
  /// All of them. Unavailable: nobody answers at the socket; Deadline: not within `limit`; Internal: it
  /// answered with an error. Messages name the socket.
  [[nodiscard]] Result<RuntimePods> pods(Duration limit) const;
  /// The call under way and all later ones fail at once. From any thread; a second call does nothing.
  void cancel() const;

 private:
  struct Channel;
  const std::string socket_;
  const std::set<std::string> annotations_;
  const std::unique_ptr<Channel> channel_;
};

}  // namespace gs::rpc
