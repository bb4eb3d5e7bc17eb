#include "kapi/write_eviction.h"

#include <gtest/gtest.h>

#include "kapi/paths.h"

namespace gs::kapi {
namespace {

TEST(WriteEviction, IsOfThatPodAndOfNoOtherOfItsName) {
  const Call call = evictPod({"team", "p"}, model::Uid{"u1"});
  EXPECT_EQ(target(call), "/api/v1/namespaces/team/pods/p/eviction");
  EXPECT_STREQ(httpMethod(call.verb), "POST");
  EXPECT_EQ(json::print(call.body),
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"team"},)"
            R"("deleteOptions":{"preconditions":{"uid":"u1"}}})");
}

}  // namespace
}  // namespace gs::kapi
