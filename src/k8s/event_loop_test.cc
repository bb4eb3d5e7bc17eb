#include "k8s/event_loop.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "k8s/fake_client_test.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;

kapi::Outcome outcome(kapi::Token token) {
  kapi::Outcome made;
  made.token = token;
  return made;
}

kapi::Call call(kapi::Token token) {
  kapi::Call made;
  made.token = token;
  return made;
}

class EventLoopTest : public testing::Test {
 protected:
  /// A machine that writes down what it was given and does what `reaction` says.
  void start(std::function<kapi::Effects(const Event&, Now)> reaction = {}) {
    loop_.start({.begin = [](Now) { return kapi::Effects{}; },
                 .handle =
                     [this, reaction = std::move(reaction)](const Event& event, Now now) {
                       given_.push_back(event);
                       const bool last = std::holds_alternative<kapi::WatchEnded>(event);
                       return reaction && !last ? reaction(event, now) : kapi::Effects{};
                     }},
                [this](kapi::Effects effects, std::uint64_t term) {
                  for (auto& effect : effects) { effects_.emplace_back(std::move(effect), term); }
                });
  }
  /// It is in the machine, and stays there until `release` opens, which must outlive it.
  void startHeld(std::latch& release) {
    start([this, &release](const Event&, Now) {
      entered_.count_down();
      release.wait();
      return kapi::Effects{};
    });
    loop_.post(outcome(0));
    waitOpen(entered_, "the machine is there");
  }
  /// After everything that was posted before.
  template <class Query>
  auto answer(Query query) {
    loop_.post(kapi::WatchEnded{kLast, 0, ""});
    while (*loop_.answer([this] { return !lastCame(); }, 1h)) { std::this_thread::yield(); }
    return *loop_.answer(std::move(query), 1h);
  }
  bool lastCame() {
    const auto* last = given_.empty() ? nullptr : std::get_if<kapi::WatchEnded>(&given_.back());
    if (last == nullptr || last->stream != kLast) { return false; }
    given_.pop_back();
    return true;
  }
  static constexpr kapi::Token kLast = 999'999;
  std::vector<kapi::Token> tokens() {
    return answer([this] {
      std::vector<kapi::Token> all;
      for (const Event& event : given_) {
        if (const auto* one = std::get_if<kapi::Outcome>(&event)) { all.push_back(one->token); }
      }
      return all;
    });
  }

  SystemClock clock_;
  std::latch entered_{1};  // of startHeld()
  std::vector<Event> given_;
  std::vector<std::pair<kapi::Effect, std::uint64_t>> effects_;
  EventLoop loop_{clock_, 16};
};

TEST_F(EventLoopTest, GivesEventsInOrderAndHandsOnTheEffects) {
  start([](const Event& event, Now) { return kapi::Effects{call(std::get<kapi::Outcome>(event).token)}; });
  for (kapi::Token t = 1; t <= 100; ++t) { EXPECT_TRUE(loop_.post(outcome(t))); }
  EXPECT_EQ(tokens().size(), 100U);
  answer([&] {
    EXPECT_EQ(effects_.size(), 100U);
    for (kapi::Token t = 1; t <= 100; ++t) {
      EXPECT_EQ(std::get<kapi::Call>(effects_[t - 1].first).token, t);
    }
    return true;
  });
}

TEST_F(EventLoopTest, BeginsBeforeTheFirstEvent) {
  loop_.post(outcome(1));
  std::vector<int> order;
  std::latch done{1};
  loop_.start({.begin =
                   [&](Now) {
                     order.push_back(0);
                     return kapi::Effects{call(7)};
                   },
               .handle =
                   [&](const Event&, Now) {
                     order.push_back(2);
                     done.count_down();
                     return kapi::Effects{};
                   }},
              [&](kapi::Effects, std::uint64_t) { order.push_back(1); });
  waitOpen(done, "the machine is there");
  loop_.stop();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(EventLoopTest, WakesTheMachineAtTheTimesItAskedFor) {
  std::latch woken{3};
  start([&](const Event& event, Now now) {
    if (std::holds_alternative<kapi::TimerDue>(event)) { woken.count_down(); }
    if (woken.try_wait()) { return kapi::Effects{}; }
    return kapi::Effects{kapi::Wake{now.mono + 2ms}, kapi::Wake{Mono::max()}};
  });
  loop_.post(outcome(1));
  waitOpen(woken, "the machine is there");
  answer([&] {
    EXPECT_TRUE(effects_.empty());  // Wake is not handed on
    return true;
  });
}

TEST_F(EventLoopTest, LeadershipOvertakesWhatWaitsAndRenewalsAreJoined) {
  std::latch entered{1};
  std::latch release{1};
  start([&](const Event& event, Now) {
    if (const auto* one = std::get_if<kapi::Outcome>(&event); one != nullptr && one->token == 1) {
      entered.count_down();
      release.wait();
    }
    return kapi::Effects{call(1)};
  });
  loop_.post(outcome(1));
  waitOpen(entered, "the machine is there");
  loop_.post(outcome(2));
  loop_.postLeadership({true, 1, Mono{1s}});
  loop_.postLeadership({true, 1, Mono{2s}});
  loop_.postLeadership({false, 1, Mono{2s}});
  loop_.postLeadership({true, 2, Mono{9s}});
  release.count_down();
  answer([&] {
    EXPECT_EQ(given_.size(), 5U);
    EXPECT_EQ(std::get<kapi::Leadership>(given_[1]).until, Mono{2s});
    EXPECT_FALSE(std::get<kapi::Leadership>(given_[2]).leading);
    EXPECT_EQ(std::get<kapi::Leadership>(given_[3]).term, 2U);
    EXPECT_EQ(std::get<kapi::Outcome>(given_[4]).token, 2U);
    // Effects carry the term that the machine knew of.
    EXPECT_EQ(effects_[0].second, 0U);
    EXPECT_EQ(effects_[1].second, 1U);
    EXPECT_EQ(effects_[2].second, 0U);
    EXPECT_EQ(effects_[4].second, 2U);
    return true;
  });
}

TEST_F(EventLoopTest, AFullMailboxTakesLeadershipAndQueriesAndAnswersThemFirst) {
  std::latch entered{1};
  std::latch release{1};
  start([&](const Event& event, Now) {
    if (std::holds_alternative<kapi::Outcome>(event) && given_.size() == 1) {
      entered.count_down();
      release.wait();
    }
    return kapi::Effects{};
  });
  loop_.post(outcome(0));
  waitOpen(entered, "the machine is there");
  for (kapi::Token t = 1; t <= 16; ++t) { loop_.post(outcome(t)); }
  loop_.postLeadership({true, 1, Mono::max()});
  std::size_t events_before_the_query = 0;
  EXPECT_TRUE(loop_.ask([&] { events_before_the_query = given_.size(); }));
  std::jthread waiting{[&] { EXPECT_TRUE(loop_.post(outcome(17))); }};
  release.count_down();
  waiting.join();
  EXPECT_EQ(tokens().size(), 18U);
  EXPECT_EQ(events_before_the_query, 2U);  // the one in progress, and the leadership
}

/// As soon as one was carried out the next is there, as with many who ask side by side.
TEST_F(EventLoopTest, AFloodOfActionsKeepsNoEventWaiting) {
  int actions = 0;
  std::optional<int> before_the_event;
  std::latch over{1};
  start([&](const Event& event, Now) {
    if (std::holds_alternative<kapi::Outcome>(event)) { before_the_event = actions; }
    return kapi::Effects{};
  });
  std::function<kapi::Effects(Now)> again = [&](Now) {
    const bool goes_on = !before_the_event && ++actions < 100'000;
    if (!goes_on || !loop_.act(again)) { over.count_down(); }
    return kapi::Effects{};
  };
  ASSERT_TRUE(loop_.act(again));
  loop_.post(outcome(1));
  over.wait();
  answer([] { return true; });
  EXPECT_LT(before_the_event.value_or(100'000), 100'000);
  loop_.stop();
}

TEST_F(EventLoopTest, TooManyQueriesAreRefused) {
  std::latch release{1};
  startHeld(release);
  int accepted = 0;
  while (accepted < 1000 && loop_.ask([] {})) { ++accepted; }
  EXPECT_EQ(accepted, 256);
  release.count_down();
  loop_.stop();  // before what its thread waits on goes
}

TEST_F(EventLoopTest, ThoughTooManyQueriesWaitAPingIsAnsweredBeforeThem) {
  std::latch release{1};
  startHeld(release);
  int answered = 0;
  while (loop_.ask([&] { ++answered; })) {}
  int answered_before = -1;
  int pongs = 0;
  loop_.ping([&] { ++pongs; });
  loop_.ping([&] {
    ++pongs;
    answered_before = answered;
  });
  release.count_down();
  loop_.stop();
  EXPECT_EQ(answered_before, 0);
  EXPECT_EQ(pongs, 1) << "of two, the later one";
  EXPECT_EQ(answered, 256);
}

TEST_F(EventLoopTest, AHungMachineGivesNoAnswer) {
  std::latch release{1};
  start([&](const Event&, Now) {
    release.wait();
    return kapi::Effects{};
  });
  loop_.post(outcome(1));
  gs::waitUntil("a query without an answer, once the machine hangs",
                [this] { return !loop_.answer([] { return 1; }, 1ms); });
  release.count_down();
  loop_.stop();
}

TEST_F(EventLoopTest, StopDropsEventsAnswersQueriesAndRefusesMore) {
  std::latch entered{1};
  std::latch release{1};
  start([&](const Event&, Now) {
    entered.count_down();
    release.wait();
    return kapi::Effects{};
  });
  loop_.post(outcome(1));
  waitOpen(entered, "the machine is there");
  loop_.post(outcome(2));
  bool answered = false;
  EXPECT_TRUE(loop_.ask([&] { answered = true; }));
  std::jthread stopper{[&] { loop_.stop(); }};
  while (loop_.post(outcome(3))) {}  // until the mailbox is closed
  release.count_down();
  stopper.join();
  EXPECT_TRUE(answered);
  EXPECT_EQ(given_.size(), 1U);
  EXPECT_FALSE(loop_.ask([] {}));
  loop_.stop();
}

}  // namespace
}  // namespace gs::k8s
