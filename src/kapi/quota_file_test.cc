#include "kapi/quota_file.h"

#include <gtest/gtest.h>

namespace gs::kapi {
namespace {

TEST(QuotaFile, TheAncestorsOwn) {
  const auto file = readQuotaFile(R"({"QuotaConfigMapName":"gpuquota","QuotaConfigMapNamespace":"kube-system",
    "GPUModelLabel":"gaia.tencent.com/gpu-model","GPUPoolLabel":"gaia.tencent.com/gpu-pool",
    "SkipBindTime":300000})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->map, (model::ObjectKey{"kube-system", "gpuquota"}));
  EXPECT_EQ(file->labels, model::QuotaLabels{});
  EXPECT_TRUE(file->if_forbidden.empty());
}

TEST(QuotaFile, NamesHaveDefaultsAndLabelsHaveNone) {
  const auto file =
      readQuotaFile(R"({"gpumodellabel":"tkestack.io/gpu-model","GPUPOOLLABEL":"tkestack.io/gpu-pool",
    "QuotaConfigMapName":"","QuotaConfigMapNamespace":null})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->map, (model::ObjectKey{"kube-system", "gpuquota"}));
  EXPECT_EQ(file->labels, (model::QuotaLabels{"tkestack.io/gpu-model", "tkestack.io/gpu-pool"}));
}

TEST(QuotaFile, MayHoldTheQuotasThemselves) {
  const auto file = readQuotaFile(
      R"({"GPUModelLabel":"m","GPUPoolLabel":"p","gpu_quota":{"ns":{"quota":{"V100":4},"pool":["a"]}}})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->if_forbidden, (model::Quotas{{"ns", {{{"V100", 4}}, {"a"}}}}));
}

TEST(QuotaFile, WhatIsWrongIsSaid) {
  const auto says = [](const char* text) {
    const auto file = readQuotaFile(text);
    return file ? std::string{"nothing"} : file.error().message;
  };
  EXPECT_NE(says("{}").find("GPUModelLabel or GPUPoolLabel config not found"), std::string::npos);
  EXPECT_NE(says(R"({"GPUModelLabel":"m"})").find("GPUPoolLabel config not found"), std::string::npos);
  EXPECT_EQ(says("[]"), "it is not a JSON object");
  EXPECT_EQ(says(R"({"GPUModelLabel":"m","GPUPoolLabel":"p","QuotaConfigMapNamspace":"x"})"),
            "QuotaConfigMapNamspace is no key of it: those are QuotaConfigMapName, QuotaConfigMapNamespace, "
            "GPUModelLabel, "
            "GPUPoolLabel, gpu_quota and SkipBindTime");
  EXPECT_NE(says(""), "nothing");
  EXPECT_NE(says("{\"GPUModelLabel\":"), "nothing");
  EXPECT_EQ(says(R"({"GPUModelLabel":4,"GPUPoolLabel":"p"})"), "GPUModelLabel is not a text");
  EXPECT_NE(says(R"({"GPUModelLabel":"m","GPUPoolLabel":"p","gpu_quota":[]})").find("gpu_quota is []"),
            std::string::npos);
}

}  // namespace
}  // namespace gs::kapi
