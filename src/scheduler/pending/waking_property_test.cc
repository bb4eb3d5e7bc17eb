// Random plays of pods that wait: for GPUs, cpus and ports, for nodes with labels and without taints, near
// others and apart from them, spread, and for volumes. After every event, and one turn of who is looked at,
// nobody sleeps who fits: each waiting pod's request is read anew and tried on every node.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "sched/placement/fit.h"
#include "sched/volumes/volumes_hand_test.h"
#include "scheduler/parts_test.h"
#include "scheduler/pending/unschedulable.h"

namespace gs::scheduler {
namespace {

using Op = model::LabelRequirement::Op;

class WakingPlay {
 public:
  explicit WakingPlay(std::uint64_t seed) : rng_{seed} {
    t_.claim("one", 1);
    t_.claim("two", 2);
    apply(kapi::kStorageClass, {"", "local"}, sched::makeClass("local"));
    apply(kapi::kStorageClass, {"", "made"}, sched::makeClass("made", "d"));
    const auto nodes = 2 + rng_.below(5);
    for (std::uint64_t i = 0; i < nodes; ++i) {
      names_.push_back("n" + std::to_string(i));
      nodeComes(names_.back());
    }
  }

  void run() {
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      const auto slept = sleepers();
      event();
      turn();
      check();
      for (const auto& uid : slept) { woken_ += waiting_.contains(uid) && !sleepers().contains(uid) ? 1 : 0; }
      if (rng_.chance(70)) {
        place();
        turn();  // who was placed may be whom others want to be near: the answer to its Binding is an event
      }
      check();
      (void)t_.calls();  // what they are told is not looked at
    }
  }
  /// Pods that slept, and did no more after an event.
  [[nodiscard]] int woken() const { return woken_; }
  [[nodiscard]] int placed() const { return placed_; }

 private:
  template <class T>
  void apply(kapi::Kind kind, const model::ObjectKey& key, T value) {
    value.revision = ++revision_;
    engine().apply({kind, key, {}, std::make_shared<const T>(std::move(value)), revision_}, t_.c.now.mono);
  }
  void goes(kapi::Kind kind, const model::ObjectKey& key, const model::Uid& uid) {
    engine().apply({kind, key, uid, {}, ++revision_}, t_.c.now.mono);
  }
  [[nodiscard]] engine::Engine& engine() { return t_.c.engine; }
  std::string draw(std::initializer_list<const char*> of) { return *(of.begin() + rng_.below(of.size())); }
  std::string drawNode() { return names_[rng_.below(names_.size())]; }

  // ---- what happens

  void event() {
    switch (rng_.below(12)) {
      case 0:
      case 1: return nodeComes(drawNode());
      case 2: return nodeGoes(drawNode());
      case 3: return statusComes(drawNode());
      case 4: return volumeComes();
      case 5: return othersCome();
      case 6:
      case 7: return podEnds();
      case 8: return podLeaves();
      case 9: return rng_.chance(30) ? waiterGoes() : waiterComes();
      default: return waiterComes();
    }
  }
  void nodeComes(const std::string& name) {
    model::Node n = testing::makeNode(name);
    n.labels = {{"host", name}};
    if (!rng_.chance(15)) { n.labels["zone"] = draw({"1", "2"}); }
    if (rng_.chance(50)) { n.labels["disk"] = "ssd"; }
    if (rng_.chance(15)) { n.taints.push_back({"t", "", "NoSchedule"}); }
    n.unschedulable = rng_.chance(10);
    n.ready = !rng_.chance(5);
    n.allocatable.cpu_milli = 4'000;
    zones_[name] = n.labels.contains("zone") ? n.labels.at("zone") : "";
    const bool is_new = there_.insert(name).second;
    apply(kapi::kNode, {"", name}, std::move(n));
    if (is_new) { statusComes(name); }
  }
  void nodeGoes(const std::string& name) {
    if (there_.erase(name) == 0) { return; }
    goes(kapi::kNode, {"", name}, model::Uid{"uid-" + name});
  }
  void statusComes(const std::string& name) {
    auto status = testing::makeStatus(name, 4);
    for (auto& device : status.devices) {
      if (rng_.chance(20)) { device.health = model::Health::Unhealthy; }
    }
    apply(kapi::kGpuNodeStatus, {"", name}, std::move(status));
  }
  void volumeComes() {
    auto volume = sched::makeVolume("local-" + std::to_string(++made_));
    if (rng_.chance(75)) { volume.affinity = sched::onlyWith("host", {drawNode()}); }
    volumes_[volume.key.name] = volume;
    apply(kapi::kPersistentVolume, volume.key, volume);
  }

  [[nodiscard]] std::optional<model::LabelSelector> drawSelector() {
    return model::LabelSelector{{{"app", Op::In, {draw({"x", "y"})}}}};
  }
  model::PodTerm drawTerm() { return {draw({"host", "zone"}), {"default"}, std::nullopt, drawSelector()}; }
  model::Pod drawPod() {
    testing::PodBuilder builder{"p" + std::to_string(++made_)};
    builder.priority(static_cast<std::int32_t>(rng_.below(3)));
    if (rng_.chance(30)) { builder.claim(rng_.chance(60) ? "one" : "two"); }
    if (rng_.chance(60)) { builder.cpu(static_cast<std::int64_t>(1'000 * (1 + rng_.below(3)))); }
    model::Pod pod = builder.value();
    pod.labels = model::Labels{{"app", draw({"x", "y"})}};
    if (rng_.chance(25)) { pod.affinity.change().apart.push_back(drawTerm()); }
    if (rng_.chance(15)) { pod.affinity.change().near.push_back(drawTerm()); }
    if (rng_.chance(25)) {
      model::SpreadConstraint c;
      c.topology_key = draw({"host", "zone"});
      c.pods = drawSelector();
      if (rng_.chance(20)) { c.min_domains = 2; }
      c.honors_taints = rng_.chance(30);
      pod.spread.push_back(std::move(c));
    }
    if (rng_.chance(20)) { pod.host_ports.push_back({80, rng_.chance(80) ? "TCP" : "UDP", model::kEveryIp}); }
    if (rng_.chance(15)) { pod.node_selector = {{"disk", "ssd"}}; }
    if (rng_.chance(30)) { pod.tolerations = {{.key = "t", .value = "", .effect = "", .exists = true}}; }
    if (rng_.chance(25)) { pod.volume_claims.push_back({"c-" + pod.key.name, false}); }
    return pod;
  }
  void waiterComes() {
    if (waiting_.size() > 12) { return; }
    const model::Pod pod = drawPod();
    for (const auto& volume : pod.volume_claims) {
      auto claim = sched::makeVolumeClaim(volume.claim);
      if (rng_.chance(40)) { claim.storage_class = "made"; }
      claims_[volume.claim] = claim;
      apply(kapi::kPersistentVolumeClaim, claim.key, claim);
    }
    waiting_.emplace(pod.uid, pod);
    apply(kapi::kPod, pod.key, pod);
  }
  void waiterGoes() {
    if (waiting_.empty()) { return; }
    const model::Pod pod = waiting_.begin()->second;
    waiting_.erase(pod.uid);
    gone(pod);
  }
  void gone(const model::Pod& pod) {
    goes(kapi::kPod, pod.key, pod.uid);
    t_.pending.podEnded(pod.uid);
    for (const auto& volume : pod.volume_claims) { claimGoes(volume.claim); }
  }
  void claimGoes(const std::string& name) {
    const auto claim = claims_.extract(name).mapped();
    goes(kapi::kPersistentVolumeClaim, claim.key, claim.uid);
    const auto volume = volumes_.find(claim.volume);
    if (volume == volumes_.end()) { return; }
    volume->second.claim.reset();
    volume->second.is_available = true;
    apply(kapi::kPersistentVolume, volume->second.key, volume->second);
  }
  /// Somebody else's, bound at once.
  void othersCome() {
    model::Pod pod = drawPod();
    pod.scheduler_name = "default-scheduler";
    pod.annotations.clear();
    pod.volume_claims.change().clear();
    bound(std::move(pod), drawNode());
  }
  void podEnds() {
    if (running_.empty()) { return; }
    const auto at = running_.begin() + static_cast<std::ptrdiff_t>(rng_.below(running_.size()));
    model::Pod pod = *at;
    running_.erase(at);
    if (rng_.chance(50)) {
      pod.phase = model::PodPhase::Succeeded;
      apply(kapi::kPod, pod.key, pod);
    }
    gone(pod);
  }
  /// It has a deletionTimestamp, and runs on.
  void podLeaves() {
    if (running_.empty()) { return; }
    model::Pod& pod = running_[rng_.below(running_.size())];
    pod.deleting = true;
    apply(kapi::kPod, pod.key, pod);
  }

  // ---- what is done then

  /// As Scheduler does it at an event: who was touched is read anew, and who sleeps is looked at.
  void turn() {
    readTouched();
    unschedulable_.activateFitting();
  }
  void readTouched() {
    for (const auto& uid : engine().takeTouched()) {
      if (!waiting_.contains(uid)) { continue; }
      const model::PodPtr pod = t_.c.cache().pods().at(uid);
      if (const auto joined = t_.pending.enqueue(*pod)) { unschedulable_.joined(*pod, *joined); }
    }
  }
  void place() {
    while (const auto item = engine().queue().pop()) {
      t_.pending.leave(item->uid);
      const auto placed = engine().decider().decide(item->pod_class);
      if (placed) {
        bind(waiting_.at(item->uid), *placed);
        readTouched();
        continue;
      }
      t_.pending.putBack(*item);
      unschedulable_.reject(item->pod_class);
    }
  }
  void bind(const model::Pod& waiting, const sched::Placed& placed) {
    ++placed_;
    model::Pod pod = waiting;
    waiting_.erase(pod.uid);
    for (const auto& volume : pod.volume_claims) { bindClaim(claims_.at(volume.claim), placed.node.text); }
    if (!placed.ids.empty()) {
      std::string ids;
      for (const int id : placed.ids) { ids += (ids.empty() ? "" : ",") + std::to_string(id); }
      pod.annotations[model::kAllocatedKey] = placed.node.text + ":" + ids;
    }
    bound(std::move(pod), placed.node.text);
  }
  void bound(model::Pod pod, const std::string& node) {
    pod.node = model::NodeName{node};
    for (const auto& term : pod.affinity.change().apart) {
      if (auto kept = model::keptAwayBy(term)) { pod.keeps_away.push_back(*std::move(kept)); }
    }
    auto& kept = pod.keeps_away.change();
    std::sort(kept.begin(), kept.end());
    pod.affinity = {};
    pod.spread.change().clear();
    pod.node_selector.change().clear();
    pod.tolerations.change().clear();
    running_.push_back(pod);
    apply(kapi::kPod, pod.key, pod);
  }
  /// To a free volume of that node; or to one that is made there.
  void bindClaim(model::PersistentVolumeClaim& claim, const std::string& node) {
    model::PersistentVolume volume;
    if (claim.storage_class == "made") {
      volume = sched::makeVolume("made-" + claim.key.name);
      volume.storage_class = "made";
      if (!zones_[node].empty()) { volume.affinity = sched::onlyWith("zone", {zones_[node]}); }
    } else {
      const auto free = std::find_if(volumes_.begin(), volumes_.end(), [&](const auto& one) {
        const auto& affinity = one.second.affinity;
        return !one.second.claim && (!affinity.is_required || affinity == sched::onlyWith("host", {node}));
      });
      ASSERT_NE(free, volumes_.end()) << claim.key.name << " was said to have a volume on " << node;
      volume = free->second;
    }
    volume.claim = model::ClaimRef{claim.key, claim.uid};
    volume.is_available = false;
    if (claim.storage_class != "made") { volumes_[volume.key.name] = volume; }
    apply(kapi::kPersistentVolume, volume.key, volume);
    claim.volume = volume.key.name;
    claim.bind_completed = true;
    apply(kapi::kPersistentVolumeClaim, claim.key, claim);
  }

  // ---- what is so

  [[nodiscard]] std::set<model::Uid> sleepers() {
    std::set<model::Uid> out;
    for (const auto pod_class : engine().queue().unschedulableClasses()) {
      for (const auto& uid : engine().queue().unschedulablePods(pod_class)) { out.insert(uid); }
    }
    return out;
  }
  /// On some node, as it is now.
  [[nodiscard]] std::optional<std::string> nodeFor(const model::Uid& uid) {
    const model::PodPtr pod = t_.c.cache().pods().at(uid);
    const auto door = t_.pending.readDoor(*pod);
    const auto* request = std::get_if<sched::PodRequest>(&door);
    if (request == nullptr) { return std::nullopt; }
    const sched::Ledger& ledger = engine().ledger();
    for (sched::Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
      const sched::NodeState& state = ledger.at(i);
      if (state.exists && sched::fitsOn(state, *request, uid)) { return state.node.name.text; }
    }
    return std::nullopt;
  }
  void check() {
    const auto asleep = sleepers();
    for (const auto& [uid, pod] : waiting_) {
      const auto node = nodeFor(uid);
      if (!node) { continue; }
      EXPECT_FALSE(asleep.contains(uid)) << pod.key.name << " sleeps, and fits on " << *node;
      EXPECT_TRUE(waitsAsItAsks(uid)) << pod.key.name << " waits as one who asks for something else";
    }
  }
  /// Terms of pods that are gone may still stand there: they mean no node.
  [[nodiscard]] bool waitsAsItAsks(const model::Uid& uid) {
    const auto pod_class = t_.pending.classOf(uid);
    if (!pod_class) { return false; }
    sched::PodRequest queued = engine().decider().request(*pod_class);
    const auto asks = t_.requestOf(*t_.c.cache().pods().at(uid));
    const bool has_all = std::includes(queued.kept_away_by.begin(), queued.kept_away_by.end(),
                                       asks.kept_away_by.begin(), asks.kept_away_by.end());
    queued.kept_away_by = asks.kept_away_by;
    return has_all && queued == asks;
  }

  Rng rng_;
  TestParts t_;
  FetchFirst fetch_first_{t_.c, t_.node_caches};
  Unschedulable unschedulable_{t_.c, t_.pending, t_.node_caches, fetch_first_};
  std::vector<std::string> names_;
  std::set<std::string> there_;
  std::map<std::string, std::string> zones_;  // of nodes
  std::map<model::Uid, model::Pod> waiting_;
  std::vector<model::Pod> running_;
  std::map<std::string, model::PersistentVolume> volumes_;  // local ones
  std::map<std::string, model::PersistentVolumeClaim> claims_;
  model::Revision revision_ = 10'000;
  int made_ = 0;
  int woken_ = 0;
  int placed_ = 0;
};

TEST(WakingProperty, WhoeverFitsIsAwakeAfterOneEvent) {
  int woken = 0;
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WakingPlay play{seed};
    play.run();
    woken += play.woken();
    placed += play.placed();
    if (::testing::Test::HasFailure()) { return; }
  }
  EXPECT_GT(woken, 100);
  EXPECT_GT(placed, 2'000);
}

}  // namespace
}  // namespace gs::scheduler
