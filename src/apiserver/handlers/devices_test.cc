// Claims of devices, as a scheduler writes them.
#include "apiserver/handlers/api_test.h"
#include "apiserver/present/table.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class DeviceClaimTest : public ApiTest {
 protected:
  static constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  static constexpr const char* kOne = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/one";
  static constexpr const char* kOneStatus =
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/one/status";

  static Value read(const char* text) { return json::parse(text).value(); }
  Response make(const char* request = R"({"deviceClassName": "gpu"})", Value meta = Object{}) {
    Value claim = named("one", std::move(meta));
    claim.set("spec",
              read((std::string{R"({"devices": {"requests": [{"name": "r", "exactly": )"} + request + "}]}}")
                       .c_str()));
    return send("POST", kClaims, std::move(claim));
  }
  int status(const char* body) {
    return send("PATCH", kOneStatus, Object{{"status", read(body)}}, "application/merge-patch+json").code;
  }
  std::string state() {
    static const Resources kResources;
    const auto cells = cellsOf(*kResources.find("resource.k8s.io", "resourceclaims"), get(kOne), Wall{});
    return std::string{cells[1].str()};
  }
  static constexpr const char* kAllocation =
      R"({"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "n",
          "device": "g0"}]}}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]})";
};

TEST_F(DeviceClaimTest, AnAllocationIsSetOnceAndEmptiedBeforeItIsSetAnew) {
  ASSERT_EQ(make().code, 201);
  EXPECT_EQ(json::print(get(kOne)["status"]), "{}");
  EXPECT_EQ(state(), "pending");
  EXPECT_EQ(status(kAllocation), 200);
  EXPECT_EQ(state(), "allocated,reserved");
  EXPECT_EQ(status(R"({"allocation": {"devices": {"results": []}}})"), 422);
  Value claim = get(kOne);
  const Value stale = claim;
  claim.set("status", Object{});
  EXPECT_EQ(send("PUT", kOneStatus, claim).code, 200);
  EXPECT_EQ(state(), "pending");
  EXPECT_EQ(send("PUT", kOneStatus, stale).code, 409);  // of who did not see that it was emptied
  EXPECT_EQ(status(kAllocation), 200);
}

TEST_F(DeviceClaimTest, AStatusWritesNothingElse) {
  ASSERT_EQ(make().code, 201);
  Value claim = get(kOne);
  claim.child("metadata").set("labels", Object{{"a", "b"}});
  claim.child("metadata").set("finalizers", Array{Value{"x.io/y"}});
  claim.child("spec").set("devices", Object{});
  EXPECT_EQ(send("PUT", kOneStatus, claim).code, 200);
  const Value now = get(kOne);
  EXPECT_EQ(now["metadata"].find("labels"), nullptr);
  EXPECT_EQ(now["metadata"].find("finalizers"), nullptr);
  EXPECT_EQ(now["spec"]["devices"]["requests"].items().size(), 1U);
}

TEST_F(DeviceClaimTest, AClaimThatIsBeingDeletedTakesNoMoreConsumers) {
  ASSERT_EQ(make(R"({"deviceClassName": "gpu"})", Object{{"finalizers", Array{Value{"x.io/y"}}}}).code, 201);
  EXPECT_EQ(status(kAllocation), 200);
  EXPECT_EQ(send("DELETE", kOne).code, 200);
  EXPECT_EQ(state(), "deleted,allocated,reserved");
  EXPECT_EQ(status(R"({"reservedFor": [{"resource": "pods", "name": "q", "uid": "v"}]})"), 422);
  EXPECT_EQ(status(R"({"reservedFor": null})"), 200);
  removeFinalizers(kOne);
  EXPECT_EQ(send("GET", kOne).code, 404);
}

TEST_F(DeviceClaimTest, ADeletedOneIsTheAnswer) {
  ASSERT_EQ(make().code, 201);
  EXPECT_EQ(send("DELETE", kOne).body["kind"].str(), "ResourceClaim");
}

TEST_F(DeviceClaimTest, AdminAccessIsOfNamespacesThatSaySo) {
  EXPECT_EQ(make(R"({"deviceClassName": "gpu", "adminAccess": true})").code, 422);
  merge("/api/v1/namespaces/default",
        Object{{"metadata", Object{{"labels", Object{{"resource.kubernetes.io/admin-access", "true"}}}}}});
  EXPECT_EQ(make(R"({"deviceClassName": "gpu", "adminAccess": true})").code, 201);
}

TEST_F(DeviceClaimTest, SlicesAreFoundByNodeDriverAndPool) {
  const char* slices = "/apis/resource.k8s.io/v1/resourceslices";
  for (const char* name : {"a", "b"}) {
    Value slice = named(name);
    slice.set("spec", read(R"({"driver": "D.x.io", "pool": {"name": "p", "resourceSliceCount": 1}})"));
    slice.child("spec").set("nodeName", name);
    const Response response = send("POST", slices, std::move(slice));
    EXPECT_EQ(response.code, 201);
    EXPECT_EQ(response.warnings.size(), 1U);  // upper case
    EXPECT_EQ(response.body["metadata"]["generation"].intOr(0), 1);
  }
  const std::string query = std::string{slices} + "?fieldSelector=";
  EXPECT_EQ(names(query + "spec.nodeName%3Db"), "b ");
  EXPECT_EQ(names(query + "spec.driver%3DD.x.io,spec.pool.name%3Dp"), "a b ");
  EXPECT_EQ(send("GET", query + "spec.pool%3Dp").code, 400);
}

}  // namespace
}  // namespace gs::apiserver
