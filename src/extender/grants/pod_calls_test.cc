#include "extender/grants/pod_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using CallPurpose = PodCalls::Purpose;

constexpr std::array kAllPurposes{CallPurpose::Write,       CallPurpose::Remove, CallPurpose::Read,
                                  CallPurpose::ReadForBind, CallPurpose::Bind,   CallPurpose::Wake};

/// As whoever has that purpose makes it.
kapi::Call callFor(CallPurpose purpose, const std::string& name) {
  const model::Pod pod = vcudaPod(name, {{50, 1}});
  switch (purpose) {
    case CallPurpose::Write: return kapi::annotatePod(pod, {{"key", "value"}}, {});
    case CallPurpose::Remove: return kapi::annotatePod(pod, {}, {"key"});
    case CallPurpose::Read:
    case CallPurpose::ReadForBind: return kapi::getObject(kapi::kPod, pod.key);
    case CallPurpose::Bind: return kapi::bindPod(pod, model::NodeName{"a"}, {});
    case CallPurpose::Wake: return kapi::wakePod(pod, "now");
  }
  return {};
}

class PodCallsTest : public ::testing::Test {
 protected:
  kapi::Token send(CallPurpose purpose, const std::string& name, std::string slot = {}) {
    return calls.send(callFor(purpose, name), purpose, model::Uid{"uid-" + name}, out, std::move(slot));
  }
  /// What was sent last.
  [[nodiscard]] const kapi::Call& last() const { return std::get<kapi::Call>(out.back()); }

  PodCalls calls{7};
  kapi::Effects out;
};

TEST_F(PodCallsTest, EachCallLeavesOnceAsItWasMadeUnderItsToken) {
  for (const CallPurpose purpose : kAllPurposes) {
    const kapi::Token token = send(purpose, "p");
    const kapi::Call made = callFor(purpose, "p");
    EXPECT_EQ(last().token, token);
    EXPECT_EQ(kapi::tokenOwner(token), 7) << "else nobody brings its answer here";
    EXPECT_EQ(last().verb, made.verb);
    EXPECT_EQ(last().key, made.key);
    EXPECT_EQ(last().subresource, made.subresource);
    EXPECT_EQ(last().timeout, 3s) << "its caller is still there";
  }
  EXPECT_EQ(out.size(), kAllPurposes.size());
}

/// Reads may be sent by anybody; a write of a pod comes after the one before it. A wake keeps none waiting.
TEST_F(PodCallsTest, WritesLeaveWhileWeLeadAndInOrderOfTheirPod) {
  struct Row {
    CallPurpose purpose;
    bool leader_only;
    const char* ordering_key;
  };
  for (const Row& row : {Row{CallPurpose::Write, true, "pod/uid-p"},
                         {CallPurpose::Remove, true, "pod/uid-p"},
                         {CallPurpose::Bind, true, "pod/uid-p"},
                         {CallPurpose::Wake, true, "wake/uid-p"},
                         {CallPurpose::Read, false, ""},
                         {CallPurpose::ReadForBind, false, ""}}) {
    (void)send(row.purpose, "p");
    EXPECT_EQ(last().leader_only, row.leader_only) << static_cast<int>(row.purpose);
    EXPECT_EQ(last().ordering_key, row.ordering_key) << static_cast<int>(row.purpose);
  }
  (void)send(CallPurpose::Write, "q");
  EXPECT_EQ(last().ordering_key, "pod/uid-q");
}

TEST_F(PodCallsTest, AnAnswerSaysOnceWhichCallItIsOfInWhateverOrderTheyCome) {
  struct Sent {
    kapi::Token token;
    CallPurpose purpose;
    std::string name;
  };
  std::vector<Sent> sent;
  for (const char* name : {"p", "q"}) {
    for (const CallPurpose purpose : kAllPurposes) { sent.push_back({send(purpose, name), purpose, name}); }
  }
  std::reverse(sent.begin(), sent.end());
  for (const Sent& one : sent) {
    EXPECT_TRUE(calls.underWay());
    const auto answered = calls.answered(one.token);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->uid.text, "uid-" + one.name);
    EXPECT_EQ(answered->purpose, one.purpose);
    EXPECT_EQ(answered->slot, "");
    EXPECT_FALSE(calls.answered(one.token)) << "twice";
  }
  EXPECT_FALSE(calls.underWay());
}

/// A pod's grant ended while its call was under way, and the next one asks the same. Both slots are to be
/// given back.
TEST_F(PodCallsTest, TheSameAskedAgainComesBackTwiceEachWithItsSlot) {
  for (const bool older_first : {true, false}) {
    const kapi::Token older = send(CallPurpose::Remove, "p", "older");
    const kapi::Token newer = send(CallPurpose::Remove, "p", "newer");
    ASSERT_NE(older, newer);
    for (const bool is_older : {older_first, !older_first}) {
      EXPECT_TRUE(calls.underWay());
      const auto answered = calls.answered(is_older ? older : newer);
      ASSERT_TRUE(answered);
      EXPECT_EQ(answered->uid.text, "uid-p");
      EXPECT_EQ(answered->slot, is_older ? "older" : "newer");
    }
    EXPECT_FALSE(calls.underWay());
  }
}

/// Whoever leads again must not take an answer of before for one of now.
TEST_F(PodCallsTest, OfAnEarlierTermNothingIsKnownAndNoTokenComesAgain) {
  std::set<kapi::Token> seen;
  for (int term = 0; term < 3; ++term) {
    std::vector<kapi::Token> of_this_term;
    for (const CallPurpose purpose : kAllPurposes) { of_this_term.push_back(send(purpose, "p", "default")); }
    calls.reset();
    EXPECT_FALSE(calls.underWay());
    for (const kapi::Token token : of_this_term) {
      EXPECT_TRUE(seen.insert(token).second) << "it was given before";
      EXPECT_FALSE(calls.answered(token));
    }
  }
}

TEST_F(PodCallsTest, WhatIsNobodysChangesNothing) {
  const kapi::Token token = send(CallPurpose::Bind, "p");
  EXPECT_FALSE(calls.answered(token + 1));
  EXPECT_FALSE(calls.answered(0));
  EXPECT_TRUE(calls.underWay());
  EXPECT_TRUE(calls.answered(token));
}

}  // namespace
}  // namespace gs::extender
