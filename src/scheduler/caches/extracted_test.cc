#include "scheduler/caches/extracted.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gs::scheduler {
namespace {

using kcache::State;

kcache::CacheEntry cacheEntry(State state, std::vector<int> fits = {}, std::vector<int> fits_not = {}) {
  kcache::CacheEntry out;
  out.condition = kcache::Condition{state, "", {}};
  out.compatible_gpus = std::move(fits);
  out.incompatible_gpus = std::move(fits_not);
  return out;
}

struct ExtractedCase {
  const char* name;
  std::vector<kcache::CacheEntry> images;
  bool expected;
};

class Extracted : public ::testing::TestWithParam<ExtractedCase> {};

TEST_P(Extracted, IsWhatNewPodsGet) {
  kcache::Entries images;
  for (const auto& one : GetParam().images) { images[fmt::format("sha256:{}", images.size())] = one; }
  EXPECT_EQ(isExtracted(images), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Extracted,
    ::testing::Values(
        ExtractedCase{"Nothing", {}, false}, ExtractedCase{"Here", {cacheEntry(State::Extracted)}, true},
        ExtractedCase{"Mounted", {cacheEntry(State::Running)}, true},
        ExtractedCase{"Coming", {cacheEntry(State::Pending)}, false},
        ExtractedCase{"Failed", {cacheEntry(State::Error)}, false},
        ExtractedCase{"OnlyAnOlderImage", {cacheEntry(State::Outdated)}, false},
        ExtractedCase{"AnOlderImageThatStays", {cacheEntry(State::UnloadError)}, false},
        ExtractedCase{
            "HereBesideAnOlderOne", {cacheEntry(State::Outdated), cacheEntry(State::Extracted)}, true},
        ExtractedCase{"ANewerOneIsComing", {cacheEntry(State::Extracted), cacheEntry(State::Pending)}, false},
        ExtractedCase{"ANewerOneFailed", {cacheEntry(State::Error), cacheEntry(State::Running)}, false},
        ExtractedCase{"ForSomeOfItsGpus", {cacheEntry(State::Extracted, {0}, {1})}, true},
        ExtractedCase{"ForOtherGpus", {cacheEntry(State::Extracted, {}, {0, 1})}, false},
        ExtractedCase{"ForItsGpus", {cacheEntry(State::Extracted, {0, 1})}, true},
        ExtractedCase{"OfAnotherVersionsWords", {kcache::CacheEntry{}}, false}),
    [](const auto& info) { return std::string{info.param.name}; });

ExtractedCaches decodedCaches(const std::string& text) {
  const auto value = json::parse(text);
  EXPECT_TRUE(value.has_value());
  return decodeExtracted(*value);
}

std::string nodeObject(const std::string& caches) {
  return fmt::format(R"({{"metadata": {{"namespace": "ml", "name": "node-a", "uid": "u",
      "resourceVersion": "7", "labels": {{"kubernetes.io/hostname": "node-x"}}}},
      "status": {{"nodeName": "node-y", "caches": {}}}}})",
                     caches);
}

std::string imageText(const char* state) {
  return fmt::format(
      R"({{"sha256:{}": {{"conditions": [{{"type": "{}", "reason": "{}", "status": "True"}}]}}}})",
      std::string(64, '0'), state, state);
}

TEST(ExtractedDecode, SpeaksOfTheNodeThatItIsNamedLike) {
  const auto out =
      decodedCaches(nodeObject(fmt::format(R"({{"b": {}, "a": {}, "coming": {}}})", imageText("Extracted"),
                                           imageText("Running"), imageText("Pending"))));
  EXPECT_EQ(out.key, (model::ObjectKey{"ml", "node-a"})) << "whatever its label and its status say";
  EXPECT_EQ(out.revision, 7U);
  EXPECT_EQ(out.names, (std::vector<std::string>{"a", "b"}));
}

TEST(ExtractedDecode, WhatCannotBeReadIsNotThere) {
  for (const char* caches : {"null", "[]", "7", R"({"a": 7})", R"({"a": {"sha256:short": {}}})",
                             R"({"a": [{"conditions": []}]})", R"({"": {}})"}) {
    EXPECT_TRUE(decodedCaches(nodeObject(caches)).names.empty()) << caches;
  }
  EXPECT_TRUE(decodedCaches("{}").names.empty());
}

TEST(ExtractedDecode, AHugeObjectIsCut) {
  std::string caches = "{";
  for (int i = 0; i < 20'000; ++i) {
    caches += fmt::format("{}\"c{}\": {}", i == 0 ? "" : ",", i, imageText("Extracted"));
  }
  EXPECT_EQ(decodedCaches(nodeObject(caches + "}")).names.size(), 8192U);
}

}  // namespace
}  // namespace gs::scheduler
