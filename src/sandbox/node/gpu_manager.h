// A simulated gpu-manager: gives shares of one node's GPUs to the containers of pods that ask for vcuda-core,
// by the rules of tkestack's gpu-manager, which picks for itself and fails a pod whose annotations name
// another device. Written from what that program does (model/vcuda.h has its convention) and without our
// placement code, so that tests may judge us by it.
//
// The kubelet asks for each container with cores, init containers first, and says only how many cores.
// Whose it is: of the pods of this node that are Pending, not assigned and not being deleted, by
// predicate-time, the first of spec.containers that has so many cores, memory too where it is a share, and
// nothing yet; but a pod of several containers that was begun is finished first. So two pods whose containers
// have equal cores may be served in each other's place.
// A share: of the devices with room the one with the fewest free cores, then free memory, then processes,
// then the lowest minor; the annotation must name it. Whole GPUs: any that are untouched, drawn at random;
// the annotation is not looked at.
// Before the containers start it writes what it really gave, and gpu-assigned "true". What ended or went is
// free at once.
//
// Assumed of the kubelet: a pod's containers start later than any pod that was bound before it was taken is
// taken (`taken_within` < Kubelet's start_after); else a pod that was served in another's place is refused
// there.
// `api` must outlive it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sandbox/node/device_plugin.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

class GpuManager : public DevicePlugin {
 public:
  struct Config {
    std::string node;
    int devices = 1;
    std::int64_t memory_each = 0;  // vcuda-memory
    Duration taken_within = std::chrono::milliseconds{400};
    /// Processes that a container has on its devices once it runs: 0 to so many.
    int most_processes = 0;
  };
  GpuManager(apiserver::Api& api, Config config, Rng rng);

  [[nodiscard]] Duration takenAfter() override;
  [[nodiscard]] std::optional<Refusal> allocate(const json::Value& pod, Now now) override;
  [[nodiscard]] std::optional<Refusal> preStart(const json::Value& pod, Now now) override;

  enum class Trouble : std::uint8_t {
    OtherDevice,  // its pick is not the annotation's
    OtherCount,   // a pod was begun, and a container of another one came
    NoRoom,
    NobodyAsks,  // no container of a pod of this node has so many cores
    NotServed,   // containers are to start that it gave nothing
  };
  struct Refused {
    Mono at{};
    Trouble trouble{};
    std::string uid;   // whose turn it was; NobodyAsks: that the kubelet meant
    bool tie = false;  // OtherDevice: but for the count of processes it would have been the annotation's
    std::string text;
  };
  [[nodiscard]] const std::vector<Refused>& refused() const { return refused_; }
  /// Shares that were given as the annotations say.
  [[nodiscard]] int sharesGiven() const { return shares_given_; }

 private:
  struct Part {
    std::vector<int> devices;
    std::int64_t cores = 0;  // of each
    std::int64_t memory = 0;
    int processes = 0;  // on each
  };
  struct Device {
    int minor = 0;
    std::int64_t cores = 0;  // free
    std::int64_t memory = 0;
    int processes = 0;
  };
  struct Turn {
    const json::Value* pod = nullptr;
    std::size_t container = 0;
  };

  void recycle();
  [[nodiscard]] std::vector<const json::Value*> candidates() const;
  [[nodiscard]] Turn turnOf(std::int64_t cores) const;
  [[nodiscard]] std::vector<Device> devices() const;
  [[nodiscard]] std::optional<Refusal> serve(const std::string& meant, std::int64_t cores, Now now);
  [[nodiscard]] std::optional<Refusal> giveShare(const Turn& turn, Now now);
  [[nodiscard]] std::optional<Refusal> giveWhole(const Turn& turn, Now now);
  void give(const Turn& turn, Part part);
  [[nodiscard]] bool isServed(const json::Value& pod) const;
  Refusal refuse(Refused why);

  apiserver::Api& api_;
  Config config_;
  Rng rng_;
  std::map<std::string, std::map<std::size_t, Part>> given_;  // by uid and container
  std::string begun_;  // uid of a pod of several containers that has some
  std::vector<Refused> refused_;
  int shares_given_ = 0;
};

}  // namespace gs::sandbox
