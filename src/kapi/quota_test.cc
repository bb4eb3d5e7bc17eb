#include "kapi/quota.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kapi/decode.h"

namespace gs::kapi {
namespace {

using model::Quota;
using model::Quotas;

TEST(Quotas, TheAncestorsSample) {
  const auto read = parseQuotas(
      R"({"default":{"quota":{"M40":4,"P100":4},"pool":["public"]},"B":{"quota":{"M40":8,"P100":2},)"
      R"("pool":["wx"]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (Quotas{{"default", Quota{{{"M40", 4}, {"P100", 4}}, {"public"}}},
                           {"B", Quota{{{"M40", 8}, {"P100", 2}}, {"wx"}}}}));
}

TEST(Quotas, KeysInAnyCaseNullsAndUnknownKeys) {
  const auto read = parseQuotas(
      R"({"a":{"Quota":{"M40":null},"POOL":null,"owner":"x"},"b":null,"c":{"quota":{"V100":-1},"pool":[]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (Quotas{{"a", Quota{{{"M40", 0}}, {}}}, {"b", {}}, {"c", Quota{{{"V100", -1}}, {}}}}));
}

TEST(Quotas, WhatIsWrongIsSaidWithItsPlaceAndTheFix) {
  struct Wrong {
    const char* text;
    const char* says;
  };
  for (const Wrong& w : {
           Wrong{"", "gpu_quota is not JSON: "},
           Wrong{"[]", "gpu_quota is []: write an object with a member for each namespace"},
           Wrong{R"({"a":4})", R"(gpu_quota.a is 4: write {"quota": {...}, "pool": [...]})"},
           Wrong{R"({"a":{"quota":[1]}})",
                 R"(gpu_quota.a.quota is [1]: write the number of GPUs of each model: {"V100": 4})"},
           Wrong{R"({"a":{"quota":{"V100":"4"}}})",
                 R"(gpu_quota.a.quota.V100 is "4": write a whole number of GPUs)"},
           Wrong{R"({"a":{"quota":{"V100":0.5}}})", "gpu_quota.a.quota.V100 is 0.5: write a whole number"},
           Wrong{R"({"a":{"quota":{"V100":9223372036854775808}}})",
                 "gpu_quota.a.quota.V100 is 92233720368547"},
           Wrong{R"({"a":{"pool":"public"}})",
                 R"(gpu_quota.a.pool is "public": write a list of names: ["public"])"},
           Wrong{R"({"a":{"pool":[1]}})", "gpu_quota.a.pool is [1]: write names of pools only"},
       }) {
    const auto read = parseQuotas(w.text);
    ASSERT_FALSE(read) << w.text;
    EXPECT_EQ(read.error().message.substr(0, std::string_view{w.says}.size()), w.says) << w.text;
  }
}

TEST(Quotas, ANamespaceNamesFewModelsAndPools) {
  const auto table = [](int models, int pools) {
    std::vector<std::string> gpus;
    std::vector<std::string> names;
    for (int i = 0; i < models; ++i) { gpus.push_back(fmt::format("\"m{}\":1", i)); }
    for (int i = 0; i < pools; ++i) { names.push_back(fmt::format("\"p{}\"", i)); }
    return fmt::format(R"({{"a":{{"quota":{{{}}},"pool":[{}]}}}})", fmt::join(gpus, ","),
                       fmt::join(names, ","));
  };
  EXPECT_TRUE(parseQuotas(table(256, 256)));
  EXPECT_NE(parseQuotas(table(257, 0)).error().message.find("write at most 256 models"), std::string::npos);
  EXPECT_NE(parseQuotas(table(1, 257)).error().message.find("write at most 256 pools"), std::string::npos);
}

model::QuotaMap mapOf(const char* text) {
  const auto read = json::Document::read(text);
  return read ? decodeQuotaMap(read->root()) : model::QuotaMap{};
}

TEST(QuotaMap, IsReadFromAConfigMap) {
  const auto map = mapOf(R"({"metadata":{"namespace":"kube-system","name":"gpuquota","uid":"u",
    "resourceVersion":"7"},"data":{"gpu_quota":"{\"a\":{\"quota\":{\"V100\":1}}}"}})");
  EXPECT_EQ(map.key, (model::ObjectKey{"kube-system", "gpuquota"}));
  EXPECT_EQ(map.uid, model::Uid{"u"});
  EXPECT_EQ(map.revision, 7U);
  ASSERT_TRUE(map.quotas);
  EXPECT_EQ(map.quotas->at("a").gpus.at("V100"), 1);
  EXPECT_EQ(map.malformed, "");
}

TEST(QuotaMap, WithoutTheKeyOrATableInItIsMalformed) {
  EXPECT_EQ(mapOf(R"({"data":{"quota":"{}"}})").malformed, "key gpu_quota not found");
  EXPECT_EQ(mapOf("{}").malformed, "key gpu_quota not found");
  EXPECT_EQ(mapOf(R"({"data":{"gpu_quota":{}}})").malformed, "key gpu_quota not found");
  EXPECT_EQ(mapOf(R"({"data":{"gpu_quota":"[]"}})").malformed,
            "gpu_quota is []: write an object with a member for each namespace");
  EXPECT_FALSE(mapOf("{}").quotas);
}

}  // namespace
}  // namespace gs::kapi
