#include "cacherim/keeper/job_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>

namespace gs::cacherim {
namespace {

KeeperJob jobOf(const std::string& ns, const std::string& name, int attempt = 0, bool is_here = false) {
  KeeperJob out{.cache = {ns, name}, .image = {}};
  out.image.attempt = attempt;
  out.is_here = is_here;
  return out;
}

/// What is to be done next, as a text: "begin ns/name", "go on ns/name", "give up ns/name"; "" nothing.
std::string nextOf(JobQueue& queue) {
  const auto next = queue.next();
  if (!next) { return ""; }
  if (const auto* begin = std::get_if<JobQueue::Begin>(&*next)) { return "begin " + begin->job.cache.text(); }
  if (const auto* go_on = std::get_if<JobQueue::GoOn>(&*next)) { return "go on " + go_on->cache.text(); }
  return "give up " + std::get<JobQueue::GiveUp>(*next).cache.text();
}

std::vector<std::string> allOf(JobQueue& queue) {
  std::vector<std::string> out;
  for (std::string next = nextOf(queue); !next.empty(); next = nextOf(queue)) { out.push_back(next); }
  return out;
}

using Steps = std::vector<std::string>;

TEST(JobQueue, WhatIsNotWantedAnyMoreDoesNotBegin) {
  JobQueue queue{{.workers = 1}};
  for (const char* name : {"1", "2", "3"}) { queue.push(jobOf("ns", name)); }
  const auto dropped = queue.dropUnless([](const KeeperJob& job) { return job.cache.name == "2"; });
  EXPECT_EQ(dropped.size(), 2U);
  EXPECT_EQ(nextOf(queue), "begin ns/2");
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(JobQueue, NamespacesTakeTurnsAndNoneHasAllWorkers) {
  JobQueue queue{{.workers = 4}};
  for (const char* name : {"1", "2", "3", "4"}) { queue.push(jobOf("flood", name)); }
  queue.push(jobOf("other", "1"));
  EXPECT_EQ(allOf(queue), (Steps{"begin flood/1", "begin other/1", "begin flood/2"}));
  queue.ended(jobOf("flood", "1"));
  EXPECT_EQ(nextOf(queue), "begin flood/3");
  EXPECT_EQ(queue.waiting(), 1U);
}

TEST(JobQueue, WhatFailedBeforeHasAtMostHalfOfTheWorkers) {
  JobQueue queue{{.workers = 2}};
  queue.push(jobOf("a", "fails", 1));
  queue.push(jobOf("b", "fails", 7));
  queue.push(jobOf("c", "fails", 2));
  queue.push(jobOf("c", "new", 0));
  EXPECT_EQ(allOf(queue), (Steps{"begin a/fails", "begin c/new"})) << "b has nothing else, and c has";
  queue.ended(jobOf("a", "fails", 1));
  EXPECT_EQ(nextOf(queue), "begin b/fails");
  EXPECT_EQ(queue.waiting(), 1U);
}

TEST(JobQueue, AnOnlyWorkerTakesWhatFailedBeforeToo) {
  JobQueue queue{{.workers = 1}};
  queue.push(jobOf("a", "fails", 1));
  EXPECT_EQ(nextOf(queue), "begin a/fails");
}

TEST(JobQueue, WhatIsBroughtForwardComesBeforeOthersOfItsNamespaceOnly) {
  JobQueue queue{{.workers = 1}};
  for (const char* name : {"1", "2", "3", "4"}) { queue.push(jobOf("asks", name)); }
  for (const char* name : {"1", "2"}) { queue.push(jobOf("other", name)); }
  queue.bringForward({{"asks", "3"}, {"asks", "4"}, {"nobody", "1"}, {"other", "5"}});
  Steps begun;
  while (auto next = queue.next()) {
    const KeeperJob job = std::get<JobQueue::Begin>(*next).job;
    begun.push_back(job.cache.text());
    queue.ended(job);
  }
  EXPECT_EQ(begun, (Steps{"asks/3", "other/1", "asks/4", "other/2", "asks/1", "asks/2"}))
      << "namespaces take turns all the same, and others keep their order";
}

TEST(JobQueue, WhoRestsGoesOnAfterWhoWaits) {
  JobQueue queue{{.workers = 1}};
  queue.push(jobOf("slow", "1"));
  EXPECT_EQ(nextOf(queue), "begin slow/1");
  EXPECT_FALSE(queue.isAwaited()) << "nobody else wants its turn";
  queue.push(jobOf("slow", "2"));
  queue.push(jobOf("honest", "1"));
  EXPECT_TRUE(queue.isAwaited());
  queue.rest({"slow", "1"});
  EXPECT_EQ(nextOf(queue), "begin honest/1");
  queue.ended(jobOf("honest", "1"));
  EXPECT_EQ(nextOf(queue), "begin slow/2");
  queue.rest({"slow", "2"});
  EXPECT_EQ(nextOf(queue), "go on slow/1");
  queue.ended(jobOf("slow", "1"));
  EXPECT_EQ(nextOf(queue), "go on slow/2");
  queue.rest({"slow", "2"});
  queue.ended(jobOf("slow", "2"));
  EXPECT_EQ(nextOf(queue), "");
  EXPECT_EQ(queue.begun(), 0);
  EXPECT_EQ(queue.turns(), 0);
}

TEST(JobQueue, WhatIsHereNeedsNoTurn) {
  JobQueue queue{{.workers = 1}};
  queue.push(jobOf("slow", "1"));
  EXPECT_EQ(nextOf(queue), "begin slow/1");
  queue.push(jobOf("other", "here", 3, true));
  EXPECT_FALSE(queue.isAwaited());
  EXPECT_EQ(nextOf(queue), "begin other/here");
  EXPECT_EQ(queue.turns(), 1);
  queue.rest({"other", "here"});
  queue.ended(jobOf("other", "here", 3, true));
  EXPECT_EQ(queue.begun(), 1);
}

// Two namespaces with as many as they like leave places to a third, whatever theirs do.
TEST(JobQueue, WhoHasMuchUnderWayLeavesPlacesToOthers) {
  JobQueue queue{{.workers = 2, .most_begun = 16}};
  const auto beginAll = [&](const std::string& ns) {
    for (int i = 0; i < 50; ++i) { queue.push(jobOf(ns, std::to_string(i), 0, true)); }
    return allOf(queue).size();
  };
  EXPECT_EQ(beginAll("a"), 8U);
  EXPECT_EQ(beginAll("b"), 4U);
  EXPECT_EQ(beginAll("c"), 2U);
  EXPECT_EQ(beginAll("d"), 1U);
}

TEST(JobQueue, WhoHasBeenAtItForLongMakesRoomForWhoHasNothing) {
  JobQueue queue{{.workers = 2, .most_begun = 3}};
  for (const char* ns : {"a", "b", "c"}) { queue.push(jobOf(ns, "1")); }
  EXPECT_EQ(allOf(queue), (Steps{"begin a/1", "begin b/1"}));
  queue.rest({"a", "1"});
  EXPECT_EQ(allOf(queue), Steps{"begin c/1"});
  queue.push(jobOf("d", "1"));
  EXPECT_EQ(allOf(queue), Steps{}) << "all places are taken, and nobody has had its turns";
  for (int i = 1; i < JobQueue::kMostTurns; ++i) {
    queue.rest({"b", "1"});
    EXPECT_EQ(allOf(queue), Steps{"go on a/1"});
    queue.rest({"a", "1"});
    EXPECT_EQ(nextOf(queue), "go on b/1");
  }
  EXPECT_EQ(allOf(queue), Steps{"give up a/1"}) << "once";
  queue.ended(jobOf("a", "1"));
  queue.rest({"b", "1"});
  EXPECT_EQ(nextOf(queue), "begin d/1");
}

// A dripping registry makes room before a large image of a fast one, whoever began first.
TEST(JobQueue, TheSlowestMakesRoom) {
  JobQueue queue{{.workers = 2, .most_begun = 2}};
  const KeeperJob fast = jobOf("fast", "1");
  const KeeperJob slow = jobOf("slow", "1");
  queue.push(fast);
  queue.push(slow);
  EXPECT_EQ(allOf(queue), (Steps{"begin fast/1", "begin slow/1"}));
  fast.progress->came = std::int64_t{7} << 30;
  slow.progress->came = 7 << 20;
  queue.push(jobOf("new", "1"));
  for (int i = 0; i < JobQueue::kMostTurns; ++i) {
    queue.rest(fast.cache);
    queue.rest(slow.cache);
    EXPECT_EQ(nextOf(queue).substr(0, 5), "go on");
    EXPECT_EQ(nextOf(queue).substr(0, 5), "go on");
  }
  EXPECT_EQ(allOf(queue), Steps{"give up slow/1"});
}

/// Whatever comes, goes and rests: the limits hold, and everything that is wanted ends. A small image of a
/// namespace of its own has its turn after one of each other namespace.
RC_GTEST_PROP(JobQueueProperty, NobodyIsHeldUp, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  const int most = workers + *rc::gen::inRange(2, 14);
  JobQueue queue{{.workers = workers, .most_begun = most}};
  const int half = std::max(1, workers / 2);
  std::map<model::ObjectKey, std::pair<KeeperJob, int>> under_way;  // with the turns that it needs yet
  std::map<model::ObjectKey, int> left;
  std::map<model::ObjectKey, bool> has_turn;
  std::size_t pushed = 0;
  std::size_t ended = 0;
  const auto push = [&](KeeperJob job, int turns) {
    if (!left.emplace(job.cache, turns).second) { return; }
    queue.push(std::move(job));
    ++pushed;
  };
  const auto end = [&](const model::ObjectKey& cache) {
    const KeeperJob job = under_way.at(cache).first;
    queue.ended(job);
    under_way.erase(cache);
    has_turn.erase(cache);
    ++ended;
  };
  const auto give = [&] {
    while (auto next = queue.next()) {
      if (auto* begin = std::get_if<JobQueue::Begin>(&*next)) {
        RC_ASSERT(!under_way.contains(begin->job.cache));
        under_way[begin->job.cache] = {begin->job, left.at(begin->job.cache)};
        has_turn[begin->job.cache] = !begin->job.is_here;
      } else if (auto* go_on = std::get_if<JobQueue::GoOn>(&*next)) {
        RC_ASSERT(!std::exchange(has_turn.at(go_on->cache), true));
      } else {
        end(std::get<JobQueue::GiveUp>(*next).cache);
      }
      std::map<std::string, int> of_ns;
      int all = 0;
      for (const auto& [cache, has] : has_turn) {
        all += has ? 1 : 0;
        of_ns[cache.ns] += has ? 1 : 0;
      }
      RC_ASSERT(all <= workers);
      RC_ASSERT(all == queue.turns());
      RC_ASSERT(static_cast<int>(under_way.size()) <= most);
      for (const auto& [ns, count] : of_ns) { RC_ASSERT(count <= half); }
    }
  };
  /// Each turn is used up, or its work is done.
  const auto round = [&] {
    for (const auto& [cache, has] : std::map{has_turn}) {
      if (!under_way.at(cache).first.is_here && !has) { continue; }
      if (--under_way.at(cache).second <= 0) {
        end(cache);
      } else if (has && queue.isAwaited()) {
        queue.rest(cache);
        has_turn[cache] = false;
      }
    }
  };
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const int ns = *rc::gen::inRange(0, 6);
    push(jobOf(std::to_string(ns), std::to_string(*rc::gen::inRange(0, 20)), *rc::gen::inRange(0, 3),
               *rc::gen::inRange(0, 5) == 0),
         *rc::gen::inRange(1, 40));
    give();
    if (*rc::gen::inRange(0, 3) == 0) { round(); }
  }
  push(jobOf("honest", "small"), 1);
  int rounds = 0;
  // With places left for all namespaces; else who is begun has to end, or to give its place up.
  const int most_rounds = queue.begun() + 7 <= most ? 10 : 10 * JobQueue::kMostTurns * 7;
  for (; !under_way.contains({"honest", "small"}); ++rounds) {
    RC_ASSERT(rounds < most_rounds);
    give();
    if (!under_way.contains({"honest", "small"})) { round(); }
  }
  for (rounds = 0; rounds < 10'000; ++rounds) {
    if (ended == pushed) { break; }
    give();
    round();
  }
  RC_ASSERT(ended == pushed);
  RC_ASSERT(queue.begun() == 0);
  RC_ASSERT(queue.turns() == 0);
  RC_ASSERT(queue.waiting() == 0U);
}

}  // namespace
}  // namespace gs::cacherim
