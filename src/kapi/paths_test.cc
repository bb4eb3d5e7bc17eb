#include "kapi/paths.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::kapi {
namespace {

struct PathCase {
  const char* name;
  Verb verb;
  Kind kind;
  const char* ns;
  const char* object;
  const char* subresource;
  const char* query;
  const char* target;
};
class Target : public testing::TestWithParam<PathCase> {};
TEST_P(Target, Is) {
  const PathCase& c = GetParam();
  Call call;
  call.verb = c.verb;
  call.kind = c.kind;
  call.key = {c.ns, c.object};
  call.subresource = c.subresource;
  call.query = c.query;
  EXPECT_EQ(target(call), c.target);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Target,
    testing::Values(
        PathCase{"GetPod", Verb::Get, kPod, "ns", "p", "", "", "/api/v1/namespaces/ns/pods/p"},
        PathCase{"Bind", Verb::Create, kPod, "ns", "p", "binding", "",
                 "/api/v1/namespaces/ns/pods/p/binding"},
        PathCase{"PatchStatus", Verb::MergePatch, kPod, "ns", "p", "status", "",
                 "/api/v1/namespaces/ns/pods/p/status"},
        PathCase{"ListEverywhere", Verb::List, kPod, "", "", "", "limit=500", "/api/v1/pods?limit=500"},
        PathCase{"ListInNamespace", Verb::List, kLease, "gs", "", "", "",
                 "/apis/coordination.k8s.io/v1/namespaces/gs/leases"},
        PathCase{"CreateIgnoresTheName", Verb::Create, kLease, "gs", "x", "", "",
                 "/apis/coordination.k8s.io/v1/namespaces/gs/leases"},
        PathCase{"Version", Verb::Get, kServerVersion, "", "", "", "", "/version"},
        PathCase{"Node", Verb::Get, kNode, "ignored", "node-a", "", "", "/api/v1/nodes/node-a"},
        PathCase{"Claim", Verb::Apply, kGpuClaim, "ns", "c", "status", "fieldManager=x&force=true",
                 "/apis/gpu.scheduling/v1/namespaces/ns/gpuclaims/c/status?fieldManager=x&force=true"},
        PathCase{"Status", Verb::Get, kGpuNodeStatus, "", "node-a", "", "",
                 "/apis/gpu.scheduling/v1/gpunodestatuses/node-a"},
        PathCase{"Crd", Verb::Get, kCrd, "", "gpuclaims.gpu.scheduling", "", "",
                 "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpuclaims.gpu.scheduling"},
        PathCase{"Event", Verb::Create, kEvent, "ns", "", "", "",
                 "/apis/events.k8s.io/v1/namespaces/ns/events"},
        PathCase{"Encoded", Verb::Get, kPod, "a/b", "x?y=../z", "", "",
                 "/api/v1/namespaces/a%2Fb/pods/x%3Fy%3D..%2Fz"},
        PathCase{"DotsDoNotClimb", Verb::Get, kPod, "..", "..", "", "",
                 "/api/v1/namespaces/%2E%2E/pods/%2E%2E"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Target, OfAWatchSaysWatch) {
  EXPECT_EQ(target(OpenWatch{1, kPod, "", "resourceVersion=5"}), "/api/v1/pods?watch=true&resourceVersion=5");
  EXPECT_EQ(target(OpenWatch{1, kLease, "gs", ""}),
            "/apis/coordination.k8s.io/v1/namespaces/gs/leases?watch=true");
}

TEST(HttpMethod, FollowsTheVerb) {
  EXPECT_STREQ(httpMethod(Verb::List), "GET");
  EXPECT_STREQ(httpMethod(Verb::Create), "POST");
  EXPECT_STREQ(httpMethod(Verb::Update), "PUT");
  EXPECT_STREQ(httpMethod(Verb::Apply), "PATCH");
  EXPECT_STREQ(httpMethod(Verb::Delete), "DELETE");
  EXPECT_STREQ(contentType(Verb::MergePatch), "application/merge-patch+json");
  EXPECT_STREQ(contentType(Verb::StrategicPatch), "application/strategic-merge-patch+json");
  EXPECT_STREQ(contentType(Verb::Apply), "application/apply-patch+yaml");
  EXPECT_STREQ(contentType(Verb::Delete), "application/json");
}

TEST(TimeoutOf, OfAQuery) {
  using std::chrono::seconds;
  struct Row {
    const char* query;
    std::optional<seconds> wanted;
  };
  for (const Row& row :
       {Row{"timeoutSeconds=300", seconds{300}}, Row{"watch=true&timeoutSeconds=3&x=1", seconds{3}},
        Row{"timeoutSeconds=86400", seconds{86'400}}, Row{"timeoutSeconds=86401", seconds{86'400}},
        Row{"timeoutSeconds=99999999999999999999", std::nullopt}, Row{"", std::nullopt},
        Row{"watch=true", std::nullopt}, Row{"xtimeoutSeconds=5", std::nullopt},
        Row{"timeoutSeconds=", std::nullopt}, Row{"timeoutSeconds=0", std::nullopt},
        Row{"timeoutSeconds=-1", std::nullopt}, Row{"timeoutSeconds=5s", std::nullopt},
        Row{"&&timeoutSeconds=7", seconds{7}}}) {
    EXPECT_EQ(timeoutOf(row.query), row.wanted) << row.query;
  }
}

}  // namespace
}  // namespace gs::kapi
