#include "test/sim/pods_play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "kapi/paths.h"
#include "sandbox/world/world.h"
#include "test/sim/pods_judge.h"
#include "test/sim/pods_objects.h"
#include "test/sim/pods_volumes.h"
#include "test/world/truth.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;

constexpr int kProcesses = 2;
constexpr int kPodSteps = 90;
constexpr std::size_t kMostPods = 30;     // that have not ended
constexpr std::size_t kMostFinished = 6;  // that stay
/// So late may a leader know of what changed.
constexpr Duration kKnownWhenQuiet = 1s;
constexpr Duration kKnownAtMost = 20s;
constexpr Duration kVolumesKnownWhenQuiet = 2s;
constexpr Duration kVolumesKnownAtMost = 75s;  // leaders are cut off and stand still
constexpr const char* kMergePatch = "application/merge-patch+json";

bool withAgents(std::uint64_t seed) { return seed % 4 != 0; }
bool isQuiet(std::uint64_t seed) { return seed % 3 == 0; }  // nothing fails: the judge knows the most
bool withVolumes(std::uint64_t seed) { return seed % 5 > 1; }

sandbox::World::Options podsOptions(std::uint64_t seed, std::vector<kapi::SimNode> nodes) {
  sandbox::World::Options options;
  options.seed = seed;
  options.agents = withAgents(seed);
  options.controllers = withVolumes(seed);
  options.nodes = std::move(nodes);
  return options;
}

std::string pathOfPod(const Value& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", pod["metadata"]["namespace"].str(),
                     pod["metadata"]["name"].str());
}
std::string nameOfOne(const Value& object) { return std::string{object["metadata"]["name"].str()}; }

class PodsPlay {
 public:
  PodsPlay(std::uint64_t seed, bool tell)
      : rng_{seed ^ 0x90d5a11},
        tell_{tell},
        nodes_{drawNodes(rng_)},
        habits_{drawHabits(rng_)},
        world_{podsOptions(seed, nodes_)},
        volumes_{world_, rng_.split(), withVolumes(seed),
                 isQuiet(seed) ? kVolumesKnownWhenQuiet : kVolumesKnownAtMost},
        judge_{world_, volumes_, isQuiet(seed) ? kKnownWhenQuiet : kKnownAtMost},
        began_{world_.now().mono},
        is_quiet_{isQuiet(seed)} {
    world_.setJudge([this](sandbox::ReplicaId id, const kapi::Call& call) { return fateOf(id, call); });
    world_.setStreamJudge([this](sandbox::ReplicaId, kapi::Token) -> Duration {
      const bool is_slow = world_.now().mono < slow_until_;
      return is_slow ? std::chrono::milliseconds{below(800)} : Duration{};
    });
    world_.setWitness([this](sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome) {
      if (!call.leader_only) { return; }
      judge_.answered(id, call);
      const auto name = call.key.name.empty() ? call.body["metadata"]["name"].str() : call.key.name;
      say(fmt::format("  {} {} {} {}/{}: {} {}", id, std::string{kapi::httpMethod(call.verb)}, name,
                      call.kind->plural, call.subresource, outcome.http, outcome.message));
    });
    world_.kubelet().setConfig({.start_after = std::chrono::milliseconds{100 + below(900)},
                                .stop_takes = std::chrono::milliseconds{100 + below(8'000)}});
  }

  PodsOutcome play() {
    for (const Value& object : clusterObjects()) { world_.create(object); }
    volumes_.begin(nodes_);
    for (int i = 0; i < kProcesses; ++i) { world_.startReplica(); }
    until([this] { return world_.leader().has_value(); }, 30s);
    for (int i = 0; i < kPodSteps && out_.problem.empty(); ++i) {
      step();
      run(std::chrono::milliseconds{50 + below(900)});
    }
    if (out_.problem.empty()) { calm(); }
    const auto& counts = judge_.counts();
    out_.bindings = counts.bindings;
    out_.beside = counts.beside;
    out_.evictions = counts.evictions;
    out_.came = counts.came;
    out_.volumes = volumes_.bound();
    return out_;
  }

 private:
  int below(int n) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(n))); }
  void say(const std::string& what) {
    if (tell_) {
      fmt::print("{:9.3f}s {}\n", std::chrono::duration<double>(world_.now().mono - began_).count(), what);
    }
  }
  void wrong(std::string what) {
    if (!out_.problem.empty()) { return; }
    out_.problem = std::move(what);
    out_.at = world_.now().mono - began_;
    say(out_.problem);
  }
  void run(Duration by) {
    (void)world_.runUntil([this] { return look(), !out_.problem.empty(); }, by);
    look();
  }
  void until(const std::function<bool()>& done, Duration limit) {
    (void)world_.runUntil([&] { return look(), !out_.problem.empty() || done(); }, limit);
  }
  void look() {
    if (!out_.problem.empty()) { return; }
    if (const auto leader = world_.leader(); std::exchange(led_, leader) != leader) { judge_.ledAnew(); }
    judge_.watch();
    volumes_.watch();
    if (!judge_.problem().empty()) { return wrong(judge_.problem()); }
    if (!volumes_.problem().empty()) { wrong(volumes_.problem()); }
  }

  // ---- what happens

  void step() {
    makeAgain();
    theySchedule();
    volumes_.tend();
    if (const auto claim = volumes_.deleteOne(); !claim.empty()) {
      say(fmt::format("claim {} of a volume is deleted", claim));
    }
    const int what = below(44);
    if (what < 16) { return what < 13 ? comes() : theirsCome(); }
    if (what < 23) { return podGoes(what - 16); }
    if (what < 34) { return nodeChanges(what - 23); }
    if (!is_quiet_) { return fails(what - 34); }
  }
  void podGoes(int how) {
    switch (how) {
      case 0:
      case 1:
      case 2:
      case 3:
        return onAny("ends", [this](const Value& pod) {
          world_.kubelet().finish(std::string{pod["metadata"]["namespace"].str()}, nameOfOne(pod));
          world_.touch();
        });
      case 4:
        return onAny("is deleted, and not made again", [this](const Value& pod) {
          origins_.erase(originOf(pod));
          remove(pod, false);
        });
      case 5: return onAny("is deleted by force", [this](const Value& pod) { remove(pod, true); });
      default: return onAny("is deleted", [this](const Value& pod) { remove(pod, false); });
    }
  }
  void nodeChanges(int how) {
    const std::string node = nodes_[rng_.below(nodes_.size())].name.text;
    switch (how) {
      case 0:
      case 1:
        return patchNode(node, "is cordoned, or no more",
                         Object{{"spec", Object{{"unschedulable", rng_.chance(45)}}}});
      case 2:
      case 3: return taint(node, rng_.chance(45));
      case 4:
        return relabel(node, "disk", rng_.chance(60) ? Value{rng_.chance(50) ? "ssd" : "hdd"} : Value{});
      case 5: return rng_.chance(35) ? relabel(node, kZoneLabel, Value{drawZone(rng_)}) : budgets();
      case 6: return notReady(node);
      case 7: return rng_.chance(40) ? nodeGoes(node) : budgets();
      case 8: return agentDown(node);
      default: return budgets();
    }
  }
  void fails(int how) {
    switch (how) {
      case 0: return crashes();
      case 1: return stops();
      case 2: return freezes();
      case 3: return streamsEnd();
      case 4: return apiAway();
      case 5: return writesFail();
      case 6: return dieAtWrite();
      case 7: return slow();
      default: return starts();
    }
  }

  void comes() {
    if (pods().size() > kMostPods) { return; }
    const std::string origin = fmt::format("o{}", ++made_);
    Value pod = drawPod(rng_, habits_, origin);
    volumes_.addTo(pod);
    if (rng_.chance(70)) { origins_[origin] = pod; }
    make(pod, "p");
  }
  void make(const Value& pod, const char* prefix) {
    const std::string name = fmt::format("{}{}", prefix, ++made_);
    Value one = named(pod, name);
    volumes_.claimsFor(one);
    say(fmt::format("{} comes: {}", name, json::print(one["spec"])));
    world_.create(one);
  }
  /// As a controller does, a moment after it went.
  void makeAgain() {
    std::map<std::string, int> there;
    for (const Value& pod : pods()) { ++there[originOf(pod)]; }
    for (const auto& [origin, pod] : origins_) {
      if (there[origin] > 0 || !rng_.chance(60)) { continue; }
      make(pod, pod["spec"]["schedulerName"].str() == kTheirScheduler ? "theirs" : "p");
    }
    sweep();
  }
  /// Some that finished stay for a while.
  void sweep() {
    std::vector<Value> finished;
    for (const Value& pod : pods()) {
      if (slow::isFinished(pod)) { finished.push_back(pod); }
    }
    if (finished.size() > kMostFinished) { remove(finished[rng_.below(finished.size())], false); }
  }
  static std::string originOf(const Value& pod) {
    return std::string{pod["metadata"]["labels"]["sim/origin"].str()};
  }

  template <class Act>
  void onAny(const char* how, const Act& act) {
    const auto all = pods();
    if (all.empty()) { return; }
    const Value& pod = all[rng_.below(all.size())];
    say(fmt::format("{} {}", nameOfOne(pod), how));
    act(pod);
  }
  void remove(const Value& pod, bool force) {
    (void)world_.request("DELETE", pathOfPod(pod),
                         force ? Value{Object{{"gracePeriodSeconds", 0}}} : Value{Object{}});
  }

  // ---- another scheduler

  void theirsCome() {
    if (pods().size() > kMostPods) { return; }
    const std::string origin = fmt::format("o{}", ++made_);
    Value pod = drawTheirPod(rng_, habits_, origin);
    if (rng_.chance(50)) { origins_[origin] = pod; }
    make(pod, "theirs");
  }
  /// It looks at room, taints and selectors, and not at who is beside whom. What it does not bind now it
  /// nominates now and then, and binds there or anywhere the next time.
  void theySchedule() {
    for (const Value& pod : pods()) {
      const bool waits = pod["spec"]["schedulerName"].str() == kTheirScheduler &&
                         pod["spec"]["nodeName"].str().empty() &&
                         pod["metadata"]["deletionTimestamp"].isNull();
      if (!waits || rng_.chance(30)) { continue; }
      const auto node = aNodeFor(pod);
      if (!node) { continue; }
      if (rng_.chance(15)) {
        nominate(pod, Value{*node});
      } else {
        bind(pod, *node);
      }
    }
  }
  [[nodiscard]] std::optional<std::string> aNodeFor(const Value& pod) {
    std::vector<slow::There> there;
    const auto& store = world_.api().store();
    const auto [first, last] = store.range("/pods");
    for (auto it = first; it != last; ++it) {
      const Value& other = *it->second.object;
      if (slow::isFinished(other)) { continue; }
      there.push_back({it->second.object, std::string{other["spec"]["nodeName"].str()}, false});
    }
    std::vector<std::string> fit;
    const auto [begin, end] = store.range("/nodes");
    for (auto it = begin; it != end; ++it) {
      const Value& node = *it->second.object;
      const bool takes = slow::refusesFacts(node, pod).empty() && slow::refusesRoom(node, pod, there).empty();
      if (takes) { fit.push_back(nameOfOne(node)); }
    }
    return fit.empty() ? std::nullopt : std::optional{fit[rng_.below(fit.size())]};
  }
  void nominate(const Value& pod, const Value& node) {
    say(fmt::format("{} is nominated to {}", nameOfOne(pod), node.str()));
    (void)world_.request("PATCH", pathOfPod(pod) + "/status",
                         Object{{"status", Object{{"nominatedNodeName", node}}}}, kMergePatch);
  }
  void bind(const Value& pod, const std::string& node) {
    say(fmt::format("{} is bound to {} by another scheduler", nameOfOne(pod), node));
    (void)world_.request("POST", pathOfPod(pod) + "/binding",
                         Object{{"apiVersion", "v1"},
                                {"kind", "Binding"},
                                {"metadata", Object{{"name", nameOfOne(pod)}}},
                                {"target", Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
  }

  // ---- nodes and budgets

  void patchNode(const std::string& node, const char* what, Value patch) {
    say(fmt::format("{} {}: {}", node, what, json::print(patch)));
    (void)world_.request("PATCH", "/api/v1/nodes/" + node, std::move(patch), kMergePatch);
  }
  void taint(const std::string& node, bool is) {
    Array taints;
    if (is) {
      taints.emplace_back(
          Object{{"key", "dedicated"}, {"value", rng_.chance(70) ? "x" : "y"}, {"effect", "NoSchedule"}});
    }
    patchNode(node, "is tainted so", Object{{"spec", Object{{"taints", std::move(taints)}}}});
  }
  void relabel(const std::string& node, const char* key, Value value) {
    patchNode(node, "is labelled so",
              Object{{"metadata", Object{{"labels", Object{{key, std::move(value)}}}}}});
  }
  void notReady(const std::string& node) {
    say(fmt::format("{} is not Ready", node));
    world_.machines().setNodeReady(node, false);
    world_.touch();
    world_.after(std::chrono::seconds{1 + below(8)}, [this, node] {
      if (world_.machines().has(node)) { world_.machines().setNodeReady(node, true); }
      world_.touch();
    });
  }
  /// And comes back as it was at first.
  void nodeGoes(const std::string& node) {
    if (!world_.machines().has(node) || away_.contains(node)) { return; }
    say(fmt::format("{} goes", node));
    away_.insert(node);
    world_.machines().removeNode(node);
    world_.touch();
    world_.after(std::chrono::seconds{3 + below(20)}, [this, node] { nodeComesBack(node); });
  }
  void nodeComesBack(const std::string& node) {
    if (away_.erase(node) == 0) { return; }
    const auto it =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.name.text == node; });
    say(fmt::format("{} is back", node));
    world_.machines().addNode(*it);
    world_.touch();
  }
  void agentDown(const std::string& node) {
    if (!world_.machines().has(node)) { return; }
    world_.machines().setAgentDown(node, true);
    world_.touch();
    world_.after(std::chrono::seconds{3 + below(15)}, [this, node] {
      if (world_.machines().has(node)) { world_.machines().setAgentDown(node, false); }
      world_.touch();
    });
  }
  void budgets() {
    const std::string ns = drawNamespace(rng_);
    const int allowed = below(3);
    say(fmt::format("the budget of {} allows {}", ns, allowed));
    if (volumes_.isPlayed()) {  // then a controller says what it allows
      (void)world_.request("PATCH", budgetPath(ns), Object{{"spec", Object{{"minAvailable", 2 - allowed}}}},
                           kMergePatch);
      return;
    }
    (void)world_.request("PATCH", budgetPath(ns) + "/status",
                         Object{{"status", Object{{"disruptionsAllowed", allowed},
                                                  {"currentHealthy", 1 + allowed},
                                                  {"desiredHealthy", 1},
                                                  {"expectedPods", 1 + allowed}}}},
                         kMergePatch);
  }

  // ---- faults

  void crashes() {
    const auto id = world_.leader();
    if (!id) { return; }
    say("the leader dies");
    world_.crash(*id);
    judge_.died(*id);
  }
  void stops() {
    const auto id = world_.leader();
    if (!id) { return; }
    say("the leader is told to stop");
    judge_.disturbed();
    world_.stop(*id);
    world_.after(4s, [this, id = *id] {  // it may go on as a standby: it is the next process that leads
      world_.crash(id);
      judge_.died(id);
      world_.restart(id);
    });
  }
  void freezes() {
    const auto id = world_.leader();
    if (!id) { return; }
    say("the leader stands still");
    judge_.disturbed();
    world_.freeze(*id, true);
    world_.after(std::chrono::seconds{1 + below(8)}, [this, id = *id] {
      judge_.disturbed();
      world_.freeze(id, false);
    });
  }
  void streamsEnd() {
    const auto id = world_.leader();
    if (!id) { return; }
    const bool lists = rng_.chance(50);
    say(lists ? "watches end, and must list again" : "watches end");
    judge_.disturbed();
    look();
    if (lists) { world_.compact(); }
    world_.endStreams(*id, lists ? 410 : 0);
  }
  void apiAway() {
    say("the API server is away");
    judge_.disturbed();
    world_.setApiAway(true);
    world_.after(std::chrono::milliseconds{500 + below(4'000)}, [this] {
      world_.setApiAway(false);
      judge_.disturbed();
    });
  }
  void writesFail() {
    say("writes fail");
    faults_until_ = world_.now().mono + 2s + std::chrono::seconds{below(5)};
  }
  void dieAtWrite() { cut_in_ = 1 + below(8); }
  /// What watches bring comes late, to each by itself.
  void slow() {
    say("watches are slow");
    slow_until_ = world_.now().mono + 2s + std::chrono::seconds{below(6)};
  }
  void starts() {
    for (int i = 0; i < kProcesses; ++i) {
      if (!world_.alive(i)) { world_.restart(i); }
    }
  }

  CallFault fateOf(sandbox::ReplicaId id, const kapi::Call& call) {
    if (!call.leader_only) { return {}; }
    judge_.sent(id, call);
    if (cut_in_ > 0 && --cut_in_ == 0) { return cut(id); }
    if (world_.now().mono < faults_until_ && rng_.chance(25)) { return fault(); }
    return {};
  }
  CallFault fault() {
    switch (below(5)) {
      case 0: return {How::LostBefore, 0, {}, false, false};
      case 1: return {How::LostAfter, 0, {}, false, false};
      case 2: return {How::Late, 0, std::chrono::milliseconds{500 + below(9'000)}, false, false};
      case 3: return {How::Refused, 429, {}, false, false};
      default: return {How::Refused, 500, {}, false, false};
    }
  }
  /// It is the last one of that leader.
  CallFault cut(sandbox::ReplicaId id) {
    say("the leader dies at a write");
    judge_.died(id);
    switch (below(3)) {
      case 0: return {How::Normal, 0, {}, true, false};
      case 1: return {How::Normal, 0, {}, false, true};
      default: return {How::Late, 0, std::chrono::milliseconds{500 + below(9'000)}, false, true};
    }
  }

  // ---- the end

  /// Those of users; agents' pods are none.
  [[nodiscard]] std::vector<Value> pods() {
    std::vector<Value> out;
    for (const std::string ns : {"default", kOtherNamespace}) {
      for (const auto& pod : world_.get(fmt::format("/api/v1/namespaces/{}/pods", ns))["items"].items()) {
        if (!originOf(pod).empty()) { out.push_back(pod); }
      }
    }
    return out;
  }

  /// At first whoever goes is made again, as long as evictions may go on; then not any more.
  void calm() {
    say("all is well from now on");
    faults_until_ = slow_until_ = {};
    cut_in_ = 0;
    run(12s);  // who stands still or is away comes back
    starts();
    for (const auto& node : nodes_) { nodeComesBack(node.name.text); }
    for (int i = 0; i < 36 && out_.problem.empty(); ++i) {
      makeAgain();
      theySchedule();
      volumes_.tend();
      run(5s);
    }
    for (const Value& pod : pods()) {
      const bool is_theirs = pod["spec"]["schedulerName"].str() == kTheirScheduler;
      if (is_theirs && !pod["status"]["nominatedNodeName"].str().empty()) { nominate(pod, Value{}); }
    }
    run(14min);  // a preemption that came to nothing is tried again within five minutes
    if (!out_.problem.empty()) { return; }
    const auto truth = test::readTruth(world_);
    if (!truth.problems.empty()) { return wrong(truth.problems.front()); }
    if (!truth.unsettled.empty()) { return wrong(truth.unsettled.front()); }
    judge_.settled();
    volumes_.settled();
    look();
  }

  Rng rng_;
  bool tell_;
  std::vector<kapi::SimNode> nodes_;
  PodHabits habits_;
  sandbox::World world_;
  PodVolumes volumes_;
  PodsJudge judge_;
  Mono began_;
  bool is_quiet_;
  PodsOutcome out_;
  std::optional<sandbox::ReplicaId> led_;
  int made_ = 0;
  int cut_in_ = 0;  // the leader dies at so manieth write
  Mono faults_until_{};
  Mono slow_until_{};
  std::map<std::string, Value> origins_;  // of pods that are made again
  std::set<std::string> away_;            // nodes
};

}  // namespace

PodsOutcome playPods(std::uint64_t seed, bool tell) { return PodsPlay{seed, tell}.play(); }

}  // namespace gs::sim
