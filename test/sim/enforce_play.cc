#include "test/sim/enforce_play.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/random.h"
#include "json/value.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "sandbox/node/volumes.h"
#include "sandbox/world/world.h"
#include "test/sim/cluster.h"
#include "test/sim/enforced_node.h"
#include "test/world/objects.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;
using MadeContainer = EnforcedNode::Made;

constexpr const char* kEnforcedPods = "/api/v1/namespaces/default/pods";
constexpr const char* kElsewhere = "default-scheduler";
constexpr int kGpusEach = 4;
constexpr int kEnforceSteps = 70;
constexpr std::size_t kMostAtOnce = 12;
constexpr unsigned kReadsFail = 40;  // of a hundred, while faults last
constexpr unsigned kCallsKill = 4;

/// A GPU: its node and its id.
using GpuOfNode = std::pair<std::string, int>;

kapi::SimNode enforcedNode(const char* name) {
  kapi::SimNode n;
  n.name = model::NodeName{name};
  n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  n.enforcement = model::Enforcement::Devices;
  for (int i = 0; i < kGpusEach; ++i) {
    model::Device d;
    d.id = i;
    d.uuid = fmt::format("GPU-{}-{}", name, i);
    d.model = "T";
    d.memory_mib = 1024;
    d.island = "0";
    d.health = model::Health::Healthy;
    n.devices.push_back(std::move(d));
  }
  return n;
}

sandbox::World::Options enforceOptions(std::uint64_t seed) {
  sandbox::World::Options options;
  options.seed = seed;
  options.enforced = true;
  options.nodes = {enforcedNode("n-a"), enforcedNode("n-b")};
  return options;
}

/// "0,2" of "n-a:0,2".
std::set<int> idsIn(std::string_view allocated) {
  std::set<int> out;
  for (const std::string& word : commaList(allocated.substr(allocated.rfind(':') + 1))) {
    int id = -1;
    std::from_chars(word.data(), word.data() + word.size(), id);
    out.insert(id);
  }
  return out;
}

std::string gpusText(const std::set<int>& gpus) {
  return gpus.empty() ? "no GPU" : fmt::format("GPUs {}", fmt::join(gpus, ","));
}

class EnforcePlay final : public sandbox::Volumes {
 public:
  EnforcePlay(std::uint64_t seed, bool tell)
      : rng_{seed ^ 0xe4f0000}, tell_{tell}, world_{enforceOptions(seed)}, began_{world_.now().mono} {
    has_gate_ = seed % 2 == 0;
    for (const char* name : {"n-a", "n-b"}) {
      nodes_.emplace(
          name, std::make_unique<EnforcedNode>(
                    world_, enforcedNode(name), rng_.split(),
                    [this, node = std::string{name}](const MadeContainer& made) { lookAt(node, made); }));
    }
    world_.kubelet().setVolumes(*this);
    world_.agentWire().setJudge(
        [this](sandbox::ReplicaId, const kapi::Call& call) { return judgeCall(call); });
  }

  EnforceOutcome play() {
    world_.create(test::claim("one", 1));
    world_.create(test::claim("two", 2));
    world_.startReplica();
    (void)world_.runUntil([this] { return world_.leader().has_value(); }, 30s);
    for (int i = 0; i < kEnforceSteps && out_.problem.empty(); ++i) {
      step();
      run(std::chrono::milliseconds{50 + below(900)});
    }
    if (out_.problem.empty()) { calm(); }
    for (const auto& [name, node] : nodes_) {
      out_.answered += node->counts().answered;
      out_.unanswered += node->counts().unanswered;
      out_.refused += node->counts().refused;
      out_.moved += node->counts().moved;
    }
    return out_;
  }

  /// The World's kubelet is about to start containers.
  bool areMounted(const Value& pod, Now /*now*/) override {
    const auto node = nodes_.find(std::string{pod["spec"]["nodeName"].str()});
    const bool is_played = pod["metadata"]["namespace"].str() == "default" && node != nodes_.end();
    return !is_played || node->second->start(pod);
  }

 private:
  int below(int n) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(n))); }
  void say(const std::string& what) {
    if (!tell_) { return; }
    fmt::print("{:9.3f}s {}\n", std::chrono::duration<double>(world_.now().mono - began_).count(), what);
  }
  void wrong(std::string what) {
    if (!out_.problem.empty()) { return; }
    out_.problem = std::move(what);
    out_.at = world_.now().mono - began_;
    say(out_.problem);
  }
  void follow() {
    for (const auto& [name, node] : nodes_) { node->follow(); }
  }
  void run(Duration by) {
    (void)world_.runUntil([this] { return follow(), !out_.problem.empty(); }, by);
    follow();
  }
  std::string anyNode() { return below(2) == 0 ? "n-a" : "n-b"; }

  // ---- what happens

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3: return comes();
      case 4:
      case 5:
      case 6: return foreignComes();
      case 7:
      case 8: return forgedComes();
      case 9:
      case 10:
        return goes("ends", [this](const std::string& name) { world_.kubelet().finish("default", name); });
      case 11:
        return goes("is deleted", [this](const std::string& name) {
          (void)world_.request("DELETE", fmt::format("{}/{}", kEnforcedPods, name), Value{Object{}});
        });
      case 12: return agentDown();
      case 13: {
        const std::string node = anyNode();
        say(fmt::format("the agent of {} dies", node));
        return world_.agents().crash(node);
      }
      case 14:
        say("reads of leases fail");
        faults_until_ = world_.now().mono + 2s + std::chrono::seconds{below(5)};
        return;
      default: return;
    }
  }
  [[nodiscard]] std::vector<std::string> pods() {
    std::vector<std::string> out;
    for (const auto& pod : world_.get(kEnforcedPods)["items"].items()) {
      out.emplace_back(pod["metadata"]["name"].str());
    }
    return out;
  }
  [[nodiscard]] bool isFull() { return pods().size() >= kMostAtOnce; }
  static void annotate(Value& pod, const char* key, std::string value) {
    Value& meta = pod.child("metadata");
    Object notes;
    for (const auto& [name, text] : meta["annotations"].members()) { notes[std::string{name}] = text; }
    notes[key] = std::move(value);
    meta.set("annotations", std::move(notes));
  }
  void comes() {
    if (isFull()) { return; }
    const std::string name = fmt::format("ours-{}", ++made_);
    const bool is_two = rng_.chance(30);
    const int limit = rng_.chance(70) ? (is_two ? 2 : 1) : 0;
    Value pod = test::pod(name, is_two ? "two" : "one", limit);
    const bool is_gated = has_gate_ && rng_.chance(85);
    if (is_gated) { annotate(pod, kGated, "true"); }
    say(fmt::format("{} comes for claim {} with a limit of {}{}", name, is_two ? "two" : "one", limit,
                    is_gated ? ", with the gate" : ""));
    world_.create(pod);
  }
  static void bind(Value& pod, const std::string& node) {
    Value& spec = pod.child("spec");
    spec.set("schedulerName", kElsewhere);
    spec.set("nodeName", node);
  }
  /// As the kubelet takes it: the plugin has as many.
  void foreignComes() {
    const std::string node = anyNode();
    const std::size_t left = nodes_.at(node)->unpicked();
    if (isFull() || left == 0) { return; }
    const int limit = left > 1 && rng_.chance(25) ? 2 : 1;
    Value pod = test::pod(fmt::format("foreign-{}", ++made_), "", limit);
    bind(pod, node);
    say(fmt::format("foreign-{} comes to {} with a limit of {}", made_, node, limit));
    world_.create(pod);
  }
  void forgedComes() {
    if (isFull()) { return; }
    const std::string node = anyNode();
    const int gpu = below(kGpusEach);
    Value pod = test::pod(fmt::format("forged-{}", ++made_), "", rng_.chance(50) ? 1 : 0);
    bind(pod, node);
    annotate(pod, model::kAllocatedKey, fmt::format("{}:{}", node, gpu));
    if (rng_.chance(50)) { annotate(pod, model::kReservationKey, "forged"); }
    say(fmt::format("forged-{} comes to {} and says that it has GPU {}", made_, node, gpu));
    world_.create(pod);
  }
  template <class Act>
  void goes(const char* how, const Act& act) {
    const auto names = pods();
    if (names.empty()) { return; }
    const std::string name = names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
    say(fmt::format("{} {}", name, how));
    act(name);
    world_.touch();
  }
  void agentDown() {
    const std::string node = anyNode();
    say(fmt::format("the agent of {} is down", node));
    world_.machines().setAgentDown(node, true);
    world_.after(std::chrono::seconds{2 + below(8)}, [this, node] {
      world_.machines().setAgentDown(node, false);
      world_.touch();
    });
    world_.touch();
  }
  CallFault judgeCall(const kapi::Call& call) {
    if (world_.now().mono >= faults_until_) { return {}; }
    CallFault out;
    if (call.kind == kapi::kLease && rng_.chance(kReadsFail)) {
      switch (below(3)) {
        case 0: out.how = How::LostBefore; break;
        case 1: out.how = How::Refused; break;
        default: out.hangs = std::chrono::milliseconds{500 + below(3'000)}; break;
      }
    }
    out.crash_after = rng_.chance(kCallsKill);
    return out;
  }

  // ---- what is so

  /// From the history, so that none is missed.
  void readLeases() {
    const auto& store = world_.api().store();
    for (; position_ < store.historyEnd(); ++position_) {
      const auto* entry = store.entry(position_);
      if (entry == nullptr || entry->key.resource != kLeasesId) { continue; }
      const Value& lease = entry->after != nullptr ? *entry->after : *entry->before;
      const auto& notes = lease["metadata"]["annotations"];
      const std::string node{notes["gpu.scheduling/node"].str()};
      if (!nodes_.contains(node)) { continue; }  // an election's
      const GpuOfNode gpu{node, std::atoi(std::string{notes["gpu.scheduling/gpu"].str()}.c_str())};
      if (entry->after == nullptr) {
        leased_.erase(gpu);
        continue;
      }
      leased_[gpu] = lease["spec"]["holderIdentity"].str();
      ever_[gpu].insert(leased_[gpu]);
    }
  }
  [[nodiscard]] std::string holderOf(const std::string& node, int gpu) const {
    const auto it = leased_.find({node, gpu});
    return it == leased_.end() ? "" : it->second;
  }
  [[nodiscard]] std::set<int> leasedTo(const std::string& node, const std::string& uid) const {
    std::set<int> out;
    for (const auto& [gpu, holder] : leased_) {
      if (gpu.first == node && holder == uid) { out.insert(gpu.second); }
    }
    return out;
  }
  /// The agent had read that lease.
  static bool knew(const enforce::NodeRecord& record, const std::string& holder, int gpu) {
    const auto it = record.holdings.find(model::Uid{holder});
    if (it == record.holdings.end() || it->second.hold != enforce::Hold::Verified) { return false; }
    const auto& devices = it->second.devices;
    return std::any_of(devices.begin(), devices.end(), [&](auto id) { return id.gpu == gpu; });
  }
  static const std::string* claimOf(const MadeContainer& made) {
    const auto it = made.pod.annotations.find(model::kAllocatedKey);
    return it == made.pod.annotations.end() ? nullptr : &it->second;
  }

  /// A container that was just made.
  void lookAt(const std::string& node, const MadeContainer& made) {
    readLeases();
    say(fmt::format("{} starts on {}, {}, and sees {}", made.pod.name, node,
                    made.record == nullptr ? "unasked" : "asked", gpusText(made.sees)));
    if (made.record == nullptr) {
      if (made.is_gated && !made.died_since_gate) {
        wrong(fmt::format("{} has the gate, and started unasked", made.pod.name));
      }
      return;
    }
    if (const std::string* claim = claimOf(made)) { return lookAtClaim(node, made, *claim); }
    for (const int gpu : made.sees) {
      const std::string holder = holderOf(node, gpu);
      if (!holder.empty() && holder != made.pod.uid && knew(*made.record, holder, gpu)) {
        wrong(fmt::format("{} sees GPU {} of {}, which is leased to another pod", made.pod.name, gpu, node));
      }
    }
  }
  void lookAtClaim(const std::string& node, const MadeContainer& made, const std::string& claim) {
    for (const int gpu : made.sees) {
      const auto all = ever_.find({node, gpu});
      if (all == ever_.end() || !all->second.contains(made.pod.uid)) {
        wrong(fmt::format("{} sees GPU {} of {}, which was never leased to it", made.pod.name, gpu, node));
      }
    }
    if (made.sees != idsIn(claim)) {
      wrong(
          fmt::format("{} sees {} of {}, and was given {}", made.pod.name, gpusText(made.sees), node, claim));
    }
  }

  // ---- the end

  void calm() {
    say("all is well from now on");
    faults_until_ = {};
    for (const auto& [name, node] : nodes_) {
      node->calm();
      world_.machines().setAgentDown(name, false);
    }
    world_.touch();
    run(90s);  // whoever could not read a lease waits for a minute at most
    readLeases();
    for (const auto& [name, node] : nodes_) {
      if (!out_.problem.empty()) { return; }
      if (!node->isConnected()) { return wrong(fmt::format("the agent of {} does not answer", name)); }
      compare(name, *node);
    }
  }
  void compare(const std::string& name, EnforcedNode& node) {
    std::map<std::string, std::vector<enforce::Mismatch>> found;  // by container
    for (auto& one : node.audit()) { found[one.container].push_back(std::move(one)); }
    std::set<std::string> alive;
    for (const auto& pod : world_.get(kEnforcedPods)["items"].items()) {
      const bool is_here = pod["spec"]["nodeName"].str() == name;
      if (is_here) { alive.emplace(pod["metadata"]["uid"].str()); }
    }
    for (const auto& container : node.made()) {
      const MadeContainer& made = container.second;
      const bool has_anothers = std::any_of(made.sees.begin(), made.sees.end(), [&](int gpu) {
        const std::string holder = holderOf(name, gpu);
        return holder != made.pod.uid && alive.contains(holder);
      });
      const bool is_not_its = claimOf(made) != nullptr && made.sees != leasedTo(name, made.pod.uid);
      const bool is_wrong = has_anothers || is_not_its;
      const auto it = found.find(container.first);
      const bool is_found = it != found.end();
      if (is_wrong && !is_found) {
        return wrong(fmt::format("{} sees {} of {}, and the comparison does not say so", made.pod.name,
                                 gpusText(made.sees), name));
      }
      const bool is_accused =
          is_found && std::any_of(it->second.begin(), it->second.end(),
                                  [](const auto& one) { return one.wrong != enforce::Wrong::Unjudged; });
      if (!is_wrong && is_accused) {
        return wrong(fmt::format("{} has just its own, and the comparison says: {}", made.pod.name,
                                 it->second.front().text));
      }
      out_.found += is_wrong ? 1 : 0;
    }
  }

  Rng rng_;
  bool tell_;
  sandbox::World world_;
  const Mono began_;
  EnforceOutcome out_;
  bool has_gate_ = false;
  std::map<std::string, std::unique_ptr<EnforcedNode>> nodes_;
  int made_ = 0;
  Mono faults_until_{};
  std::uint64_t position_ = 0;               // of the store's history
  std::map<GpuOfNode, std::string> leased_;  // to whom, by uid
  std::map<GpuOfNode, std::set<std::string>> ever_;
};

}  // namespace

EnforceOutcome playEnforce(std::uint64_t seed, bool tell) { return EnforcePlay{seed, tell}.play(); }

}  // namespace gs::sim
