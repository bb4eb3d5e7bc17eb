#include "runner/call_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "kapi/kinds.h"

namespace gs::runner {
namespace {

using namespace std::chrono_literals;

const Mono kStart{1000s};

QueuedCall queued(kapi::Token token, std::string ordering_key = {}, kapi::Verb verb = kapi::Verb::Update,
                  kapi::Kind kind = kapi::kLease) {
  QueuedCall made;
  made.call.token = token;
  made.call.ordering_key = std::move(ordering_key);
  made.call.verb = verb;
  made.call.kind = kind;
  made.call.timeout = 10s;
  return made;
}

kapi::Outcome busy(Duration retry_after) {
  kapi::Outcome outcome;
  outcome.http = 429;
  outcome.retry_after = retry_after;
  return outcome;
}

/// 0: nothing may start.
kapi::Token nextToken(CallQueue& queue, Mono now = kStart) {
  const auto next = queue.next(now);
  return next ? next->call.token : 0;
}

TEST(CallQueue, CallsWithoutOrderingKeyStartInOrderAndSideBySide) {
  CallQueue queue;
  for (kapi::Token t = 1; t <= 3; ++t) { queue.submit(queued(t)); }
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(nextToken(queue), 1U);
  EXPECT_EQ(nextToken(queue), 2U);
  EXPECT_EQ(nextToken(queue), 3U);
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.nextChange(), Mono::max());
}

TEST(CallQueue, BindingsGoFirstButOfFourCallsOneIsAnother) {
  CallQueue queue;
  for (kapi::Token t = 1; t <= 3; ++t) { queue.submit(queued(t)); }
  for (kapi::Token t = 11; t <= 17; ++t) {
    QueuedCall binding = queued(t, "", kapi::Verb::Create, kapi::kPod);
    binding.call.subresource = "binding";
    queue.submit(std::move(binding));
  }
  std::vector<kapi::Token> order;
  while (const auto token = nextToken(queue)) { order.push_back(token); }
  EXPECT_EQ(order, (std::vector<kapi::Token>{11, 12, 13, 1, 14, 15, 16, 2, 17, 3}));
}

/// A Status says it: what answered is a webhook of that namespace, say.
TEST(CallQueue, WhatIsTooManyInOneNamespaceHoldsNoOther) {
  CallQueue queue;
  const auto in = [](const char* ns, kapi::Token token) {
    QueuedCall made = queued(token);
    made.call.key.ns = ns;
    return made;
  };
  kapi::Outcome too_many = busy(5s);
  too_many.is_status = true;
  queue.answered(in("bad", 1).call, too_many, kStart);
  queue.submit(in("bad", 2));
  queue.submit(in("good", 3));
  EXPECT_EQ(nextToken(queue), 3U);
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(nextToken(queue, kStart + 5s), 2U);
  queue.answered(in("bad", 2).call, busy(5s), kStart + 5s);
  queue.submit(in("good", 4));
  EXPECT_EQ(nextToken(queue, kStart + 6s), 0U) << "the server has too much to do";
}

TEST(CallQueue, OneOrderingKeyHasOneCallOut) {
  CallQueue queue;
  queue.submit(queued(1, "a"));
  queue.submit(queued(2, "a"));
  queue.submit(queued(3, "b"));
  EXPECT_EQ(nextToken(queue), 1U);
  EXPECT_EQ(nextToken(queue), 3U);
  EXPECT_EQ(nextToken(queue), 0U);
  queue.finished(queued(1, "a").call);
  EXPECT_EQ(nextToken(queue), 2U);
  queue.finished(queued(2, "a").call);
  queue.submit(queued(4, "a"));
  EXPECT_EQ(nextToken(queue), 4U);
}

TEST(CallQueue, BusyHoldsThatKindOfWriteAndNoOther) {
  CallQueue queue;
  queue.answered(queued(1).call, busy(5s), kStart);
  queue.submit(queued(2));
  queue.submit(queued(3, "", kapi::Verb::Delete));
  queue.submit(queued(4, "", kapi::Verb::Update, kapi::kPod));
  QueuedCall status = queued(5);
  status.call.subresource = "status";
  queue.submit(status);
  EXPECT_EQ(nextToken(queue), 3U);
  EXPECT_EQ(nextToken(queue), 4U);
  EXPECT_EQ(nextToken(queue), 5U);
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(queue.nextChange(), kStart + 5s);
  EXPECT_EQ(nextToken(queue, kStart + 5s - 1ns), 0U);
  EXPECT_EQ(nextToken(queue, kStart + 5s), 2U);
}

TEST(CallQueue, AHeldCallHoldsItsOrderingKey) {
  CallQueue queue;
  queue.answered(queued(1).call, busy(5s), kStart);
  queue.submit(queued(2, "a"));
  queue.submit(queued(3, "a", kapi::Verb::Delete));
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(nextToken(queue, kStart + 5s), 2U);
  EXPECT_EQ(nextToken(queue, kStart + 5s), 0U);
}

TEST(CallQueue, AHoldLongerThanTheCallMayTakeGivesItBackOverdue) {
  CallQueue queue;
  queue.answered(queued(1).call, busy(30s), kStart);
  queue.submit(queued(2, "a"));
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(queue.nextChange(), kStart + 10s);
  const auto overdue = queue.next(kStart + 10s);
  ASSERT_TRUE(overdue);
  EXPECT_TRUE(overdue->overdue);
  EXPECT_EQ(overdue->held_for, 20s);
  queue.finished(overdue->call);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(CallQueue, AHoldIsNeverLongerThanAMinuteAndALaterShorterOneDoesNotShortenIt) {
  CallQueue queue;
  queue.answered(queued(1).call, busy(24h), kStart);
  queue.answered(queued(2).call, busy(1s), kStart);
  QueuedCall patient = queued(3);
  patient.call.timeout = 1h;
  queue.submit(patient);
  EXPECT_EQ(nextToken(queue), 0U);
  EXPECT_EQ(queue.nextChange(), kStart + 1min);
}

TEST(CallQueue, OtherAnswersHoldNothing) {
  CallQueue queue;
  kapi::Outcome outcome = busy(0s);
  queue.answered(queued(1).call, outcome, kStart);
  outcome.http = 503;
  outcome.retry_after = 5s;
  queue.answered(queued(1).call, outcome, kStart);
  queue.submit(queued(2));
  EXPECT_EQ(nextToken(queue), 2U);
}

TEST(CallQueue, EndOfTimeEndsAllHolds) {
  CallQueue queue;
  queue.answered(queued(1).call, busy(5s), kStart);
  queue.submit(queued(2));
  EXPECT_EQ(nextToken(queue), 0U);
  const auto next = queue.next(Mono::max());
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->overdue);
}

TEST(CallQueueProperty, EachCallComesOutOnceAndAnOrderingKeyKeepsItsOrder) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) {
    CallQueue queue;
    Mono now = kStart;
    std::vector<QueuedCall> out;
    std::map<std::string, kapi::Token> last;
    std::set<kapi::Token> seen;
    kapi::Token submitted = 0;
    const auto takeAll = [&] {
      while (auto next = queue.next(now)) {
        const std::string ordering_key = next->call.ordering_key;
        RC_ASSERT(seen.insert(next->call.token).second);
        for (const QueuedCall& other : out) {
          RC_ASSERT(ordering_key.empty() || other.call.ordering_key != ordering_key);
        }
        if (!ordering_key.empty()) {
          RC_ASSERT(std::exchange(last[ordering_key], next->call.token) < next->call.token);
        }
        out.push_back(std::move(*next));
      }
    };
    for (const std::uint8_t step : steps) {
      switch (step % 4) {
        case 0:
        case 1:
          queue.submit(queued(++submitted,
                              step % 3 == 0 ? "" : std::string(1, static_cast<char>('a' + step % 5)),
                              step % 7 == 0 ? kapi::Verb::Delete : kapi::Verb::Update));
          break;
        case 2: now += std::chrono::seconds{step % 16}; break;
        default:
          if (!out.empty()) {
            const std::size_t which = step % out.size();
            if (step % 5 == 0) {
              queue.answered(out[which].call, busy(std::chrono::seconds{step % 32}), now);
            }
            queue.finished(out[which].call);
            out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
          }
      }
      takeAll();
    }
    while (!out.empty() || queue.size() > 0) {  // everything comes out in the end
      for (const QueuedCall& one : std::exchange(out, {})) { queue.finished(one.call); }
      now += 1min;
      takeAll();
    }
    RC_ASSERT(seen.size() == submitted);
  }));
}

}  // namespace
}  // namespace gs::runner
