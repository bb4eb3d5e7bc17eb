#include "scheduler/caches/node_caches.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "controller/parts.h"
#include "scheduler/caches/extracted.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

const model::NodeName kNodeA{"a"};
const model::NodeName kNodeB{"b"};
const NodeCaches::Keys kTwoCaches{{"", "everybodys"}, {"ml", "own"}};

model::Object cachesOn(const char* ns, const char* node, std::vector<std::string> names,
                       model::Revision revision = 5) {
  return std::make_shared<const ExtractedCaches>(
      ExtractedCaches{{ns, node}, model::Uid{std::string{ns} + node}, revision, std::move(names)});
}

class NodeCachesTest : public ::testing::Test {
 protected:
  static std::vector<kapi::Call> callsIn(const kapi::Effects& effects) {
    std::vector<kapi::Call> out;
    for (const auto& effect : effects) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { out.push_back(*call); }
    }
    return out;
  }
  void answerList(const kapi::Call& call, std::vector<model::Object> items) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    o.items = std::move(items);
    o.list_revision = 10;
    EXPECT_TRUE(caches.handle(o, now, out));
  }
  void refuseList(const kapi::Call& call, int http) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = kapi::CallResult::Refused;
    o.http = http;
    o.message = "no";
    EXPECT_TRUE(caches.handle(o, now, out));
  }
  void listBoth(std::vector<model::Object> own, std::vector<model::Object> of_cluster) {
    caches.start(now, out);
    const auto calls = callsIn(out);
    ASSERT_EQ(calls.size(), 2U);
    answerList(calls[0], std::move(own));
    answerList(calls[1], std::move(of_cluster));
  }
  /// Of the first kind's watch.
  void watched(kapi::WatchType type, const model::Object& what, model::Revision revision) {
    std::optional<kapi::Token> stream;
    for (const auto& effect : out) {
      const auto* opened = std::get_if<kapi::OpenWatch>(&effect);
      if (opened != nullptr && opened->kind == kExtracted) { stream = opened->stream; }
    }
    ASSERT_TRUE(stream.has_value());
    EXPECT_TRUE(caches.handle(kapi::WatchEvent{*stream, type, what, what.key(), revision}, now, out));
  }

  Rng rng{1};
  NodeCaches caches{1000, rng};
  kapi::Effects out;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
};

TEST_F(NodeCachesTest, ANodeIsWorthTheSharesOfThePodsCachesThatItHas) {
  listBoth({cachesOn("ml", "a", {"own"}), cachesOn("ml", "b", {"own", "more"})},
           {cachesOn("", "b", {"everybodys"})});
  EXPECT_EQ(caches.bonus(kTwoCaches, kNodeA), 500);
  EXPECT_EQ(caches.bonus(kTwoCaches, kNodeB), 1000);
  EXPECT_EQ(caches.bonus(kTwoCaches, model::NodeName{"c"}), 0);
  EXPECT_EQ(caches.bonus({}, kNodeB), 0);
  EXPECT_EQ(caches.bonus({{"", "everybodys"}, {"", "x"}, {"", "y"}}, kNodeB), 333) << "rounded down";
}

TEST_F(NodeCachesTest, SaysWhatAPodFinds) {
  listBoth({cachesOn("ml", "a", {"own"}), cachesOn("ml", "b", {"own"})}, {cachesOn("", "b", {"everybodys"})});
  EXPECT_EQ(caches.saidThere(kTwoCaches, kNodeA), "1 of 2 kernel caches extracted there");
  EXPECT_EQ(caches.saidThere({{"ml", "own"}}, kNodeA), "1 of 1 kernel cache extracted there");
  EXPECT_EQ(caches.saidThere({}, kNodeA), "");
  EXPECT_EQ(caches.saidOf(kTwoCaches), "Kernel caches: everybodys on 1 node(s), ml/own on 2 node(s).");
  EXPECT_EQ(caches.saidOf({{"ml", "v"}, {"ml", "w"}, {"ml", "x"}, {"ml", "y"}, {"ml", "z"}}),
            "Kernel caches: ml/v on 0 node(s), ml/w on 0 node(s), ml/x on 0 node(s), and 2 more.");
  EXPECT_EQ(caches.saidOf({}), "");
}

TEST_F(NodeCachesTest, TellsOfNodesThatAreWorthSomethingElseNow) {
  listBoth({cachesOn("ml", "a", {"own"}), cachesOn("ml", "b", {})}, {});
  EXPECT_EQ(caches.takeChanged(), (std::vector<model::ObjectKey>{{"ml", "a"}}));
  watched(kapi::WatchType::Modified, cachesOn("ml", "a", {"own"}, 11), 11);
  EXPECT_TRUE(caches.takeChanged().empty()) << "progress, say";
  watched(kapi::WatchType::Modified, cachesOn("ml", "a", {}, 12), 12);
  EXPECT_EQ(caches.takeChanged(), (std::vector<model::ObjectKey>{{"ml", "a"}}));
  watched(kapi::WatchType::Modified, cachesOn("ml", "b", {"own"}, 13), 13);
  EXPECT_EQ(caches.takeChanged(), (std::vector<model::ObjectKey>{{"ml", "b"}}));
  watched(kapi::WatchType::Deleted, cachesOn("ml", "b", {"own"}, 14), 14);
  EXPECT_EQ(caches.takeChanged(), (std::vector<model::ObjectKey>{{"ml", "b"}}));
  EXPECT_EQ(caches.bonus({{"ml", "own"}}, kNodeB), 0);
}

TEST_F(NodeCachesTest, OffItAsksForNothing) {
  Rng untouched{7};
  NodeCaches off{0, untouched};
  off.start(now, out);
  off.tick(now, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(untouched.next(), Rng{7}.next()) << "what others draw stays as it was";
  EXPECT_EQ(off.saidOf(kTwoCaches) + off.saidThere(kTwoCaches, kNodeA), "");
  Readiness is;
  off.note(is);
  EXPECT_TRUE(is.checks.empty());
}

TEST_F(NodeCachesTest, KindsThatAreNotServedOrMayNotBeReadAreAskedForQuietlyFromTimeToTime) {
  caches.start(now, out);
  const auto calls = callsIn(out);
  out.clear();
  refuseList(calls.at(0), 404);
  refuseList(calls.at(1), 403);
  EXPECT_TRUE(callsIn(out).empty()) << "not at once";
  for (const auto& effect : out) { EXPECT_FALSE(std::holds_alternative<kapi::OpenWatch>(effect)); }
  Readiness is;
  caches.note(is);
  EXPECT_TRUE(is.ready);
  EXPECT_EQ(is.text(),
            "cache/gkmcachenodes: ok, without it: list of gkmcachenodes: 404 no\n"
            "cache/clustergkmcachenodes: ok, without it: list of clustergkmcachenodes: 403 no\n");
  now.mono += 1min;
  out.clear();
  caches.tick(now, out);
  EXPECT_EQ(callsIn(out).size(), 2U);
}

TEST_F(NodeCachesTest, EventsOfOthersAreNotTaken) {
  caches.start(now, out);
  kapi::Outcome others;
  others.token = kapi::makeToken(controller::kElectionOwner, 1);
  EXPECT_FALSE(caches.handle(others, now, out));
  EXPECT_FALSE(caches.handle(kapi::TimerDue{}, now, out));
}

}  // namespace
}  // namespace gs::scheduler
