// Plays of pods that have others evicted, whose controllers make them again: it comes to an end, and whoever
// had somebody evicted comes, or gave way to somebody more important.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sched/ledger/test_nodes.h"
#include "sched/preemption/kept_residents_test.h"
#include "sched/preemption/search.h"

namespace gs::sched {
namespace {

class PreemptionPlay {
 public:
  explicit PreemptionPlay(std::uint64_t seed, bool keeps_room = true) : rng_{seed}, keeps_room_{keeps_room} {
    const auto nodes = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < nodes; ++i) {
      testNode("n" + std::to_string(i)).gpus(static_cast<int>(1 + rng_.below(4))).addTo(l_);
    }
    const auto sets = 3 + rng_.below(4);
    for (std::uint64_t i = 0; i < sets; ++i) {
      const auto priority = static_cast<std::int32_t>(rng_.below(5));
      const auto gpus = static_cast<std::int64_t>(1 + rng_.below(3));
      for (auto replicas = 1 + rng_.below(3); replicas > 0; --replicas) { create(priority, gpus); }
    }
  }

  /// Until nobody leaves and nobody who waits can do anything. False: that did not come in so many steps.
  bool settles(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (leaving_.empty() && tried_.size() == waiting_.size()) { return true; }
      if (!leaving_.empty() && rng_.chance(40)) {
        leaves();
      } else {
        tries();
      }
    }
    return false;
  }
  /// Who had somebody evicted, and neither came nor gave way.
  [[nodiscard]] const std::set<model::Uid>& owe() const { return owe_; }
  [[nodiscard]] int evictions() const { return evictions_; }

 private:
  struct Asks {
    model::PodPtr pod;
    std::int64_t gpus = 0;
  };

  void create(std::int32_t priority, std::int64_t gpus) {
    model::Pod pod;
    pod.uid = model::Uid{"p" + std::to_string(1'000 + made_++)};
    pod.key = {"default", pod.uid.text};
    pod.priority = priority;
    waiting_[pod.uid] = {std::make_shared<const model::Pod>(pod), gpus};
    tried_.clear();
  }

  /// Mostly who is first by priority, or somebody whose backoff is over.
  const Asks& next() {
    const Asks* first = nullptr;
    for (const auto& [uid, asks] : waiting_) {
      const bool is_untried = !tried_.contains(uid);
      if (is_untried && (first == nullptr || asks.pod->priority > first->pod->priority)) { first = &asks; }
    }
    if (first != nullptr && !rng_.chance(20)) { return *first; }
    return std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(rng_.below(waiting_.size())))->second;
  }

  void tries() {
    if (waiting_.empty()) { return; }
    const Asks asks = next();
    tried_.insert(asks.pod->uid);
    const PodRequest request = testClaim(asks.gpus);
    for (Ledger::NodeIndex i = 0; i < l_.size(); ++i) {
      const auto fit = fitOn(l_.at(i), request, asks.pod->uid);
      if (fit && isAdmitted(l_.at(i), request, *asks.pod)) { return bind(asks, i, fit->ids); }
    }
    const Nomination* nomination = nominations_.of(asks.pod->uid);
    if (nomination != nullptr && anyLeaves(nomination->node)) { return; }
    search_.begin({asks.pod, request});
    while (!search_.work(100)) {}
    if (const auto& best = search_.best()) { preempt(asks, *best); }
  }

  [[nodiscard]] bool isAdmitted(const NodeState& n, const PodRequest& request, const model::Pod& pod) const {
    const auto before = nominations_.before(n.node.name, pod.uid, pod.priority);
    return !keeps_room_ || before.empty() || fitsOn(withNominated(n, before), request, pod.uid);
  }

  [[nodiscard]] bool anyLeaves(const model::NodeName& node) const {
    const auto& there = residents_.on(node);
    return std::any_of(there.begin(), there.end(), [](const auto& one) { return one->deleting; });
  }

  void bind(const Asks& asks, Ledger::NodeIndex node, const std::vector<int>& ids) {
    model::Pod pod = *asks.pod;
    pod.node = l_.at(node).node.name;
    pod.started = Wall{std::chrono::seconds{1 + bound_++}};
    l_.usePod(pod.node, pod.uid, Source::BoundPod, pod.requests, 0);
    for (const int id : ids) { l_.hold(pod.node, id, pod.uid, Source::Lease, {}); }
    runs_[pod.uid] = {ids, asks.gpus};
    nominations_.remove(pod.uid);
    owe_.erase(pod.uid);
    for (const auto& uid : nominations_.below(pod.node, pod.priority)) { owe_.erase(uid); }  // they give way
    waiting_.erase(pod.uid);
    residents_.put(std::make_shared<const model::Pod>(std::move(pod)));
    tried_.clear();
  }

  void preempt(const Asks& asks, const Candidate& best) {
    const model::NodeName node = l_.at(best.node).node.name;
    for (const auto& uid : nominations_.below(node, asks.pod->priority)) {
      nominations_.remove(uid);
      owe_.erase(uid);
    }
    nominations_.put({asks.pod->uid, node, asks.pod->priority, testClaim(asks.gpus), 0});
    for (const auto& victim : best.victims) {
      ASSERT_LT(victim->priority, asks.pod->priority);
      model::Pod goes = *victim;
      goes.deleting = true;
      leaving_.push_back(goes.uid);
      residents_.put(std::make_shared<const model::Pod>(std::move(goes)));
      owe_.insert(asks.pod->uid);
      ++evictions_;
    }
    tried_.clear();
    tried_.insert(asks.pod->uid);
  }

  void leaves() {
    const auto at = static_cast<std::ptrdiff_t>(rng_.below(leaving_.size()));
    const model::Uid uid = leaving_[static_cast<std::size_t>(at)];
    leaving_.erase(leaving_.begin() + at);
    const auto [ids, gpus] = runs_.extract(uid).mapped();
    for (Ledger::NodeIndex i = 0; i < l_.size(); ++i) {
      const auto& there = residents_.on(l_.at(i).node.name);
      const auto one = there.find(uid);
      if (one == there.end()) { continue; }
      const model::Pod pod = **one;
      for (const int id : ids) { l_.release(pod.node, id, uid, Source::Lease); }
      l_.unusePod(pod.node, uid, Source::BoundPod);
      residents_.remove(uid);
      return create(pod.priority, gpus);
    }
  }

  Rng rng_;
  bool keeps_room_;
  Ledger l_;
  KeptResidents residents_;
  Budgets budgets_;
  Nominations nominations_;
  PreemptionSearch search_{{l_, residents_, budgets_, nominations_}};
  std::map<model::Uid, Asks> waiting_;
  std::set<model::Uid> tried_;  // of those, since anything changed
  std::map<model::Uid, std::pair<std::vector<int>, std::int64_t>> runs_;
  std::vector<model::Uid> leaving_;
  std::set<model::Uid> owe_;
  int made_ = 0;
  int bound_ = 0;
  int evictions_ = 0;
};

constexpr std::uint64_t kPlays = 100'000;
constexpr std::uint64_t kCareless = 2'000;  // of them, played a second time: these do not end

TEST(PreemptionLoop, EndsAndNobodyGoesForNothing) {
  int evictions = 0;
  int without = 0;  // if the room were kept for nobody
  for (std::uint64_t seed = 1; seed <= kPlays; ++seed) {
    PreemptionPlay play{seed};
    ASSERT_TRUE(play.settles(5'000)) << "seed " << seed;
    ASSERT_TRUE(play.owe().empty()) << "seed " << seed << ": " << play.owe().begin()->text;
    if (seed > kCareless) { continue; }
    evictions += play.evictions();
    PreemptionPlay careless{seed, false};
    (void)careless.settles(1'000);
    without += careless.evictions();
  }
  EXPECT_GT(evictions, 100);
  EXPECT_LT(evictions, without);
}

}  // namespace
}  // namespace gs::sched
