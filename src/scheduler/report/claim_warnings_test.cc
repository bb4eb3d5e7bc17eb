#include "scheduler/report/claim_warnings.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

class ClaimWarningsTest : public ::testing::Test {
 protected:
  ClaimWarningsTest() { c.now = Now{Mono{1h}, Wall{1h}}; }

  /// The claim as it is from now on.
  void claim(const model::ObjectKey& key, std::vector<int> prefer_ids, std::int64_t count = 1) {
    model::GpuClaim out = testing::makeClaim(key.name.c_str());
    out.key = key;
    out.uid = model::Uid{"uid-" + key.text()};
    out.revision = ++revision;
    out.prefer_ids = std::move(prefer_ids);
    out.count = count;
    c.engine.apply({.kind = kapi::kGpuClaim,
                    .key = key,
                    .last_uid = out.uid,
                    .object = std::make_shared<const model::GpuClaim>(out),
                    .revision = out.revision},
                   c.now.mono);
    warnings.touched(key);
  }
  void bound(const std::string& name, const char* of_claim, const char* allocated) {
    const auto pod =
        testing::PodBuilder(name).claim(of_claim).on("node-a").allocated(allocated).running().make();
    c.engine.learn(model::Object{pod}, c.now.mono);
    warnings.touched({"default", of_claim});
  }
  /// What is said now: "namespace/claim reason", in order.
  std::vector<std::string> said() {
    warnings.pump();
    std::vector<std::string> out;
    for (const auto& effect : std::exchange(c.out, {})) {
      const auto& body = std::get<kapi::Call>(effect).body;
      out.push_back(std::string{body["regarding"]["namespace"].str()} + "/" +
                    std::string{body["regarding"]["name"].str()} + " " + std::string{body["reason"].str()});
    }
    return out;
  }
  /// All that is said from now on.
  std::vector<std::string> saidInTheEnd() {
    std::vector<std::string> out = said();
    for (auto due = warnings.nextDue(); due; due = warnings.nextDue()) {
      c.now.mono = std::max(c.now.mono, *due);
      for (auto& one : said()) { out.push_back(std::move(one)); }
    }
    return out;
  }
  using Said = std::vector<std::string>;

  Context c{Config{}, Rng{1}};
  ClaimWarnings warnings{c};
  model::Revision revision = 1;
};

TEST_F(ClaimWarningsTest, TenASecondAndNamespacesTakeTurns) {
  for (const char* name : {"x", "y", "z"}) { claim({"a", name}, {0}); }
  claim({"b", "x"}, {0});
  EXPECT_EQ(said(), Said{"a/x ClaimFieldIgnored"});
  EXPECT_EQ(said(), Said{});
  EXPECT_EQ(warnings.nextDue(), c.now.mono + ClaimWarnings::kGap);
  c.now.mono += ClaimWarnings::kGap;
  EXPECT_EQ(said(), Said{"b/x ClaimFieldIgnored"});
  EXPECT_EQ(saidInTheEnd(), (Said{"a/y ClaimFieldIgnored", "a/z ClaimFieldIgnored"}));
}

TEST_F(ClaimWarningsTest, TheSameIsSaidOnceUntilItWasMended) {
  claim({"a", "x"}, {0});
  EXPECT_EQ(saidInTheEnd().size(), 1U);
  claim({"a", "x"}, {0});
  EXPECT_EQ(saidInTheEnd(), Said{});
  claim({"a", "x"}, {});
  EXPECT_EQ(saidInTheEnd(), Said{});
  claim({"a", "x"}, {0});
  EXPECT_EQ(saidInTheEnd().size(), 1U);
}

TEST_F(ClaimWarningsTest, PodsCountWhenTheCountChanged) {
  claim({"default", "c"}, {}, 1);
  bound("p", "c", "node-a:0");
  EXPECT_EQ(saidInTheEnd(), Said{});
  claim({"default", "c"}, {}, 2);
  EXPECT_EQ(saidInTheEnd(), Said{"default/c ClaimCountNotFollowed"});
  bound("q", "c", "node-a:1");
  EXPECT_EQ(saidInTheEnd(), Said{}) << "the count is as it was";
  claim({"default", "c"}, {}, 1);
  EXPECT_EQ(saidInTheEnd(), Said{}) << "all have what it says again";
}

TEST_F(ClaimWarningsTest, WhoBeginsToLeadLooksAnew) {
  claim({"a", "x"}, {0});
  const auto first = saidInTheEnd();
  EXPECT_EQ(first, Said{"a/x ClaimFieldIgnored"});
  c.parts.reset();
  EXPECT_EQ(warnings.nextDue(), std::nullopt);
  warnings.touched({"a", "x"});
  EXPECT_EQ(saidInTheEnd(), first);
}

TEST_F(ClaimWarningsTest, ATurnLooksAtSoManyAndTheNextGoesOn) {
  constexpr std::size_t kMany = 3 * ClaimWarnings::kLooksPerTurn;
  for (std::size_t i = 0; i < kMany; ++i) { claim({"a", std::to_string(i)}, {}); }
  claim({"a", "last"}, {0});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(said(), Said{});
    ASSERT_TRUE(warnings.nextDue());
    EXPECT_LE(*warnings.nextDue(), c.now.mono);
  }
  EXPECT_EQ(said(), Said{"a/last ClaimFieldIgnored"});
  EXPECT_EQ(warnings.nextDue(), std::nullopt);
}

}  // namespace
}  // namespace gs::scheduler
