#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"

namespace gs::kapi {
namespace {

TEST(PodOfAGroup, IsNotPlacedByItself) {
  const auto unsupported = [](const std::string& spec) {
    return decodePod(parsed("{\"spec\":{" + spec + "}}")).unsupported;
  };
  EXPECT_EQ(unsupported(R"("schedulingGroup":{"podGroupName":"g"})"),
            std::vector<std::string>{"spec.schedulingGroup"});
  EXPECT_EQ(unsupported(R"("workloadRef":{"name":"w","podGroup":"g"})"),
            std::vector<std::string>{"spec.workloadRef"});
  EXPECT_TRUE(unsupported(R"("schedulingGroup":null)").empty());
  EXPECT_TRUE(unsupported(R"("nodeName":"n","schedulingGroup":{"podGroupName":"g"})").empty())
      << "one that runs is there, whoever placed it";
}

}  // namespace
}  // namespace gs::kapi
