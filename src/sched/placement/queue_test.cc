#include "sched/placement/queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/random.h"

namespace gs::sched {
namespace {

constexpr std::int64_t kSec = 1'000'000'000;

Queue::Item item(const std::string& uid, std::int32_t priority = 0, std::int64_t created = 0,
                 EquivalenceClass pod_class = 0) {
  return {model::Uid{uid}, priority, created, pod_class};
}

std::string popped(Queue& q) {
  std::string out;
  while (const auto i = q.pop()) { out += i->uid.text; }
  return out;
}

std::string joinedUids(const std::vector<model::Uid>& uids) {
  std::string out;
  for (const auto& uid : uids) { out += uid.text; }
  return out;
}

TEST(Queue, WhoWaitsForOneNodeIsFoundByItsName) {
  Queue q;
  using Classes = std::set<EquivalenceClass>;
  const auto add = [&](const char* uid, EquivalenceClass pod_class) {
    q.add({model::Uid{uid}, 0, 0, pod_class});
  };
  add("a", 1);
  add("b", 2);
  add("c", 3);
  (void)q.markUnschedulable(1);
  (void)q.markUnschedulable(2, "n");
  (void)q.markUnschedulable(3, "n");
  EXPECT_EQ(q.unschedulableClasses(), (Classes{1, 2, 3}));
  EXPECT_EQ(q.unschedulableAnywhere(), (Classes{1}));
  EXPECT_EQ(q.nextAnywhere(1), 1U);
  EXPECT_EQ(q.unschedulableOn("n"), (Classes{2, 3}));
  EXPECT_EQ(q.unschedulableOn("m"), Classes{});
  q.activate(2);
  EXPECT_EQ(q.unschedulableOn("n"), (Classes{3}));
  q.remove(model::Uid{"c"});
  EXPECT_EQ(q.unschedulableOn("n"), Classes{});
  (void)q.markUnschedulable(2, "m");
  EXPECT_EQ(q.unschedulableOn("m"), (Classes{2}));
  q.remove(model::Uid{"a"});
  EXPECT_EQ(q.nextAnywhere(0), std::nullopt);
}

TEST(Queue, PriorityThenTimeThenUid) {
  Queue q;
  for (const auto& i : {item("d", 0, 5), item("c", 0, 1, 7), item("b", 0, 1, 8), item("a", 9, 99, 7)}) {
    q.add(i);
  }
  EXPECT_EQ(q.sizes(), (Queue::Sizes{4, 0, 0}));
  EXPECT_EQ(popped(q), "abcd");
  EXPECT_FALSE(q.ready());
}

TEST(Queue, AddingAKnownPodReplacesIt) {
  Queue q;
  q.add(item("a", 0, 1));
  q.add(item("b", 0, 2));
  q.add(item("b", 5, 2));
  EXPECT_EQ(q.sizes(), (Queue::Sizes{2, 0, 0}));
  EXPECT_EQ(popped(q), "ba");
}

TEST(Queue, BackingOffPodsComeBackWhenDue) {
  Queue q;
  q.backOff(item("a"), 5 * kSec);
  q.backOff(item("b"), 3 * kSec);
  EXPECT_EQ(q.sizes(), (Queue::Sizes{0, 2, 0}));
  EXPECT_EQ(q.nextDueNs(), 3 * kSec);
  EXPECT_TRUE(q.tick(3 * kSec - 1).empty());
  EXPECT_FALSE(q.ready());
  EXPECT_TRUE(q.tick(3 * kSec).empty()) << "it is ready";
  EXPECT_EQ(popped(q), "b");
  q.add(item("a"));
  EXPECT_EQ(q.nextDueNs(), std::nullopt) << "added again: it does not wait any more";
  EXPECT_EQ(popped(q), "a");
}

TEST(Queue, AnUnschedulableClassWaitsAsAWhole) {
  Queue q;
  q.add(item("a", 0, 1, 1));
  q.add(item("b", 0, 2, 1));
  q.add(item("c", 0, 3, 2));
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "ab");
  EXPECT_TRUE(q.add(item("d", 0, 0, 1)));
  EXPECT_FALSE(q.add(item("e", 0, 4, 2)));
  EXPECT_EQ(q.sizes(), (Queue::Sizes{2, 0, 3}));
  EXPECT_EQ(q.unschedulableClasses(), (std::set<EquivalenceClass>{1}));
  EXPECT_EQ(joinedUids(q.unschedulablePods(1)), "dab");
  EXPECT_EQ(popped(q), "ce");
  q.activate(1);
  EXPECT_TRUE(q.unschedulableClasses().empty());
  EXPECT_EQ(popped(q), "dab");
}

TEST(Queue, MarkTellsOfAPodOnlyOnce) {
  Queue q;
  q.add(item("a", 0, 1, 1));
  q.add(item("b", 0, 2, 1));
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "ab");
  q.add(item("c", 0, 3, 1));
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "c") << "added since";
  q.activate(1);
  const auto first = q.pop();
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "") << "b and c were not touched";
  q.add(*first);
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "a") << "tried again and added again";
}

TEST(Queue, ABackedOffPodOfAnUnschedulableClassIsUnschedulableWhenDue) {
  Queue q;
  q.backOff(item("a", 0, 0, 1), kSec);
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "");
  EXPECT_EQ(q.sizes(), (Queue::Sizes{0, 1, 0}));
  EXPECT_EQ(q.tick(kSec), std::vector<EquivalenceClass>{1});
  EXPECT_EQ(q.sizes(), (Queue::Sizes{0, 0, 1}));
  EXPECT_EQ(joinedUids(q.markUnschedulable(1)), "a");
}

TEST(Queue, AnEmptyClassCanBeUnschedulableAheadOfItsPod) {
  Queue q;
  q.add(item("a", 0, 0, 1));
  const auto a = q.pop();
  (void)q.markUnschedulable(1);
  EXPECT_TRUE(q.add(*a));
  EXPECT_TRUE(q.add(*a)) << "replacing the only pod does not make it schedulable";
  q.remove(a->uid);
  EXPECT_FALSE(q.add(*a)) << "a class without pods is forgotten";
}

TEST(Queue, RemovedPodsAreNowhere) {
  Queue q;
  q.add(item("a"));
  q.backOff(item("b"), kSec);
  q.add(item("c", 0, 0, 1));
  (void)q.markUnschedulable(1);
  for (const char* uid : {"a", "b", "c", "d"}) { q.remove(model::Uid{uid}); }
  EXPECT_EQ(q.sizes(), Queue::Sizes{});
  EXPECT_FALSE(q.ready());
  EXPECT_EQ(q.nextDueNs(), std::nullopt);
}

/// The same, told simply: every pod with its place.
struct SimpleQueue {
  struct Entry {
    Queue::Item item;
    std::optional<std::int64_t> until;
  };
  std::map<model::Uid, Entry> pods;
  std::set<EquivalenceClass> unschedulable;

  [[nodiscard]] std::optional<Queue::Item> first() const {
    std::optional<Queue::Item> best;
    const auto place = [](const Queue::Item& i) { return std::tuple{-i.priority, i.created_us, i.uid}; };
    for (const auto& [uid, e] : pods) {
      if (!e.until && !unschedulable.contains(e.item.pod_class) && (!best || place(e.item) < place(*best))) {
        best = e.item;
      }
    }
    return best;
  }
  [[nodiscard]] std::optional<EquivalenceClass> waitingIn(const model::Uid& uid) const {
    const auto it = pods.find(uid);
    return it == pods.end() || it->second.until ? std::nullopt : std::optional{it->second.item.pod_class};
  }
  void forgetEmpty(EquivalenceClass c) {
    if (std::none_of(pods.begin(), pods.end(),
                     [&](const auto& p) { return p.second.item.pod_class == c && !p.second.until; })) {
      unschedulable.erase(c);
    }
  }
  [[nodiscard]] Queue::Sizes sizes() const {
    Queue::Sizes s;
    for (const auto& [uid, e] : pods) {
      ++(e.until ? s.backoff : unschedulable.contains(e.item.pod_class) ? s.unschedulable : s.ready);
    }
    return s;
  }
};

RC_GTEST_PROP(QueueProperty, DoesWhatASimpleOneDoes, (std::uint64_t seed)) {
  Rng rng{seed};
  Queue q;
  SimpleQueue simple;
  std::int64_t now = 0;
  for (int step = 0; step < 200; ++step) {
    const Queue::Item any =
        item("uid-" + std::to_string(rng.below(12)), static_cast<std::int32_t>(rng.below(2)),
             static_cast<std::int64_t>(rng.below(3)), static_cast<EquivalenceClass>(rng.below(4)));
    const std::optional<EquivalenceClass> old_class = simple.waitingIn(any.uid);
    const bool leaves = old_class.has_value() && old_class.value_or(0) != any.pod_class;
    switch (rng.below(8)) {
      case 0:
      case 1:
      case 2:
        q.add(any);
        simple.pods[any.uid] = {any, std::nullopt};
        if (leaves) { simple.forgetEmpty(*old_class); }
        break;
      case 3:
        q.remove(any.uid);
        simple.pods.erase(any.uid);
        if (old_class) { simple.forgetEmpty(*old_class); }
        break;
      case 4: {
        RC_ASSERT(q.ready() == simple.first().has_value());
        const auto first = q.pop();
        RC_ASSERT(first == simple.first());
        if (first) { simple.pods.erase(first->uid); }
        break;
      }
      case 5: {
        const std::int64_t until = now + static_cast<std::int64_t>(rng.below(4));
        q.backOff(any, until);
        simple.pods[any.uid] = {any, until};
        if (leaves) { simple.forgetEmpty(*old_class); }
        break;
      }
      case 6:
        (void)q.markUnschedulable(any.pod_class);
        simple.unschedulable.insert(any.pod_class);
        break;
      default:
        if (rng.chance(50)) {
          q.activate(any.pod_class);
          simple.unschedulable.erase(any.pod_class);
        } else {
          (void)q.tick(++now);
          for (auto& [uid, e] : simple.pods) {
            if (e.until && *e.until <= now) { e.until.reset(); }
          }
        }
    }
    RC_ASSERT(q.sizes() == simple.sizes());
    std::set<EquivalenceClass> unschedulable;
    for (const EquivalenceClass c : simple.unschedulable) {
      if (std::any_of(simple.pods.begin(), simple.pods.end(),
                      [&](const auto& p) { return !p.second.until && p.second.item.pod_class == c; })) {
        unschedulable.insert(c);
      }
    }
    RC_ASSERT(q.unschedulableClasses() == unschedulable);
    const auto next = q.nextAnywhere(1);
    RC_ASSERT(next.has_value() == !unschedulable.empty());
    if (next) {
      RC_ASSERT(*next == (unschedulable.upper_bound(1) == unschedulable.end()
                              ? *unschedulable.begin()
                              : *unschedulable.upper_bound(1)));
    }
  }
}

}  // namespace
}  // namespace gs::sched
