// Shares of the quota, as images come and go.
#include "cacherim/keeper/reconciler_fixture_test.h"

namespace gs::cacherim {
namespace {

using kcache::HasImage;

/// Each with a folder, and files of so many bytes: counted are 4096 more for each.
class QuotaTest : public ReconcilerTest {
 protected:
  kcache::Reference image(char letter, std::size_t bytes = 100'000 - 2 * 4096) {
    return images_.make({{{"K/a.json", std::string(bytes, letter)}}});
  }
  bool failed(const kcache::NodeHas& has, const model::ObjectKey& cache, const kcache::Reference& of_it) {
    return of(has, cache, of_it).what == HasImage::What::Failed;
  }
  const kcache::Reference a_ = image('a');
  const kcache::Reference b_ = image('b');
  const kcache::Reference c_ = image('c');
  const model::ObjectKey three_{"ns", "three"};
  const model::ObjectKey small_{"other", "small"};
};

TEST_F(QuotaTest, OneNamespaceWithTooMuchKeepsNoOtherFromItsShare) {
  quota_ = 200'000;
  open();
  want({{kOne, a_}, {kTwo, b_}});
  settle();
  open();  // what is there counts from the first job on
  want({{kOne, a_}, {kTwo, b_}, {three_, c_}, {small_, first_}});
  const auto has = settle();
  EXPECT_EQ(of(has, small_, first_).what, HasImage::What::Here);
  ASSERT_TRUE(failed(has, three_, c_));
  EXPECT_NE(of(has, three_, c_).cause.find("the caches of namespace ns have 200000 bytes here"),
            std::string::npos)
      << of(has, three_, c_).cause;
}

TEST_F(QuotaTest, AnImageOfEmptyFoldersTakesNoMoreThanItsShareOfTheInodes) {
  quota_ = {1'000'000, 60};
  terms_ = {.inode_quota = 60};
  open();
  std::map<std::string, std::string> many;
  for (int i = 0; i < 40; ++i) { many["K" + std::to_string(i) + "/a"] = ""; }
  const auto folders = images_.make({many});
  want({{kOne, folders}, {small_, first_}});
  auto has = settle();
  ASSERT_TRUE(failed(has, kOne, folders));
  EXPECT_NE(of(has, kOne, folders).cause.find("inodes (files and folders)"), std::string::npos)
      << of(has, kOne, folders).cause;
  EXPECT_EQ(of(has, small_, first_).what, HasImage::What::Here);
  clock_.advance(std::chrono::minutes{2});
  settle();
  const MutexLock lock{shared_->mutex};
  EXPECT_LE(shared_->store.inodes(), 60U);
}

TEST_F(QuotaTest, WhatNothingNeedsGoesForItsInodesToo) {
  terms_ = {.inode_quota = 10};
  open();
  for (const auto& image : {a_, b_, c_}) {
    want({{kOne, image}});
    settle();
    clock_.advance(std::chrono::minutes{2});
    settle();
  }
  EXPECT_FALSE(hasTree(a_));
  EXPECT_TRUE(hasTree(c_));
  const MutexLock lock{shared_->mutex};
  EXPECT_LE(shared_->store.inodes(), 10U);
}

TEST_F(QuotaTest, TwoThatComeSideBySideDoNotGetTheSameRoom) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}, {kTwo, b_}});
  const auto has = settle();
  EXPECT_EQ(failed(has, kOne, a_) + failed(has, kTwo, b_), 1);
}

TEST_F(QuotaTest, WhatJustCameCountsBeforeItIsPlaced) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}});
  work();
  want({{kOne, a_}, {kTwo, b_}});
  work();
  turn();
  EXPECT_TRUE(failed(turn(), kTwo, b_));
}

TEST_F(QuotaTest, WhatWasGivenUpOrWentCountsNoMore) {
  quota_ = 150'000;
  open();
  int blobs = 0;
  images_.fate = [&](const kcache::Digest&) -> Status {
    return ++blobs == 3 ? Status{fail(Code::Unavailable, "the registry is away")} : Status{};
  };
  const auto two_layers =
      images_.make({{{"K/a.json", std::string(90'000, 'x')}}, {{"K/b.json", std::string(100, 'y')}}});
  want({{kOne, two_layers}});
  EXPECT_TRUE(failed(settle(), kOne, two_layers));
  want({{kOne, two_layers}, {kTwo, b_}});
  EXPECT_EQ(of(settle(), kTwo, b_).what, HasImage::What::Here);
  want({});
  settle();
  want({{three_, c_}});
  EXPECT_EQ(of(settle(), three_, c_).what, HasImage::What::Here);
}

TEST_F(QuotaTest, WhatPodsHaveMountedCountsThoughNoCacheNamesIt) {
  quota_ = 100'000;
  open();
  want({{kOne, a_}});
  settle();
  use(a_, "v1");
  want({{kTwo, b_}});
  EXPECT_TRUE(failed(settle(), kTwo, b_));
}

TEST_F(QuotaTest, LayersThatTheNodeHasCountToo) {
  quota_ = 200'000;
  open();
  const std::map<std::string, std::string> same{{"K/a.json", std::string(80'000, 's')}};
  const auto first = images_.make({same});
  const auto second = images_.make({same, {{"K/b.json", std::string(60'000, 't')}}});
  want({{kOne, first}, {kTwo, second}});
  EXPECT_TRUE(failed(settle(), kTwo, second));
}

TEST_F(QuotaTest, WhatDidNotFitIsNotFetchedAgainToSeeThat) {
  quota_ = 150'000;
  open();
  const auto large =
      images_.make({{{"K/a.json", std::string(100'000, 'x')}, {"K/b.json", std::string(100'000, 'y')}}});
  want({{kOne, large}});
  EXPECT_TRUE(failed(settle(), kOne, large));
  int layers = 0;
  images_.fate = [&](const kcache::Digest&) {
    ++layers;
    return Status{};
  };
  attempt_ = 1;
  want({{kOne, large}});
  EXPECT_TRUE(failed(settle(), kOne, large));
  EXPECT_EQ(layers, 1) << "the config";
}

TEST_F(QuotaTest, LayersOfImagesThatFailedDoNotFillTheDisk) {
  terms_ = {.quota = 150'000};
  quota_ = 150'000;
  open();
  const auto bad = [&](char letter) {
    return images_.make(
        {{{"K/a.json", std::string(90'000, letter)}}, {{"K/a.json/b", "a folder where a file is"}}});
  };
  for (const char letter : {'1', '2', '3', '4', '5', '6'}) {
    want({{kOne, bad(letter)}});
    settle();
    clock_.advance(std::chrono::minutes{2});
    settle();
  }
  const MutexLock lock{shared_->mutex};
  EXPECT_LE(shared_->store.bytes(), 150'000U);
}

}  // namespace
}  // namespace gs::cacherim
