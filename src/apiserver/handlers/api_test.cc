#include "apiserver/handlers/api_test.h"

#include <vector>

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

TEST_F(ApiTest, AnExactListShowsTheStateOfThen) {
  (void)send("POST", kMaps, named("a"));
  (void)send("POST", kMaps, named("b"));
  const std::string then = std::to_string(api_.store().revision());
  (void)send("DELETE", std::string{kMaps} + "/a");
  (void)send("POST", kMaps, named("c"));
  merge(std::string{kMaps} + "/b", Object{{"data", Object{{"k", "v"}}}});
  const std::string exact = std::string{kMaps} + "?resourceVersionMatch=Exact&resourceVersion=" + then;
  EXPECT_EQ(names(exact), "a b ");
  EXPECT_TRUE(get(exact)["items"].at(1)["data"].isNull());
  EXPECT_EQ(names(kMaps), "b c ");
  api_.compact();
  EXPECT_EQ(send("GET", exact).code, 410);
}

TEST_F(ApiTest, PagesGoOnAsOfTheFirst) {
  for (const char* name : {"a", "b", "d"}) { (void)send("POST", kMaps, named(name)); }
  const Value first = get(std::string{kMaps} + "?limit=1");
  (void)send("POST", kMaps, named("c"));
  (void)send("DELETE", std::string{kMaps} + "/d");
  const std::string next =
      std::string{kMaps} + "?continue=" + std::string{first["metadata"]["continue"].str()};
  EXPECT_EQ(names(next), "b d ");
  EXPECT_EQ(get(next)["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
}

TEST_F(ApiTest, ABudgetStopsEvictions) {
  runningPod("p");
  runningPod("q");
  Value budget = named("pdb");
  budget.set("spec",
             Object{{"minAvailable", 2}, {"selector", Object{{"matchLabels", Object{{"app", "a"}}}}}});
  const std::string budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  ASSERT_EQ(send("POST", budgets, std::move(budget)).code, 201);
  EXPECT_EQ(evict("p"), 429);
  merge(budgets + "/pdb", Object{{"spec", Object{{"minAvailable", "50%"}}}});
  EXPECT_EQ(evict("p"), 201);
  EXPECT_FALSE(get(std::string{kPods} + "/p")["metadata"]["deletionTimestamp"].isNull());
  EXPECT_EQ(evict("q"), 429);  // p is going, so q is the half that has to stay
}

TEST_F(ApiTest, WhatIsWrongWithABudgetIsSaidBeforeItsName) {
  const char* budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  const auto said = [&](const char* name, Value spec) {
    Value budget = named(name);
    budget.set("spec", std::move(spec));
    return std::string{send("POST", budgets, std::move(budget)).body["message"].str()};
  };
  EXPECT_EQ(said("x y", Object{}), "");
  EXPECT_NE(said("a/b", Object{}).find("metadata.name: Invalid value: \"a/b\": may not contain '/'"),
            std::string::npos);
  EXPECT_EQ(said("a/b", Object{{"minAvailable", -1}}),
            "PodDisruptionBudget.policy \"a/b\" is invalid: spec.minAvailable: Invalid value: -1: must be "
            "greater than or equal to 0");
}

TEST_F(ApiTest, RolesHaveNamesOfPaths) {
  const char* roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  EXPECT_EQ(send("POST", roles, named("system:a")).code, 201);
  EXPECT_EQ(send("POST", roles, named("a/b")).code, 422);
}

TEST_F(ApiTest, AddressesOfAServiceAreLookedAtFirst) {
  Value service = named("X");
  service.set("spec", Object{{"ipFamilyPolicy", "X"}});
  const Response made = send("POST", "/api/v1/namespaces/default/services", std::move(service));
  EXPECT_EQ(made.code, 422);
  EXPECT_EQ(made.body["details"]["causes"].items().size(), 1U) << json::print(made.body);
}

TEST_F(ApiTest, AJobHasTheLabelsOfItsTemplateOnceItIsStored) {
  Value job = named("j");
  const Value container = Object{{"name", "c"}, {"image", "i"}};
  const Value pod = Object{{"restartPolicy", "Never"}, {"containers", Array{container}}};
  job.set("spec", Object{{"template", Object{{"spec", pod}}}});
  const Response made = send("POST", "/apis/batch/v1/namespaces/default/jobs", std::move(job));
  ASSERT_EQ(made.code, 201) << json::print(made.body);
  EXPECT_EQ(made.body["metadata"]["labels"]["job-name"].str(), "j");
}

TEST_F(ApiTest, AMicroTimeNeedsItsFraction) {
  Value lease = named("l");
  lease.set("spec", Object{{"renewTime", "2024-01-02T03:04:05Z"}});
  const Response made = send("POST", kLeases, std::move(lease));
  EXPECT_EQ(made.code, 400);
  EXPECT_TRUE(made.body["message"].str().ends_with("cannot parse \"Z\" as \".000000\""))
      << json::print(made.body);
}

TEST_F(ApiTest, AnEvictionOfThisVersionOfThePodIsDone) {
  runningPod("p");
  const Value revision = pod("p")["metadata"]["resourceVersion"];
  const auto answer = evict("p", Object{{"preconditions", Object{{"resourceVersion", revision}}}});
  EXPECT_EQ(answer.code, 201) << json::print(answer.body);
  const Value there = pod("p");
  EXPECT_FALSE(there["metadata"]["deletionTimestamp"].isNull());
  EXPECT_EQ(there["status"]["conditions"].at(1)["type"].str(), "DisruptionTarget");
}

TEST_F(ApiTest, AnEvictionThatIsRefusedLeavesThePodAsItWas) {
  runningPod("p");
  const Value before = pod("p");
  EXPECT_EQ(evict("p", Object{{"preconditions", Object{{"resourceVersion", "1"}}}}).code, 409);
  EXPECT_EQ(evict("p", Object{{"preconditions", Object{{"uid", "abc"}}}}).code, 409);
  EXPECT_EQ(evict("p", Object{{"propagationPolicy", "Nope"}}).code, 422);
  EXPECT_EQ(evict("p", Object{{"gracePeriodSeconds", "x"}}).code, 400);
  EXPECT_EQ(evict("p", Object{{"preconditions", Object{{"uid", 5}}}}).code, 400);
  EXPECT_EQ(evict("p", "x").code, 400);
  EXPECT_EQ(pod("p"), before);
}

TEST_F(ApiTest, ABindingIsReadAsOne) {
  Value made = named("p");
  made.set("spec", Object{{"containers", Array{Object{{"name", "c"}, {"image", "i"}}}}});
  ASSERT_EQ(send("POST", kPods, std::move(made)).code, 201);
  const Value before = pod("p");
  const auto bind = [&](Value meta) {
    Value binding = named("p", std::move(meta));
    binding.set("target", Object{{"name", "n"}});
    return send("POST", std::string{kPods} + "/p/binding", std::move(binding)).code;
  };
  EXPECT_EQ(bind(Object{{"annotations", Object{{"x", 1}}}}), 400);
  EXPECT_EQ(bind(Object{{"uid", 5}}), 400);
  EXPECT_EQ(bind(Object{{"resourceVersion", 5}}), 400);
  EXPECT_EQ(pod("p"), before);
  Value posted = named("p");
  posted.set("target", Object{{"kind", "Node"}, {"name", Array{}}});
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/bindings", std::move(posted)).code, 400);
  EXPECT_EQ(bind(Object{{"annotations", Object{{"x", "1"}}}}), 201);
  EXPECT_EQ(pod("p")["spec"]["nodeName"].str(), "n");
}

TEST_F(ApiTest, AGroupOfKubernetesNeedsAnApproval) {
  const auto post = [&](const char* approval) {
    return send("POST", kCrds, definition("things", "batch.k8s.io", approval));
  };
  EXPECT_EQ(
      post("").body["message"].str(),
      "CustomResourceDefinition.apiextensions.k8s.io \"things.batch.k8s.io\" is invalid: "
      "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
      "annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111");
  EXPECT_EQ(post("me").code, 422);
  EXPECT_EQ(post("https://example.com/yes").code, 201);
  EXPECT_EQ(send("POST", kCrds, definition("things", "kubernetes.io", "")).code, 422);
  EXPECT_EQ(send("POST", kCrds, definition("things", "mykubernetes.io", "")).code, 201);
  EXPECT_EQ(send("POST", kCrds, definition("things", "policy", "")).code, 422);  // no domain
}

TEST_F(ApiTest, ADefinitionTakesNoBuiltInResourceAndForgetsNone) {
  ASSERT_EQ(send("POST", kLeases, named("l")).code, 201);
  const Value lease = get(std::string{kLeases} + "/l");
  ASSERT_EQ(send("POST", kCrds, definition("leases", "coordination.k8s.io", "unapproved")).code, 201);
  EXPECT_EQ(get(std::string{kLeases} + "/l"), lease);
  EXPECT_EQ(send("DELETE", std::string{kCrds} + "/leases.coordination.k8s.io").code, 200);
  EXPECT_EQ(get(std::string{kLeases} + "/l"), lease);
  EXPECT_EQ(send("PUT", std::string{kLeases} + "/m", named("m")).code, 201);
}

TEST_F(ApiTest, TheDefinitionOfDefinitionsIsNotThatResource) {
  const std::string name = "customresourcedefinitions.apiextensions.k8s.io";
  const auto watch = api_.watch(std::string{kCrds} + "?watch=true");
  ASSERT_TRUE(watch.has_value());
  Value crd = definition("customresourcedefinitions", "apiextensions.k8s.io", "unapproved");
  ASSERT_EQ(send("POST", kCrds, std::move(crd)).code, 201);
  EXPECT_EQ(send("DELETE", std::string{kCrds} + "/" + name).code, 200);
  EXPECT_EQ(names(kCrds), "");
  EXPECT_TRUE(api_.isOpen(*watch));
}

TEST_F(ApiTest, ServerSideApplyOfKubectlTakesOverWhatItsClientSideApplyWrote) {
  Value map = named("m", Object{{"annotations", Object{{"kubectl.kubernetes.io/last-applied-configuration",
                                                        R"({"kind":"ConfigMap","data":{"a":"1"}})"}}}});
  map.set("data", Object{{"a", "1"}});
  ASSERT_EQ(send("POST", std::string{kMaps} + "?fieldManager=kubectl-client-side-apply", std::move(map)).code,
            201);
  Value config = named("m");
  config.set("apiVersion", "v1");
  config.set("kind", "ConfigMap");
  config.set("data", Object{{"a", "2"}});
  const auto apply = [&](const char* manager) {
    return send("PATCH", std::string{kMaps} + "/m?fieldManager=" + manager, config,
                "application/apply-patch+yaml")
        .code;
  };
  EXPECT_EQ(apply("somebody"), 409);
  EXPECT_EQ(apply("kubectl"), 200);
  merge(std::string{kMaps} + "/m?fieldManager=kubectl-edit", Object{{"data", Object{{"a", "3"}}}});
  config.child("data").set("a", "4");
  EXPECT_EQ(apply("kubectl"), 409);  // no longer as it was applied
}

TEST_F(ApiTest, AnEventIsOneThingInTwoForms) {
  Value event = named("e");
  event.set("involvedObject", Object{{"kind", "Pod"}, {"name", "p"}, {"namespace", "default"}});
  event.set("message", "hello");
  ASSERT_EQ(send("POST", "/api/v1/namespaces/default/events", std::move(event)).code, 201);
  EXPECT_EQ(get("/apis/events.k8s.io/v1/namespaces/default/events/e")["note"].str(), "hello");
  EXPECT_EQ(names("/api/v1/events?fieldSelector=involvedObject.name%3Dp"), "e ");
  const auto watch = api_.watch("/api/v1/events?watch=true");
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ((*api_.poll(*watch))["object"]["message"].str(), "hello");
}

TEST_F(ApiTest, WhatWasWrittenAfterTheStateWasSavedIsTooOldOnceItComesBack) {
  ASSERT_EQ(send("POST", kMaps, named("kept")).code, 201);
  const Value saved = api_.save();
  ASSERT_EQ(send("POST", kMaps, named("lost")).code, 201);
  const std::string seen = std::to_string(api_.store().revision());
  Api next{Rng{2}, clock_.now()};  // after kill -9
  ASSERT_TRUE(next.restore(saved));
  const auto watch = next.watch(std::string{kMaps} + "?watch=true&resourceVersion=" + seen);
  ASSERT_TRUE(watch.has_value());
  const auto ended = next.poll(*watch);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ((*ended)["object"]["code"].intOr(0), 410) << json::print(*ended);
  const Response list = next.handle({"GET", std::string{kMaps} + "?resourceVersion=" + seen}, clock_.now());
  EXPECT_EQ(list.code, 200);
}

TEST_F(ApiTest, AWatchFromTheFutureWaitsForIt) {
  const auto now = api_.store().revision();
  const auto watch =
      api_.watch(std::string{kMaps} + "?watch=true&resourceVersion=" + std::to_string(now + 1));
  ASSERT_TRUE(watch.has_value());
  api_.bookmark(*watch);
  EXPECT_FALSE(api_.poll(*watch).has_value());  // it would take the watcher back
  for (const char* name : {"a", "b"}) { (void)send("POST", kMaps, named(name)); }
  const auto first = api_.poll(*watch);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)["object"]["metadata"]["name"].str(), "b");
}

TEST_F(ApiTest, AnEventIsKeptForAnHourAfterItWasLastWritten) {
  const std::string events = "/api/v1/namespaces/default/events";
  const auto tell = [&](const char* name) {
    Value event = named(name);
    event.set("involvedObject", Object{{"kind", "Pod"}, {"name", "p"}, {"namespace", "default"}});
    EXPECT_EQ(send("POST", events, std::move(event)).code, 201);
  };
  tell("a");
  tell("b");
  clock_.advance(std::chrono::minutes{40});
  merge(events + "/b", Object{{"count", 2}});
  tell("c");
  clock_.advance(std::chrono::minutes{20});
  const auto watch =
      api_.watch(events + "?watch=true&resourceVersion=" + std::to_string(api_.store().revision()));
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ(names(events), "a b c ");  // nobody looked
  tell("d");
  EXPECT_EQ(names(events), "b c d ");
  EXPECT_EQ((*api_.poll(*watch))["type"].str(), "ADDED");
  EXPECT_EQ((*api_.poll(*watch))["type"].str(), "DELETED");
  ASSERT_TRUE(api_.restore(api_.save()));
  clock_.advance(std::chrono::hours{1});
  tell("e");
  EXPECT_EQ(names(events), "e ");
}

TEST_F(ApiTest, NonsenseIsAnswered) {
  struct Case {
    const char* method;
    std::string target;
    Value body;
    const char* type = "application/json";
  };
  const std::string node = "/api/v1/nodes/n";
  ASSERT_EQ(send("POST", "/api/v1/nodes", named("n")).code, 201);
  runningPod("p");
  const std::vector<Case> cases{
      {"POST", kPods, Value{5}},
      {"POST", kPods, Object{{"metadata", 5}}},
      {"POST", kPods, Object{{"metadata", Object{{"name", Array{}}}}}},
      {"POST", kPods, Object{{"spec", Array{}}}},
      {"POST", "/api/v1/namespaces/default/bindings", Value{"x"}},
      {"POST", "/api/v1/namespaces/default/bindings", Object{{"metadata", 5}}},
      {"POST", std::string{kPods} + "/p/eviction", Value{5}},
      {"POST", std::string{kPods} + "/p/eviction", Object{{"kind", "Pod"}, {"apiVersion", "v1"}}},
      {"POST", std::string{kPods} + "/p/binding", Array{}},
      {"DELETE", std::string{kPods} + "/p", Array{}},
      {"DELETE", std::string{kPods} + "/p", Object{{"preconditions", 5}}},
      {"PATCH", node, Object{{"metadata", nullptr}}, "application/merge-patch+json"},
      {"PATCH", node, Object{{"metadata", "x"}}, "application/merge-patch+json"},
      {"PATCH", node, Object{{"status", "x"}}, "application/merge-patch+json"},
      {"PATCH", node, Object{{"metadata", Object{{"labels", 5}}}}, "application/strategic-merge-patch+json"},
      {"PATCH", node, Array{Object{{"op", "replace"}, {"path", ""}, {"value", 5}}},
       "application/json-patch+json"},
      {"PATCH", node + "?fieldManager=m", Value{5}, "application/apply-patch+yaml"},
      {"PATCH", node + "?fieldManager=m", Object{{"metadata", 5}, {"kind", "Node"}, {"apiVersion", "v1"}},
       "application/apply-patch+yaml"},
      {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       Object{{"spec", Object{{"names", 5}}}}},
  };
  for (const Case& c : cases) {
    const Response answer = send(c.method, c.target, c.body, c.type);
    EXPECT_GE(answer.code, 400) << c.method << ' ' << c.target << ' ' << json::print(c.body);
    EXPECT_FALSE(answer.body["message"].str().empty()) << c.target;
  }
}

TEST_F(ApiTest, AnEventThatLostOneOfItsOwnersExpiresToo) {
  const std::string events = "/api/v1/namespaces/default/events";
  const auto tell = [&](const char* name, Value meta) {
    Value event = named(name, std::move(meta));
    event.set("involvedObject", Object{{"kind", "Pod"}, {"name", "p"}, {"namespace", "default"}});
    EXPECT_EQ(send("POST", events, std::move(event)).code, 201);
  };
  Value meta = ownedBy(send("POST", kMaps, named("a")).body["metadata"]);
  const Value b = ownedBy(send("POST", kMaps, named("b")).body["metadata"]);
  meta.child("ownerReferences").array().push_back(b["ownerReferences"].at(0));
  tell("e", std::move(meta));
  EXPECT_EQ(send("DELETE", std::string{kMaps} + "/a", Object{{"propagationPolicy", "Orphan"}}).code, 200);
  EXPECT_EQ(get(events + "/e")["metadata"]["ownerReferences"].items().size(), 1U);
  clock_.advance(std::chrono::hours{1});
  tell("f", Object{});
  EXPECT_EQ(names(events), "f ");
}

TEST_F(ApiTest, FinalizersOfCoreKindsAreFullyQualified) {
  const auto post = [&](const char* collection, Value object) {
    object.child("metadata").set("finalizers", Array{Value{"foo"}});
    return send("POST", collection, std::move(object)).code;
  };
  ASSERT_EQ(send("POST", kCrds, definition("gears", "ex.io")).code, 201);
  Value gear = named("g");
  gear.set("apiVersion", "ex.io/v1");
  gear.set("kind", "Taken");
  EXPECT_EQ(post("/apis/ex.io/v1/gears", std::move(gear)), 201);
  EXPECT_EQ(post(kCrds, definition("wheels", "ex.io")), 201);
  EXPECT_EQ(post(kLeases, named("l")), 201);
  EXPECT_EQ(post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", named("b")), 201);
  EXPECT_EQ(post(kMaps, named("m")), 422);
  EXPECT_EQ(post("/apis/rbac.authorization.k8s.io/v1/clusterroles", named("r")), 422);
  Value priority = named("c");
  priority.set("value", 1);
  EXPECT_EQ(post("/apis/scheduling.k8s.io/v1/priorityclasses", std::move(priority)), 422);
}

}  // namespace
}  // namespace gs::apiserver
