#include "sandbox/serve/http_port.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

Live::Options apiOnly() {
  Live::Options options;
  options.scheduler.reset();
  options.world.nodes.clear();
  options.world.kubelets = false;
  return options;
}

class HttpPortTest : public testing::Test {
 protected:
  net::Response send(const char* method, std::string target, std::string body = {},
                     const char* type = "application/json") {
    return port_.answer({method,
                         std::move(target),
                         {{"Content-Type", type}, {"Authorization", "Bearer tester"}},
                         std::move(body)});
  }

  SystemClock clock_;
  Live live_{apiOnly(), clock_};
  HttpPort port_{live_};
};

/// A protobuf field of bytes.
std::string field(int number, std::string_view bytes) {
  std::string out;
  out += static_cast<char>(number << 3 | 2);
  out += static_cast<char>(bytes.size());
  return out.append(bytes);
}

std::string envelope(std::string_view version, std::string_view kind, std::string_view raw) {
  return std::string{"k8s\0", 4} + field(1, field(1, version) + field(2, kind)) + field(2, raw);
}

TEST_F(HttpPortTest, AnAnswerWithoutContentHasNoBody) {
  const char* pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/pods", pod).status, 201);
  const net::Response log = send("GET", "/api/v1/namespaces/default/pods/p/log");
  EXPECT_EQ(log.status, 204);
  EXPECT_EQ(log.body, "");
}

TEST_F(HttpPortTest, AdmissionIsToldWhoAsks) {
  struct Who final : apiserver::AdmissionPlugin {
    explicit Who(std::string& who) : who_{who} {}
    std::optional<apiserver::AdmissionResponse> validate(const apiserver::AdmissionRequest& request,
                                                         const Value&) override {
      who_ = request.user;
      return apiserver::AdmissionResponse{};
    }
    std::string& who_;
  };
  std::string who;
  ASSERT_TRUE(live_.ask([&](World& w) { w.api().admission().add(std::make_unique<Who>(who)); }));
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m"}})").status,
            201);
  EXPECT_EQ(who, "tester");
}

TEST_F(HttpPortTest, ARoleComesAsProtobuf) {
  const std::string rule = field(1, "get") + field(1, "list") + field(2, "") + field(3, "pods");
  const std::string role = field(1, field(1, "reader")) + field(2, rule);
  const auto made =
      send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
           envelope("rbac.authorization.k8s.io/v1", "Role", role), "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.body.find(R"("rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}])"),
            std::string::npos)
      << made.body;
  const auto refused = send("POST", "/api/v1/namespaces/default/pods", envelope("v1", "Pod", ""),
                            "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(refused.status, 415);
}

/// As `kubectl create deployment web --image=i --replicas=2 -- sleep 5` sends it.
TEST_F(HttpPortTest, ADeploymentComesAsProtobuf) {
  const std::string labels = field(11, field(1, "app") + field(2, "web"));
  const std::string selector = field(1, field(1, "app") + field(2, "web"));
  const std::string container = field(1, "c") + field(2, "i") + field(3, "sleep") + field(3, "5");
  const std::string pod_template = field(1, labels) + field(2, field(2, container));
  const std::string spec = std::string{"\x08\x02"} + field(2, selector) + field(3, pod_template);
  const auto made = send("POST", "/apis/apps/v1/namespaces/default/deployments",
                         envelope("apps/v1", "Deployment", field(1, field(1, "web")) + field(2, spec)),
                         "application/vnd.kubernetes.protobuf");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto read = json::parse(made.body);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)["spec"]["replicas"].intOr(0), 2);
  EXPECT_EQ(json::print((*read)["spec"]["selector"]), R"({"matchLabels":{"app":"web"}})");
  EXPECT_EQ(json::print((*read)["spec"]["template"]["spec"]["containers"].at(0)["command"]),
            R"(["sleep","5"])");
}

/// As `kubectl create secret generic` and `kubectl create service externalname` send them.
TEST_F(HttpPortTest, ASecretAndAServiceComeAsProtobuf) {
  const std::string entry = field(1, "key") + field(2, std::string_view{"\x00\xff", 2});
  const auto secret = send("POST", "/api/v1/namespaces/default/secrets",
                           envelope("v1", "Secret", field(1, field(1, "s")) + field(2, entry)),
                           "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(secret.status, 201) << secret.body;
  EXPECT_NE(secret.body.find(R"("data":{"key":"AP8="})"), std::string::npos) << secret.body;
  const std::string by_number = std::string{"\x18\x50"} + field(4, std::string{"\x08\x00\x10\x51", 4});
  const std::string by_name = std::string{"\x18\x50"} + field(4, std::string{"\x08\x01"} + field(3, "web"));
  for (const auto& [port, shown] :
       {std::pair{by_number, R"("targetPort":81)"}, {by_name, R"("targetPort":"web")"}}) {
    const std::string spec = field(1, port) + field(4, "ExternalName") + field(10, "localhost");
    const auto service = send("POST", "/api/v1/namespaces/default/services?dryRun=All",
                              envelope("v1", "Service", field(1, field(1, "w")) + field(2, spec)),
                              "application/vnd.kubernetes.protobuf");
    EXPECT_EQ(service.status, 201) << service.body;
    EXPECT_NE(service.body.find(shown), std::string::npos) << service.body;
  }
}

TEST_F(HttpPortTest, AProtobufBodyOfAKindThatIsNotServedIsNoPage) {
  const std::string body = envelope("networking.k8s.io/v1", "IngressClass", "");
  const auto refused =
      send("POST", "/apis/networking.k8s.io/v1/ingressclasses", body, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(refused.status, 404) << refused.body;
}

TEST_F(HttpPortTest, OpenApiV2IsAnEmptyProtobufDocument) {
  const auto answer = port_.answer({"GET", "/openapi/v2?timeout=32s", {{"Accept", "application/other"}}, ""});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  const std::string* type = net::findHeader(answer.headers, "Content-Type");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(*type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
}

TEST_F(HttpPortTest, RowsHoldWholeObjectsWithTheirKind) {
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c"}})").status,
            201);
  const auto answer = port_.answer({"GET",
                                    "/api/v1/namespaces/default/configmaps?includeObject=Object",
                                    {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}},
                                    ""});
  const auto table = json::parse(answer.body);
  ASSERT_TRUE(table) << answer.body;
  const Value& row = (*table)["rows"].at(0)["object"];
  EXPECT_EQ(row["kind"].str(), "ConfigMap");
  EXPECT_EQ(row["apiVersion"].str(), "v1");
  EXPECT_EQ(row["metadata"]["name"].str(), "c");
}

TEST_F(HttpPortTest, ADeclaredScaleIsNotServed) {
  const char* crd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"gears.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
    "names":{"plural":"gears","singular":"gear","kind":"Gear","listKind":"GearList"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
    "x-kubernetes-preserve-unknown-fields":true}},
    "subresources":{"scale":{"specReplicasPath":".spec.replicas",
    "statusReplicasPath":".status.replicas"}}}]}})";
  const auto made = send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string gears = "/apis/ex.io/v1/namespaces/default/gears";
  ASSERT_EQ(send("POST", gears, R"({"apiVersion":"ex.io/v1","kind":"Gear","metadata":{"name":"g1"}})").status,
            201);
  const auto scale = send("GET", gears + "/g1/scale");
  EXPECT_EQ(scale.status, 404);
  EXPECT_NE(scale.body.find("the server could not find the requested resource"), std::string::npos)
      << scale.body;
}

TEST_F(HttpPortTest, NobodyEntersAPodThatHasNoNode) {
  const char* pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/pods", pod).status, 201);
  const auto answer = send("POST", "/api/v1/namespaces/default/pods/p/exec?command=ls");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("pod p does not have a host assigned"), std::string::npos) << answer.body;
}

TEST_F(HttpPortTest, EachRequestIsALineOfTheLog) {
  const TempFolder folder;
  const auto path = folder.path("requests.log");
  auto log = RequestLog::open(path);
  ASSERT_TRUE(log.has_value());
  HttpPort port{live_, log->get()};
  const net::Headers tester{{"Authorization", "Bearer tester"}};
  (void)port.answer({"GET", "/api/v1/namespaces/default/pods/p", tester, ""});
  (void)port.answer({"GET", "/apis/coordination.k8s.io/v1/leases?limit=1", {}, ""});
  (void)port.answer({"PATCH", "/api/v1/nodes/n/status", tester, "{}"});
  (void)port.answer({"GET", "/version", tester, ""});
  std::stringstream lines;
  lines << std::ifstream{path}.rdbuf();
  EXPECT_EQ(lines.str(),
            "tester get pods - default p 404\n"
            "- list leases.coordination.k8s.io - - - 200\n"
            "tester patch nodes status - n 415\n");
}

TEST_F(HttpPortTest, ABindingThatIsLateIsLetGoWhenTheServerStops) {
  ASSERT_EQ(send("POST", "/sandbox/v1/faults/late-bindings", R"({"seconds": 300})").status, 200);
  port_.release();
  const char* binding = R"({"metadata":{"name":"p"},"target":{"name":"n"}})";
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/pods/p/binding", binding).status, 404);
}

TEST_F(HttpPortTest, TheDelayOfBindingsIsChecked) {
  for (const char* body : {"", "5", R"({"seconds":-1})", R"({"seconds":301})", R"({"seconds":"5"})"}) {
    EXPECT_EQ(send("POST", "/sandbox/v1/faults/late-bindings", body).status, 400) << body;
  }
}

TEST_F(HttpPortTest, TheApiAloneHasNoNodes) {
  EXPECT_NE(send("GET", "/api/v1/nodes").body.find(R"("items":[])"), std::string::npos);
}

TEST_F(HttpPortTest, OnlyACollectionIsWatched) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(send("POST", maps, R"({"metadata":{"name":"m"}})").status, 201);
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/pods",
                 R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  const auto map = send("GET", maps + "/m?watch=true");
  EXPECT_FALSE(map.stream);
  EXPECT_NE(map.body.find(R"("name":"m")"), std::string::npos) << map.body;
  const auto log = send("GET", "/api/v1/namespaces/default/pods/p/log?watch=true");
  EXPECT_FALSE(log.stream);
  EXPECT_EQ(log.status, 204);
  const auto reviews = send("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?watch=true");
  EXPECT_FALSE(reviews.stream);
  EXPECT_EQ(reviews.status, 405);
  EXPECT_EQ(send("GET", "/api/v1/nothings?watch=true").status, 404);
  EXPECT_TRUE(send("GET", maps + "?watch=true").stream);
}

}  // namespace
}  // namespace gs::sandbox
