// Registered webhooks on a live cluster: requests over its port wait for an HTTPS server of ours, and others
// go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/base64.h"
#include "base/deadline_test.h"
#include "base/mailbox.h"
#include "base/system_clock.h"
#include "net/certificate.h"
#include "net/http_server.h"
#include "net/scripted_server.h"
#include "sandbox/serve/http_port.h"
#include "sandbox/serve/live.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kMutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kValidating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

Live::Options withoutMachines() {
  Live::Options out;
  out.scheduler.reset();
  out.world.nodes.clear();
  out.world.kubelets = false;
  out.world.controllers = true;
  return out;
}

std::string reviewed(const net::Request& request, const std::string& members) {
  const auto review = json::parse(request.body);
  const std::string uid{review ? (*review)["request"]["uid"].str() : ""};
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" + uid + "\"," +
         members + "}}";
}
std::string withNote(const net::Request& request) {
  const std::string patch =
      encodeBase64(R"([{"op":"add","path":"/metadata/annotations","value":{"hook":"was-here"}}])");
  return reviewed(request, R"("allowed":true,"patchType":"JSONPatch","patch":")" + patch + "\"");
}

class LiveWebhooks : public testing::Test {
 protected:
  LiveWebhooks() {
    const Wall now = clock_.now().wall;
    auto made = net::makeCertificate({"localhost"}, now - 1h, now + 1h);
    ca_ = made->ca_pem;
    net::HttpServer::Options options;
    options.max_workers = 64;
    options.tls = net::ServerTls{
        .pair = [pair = std::make_shared<const net::ServerPair>(made->server)] { return pair; }};
    server_ = *net::HttpServer::start(std::move(options),
                                      [this](const net::Request& request) { return hook(request); });
  }
  ~LiveWebhooks() override { released_.close(); }

  /// What the webhook does: by its path.
  net::Response hook(const net::Request& request) {
    const auto path = request.path();
    if (path == "/note") { return net::jsonResponse(200, withNote(request)); }
    if (path == "/deny") {
      return net::jsonResponse(200,
                               reviewed(request, R"("allowed":false,"status":{"code":403,"message":"no"})"));
    }
    if (path == "/nonsense") { return net::textResponse(200, "<html>"); }
    if (path == "/large") { return net::textResponse(200, std::string(10 << 20, ' ')); }
    if (path == "/gone") { return net::textResponse(503, ""); }
    asked_.push(true);
    (void)released_.pop();  // until the test lets it go
    return net::jsonResponse(200, withNote(request));
  }
  void configure(const char* kind, const std::string& name, const std::string& path, const char* policy,
                 const char* resource = "configmaps", int port = 0) {
    const std::string body =
        R"({"metadata":{"name":")" + name + R"("},"webhooks":[{"name":")" + name +
        R"(.ex.io","clientConfig":{"url":"https://localhost:)" +
        std::to_string(port == 0 ? server_->port() : port) + path + R"(","caBundle":")" + encodeBase64(ca_) +
        R"("},"failurePolicy":")" + policy +
        R"(","rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":[")" +
        resource + R"("]}],"sideEffects":"None","admissionReviewVersions":["v1"],"timeoutSeconds":30}]})";
    const auto made = send("POST", kind, body);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  net::Response send(const char* method, std::string target, std::string body = {}) {
    return port_.answer({method, std::move(target), {{"Content-Type", "application/json"}}, std::move(body)});
  }
  net::Response create(const std::string& name) {
    return send("POST", kMaps, R"({"metadata":{"name":")" + name + R"("}})");
  }

  SystemClock clock_;
  Mailbox<bool> asked_{100};
  Mailbox<bool> released_{100};
  std::string ca_;
  std::unique_ptr<net::HttpServer> server_;
  Live live_{withoutMachines(), clock_};
  HttpPort port_{live_};
};

TEST_F(LiveWebhooks, ChangeAndRefuseWhatComesOverThePort) {
  configure(kMutating, "note", "/note", "Fail");
  const auto made = create("a");
  EXPECT_EQ(made.status, 201);
  EXPECT_NE(made.body.find(R"("annotations":{"hook":"was-here"})"), std::string::npos) << made.body;
  configure(kValidating, "deny", "/deny", "Ignore");
  const auto refused = create("b");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find(R"(admission webhook \"deny.ex.io\" denied the request: no)"),
            std::string::npos)
      << refused.body;
}

TEST_F(LiveWebhooks, ATableOfWhatWasMadeLateIsATable) {
  configure(kMutating, "note", "/note", "Fail");
  const auto made = port_.answer(
      {"POST",
       kMaps,
       {{"Content-Type", "application/json"}, {"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}},
       R"({"metadata":{"name":"a"}})"});
  EXPECT_EQ(made.status, 201);
  EXPECT_NE(made.body.find(R"("kind":"Table")"), std::string::npos) << made.body;
}

TEST_F(LiveWebhooks, BadAnswersFollowThePolicy) {
  for (const char* path : {"/nonsense", "/large", "/gone"}) {
    configure(kMutating, path + 1, path, "Fail");
    const auto refused = create(std::string{"fails-"} + (path + 1));
    EXPECT_EQ(refused.status, 500) << path;
    EXPECT_NE(refused.body.find(std::string{"failed calling webhook \\\""} + (path + 1)), std::string::npos)
        << refused.body;
    EXPECT_EQ(send("DELETE", std::string{kMutating} + "/" + (path + 1)).status, 200);
    configure(kMutating, path + 1, path, "Ignore");
    EXPECT_EQ(create(std::string{"passes-"} + (path + 1)).status, 201) << path;
    EXPECT_EQ(send("DELETE", std::string{kMutating} + "/" + (path + 1)).status, 200);
  }
}

TEST_F(LiveWebhooks, AWebhookThatGoesAwayMeanwhileFails) {
  const net::ScriptedServer goes{[this](net::ScriptedServer::Peer&) {
    asked_.push(true);
    (void)released_.pop();  // then it closes the connection
  }};
  configure(kMutating, "goes", "/", "Fail", "configmaps", goes.port());
  std::jthread waiting{[this] {
    const auto answer = create("a");
    EXPECT_EQ(answer.status, 500) << answer.body;
  }};
  {
    const Deadline deadline{"it is asked"};
    (void)asked_.pop();
  }
  released_.close();
  waiting.join();
  EXPECT_EQ(send("GET", std::string{kMaps} + "/a").status, 404);
}

TEST_F(LiveWebhooks, OneThatHangsHoldsUpNobodyElse) {
  configure(kMutating, "hangs", "/hangs", "Fail");
  std::vector<std::jthread> waiting;
  for (std::size_t i = 0; i < HookCalls::kMostOfOne; ++i) {
    waiting.emplace_back([this, i] { EXPECT_EQ(create("m" + std::to_string(i)).status, 201); });
  }
  for (std::size_t i = 0; i < HookCalls::kMostOfOne; ++i) {
    const Deadline deadline{"all are asked about"};
    (void)asked_.pop();
  }
  EXPECT_EQ(send("GET", kMaps).status, 200);
  EXPECT_EQ(send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"other"}})").status, 201);
  const auto refused = create("one-more");
  EXPECT_EQ(refused.status, 429) << refused.body;
  released_.close();
  waiting.clear();
  EXPECT_EQ(create("then").status, 201);
}

TEST_F(LiveWebhooks, StoppingAnswersWhoWaits) {
  configure(kMutating, "hangs", "/hangs", "Fail");
  std::jthread waiting{[this] { EXPECT_EQ(create("a").status, 503); }};
  (void)asked_.pop();
  const Deadline deadline{"it stopped"};
  live_.stop();
  waiting.join();
}

/// The pods of a ReplicaSet wait, and it asks for each once.
TEST_F(LiveWebhooks, ControllersWaitForThePodsThatTheyAskedFor) {
  configure(kMutating, "hangs", "/hangs", "Fail", "pods");
  const char* set = R"({"metadata":{"name":"web"},"spec":{"replicas":10,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  ASSERT_EQ(send("POST", "/apis/apps/v1/namespaces/default/replicasets", set).status, 201);
  for (std::ptrdiff_t i = 0; i < controllers::PodOrders::kMostOfOne; ++i) {
    const Deadline deadline{"pods are asked for"};
    (void)asked_.pop();
  }
  EXPECT_EQ(asked_.size(), 0U);
  released_.close();
  const auto pods = [this] {
    const auto list = json::parse(send("GET", "/api/v1/namespaces/default/pods").body);
    const auto items = list ? (*list)["items"].items() : json::Array{};
    return std::count_if(items.begin(), items.end(), [](const Value& pod) {
      return pod["metadata"]["annotations"]["hook"].str() == "was-here";
    });
  };
  const auto ready = [this] {
    const auto there = json::parse(send("GET", "/apis/apps/v1/namespaces/default/replicasets/web").body);
    return there ? (*there)["status"]["replicas"].intOr(0) : 0;
  };
  const Deadline deadline{"all pods are there"};
  while (ready() < 10) { std::this_thread::yield(); }
  EXPECT_EQ(pods(), 10);
  EXPECT_EQ(asked_.size(), 2U);
  const std::string events = send("GET", "/api/v1/namespaces/default/events").body;
  EXPECT_NE(events.find("Created pod: web-"), std::string::npos);
}

TEST_F(LiveWebhooks, AControllersPodThatIsRefusedIsSaidAndTriedAgain) {
  configure(kMutating, "deny", "/deny", "Fail", "pods");
  const char* job = R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
    "containers":[{"name":"c","image":"i"}]}}}})";
  ASSERT_EQ(send("POST", "/apis/batch/v1/namespaces/default/jobs", job).status, 201);
  const Deadline deadline{"it is said"};
  const auto said = [this](const char* what) {
    return send("GET", "/api/v1/namespaces/default/events").body.find(what) != std::string::npos;
  };
  while (!said(R"(Error creating: admission webhook \"deny.ex.io\" denied the request: no)")) {
    std::this_thread::yield();
  }
  EXPECT_EQ(send("DELETE", std::string{kMutating} + "/deny").status, 200);
  while (!said("Created pod: j-")) { std::this_thread::yield(); }
}

TEST(LiveWebhooksTime, ARequestThatWaitsTooLongIs504) {
  const SystemClock clock;
  Live::Options options = withoutMachines();
  options.longest_request = {};
  Live live{std::move(options), clock};
  apiserver::RequestId waits = 0;
  struct Never final : apiserver::AdmissionPlugin {
    explicit Never(apiserver::RequestId& asked) : asked_{asked} {}
    apiserver::RequestId& asked_;
    std::optional<apiserver::AdmissionResponse> mutate(const apiserver::AdmissionRequest& request,
                                                       Value&) override {
      if (request.request_id != 0) { asked_ = request.request_id; }
      return request.resource.is("/configmaps") ? std::nullopt
                                                : std::optional{apiserver::AdmissionResponse{}};
    }
  };
  ASSERT_TRUE(live.ask([&](World& w) { w.api().admission().add(std::make_unique<Never>(waits)); }));
  HttpPort port{live};
  const auto answer =
      port.answer({"POST", kMaps, {{"Content-Type", "application/json"}}, R"({"metadata":{"name":"a"}})"});
  EXPECT_EQ(answer.status, 504) << answer.body;
  EXPECT_NE(answer.body.find("request did not complete within requested timeout"), std::string::npos)
      << answer.body;
  ASSERT_TRUE(live.ask([&](World& w) {
    EXPECT_FALSE(w.api().answered(waits, {}, w.now())) << "nobody waits for it any more";
  }));
  EXPECT_NE(port.answer({"GET", kMaps, {}, ""}).body.find(R"("items":[])"), std::string::npos);
}

}  // namespace
}  // namespace gs::sandbox
