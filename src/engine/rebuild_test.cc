// The ledger is a function of the API's objects: whatever history brought them, and in whatever order, an
// engine that is fed the objects alone makes the same one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "engine/engine.h"
#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using kapi::Kind;

constexpr Mono kNow{1h};

/// An API server that somebody makes random changes in. Objects of one kind change in the order of their
/// revisions, as a watch brings them; what a draining device waits for is history, so no agent looks here.
class History {
 public:
  explicit History(std::uint64_t seed) : rng_{seed} {
    for (const char* name : {"ex", "sh"}) {
      auto claim = testing::makeClaim(name);
      claim.exclusivity = *name == 's' ? model::Exclusivity::Shared : model::Exclusivity::Exclusive;
      put(kapi::kGpuClaim, claim.key, claim);
    }
    for (int i = 0; i < 60; ++i) { step(); }
  }

  [[nodiscard]] const std::map<Kind, std::vector<controller::Change>>& changes() const { return changes_; }
  [[nodiscard]] std::vector<controller::Change> objects() const {
    std::vector<controller::Change> all;
    for (const auto& [where, change] : now_) { all.push_back(change); }
    return all;
  }

 private:
  using Where = std::pair<Kind, model::ObjectKey>;

  template <class T>
  void put(Kind kind, const model::ObjectKey& key, T value) {
    value.revision = ++revision_;
    controller::Change change{kind, key, value.uid, std::make_shared<const T>(value), value.revision};
    now_[{kind, key}] = change;
    changes_[kind].push_back(std::move(change));
  }
  void remove(Kind kind, const model::ObjectKey& key) {
    const auto it = now_.find({kind, key});
    if (it == now_.end()) { return; }
    changes_[kind].push_back({kind, key, it->second.last_uid, {}, ++revision_});
    now_.erase(it);
  }
  template <class T>
  [[nodiscard]] const T* find(Kind kind, const model::ObjectKey& key) const {
    const auto it = now_.find({kind, key});
    return it == now_.end() ? nullptr : it->second.object.as<T>().get();
  }
  [[nodiscard]] model::Uid freshUid() { return model::Uid{"u" + std::to_string(++uids_)}; }
  [[nodiscard]] std::string anyNode() { return rng_.chance(50) ? "node-a" : "node-b"; }
  [[nodiscard]] model::ObjectKey anyPod() { return {"default", "p" + std::to_string(rng_.below(4))}; }

  void step() {
    switch (rng_.below(8)) {
      case 0: return stepNode(anyNode());
      case 1: return stepStatus(anyNode());
      case 2:
      case 3: return stepLease(anyNode(), static_cast<int>(rng_.below(3)));
      default: return stepPod(anyPod());
    }
  }
  void stepNode(const std::string& name) {
    if (rng_.chance(20)) { return remove(kapi::kNode, {"", name}); }
    model::Node node = testing::makeNode(name);
    node.labels["round"] = std::to_string(rng_.below(3));
    node.ready = !rng_.chance(20);
    put(kapi::kNode, {"", name}, node);
  }
  void stepStatus(const std::string& name) {
    if (rng_.chance(20)) { return remove(kapi::kGpuNodeStatus, {"", name}); }
    model::GpuNodeStatus status = testing::makeStatus(name, static_cast<int>(1 + rng_.below(3)));
    for (auto& device : status.devices) {
      if (rng_.chance(20)) { device.health = model::Health::Unhealthy; }
      if (const auto* pod = find<model::Pod>(kapi::kPod, anyPod()); pod != nullptr && rng_.chance(30)) {
        device.in_use_by = {pod->uid};
      }
    }
    put(kapi::kGpuNodeStatus, {"", name}, status);
  }
  void stepPod(const model::ObjectKey& key) {
    const auto* known = find<model::Pod>(kapi::kPod, key);
    if (known == nullptr) {
      testing::PodBuilder pod(key.name);
      pod.uid(freshUid().text.c_str());
      if (rng_.chance(50)) {
        pod.claim(key.name < "p2" ? "ex" : "sh");
      } else if (rng_.chance(70)) {
        pod.gpus(static_cast<std::int64_t>(1 + rng_.below(2)));
      }
      return put(kapi::kPod, key, pod.value());
    }
    if (rng_.chance(15)) { return remove(kapi::kPod, key); }
    model::Pod pod = *known;
    if (!pod.bound()) {
      pod.node = model::NodeName{anyNode()};
      if (rng_.chance(30)) { pod.keeps_away = {{"round", {}, {}}}; }
      if (rng_.chance(60)) {
        pod.annotations[model::kAllocatedKey] =
            (rng_.chance(80) ? pod.node.text + ":" : "") + std::to_string(rng_.below(3));
      }
    } else if (pod.phase == model::PodPhase::Pending) {
      pod.phase = model::PodPhase::Running;
      pod.containers_terminated = false;
    } else if (!pod.finished()) {
      pod.phase = rng_.chance(50) ? model::PodPhase::Succeeded : model::PodPhase::Failed;
      pod.containers_terminated = rng_.chance(80);
    }
    put(kapi::kPod, key, pod);
  }
  /// Exclusive pods have exclusive leases, sharers shared ones, as their claims say; whether they are bound
  /// there or not.
  void stepLease(const std::string& node, int gpu) {
    const model::ObjectKey key{"default", model::leaseName(model::NodeName{node}, gpu)};
    const auto* pod = find<model::Pod>(kapi::kPod, anyPod());
    const auto* known = find<model::Lease>(kapi::kLease, key);
    if (pod == nullptr || (known != nullptr && rng_.chance(40))) { return remove(kapi::kLease, key); }
    model::Lease lease = testing::makeLease(node, gpu, *pod, "r" + std::to_string(revision_),
                                            node + ":" + std::to_string(gpu));
    lease.uid = known != nullptr ? known->uid : freshUid();
    const std::string* claim = pod->annotation(model::kClaimKey);
    if (claim != nullptr && *claim == "sh") {
      lease.holder = "shared";
      lease.holders = known != nullptr && known->shared() ? known->holders : decltype(lease.holders){};
      std::erase_if(lease.holders, [&](const auto& h) { return h.uid == pod->uid; });
      lease.holders.push_back({pod->uid, pod->key, 0, 0, lease.reservation, lease.devices});
    }
    put(kapi::kLease, key, lease);
  }

  Rng rng_;
  model::Revision revision_ = 1;
  int uids_ = 0;
  std::map<Kind, std::vector<controller::Change>> changes_;
  std::map<Where, controller::Change> now_;
};

/// Each kind in its order, the kinds interleaved anyhow; some objects come again by the answer to a call,
/// early or late.
void live(Engine& engine, const History& history, Rng rng) {
  auto changes = history.changes();
  std::vector<model::Object> answers;
  for (const auto& [kind, list] : changes) {
    for (const auto& change : list) {
      if (rng.chance(30)) { answers.push_back(change.object); }
    }
  }
  const std::uint64_t synced_at = rng.below(80);
  std::map<Kind, std::size_t> at;
  for (std::uint64_t i = 0; !changes.empty(); ++i) {
    if (i == synced_at) { engine.synced(kNow); }
    auto it = std::next(changes.begin(), static_cast<std::ptrdiff_t>(rng.below(changes.size())));
    engine.apply(it->second[at[it->first]++], kNow);
    if (!answers.empty() && rng.chance(20)) { engine.learn(answers[rng.below(answers.size())], kNow); }
    if (at[it->first] == it->second.size()) { changes.erase(it); }
  }
  for (const auto& answer : answers) { engine.learn(answer, kNow); }
  engine.synced(kNow);
}

RC_GTEST_PROP(LedgerRebuilt, FromTheObjectsItEqualsTheLiveOne, (std::uint64_t seed)) {
  const History history{seed};
  Rng rng{seed + 1};
  Engine lived;
  live(lived, history, rng.split());
  auto objects = history.objects();
  for (std::size_t i = objects.size(); i > 1; --i) { std::swap(objects[i - 1], objects[rng.below(i)]); }
  Engine rebuilt;
  for (const auto& object : objects) { rebuilt.apply(object, kNow); }
  rebuilt.synced(kNow);
  RC_ASSERT(lived.ledger().dump() == rebuilt.ledger().dump());
}

}  // namespace
}  // namespace gs::engine
