// Of pods that ask for the same, the one of the highest priority that waits is placed first: whatever ends,
// is refused or takes over meanwhile. (A pod of which a write was refused waits for its backoff, and holds up
// nobody: others are placed before it.) Nobody goes for another here: preemption_test.cc has that.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "base/random.h"
#include "test/world/cluster.h"
#include "test/world/storms.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kKnown = 2s;     // by then the leader has heard of a pod
constexpr Duration kBackoff = 60s;  // of a pod that was refused, at most

class PriorityLaw : public Cluster, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  struct Waits {
    Mono since{};
    int priority = 0;
  };

  void comes(int priority) {
    static constexpr const char* kClasses[] = {"", "more", "most"};
    const std::string name = "p" + std::to_string(++made_);
    json::Value p = pod(name, "one");
    if (priority > 0) { p.child("spec").set("priorityClassName", kClasses[priority]); }
    world.create(p);
    waiting_[name] = {world.now().mono, priority};
  }

  /// Who was bound in this step, held against who waited before it.
  void judge() {
    std::vector<std::string> bound;
    for (const auto& [name, waits] : waiting_) {
      if (!nodeOf(name).empty()) { bound.push_back(name); }
    }
    const std::set<std::string> now{bound.begin(), bound.end()};
    for (const auto& name : bound) {
      ++placed_;
      for (const auto& [other, waits] : waiting_) {
        const auto refused = refused_.find(other);
        const bool backs_off = refused != refused_.end() && world.now().mono - refused->second < kBackoff;
        const bool was_known = world.now().mono - waits.since >= kKnown && !now.contains(other);
        EXPECT_FALSE(was_known && !backs_off && waits.priority > waiting_.at(name).priority)
            << name << " was bound, and " << other << " waits with more priority";
      }
    }
    for (const auto& name : bound) {
      waiting_.erase(name);
      running_.push_back(name);
    }
  }

  std::map<std::string, Waits> waiting_;
  std::map<std::string, Mono> refused_;  // when last
  std::vector<std::string> running_;
  int made_ = 0;
  int placed_ = 0;
};

TEST_P(PriorityLaw, WhoHasMoreIsPlacedFirst) {
  startOne();
  world.startReplica();  // a standby
  world.create(claim("one", 1));
  for (const auto& [name, value] : {std::pair{"more", 1'000}, std::pair{"most", 2'000}}) {
    world.create(json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                              {"kind", "PriorityClass"},
                              {"metadata", json::Object{{"name", name}}},
                              {"value", value},
                              {"preemptionPolicy", "Never"}});
  }
  Rng rng{GetParam()};
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) {
    if (!isBinding(call) || !rng.chance(10)) { return sandbox::CallFault{}; }
    refused_[call.key.name] = world.now().mono;
    return sandbox::CallFault{.how = sandbox::CallFault::How::Refused, .http = 500};
  });
  for (int step = 0; step < 3'000; ++step) {
    if (waiting_.size() < 20 && rng.chance(20)) { comes(static_cast<int>(rng.below(3))); }
    if (!running_.empty() && rng.chance(15)) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(running_.size()));
      finish(running_[static_cast<std::size_t>(at)]);
      running_.erase(running_.begin() + at);
    }
    if (step % 500 == 499) {
      const auto leader = world.leader();
      if (leader) {
        world.crash(*leader);
        world.restart(*leader);
      }
    }
    world.run(100ms);
    judge();
  }
  EXPECT_GT(placed_, 200);
  EXPECT_GT(refused_.size(), 10U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, PriorityLaw, ::testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace gs::test
