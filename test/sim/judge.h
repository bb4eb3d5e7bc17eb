// The judge: what the API server's objects alone say about who has which GPU. Nothing of the scheduler's code is asked.
//
// watch() is called after every change and reads the store's history from where it was. What must hold at any time is
// checked at the moment of each Binding and of each lease that goes; what must hold once everything is quiet by settled().
// One thread; the Api must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "kapi/call.h"
#include "sandbox/api.h"

namespace gs::sim {

class Judge {
 public:
  /// `agents`: inUseBy is to be trusted.
  Judge(sandbox::Api& api, bool agents) : api_{api}, agents_{agents} {}

  /// Reads what changed. "" or the first thing that must never be; the same from then on.
  const std::string& watch(Mono now);
  /// When something last changed that a scheduler would look at.
  [[nodiscard]] Mono lastChange() const { return last_change_; }
  /// A Binding left a replica: when, and the fence of the pod version that it was decided on, are remembered.
  void bindingSent(const kapi::Call& call, Mono now);
  /// Leases that go from now on were deleted by hand.
  void handAtWork(bool yes) { hand_ = yes; }
  /// Each of its holders is bound, and has that device.
  [[nodiscard]] bool isOfRunningPod(const json::Value& lease) const;
  /// Pods whose Binding is always refused are not expected to be placed.
  void neverPlaced(const std::string& name) { never_placed_.insert(name); }

  /// "" or what is not as it should be now that nothing happens any more.
  [[nodiscard]] std::string settled() const;

 private:
  struct Device {
    std::string node;
    int id = 0;
    friend auto operator<=>(const Device&, const Device&) = default;
    [[nodiscard]] std::string text() const { return node + ":" + std::to_string(id); }
  };
  struct Pod {
    std::string ns, name, scheduler, node, claim, fence, allocated, visible;
    std::vector<int> ids;
    int gpus = 0;  // limits nvidia.com/gpu
    bool finished = false, deleting = false;
    std::string told;  // why it waits
    Mono bound_at{};
    [[nodiscard]] bool has(const Device& d) const;
    [[nodiscard]] bool live() const { return !node.empty() && !finished; }
  };
  struct Lease {
    bool shared = false;
    std::map<std::string, std::string> holders;  // uid -> devices of its whole reservation
    std::map<std::string, Mono> since;           // uid -> when it became one
    std::set<std::string> joined;                // those that came when others were there
  };
  struct Gpu {
    std::string health;
    std::map<std::string, Mono> in_use;  // uid -> since when
  };
  struct Node {
    bool ready = false;
    std::int64_t allocatable = 0;
  };

  static Pod podOf(const json::Value& object);
  static std::pair<Device, Lease> leaseOf(const json::Value& object);
  void podChanged(const sandbox::HistoryEntry& entry);
  void leaseChanged(const sandbox::HistoryEntry& entry);
  void statusChanged(const sandbox::HistoryEntry& entry);
  void nodeChanged(const sandbox::HistoryEntry& entry);
  void bound(const std::string& uid, const Pod& pod);
  void give(const std::string& uid, const Pod& pod, const Device& device);
  void countOn(const std::string& uid, const Pod& pod, Mono decided);
  void wrong(std::string what);
  [[nodiscard]] std::string claimsWrong() const;
  [[nodiscard]] std::string allocationsOf(const sandbox::StoreKey& claim) const;
  [[nodiscard]] std::string leasesWrong() const;
  [[nodiscard]] std::string podWrong(const std::string& uid, const Pod& pod) const;
  [[nodiscard]] bool shouldFit(const Pod& pod) const;
  [[nodiscard]] bool hasClaim(const Pod& pod) const;
  [[nodiscard]] std::int64_t freeOn(const std::string& node) const;
  [[nodiscard]] std::int64_t joinableOn(const std::string& node) const;

  sandbox::Api& api_;
  bool agents_;
  bool hand_ = false;
  std::uint64_t position_ = 0;
  std::string problem_;
  std::map<std::string, Pod> pods_;  // by uid
  std::set<std::string> clean_;      // pods that ended with all their containers: an agent may not know it yet
  std::set<std::string> unnamed_;    // pods that ran without an allocation
  std::map<Device, Lease> leases_;
  std::map<Device, Gpu> gpus_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, std::int64_t> most_allocatable_;  // by node: that it ever had
  std::map<std::pair<std::string, std::string>, std::string> fences_;  // (uid, resourceVersion) -> fence
  /// uid -> fences that Bindings were decided on, and their GPUs -> when the first such Binding left
  std::map<std::string, std::map<std::string, std::map<std::string, Mono>>> decided_;
  Mono now_{};
  Mono last_change_{};
  std::set<std::string> never_placed_;
};

}  // namespace gs::sim
