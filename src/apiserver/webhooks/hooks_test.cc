#include "apiserver/webhooks/hooks.h"

#include <gtest/gtest.h>

#include "apiserver/handlers/api_test.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value parsed(const std::string& text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value{};
}

/// What is asked: "CREATE /pods/status team/p".
struct What {
  Operation operation = Operation::Create;
  const char* group = "";
  const char* plural = "pods";
  const char* subresource = "";
  const char* ns = "team";
};

struct Match {
  const char* name;
  const char* hook;  // members of it
  What what;
  const char* object;  // "null": a deletion
  const char* old;
  bool asked;
};

/// A store with the namespaces `team` (tier=gold) and `plain`.
class Matching : public ApiTest, public testing::WithParamInterface<Match> {
 protected:
  Matching() {
    (void)send("POST", "/api/v1/namespaces", named("team", Object{{"labels", Object{{"tier", "gold"}}}}));
    (void)send("POST", "/api/v1/namespaces", named("plain"));
  }
};

TEST_P(Matching, IsAsARealServerMatches) {
  const Match& one = GetParam();
  Hook hook{{"c", 0}, parsed(std::string{"{"} + one.hook + "}")};
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    if (hook.spec[selector].isNull()) { hook.spec.set(selector, Object{}); }
  }
  const Value old = parsed(one.old);
  const AdmissionRequest request{one.what.operation,
                                 *api_.resources().find(one.what.group, one.what.plural),
                                 one.what.subresource,
                                 one.what.ns,
                                 "p",
                                 old,
                                 false,
                                 "",
                                 {}};
  const auto asked = isAsked(hook, request, parsed(one.object), api_.store());
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(*asked, one.asked);
}

constexpr const char* kPlain = R"({"metadata":{"name":"p"}})";
constexpr const char* kGold = R"({"metadata":{"name":"p","labels":{"a":"b"}}})";
#define RULE(operations, groups, versions, resources, scope)                                           \
  R"("rules":[{"operations":[)" operations R"(],"apiGroups":[)" groups R"(],"apiVersions":[)" versions \
  R"(],"resources":[)" resources R"(],"scope":")" scope R"("}])"
#define PODS(operations) RULE(operations, R"("")", R"("v1")", R"("pods")", "*")
#define OF(resources) RULE(R"("*")", R"("*")", R"("*")", resources, "*")
#define IN(scope) RULE(R"("*")", R"("*")", R"("*")", R"("*")", scope)

INSTANTIATE_TEST_SUITE_P(
    Table, Matching,
    testing::Values(
        //    name, webhook, what, object, old, asked
        Match{"TheRule", PODS(R"("CREATE")"), {}, kPlain, "null", true},
        Match{"NoRules", R"("name":"x")", {}, kPlain, "null", false},
        Match{"OtherOperation", PODS(R"("UPDATE","DELETE")"), {}, kPlain, "null", false},
        Match{"EveryOperation", PODS(R"("*")"), {Operation::Delete}, "null", kPlain, true},
        Match{"ASecondRule",
              R"("rules":[{"operations":["CREATE"],"apiGroups":["x"],"apiVersions":["*"],"resources":["*"],
             "scope":"*"},
               {"operations":["CREATE"],"apiGroups":[""],"apiVersions":["*"],"resources":["*"],
               "scope":"*"}])",
              {},
              kPlain,
              "null",
              true},
        Match{
            "OtherGroup", RULE(R"("*")", R"("apps")", R"("*")", R"("pods")", "*"), {}, kPlain, "null", false},
        Match{
            "OtherVersion", RULE(R"("*")", R"("")", R"("v2")", R"("pods")", "*"), {}, kPlain, "null", false},
        Match{"OtherResource", OF(R"("nodes")"), {}, kPlain, "null", false},
        Match{"AStarIsNoSubresource", OF(R"("*")"), {.subresource = "status"}, kPlain, kPlain, false},
        Match{"PodsAreNoSubresource", OF(R"("pods")"), {.subresource = "status"}, kPlain, kPlain, false},
        Match{"TheSubresource", OF(R"("pods/status")"), {.subresource = "status"}, kPlain, kPlain, true},
        Match{"OtherSubresource", OF(R"("pods/binding")"), {.subresource = "status"}, kPlain, kPlain, false},
        Match{"ASubresourceIsNotTheResource", OF(R"("pods/status")"), {}, kPlain, "null", false},
        Match{"AnySubresource", OF(R"("pods/*")"), {.subresource = "status"}, kPlain, kPlain, true},
        Match{"AnySubresourceAndItself", OF(R"("pods/*")"), {}, kPlain, "null", true},
        Match{"StatusOfAnything", OF(R"("*/status")"), {.subresource = "status"}, kPlain, kPlain, true},
        Match{"AllAndAll", OF(R"("*/*")"), {.subresource = "eviction"}, kPlain, "null", true},
        Match{"NamespacedOnly", IN("Namespaced"), {}, kPlain, "null", true},
        Match{"ANodeIsInNoNamespace", IN("Namespaced"), {.plural = "nodes", .ns = ""}, kPlain, "null", false},
        Match{"ANodeIsOfTheCluster", IN("Cluster"), {.plural = "nodes", .ns = ""}, kPlain, "null", true},
        Match{"APodIsNotOfTheCluster", IN("Cluster"), {}, kPlain, "null", false},
        Match{"ANamespaceIsOfTheCluster", IN("Cluster"), {.plural = "namespaces"}, kPlain, "null", true},
        Match{"ANamespaceIsNotNamespaced", IN("Namespaced"), {.plural = "namespaces"}, kPlain, "null", false},
        Match{"LabelsOfTheNamespace",
              PODS(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"tier":"gold"}})",
              {},
              kPlain,
              "null",
              true},
        Match{"OtherNamespace",
              PODS(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"tier":"gold"}})",
              {.ns = "plain"},
              kPlain,
              "null",
              false},
        Match{
            "NotInThisNamespace",
            PODS(R"("*")") R"(,"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name",
                "operator":"NotIn","values":["team"]}]})",
            {},
            kPlain,
            "null",
            false},
        Match{"NamespacesDoNotCountForNodes",
              OF(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"tier":"gold"}})",
              {.plural = "nodes", .ns = ""},
              kPlain,
              "null",
              true},
        Match{"ANewNamespaceHasItsOwnLabels",
              OF(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"a":"b"}})",
              {.plural = "namespaces", .ns = "new"},
              kGold,
              "null",
              true},
        Match{"AnUpdatedNamespaceHasItsNextLabels",
              OF(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"tier":"gold"}})",
              {.operation = Operation::Update, .plural = "namespaces"},
              kPlain,
              kGold,
              false},
        Match{"ADeletedNamespaceHasItsStoredLabels",
              OF(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"tier":"gold"}})",
              {.operation = Operation::Delete, .plural = "namespaces"},
              "null",
              kPlain,
              true},
        Match{"LabelsOfTheObject",
              PODS(R"("*")") R"(,"objectSelector":{"matchLabels":{"a":"b"}})",
              {},
              kGold,
              "null",
              true},
        Match{"OtherLabels",
              PODS(R"("*")") R"(,"objectSelector":{"matchLabels":{"a":"b"}})",
              {},
              kPlain,
              "null",
              false},
        Match{"LabelsThatItHad",
              PODS(R"("*")") R"(,"objectSelector":{"matchLabels":{"a":"b"}})",
              {Operation::Update},
              kPlain,
              kGold,
              true},
        Match{"LabelsOfTheDeleted",
              PODS(R"("*")") R"(,"objectSelector":{"matchLabels":{"a":"b"}})",
              {Operation::Delete},
              "null",
              kGold,
              true},
        Match{
            "NoObjectHasNoAbsentLabel",
            PODS(
                R"("*")") R"(,"objectSelector":{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})",
            {Operation::Delete},
            "null",
            kGold,
            false},
        Match{"NeverAboutWebhooks",
              OF(R"("*")"),
              {.group = "admissionregistration.k8s.io", .plural = "mutatingwebhookconfigurations", .ns = ""},
              kPlain,
              "null",
              false}),
    [](const auto& info) { return std::string{info.param.name}; });

class Hooks : public ApiTest {
 protected:
  static constexpr const char* kMutating =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  static constexpr const char* kServices = "/api/v1/namespaces/default/services";
  static constexpr const char* kSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

  void create(const char* path, const std::string& body) {
    const Response made = send("POST", path, parsed(body));
    ASSERT_EQ(made.code, 201) << json::print(made.body);
  }
  static std::string configuration(const std::string& name, const std::string& webhooks) {
    std::string all;
    for (const char letter : webhooks) {
      all += std::string{all.empty() ? "" : ","} + R"({"name":")" + letter +
             R"(.ex.io","clientConfig":{"url":"https://x"},"sideEffects":"None",)"
             R"("admissionReviewVersions":["v1"]})";
    }
    return R"({"metadata":{"name":")" + name + R"("},"webhooks":[)" + all + "]}";
  }
  static Hook asking(const std::string& client) {
    return {{"c", 0}, parsed(R"({"clientConfig":)" + client + "}")};
  }
  /// Its URL, or why it has none.
  std::string urlOf(const std::string& client) {
    const auto address = addressOf(asking(client), api_.store());
    return address ? address->url : address.error();
  }
};

TEST_F(Hooks, AreAskedByNameOfTheirConfigurationAndThenAsListed) {
  create(kMutating, configuration("b", "za"));
  create(kMutating, configuration("a", "m"));
  std::string names;
  for (const Hook& hook : registeredHooks(api_.store(), HookPass::Mutating)) {
    names += hook.name().substr(0, 1);
  }
  EXPECT_EQ(names, "mza");
  EXPECT_TRUE(registeredHooks(api_.store(), HookPass::Validating).empty());
}

TEST_F(Hooks, AskForANamespaceThatIsThere) {
  Hook hook{
      {"c", 0},
      parsed("{" OF(R"("*")") R"(,"namespaceSelector":{"matchLabels":{"a":"b"}},"objectSelector":{}})")};
  const Value old;
  const AdmissionRequest request{
      Operation::Create, *api_.resources().find("", "pods"), "", "gone", "p", old, false, "", {}};
  const auto asked = isAsked(hook, request, parsed(kPlain), api_.store());
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, 404);
}

TEST_F(Hooks, AreAtTheirUrl) {
  const auto address = addressOf(
      asking(R"({"url":"https://127.0.0.1:8443/mutate","caBundle":")" + encodeBase64("PEM") + R"("})"),
      api_.store());
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "https://127.0.0.1:8443/mutate");
  EXPECT_EQ(address->server_name, "");
  EXPECT_EQ(address->ca_pem, "PEM");
}

TEST_F(Hooks, AreWhereAServiceOfTypeExternalNameSays) {
  create(kServices, R"({"metadata":{"name":"w"},"spec":{"type":"ExternalName","externalName":"localhost"}})");
  const auto address = addressOf(
      asking(R"({"service":{"namespace":"default","name":"w","path":"/mutate","port":8443}})"), api_.store());
  ASSERT_TRUE(address);
  EXPECT_EQ(address->url, "https://localhost:8443/mutate");
  EXPECT_EQ(address->server_name, "w.default.svc");
}

TEST_F(Hooks, AreWhereAnEndpointSliceOfTheServiceSays) {
  const std::string client = R"({"service":{"namespace":"default","name":"w","port":443}})";
  EXPECT_EQ(urlOf(client), R"(service "w" not found)");
  create(
      kServices,
      R"({"metadata":{"name":"w"},"spec":{"ports":[{"name":"web","port":80},{"name":"tls","port":443}]}})");
  EXPECT_EQ(urlOf(client), R"(no endpoints available for service "w")");
  const auto slice = [](const char* name, const char* service, const char* rest) {
    return std::string{R"({"metadata":{"name":")"} + name + R"(","labels":{"kubernetes.io/service-name":")" +
           service + R"("}},"addressType":"IPv6",)" + rest + "}";
  };
  create(kSlices, slice("a", "other",
                        R"("endpoints":[{"addresses":["2001:db8::1"]}],"ports":[{"name":"tls","port":1}])"));
  create(kSlices,
         slice("b", "w", R"("endpoints":[{"addresses":["2001:db8::1"]}],"ports":[{"name":"web","port":2}])"));
  create(kSlices, slice("c", "w", R"("endpoints":[{"addresses":["::3"],"conditions":{"ready":false}}],
                                     "ports":[{"name":"tls","port":3}])"));
  EXPECT_EQ(urlOf(client), R"(no endpoints available for service "w")");
  create(kSlices,
         slice("d", "w", R"("endpoints":[{"addresses":["::4"]}],"ports":[{"name":"tls","port":4}])"));
  EXPECT_EQ(urlOf(client), "https://[::4]:4");
  EXPECT_EQ(urlOf(R"({"service":{"namespace":"default","name":"w","port":444}})"),
            R"(no service port 444 found for service "w")");
}

}  // namespace
}  // namespace gs::apiserver
