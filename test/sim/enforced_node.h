// A node with a device plugin, as containers are made on it: the kubelet's plugin picks GPUs of its own for
// limits of nvidia.com/gpu, as device nodes and by CDI; then the container runtime asks the plugin of the
// agent's process, if one is connected, and makes the container as it says.
//
// What answers is shipped: agent::Agent's record (World's agents, Options::enforced), and enforce::Enforcer
// with it, which lives and dies with the agent's process. The record comes to it late at times, or not yet;
// it connects some time after the process has begun, and is told then what there is. NRI fails open: while
// nobody is connected, and when the process dies before its answer is read, a container is made as it is.
// A pod with the gate (annotation kGated) waits before that, once, until its leases are verified and somebody
// is connected; the process may die just after.
//
// `world` must outlive it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "enforce/enforcer.h"
#include "kapi/node_file.h"
#include "sandbox/world/world.h"

namespace gs::sim {

inline constexpr const char* kGated = "sim/gated";

class EnforcedNode {
 public:
  struct Made {
    rpc::nri::PodSandbox pod;
    rpc::nri::Container shown;      // as its runtime shows it
    std::set<int> sees;             // the GPUs that its processes can open
    enforce::NodeRecordPtr record;  // from which it was answered; null: nobody did
    bool is_gated = false;
    bool died_since_gate = false;  // the process that let it through the gate
  };
  struct Counts {
    std::size_t answered = 0;
    std::size_t unanswered = 0;
    std::size_t refused = 0;  // times
    std::size_t moved = 0;    // containers that got another GPU than the plugin gave them
  };

  EnforcedNode(sandbox::World& world, const kapi::SimNode& node, Rng rng,
               std::function<void(const Made&)> on_made);

  /// What became of the agent's process, its record, and containers.
  void follow();
  /// The containers of this pod are to start. False: they wait, and it is asked again.
  [[nodiscard]] bool start(const json::Value& pod);
  /// No process dies from now on, but of itself.
  void calm() { is_calm_ = true; }
  /// How many GPUs the plugin could still give.
  [[nodiscard]] std::size_t unpicked();

  [[nodiscard]] bool isConnected() const { return is_connected_; }
  /// By the record that it has now; CHECKs that somebody is connected.
  [[nodiscard]] std::vector<enforce::Mismatch> audit();
  [[nodiscard]] const std::map<std::string, Made>& made() const { return made_; }  // by id
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Numbers = std::pair<std::int64_t, std::int64_t>;  // major, minor
  /// A pod whose containers were to start.
  struct Asked {
    rpc::nri::PodSandbox sandbox;
    std::set<int> picked;  // by the plugin
    bool is_gated = false;
    bool has_passed = false;
    std::uint64_t passed_in = 0;  // life_ then
  };

  void followProcess();
  void followContainers();
  void connect(std::uint64_t life);
  void give(const enforce::NodeRecordPtr& record);
  void tell();
  void die();
  [[nodiscard]] bool mayDie();
  [[nodiscard]] Asked& askedOf(const json::Value& pod);
  [[nodiscard]] std::set<int> pick(int gpus);
  [[nodiscard]] bool mayPass(const Asked& asked) const;
  [[nodiscard]] rpc::nri::Container wanted(const Asked& asked);
  [[nodiscard]] bool create(const Asked& asked);
  void make(const Asked& asked, rpc::nri::Container container, const rpc::nri::Adjustment& adjustment,
            enforce::NodeRecordPtr record);
  void forgetGone();

  sandbox::World& world_;
  const std::string name_;
  const std::vector<std::string> uuids_;  // by id
  enforce::IndexPtr index_;
  Rng rng_;
  std::function<void(const Made&)> on_made_;
  bool is_calm_ = false;

  std::map<std::string, Asked> asked_;  // by uid
  std::map<std::string, Made> made_;
  int last_id_ = 0;
  Counts counts_;

  std::uint64_t life_ = 0;  // of the agent's process; 0: there is none
  std::optional<enforce::Enforcer> enforcer_;
  enforce::NodeRecordPtr newest_;  // that the agent published
  enforce::NodeRecordPtr given_;   // that the enforcer has
  bool is_connected_ = false;
  bool is_told_ = false;  // the agent knows how it is
};

}  // namespace gs::sim
