// Gate: the driver of the volume that keeps a pod with GPUs from starting before this node's agent has
// answered for it (model/gate.h). NodePublishVolume asks `may_start`, and makes an empty folder once that is
// fine; nothing is mounted, so the agent's container needs no mount propagation out of it and no capability.
// A kubelet takes a target that is no mount as it takes others: its own clean-up removes an empty folder
// (docs/inside/decisions/0014-enforcement-by-nri.md).
//
// publish: what may pass by itself (Unavailable) is waited for, inside the call, up to `patience`: a kubelet
// tries a call that failed again after longer and longer times, up to two minutes. changed() has those who
// wait ask again. At most `most_waiting` wait; others are answered at once. What else is wrong is answered
// at once too, so that it stands in the pod's events. It may come again, beside others for the same volume,
// and after a crash at any point: it asks anew each time, since a container may be started again.
// unpublish: always fine, and never waits: it knows nothing of pods, so no pod is kept from ending by what
// the agent knows. What cannot be removed is left to the kubelet.
// Any thread. What it is given must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "csi/kubelet/target_folders.h"
#include "model/ids.h"
#include "rpc/csi_calls.h"

namespace gs::csi {

class Gate final : public rpc::CsiDriver {
 public:
  /// Fine: its containers may be created. Unavailable: not yet; Conflict: it must not. Any thread, many at a
  /// time; must not wait.
  using MayStart =
      std::function<Status(const model::Uid& pod, const std::string& ns, const std::string& name)>;
  static constexpr std::size_t kMostWaiting = 32;
  static constexpr Duration kPatience = std::chrono::seconds{60};  // of the 120 s that a kubelet gives a call
  struct Options {
    std::string target_root = "/var/lib/kubelet/pods";
    Duration patience = kPatience;
    std::size_t most_waiting = kMostWaiting;  // fewer than CsiServer::Options::most_calls
  };
  Gate(Options options, MayStart may_start, const Clock& clock);

  Status publish(const rpc::PublishRequest& request) override;
  Status unpublish(const rpc::UnpublishRequest& request) override;
  Result<rpc::VolumeStats> stats(const rpc::StatsRequest& request) override;
  Status ready() override { return {}; }
  void registered(bool /*is_registered*/, const std::string& /*error*/) override {}
  /// For good: calls that wait are Unavailable, and later ones do not wait.
  void stopping() override;

  /// `may_start` may say something else than before.
  void changed();
  /// Calls that wait now.
  [[nodiscard]] std::size_t waiting() const;

 private:
  /// A pod as the kubelet says it is.
  struct Asked {
    model::Uid pod;
    std::string ns;
    std::string name;
  };
  [[nodiscard]] Result<Asked> read(const rpc::PublishRequest& request) const;
  [[nodiscard]] Status waitFor(const Asked& asked);
  [[nodiscard]] std::uint64_t changes() const;
  [[nodiscard]] bool isChangedSince(std::uint64_t seen, Mono until);
  [[nodiscard]] Status makeBare(const std::string& target) const;

  const Options options_;
  const MayStart may_start_;
  const Clock& clock_;
  const TargetFolders folders_;
  mutable Mutex mutex_;
  Signal woken_;
  std::uint64_t changes_ GS_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ GS_GUARDED_BY(mutex_) = 0;
  bool stopping_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs::csi
