#include "crds/crds.h"

#include <gtest/gtest.h>

#include "model/claim.h"

namespace gs::crds {
namespace {

const json::Value& schemaOf(const char* crd) {
  for (const auto& doc : all()) {
    if (doc["metadata"]["name"].str() == crd) {
      return doc["spec"]["versions"].items().at(0)["schema"]["openAPIV3Schema"];
    }
  }
  static const json::Value none;
  return none;
}

TEST(Crds, AClaimMayNameEachDevicePolicyAndNoOther) {
  const json::Value& devices =
      schemaOf("gpuclaims.gpu.scheduling")["properties"]["spec"]["properties"]["devices"]["properties"];
  std::vector<std::string> names;
  for (const auto& name : devices["policy"]["enum"].items()) { names.emplace_back(name.str()); }
  EXPECT_EQ(names, (std::vector<std::string>{model::kPolicyNames.begin(), model::kPolicyNames.end()}));
}

}  // namespace
}  // namespace gs::crds
