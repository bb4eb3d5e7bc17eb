#include "agent/enforced/pod_news.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kapi/kinds.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;

class PodNewsTest : public ::testing::Test {
 protected:
  /// "Warning on Pod/p: text", of each event that is sent; each is taken at once.
  std::vector<std::string> warn(const char* uid, const std::string& text) {
    kapi::Effects out;
    news_.warnPod({"ns", "p"}, model::Uid{uid}, "GpuRefused", text, clock_.now(), out);
    return sent(std::move(out));
  }
  std::vector<std::string> sent(kapi::Effects effects) {
    std::vector<std::string> out;
    for (auto& effect : effects) {
      const auto* call = std::get_if<kapi::Call>(&effect);
      if (call == nullptr) { continue; }
      EXPECT_EQ(call->kind, kapi::kEvent);
      EXPECT_EQ(call->verb, kapi::Verb::Create);
      const auto& body = call->body;
      out.push_back(std::string{body["type"].str()} + " on " + std::string{body["regarding"]["kind"].str()} +
                    "/" + std::string{body["regarding"]["name"].str()} + ": " +
                    std::string{body["note"].str()});
      names_.emplace_back(body["metadata"]["name"].str());
      kapi::Outcome taken;
      taken.token = call->token;
      taken.result = kapi::CallResult::Applied;
      taken.http = 201;
      kapi::Effects more;
      EXPECT_TRUE(parts_.handle(taken, clock_.now(), more));
    }
    return out;
  }

  ManualClock clock_;
  controller::Parts parts_;
  PodNews news_{model::NodeName{"n"}, parts_};
  std::vector<std::string> names_;
};

TEST_F(PodNewsTest, EachSentenceOfAPodIsSaidOnceAnHour) {
  EXPECT_EQ(warn("u1", "no"), (std::vector<std::string>{"Warning on Pod/p: no"}));
  for (int i = 0; i < 59; ++i) {
    clock_.advance(1min);
    EXPECT_TRUE(warn("u1", "no").empty()) << i;
  }
  EXPECT_EQ(warn("u1", "another").size(), 1U);
  EXPECT_EQ(warn("u2", "no").size(), 1U) << "of another pod";
  clock_.advance(1min);
  EXPECT_EQ(warn("u1", "no").size(), 1U);
  ASSERT_EQ(names_.size(), 4U);
  EXPECT_EQ(names_[0], names_[3]) << "one that is there still is not doubled";
  EXPECT_NE(names_[0], names_[1]);
}

TEST_F(PodNewsTest, OneObjectHasSoManyAndNoMore) {
  std::size_t said = 0;
  for (int i = 0; i < 100; ++i) { said += warn("u1", std::to_string(i)).size(); }
  EXPECT_EQ(said, PodNews::kMostOfOne);
  clock_.advance(1h);
  EXPECT_EQ(warn("u1", "later").size(), 1U);
}

TEST_F(PodNewsTest, WhatIsKeptIsBounded) {
  for (std::size_t i = 0; i < 2 * PodNews::kMostObjects; ++i) {
    (void)warn(("u" + std::to_string(i)).c_str(), "no");
  }
  EXPECT_EQ(news_.size(), PodNews::kMostObjects);
  news_.gone(model::Uid{"u0"});
  EXPECT_EQ(warn("new", "no").size(), 1U);
  clock_.advance(1h);
  EXPECT_EQ(warn("newer", "no").size(), 1U) << "what was said long ago is forgotten";
  EXPECT_EQ(news_.size(), 1U);
}

TEST_F(PodNewsTest, TheNodeIsToldOnceItIsKnown) {
  const auto warn_node = [&](const char* uid) {
    kapi::Effects out;
    news_.warnNode(model::Uid{uid}, "GpuMismatch", "text", clock_.now(), out);
    return sent(std::move(out));
  };
  EXPECT_TRUE(warn_node("").empty());
  EXPECT_EQ(warn_node("node-1"), (std::vector<std::string>{"Warning on Node/n: text"}));
  EXPECT_TRUE(warn_node("node-1").empty());
}

TEST_F(PodNewsTest, OfNobodyNothingIsSaid) {
  EXPECT_TRUE(warn("", "no").empty()) << "a container of no pod that is known";
}

}  // namespace
}  // namespace gs::agent
