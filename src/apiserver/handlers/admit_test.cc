// Admission as requests meet it: where in a request plugins are asked, about what, and what a refusal or a
// late answer does.
#include "apiserver/handlers/admit.h"

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apiserver/handlers/api_test.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;
using PluginSaid = std::optional<AdmissionResponse>;

/// Notes what it is asked: "CREATE configmaps default/a x=1 validate ".
class Witness final : public AdmissionPlugin {
 public:
  std::string asked;
  std::vector<Value> seen;  // objects of validate()
  std::function<PluginSaid(const AdmissionRequest&, Value&)> on_mutate;
  std::function<PluginSaid(const AdmissionRequest&, const Value&)> on_validate;
  bool quiet = false;

  PluginSaid mutate(const AdmissionRequest& request, Value& object) override {
    note(request, object, "mutate");
    return on_mutate ? on_mutate(request, object) : AdmissionResponse{};
  }
  PluginSaid validate(const AdmissionRequest& request, const Value& object) override {
    note(request, object, "validate");
    seen.push_back(object);
    return on_validate ? on_validate(request, object) : AdmissionResponse{};
  }

 private:
  void note(const AdmissionRequest& r, const Value& object, const char* pass) {
    static constexpr const char* kNames[] = {"CREATE", "UPDATE", "DELETE"};
    if (quiet) { return; }
    asked += std::string{kNames[static_cast<int>(r.operation)]} + " " + r.resource.plural +
             (r.subresource.empty() ? "" : "/") + std::string{r.subresource} + " " + std::string{r.ns} + "/" +
             std::string{r.name} + (r.old.isNull() ? "" : " old") + (object.isNull() ? "" : " new") +
             (r.dry_run ? " dry" : "") + " " + pass + "; ";
  }
};

AdmissionResponse refusal(const char* why) {
  AdmissionResponse out;
  out.refused = ApiError{403, "Forbidden", why, {}, {}, false};
  return out;
}

class AdmitTest : public ApiTest {
 protected:
  AdmitTest() {
    auto plugin = std::make_unique<Witness>();
    witness_ = plugin.get();
    api_.admission().add(std::move(plugin));
  }
  std::string asked() { return std::exchange(witness_->asked, {}); }
  /// `plugin` sees all requests of this kind and lets others pass.
  void refuse(Operation operation, std::string plural) {
    witness_->on_validate = [=](const AdmissionRequest& r, const Value&) {
      return r.operation == operation && r.resource.plural == plural ? refusal("no") : AdmissionResponse{};
    };
  }
  static std::string mapPath(const char* name) { return std::string{kMaps} + "/" + name; }

  Witness* witness_ = nullptr;
};

TEST_F(AdmitTest, EachKindOfWriteIsAskedAboutTwice) {
  const std::string maps = "configmaps default/";
  (void)send("POST", kMaps, named("a"));
  EXPECT_EQ(asked(), "CREATE " + maps + "a new mutate; CREATE " + maps + "a new validate; ");
  (void)send("PUT", mapPath("a"), named("a"));
  EXPECT_EQ(asked(), "UPDATE " + maps + "a old new mutate; UPDATE " + maps + "a old new validate; ");
  merge(mapPath("a") + "?dryRun=All", Object{{"data", Object{{"k", "v"}}}});
  EXPECT_EQ(asked(), "UPDATE " + maps + "a old new dry mutate; UPDATE " + maps + "a old new dry validate; ");
  (void)send("DELETE", mapPath("a"));
  EXPECT_EQ(asked(), "DELETE " + maps + "a old mutate; DELETE " + maps + "a old validate; ");
  Value config = named("b");
  config.set("apiVersion", "v1");
  config.set("kind", "ConfigMap");
  EXPECT_EQ(
      send("PATCH", mapPath("b") + "?fieldManager=m", std::move(config), "application/apply-patch+yaml").code,
      201);
  EXPECT_EQ(asked(), "CREATE " + maps + "b new mutate; CREATE " + maps + "b new validate; ");
  (void)send("PUT", std::string{kLeases} + "/l", named("l"));
  EXPECT_EQ(asked(), "CREATE leases default/l new mutate; CREATE leases default/l new validate; ");
  (void)get(kMaps);
  EXPECT_EQ(asked(), "");
}

TEST_F(AdmitTest, SubresourcesAreNamedAndAnEvictionIsNotADeletion) {
  witness_->quiet = true;
  runningPod("p");
  witness_->quiet = false;
  merge(std::string{kPods} + "/p/status", Object{{"status", Object{{"message", "m"}}}});
  EXPECT_EQ(asked(),
            "UPDATE pods/status default/p old new mutate; UPDATE pods/status default/p old new "
            "validate; ");
  EXPECT_EQ(evict("p"), 201);
  EXPECT_EQ(asked(),
            "CREATE pods/eviction default/p new mutate; CREATE pods/eviction default/p new "
            "validate; ");
  EXPECT_EQ(witness_->seen.back()["kind"].str(), "Eviction");
  Value binding = named("q");
  binding.set("target", Object{{"name", "n"}});
  EXPECT_EQ(send("POST", std::string{kPods} + "/q/binding", binding).code, 404);
  EXPECT_EQ(asked(),
            "CREATE pods/binding default/q new mutate; CREATE pods/binding default/q new validate; ");
  EXPECT_EQ(send("POST", "/api/v1/namespaces/default/bindings", binding).code, 404);
  EXPECT_EQ(asked(), "CREATE bindings default/q new mutate; CREATE bindings default/q new validate; ");
}

TEST_F(AdmitTest, EachOfACollectionIsAskedAboutAndWhatOwnersTakeAlong) {
  (void)ownedMap("owned", send("POST", kMaps, named("b")).body["metadata"]);
  (void)send("POST", kMaps, named("a"));
  refuse(Operation::Delete, "configmaps");
  (void)asked();
  EXPECT_EQ(send("DELETE", kMaps).code, 403);
  EXPECT_EQ(asked(), "DELETE configmaps default/a old mutate; DELETE configmaps default/a old validate; ");
  EXPECT_EQ(names(kMaps), "a b owned ");
  witness_->on_validate = [](const AdmissionRequest& r, const Value&) {
    return r.name == "owned" ? refusal("no") : AdmissionResponse{};
  };
  EXPECT_EQ(send("DELETE", mapPath("b")).code, 200);
  EXPECT_EQ(names(kMaps), "a owned ");  // garbage that nobody may delete stays
}

TEST_F(AdmitTest, ARefusalWritesNothing) {
  (void)send("POST", kMaps, named("a"));
  witness_->quiet = true;
  runningPod("p");
  const auto revision = api_.store().revision();
  witness_->on_validate = [](const AdmissionRequest&, const Value&) { return refusal("because"); };
  const Response answer = send("POST", kMaps, named("b"));
  EXPECT_EQ(answer.code, 403);
  EXPECT_EQ(answer.body["message"].str(), "because");
  EXPECT_EQ(send("PUT", mapPath("a"), named("a", Object{{"labels", Object{{"x", "y"}}}})).code, 403);
  EXPECT_EQ(send("DELETE", mapPath("a")).code, 403);
  EXPECT_EQ(evict("p"), 403);
  EXPECT_EQ(send("DELETE", std::string{kPods} + "/p").code, 403);
  EXPECT_EQ(api_.store().revision(), revision);
}

TEST_F(AdmitTest, MutatingComesBeforeValidationAndValidatingSeesWhatIsStored) {
  witness_->on_mutate = [](const AdmissionRequest& r, Value& object) {
    EXPECT_TRUE(object["metadata"]["uid"].isNull() || r.operation == Operation::Update);
    if (object["kind"].str() == "Pod") {
      EXPECT_EQ(object["spec"]["priority"].intOr(-1), 0);  // the built-in plugins come first
      object.child("metadata").child("labels").set("seen", "yes");
    } else {
      object.child("metadata").child("labels").set("bad label", "x");
    }
    return AdmissionResponse{};
  };
  EXPECT_EQ(send("POST", kMaps, named("m")).code, 422);
  EXPECT_TRUE(witness_->seen.empty());  // what is invalid is shown to nobody
  Value pod = Object{{"metadata", Object{{"generateName", "p-"}}},
                     {"spec", Object{{"containers", Array{Object{{"name", "c"}, {"image", "i"}}}}}}};
  const Response made = send("POST", kPods, std::move(pod));
  ASSERT_EQ(made.code, 201) << json::print(made.body);
  EXPECT_EQ(made.body["metadata"]["labels"]["seen"].str(), "yes");
  Value seen = witness_->seen.back();
  seen.child("metadata").set("resourceVersion", made.body["metadata"]["resourceVersion"]);
  EXPECT_EQ(seen, made.body);
  const std::string path = std::string{kPods} + "/" + std::string{made.body["metadata"]["name"].str()};
  merge(path, Object{{"spec", Object{{"activeDeadlineSeconds", 60}}}});
  EXPECT_EQ(witness_->seen.back()["metadata"]["generation"].intOr(0), 2);
}

TEST_F(AdmitTest, AnObjectGivenWholeIsDecodedAndKeepsItsName) {
  const auto answer = [&](std::function<void(Value&)> change) {
    witness_->on_mutate = [=](const AdmissionRequest&, const Value& object) {
      AdmissionResponse out;
      out.object = object;
      change(*out.object);
      return out;
    };
    return send("POST", kPods,
                Object{{"metadata", Object{{"name", "p"}}},
                       {"spec", Object{{"containers", Array{Object{{"name", "c"}, {"image", "i"}}}}}}});
  };
  const Response made = answer([](Value& pod) {
    pod.child("spec")
        .child("containers")
        .array()
        .emplace_back(Object{{"name", "d"}, {"image", "i"}, {"surprise", 1}});
  });
  EXPECT_EQ(made.code, 201) << json::print(made.body);
  EXPECT_EQ(made.body["spec"]["containers"].at(1)["imagePullPolicy"].str(), "Always");
  EXPECT_EQ(made.body["spec"]["containers"].at(1).find("surprise"), nullptr);
  EXPECT_TRUE(made.warnings.empty());
  const std::vector<std::function<void(Value&)>> nonsense{
      [](Value& pod) { pod.child("metadata").set("name", "q"); },
      [](Value& pod) { pod.child("metadata").set("namespace", "q"); },
      [](Value& pod) { pod.set("metadata", 5); },
      [](Value& pod) { pod.set("spec", 5); },
      [](Value& pod) { pod.set("kind", "Node"); },
      [](Value& pod) { pod = Value{}; },
      [](Value& pod) { pod = Value{"x"}; },
  };
  for (const auto& change : nonsense) { EXPECT_EQ(answer(change).code, 500); }
}

TEST_F(AdmitTest, WhoAsksAndWarningsAreToldAbout) {
  witness_->on_validate = [](const AdmissionRequest& r, const Value&) {
    AdmissionResponse out;
    out.warnings.push_back("hello " + std::string{r.user});
    return out;
  };
  Request request{"POST", kMaps, "application/json", named("a")};
  request.user = "jane";
  EXPECT_EQ(api_.handle(request, clock_.now()).warnings, std::vector<std::string>{"hello jane"});
  EXPECT_EQ(send("DELETE", kMaps).warnings, std::vector<std::string>{"hello "});
}

TEST_F(AdmitTest, PreconditionsOfADeletionComeFirst) {
  const Value wrong = Object{{"preconditions", Object{{"uid", "x"}}}};
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces/kube-system", wrong).code, 409);
  EXPECT_EQ(asked(), "");
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces/kube-system").code, 403);
  EXPECT_EQ(asked(), "");  // the built-in one refuses first
}

TEST_F(AdmitTest, NothingIsBoundInANamespaceThatIsBeingTerminated) {
  ASSERT_EQ(send("POST", "/api/v1/namespaces", named("team")).code, 201);
  Value pod = named("p", Object{{"finalizers", Array{Value{"x.io/y"}}}});
  pod.set("spec", Object{{"containers", Array{Object{{"name", "c"}, {"image", "i"}}}}});
  ASSERT_EQ(send("POST", "/api/v1/namespaces/team/pods", std::move(pod)).code, 201);
  ASSERT_EQ(send("DELETE", "/api/v1/namespaces/team").code, 200);
  Value binding = named("p");
  binding.set("target", Object{{"name", "n"}});
  const Response answer = send("POST", "/api/v1/namespaces/team/pods/p/binding", std::move(binding));
  EXPECT_EQ(answer.code, 403);
  EXPECT_EQ(answer.body["details"]["causes"].at(0)["reason"].str(), "NamespaceTerminating");
}

/// A plugin that answers later, as a webhook.
class LateTest : public AdmitTest {
 protected:
  LateTest() {
    witness_->on_mutate = [this](const AdmissionRequest& r, const Value&) -> PluginSaid {
      if (r.request_id == 0 || !late_mutating_) { return AdmissionResponse{}; }
      return std::nullopt;
    };
    witness_->on_validate = [this](const AdmissionRequest& r, const Value&) -> PluginSaid {
      if (r.request_id == 0 || !late_validating_) { return AdmissionResponse{}; }
      return std::nullopt;
    };
  }
  RequestId begin(const char* method, std::string target, Value body = {}) {
    const auto out =
        api_.begin({method, std::move(target), "application/json", std::move(body)}, clock_.now());
    EXPECT_TRUE(std::holds_alternative<RequestId>(out));
    return std::holds_alternative<RequestId>(out) ? std::get<RequestId>(out) : 0;
  }
  std::optional<Response> answer(RequestId request_id, AdmissionResponse said = {}) {
    clock_.advance(std::chrono::seconds{1});
    return api_.answered(request_id, std::move(said), clock_.now());
  }

  bool late_mutating_ = true;
  bool late_validating_ = true;
};

TEST_F(LateTest, ARequestWaitsAndOthersGoOn) {
  const Value object = Object{{"metadata", Object{{"generateName", "m-"}}}};
  const RequestId request_id = begin("POST", kMaps, object);
  EXPECT_EQ(names(kMaps), "");
  EXPECT_EQ(send("POST", kMaps, named("other")).code, 201);
  AdmissionResponse changed;
  changed.object = Object{{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata", Object{{"generateName", "m-"}, {"namespace", "default"}}},
                          {"data", Object{{"k", "v"}}}};
  EXPECT_FALSE(answer(request_id, std::move(changed)));  // now it waits for validate()
  EXPECT_EQ(names(kMaps), "other ");
  const Value seen = witness_->seen.back();
  const auto response = answer(request_id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 201);
  EXPECT_EQ(response->body["data"]["k"].str(), "v");
  EXPECT_EQ(response->body["metadata"]["uid"], seen["metadata"]["uid"]);  // as the plugin saw it
  EXPECT_EQ(response->body["metadata"]["name"], seen["metadata"]["name"]);
  EXPECT_EQ(response->body["metadata"]["creationTimestamp"], seen["metadata"]["creationTimestamp"]);
  EXPECT_FALSE(answer(request_id));  // it is done
}

TEST_F(LateTest, ALateRefusalIsTheAnswer) {
  const auto response = answer(begin("POST", kMaps, named("a")), refusal("no"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 403);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(LateTest, WhatWasWrittenMeanwhileIsSeen) {
  ASSERT_EQ(send("POST", kMaps, named("a")).code, 201);
  late_mutating_ = false;
  Request patch{"PATCH", mapPath("a"), "application/merge-patch+json", Object{{"data", Object{{"x", "1"}}}}};
  const auto waits = api_.begin(std::move(patch), clock_.now());
  const RequestId request_id = std::get<RequestId>(waits);
  merge(mapPath("a"), Object{{"data", Object{{"y", "2"}}}});
  EXPECT_FALSE(answer(request_id));  // that was about another object: it is asked anew
  const auto response = answer(request_id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 200);
  EXPECT_EQ(response->body["data"], (Value{Object{{"x", "1"}, {"y", "2"}}}));
  const RequestId create = begin("POST", kMaps, named("b"));
  ASSERT_EQ(send("POST", kMaps, named("b")).code, 201);
  EXPECT_EQ(answer(create)->code, 409);
}

TEST_F(LateTest, ACollectionGoesOnWhereItWaited) {
  for (const char* name : {"b", "c"}) { (void)send("POST", kMaps, named(name)); }
  (void)send("POST", kMaps, named("a", Object{{"finalizers", Array{Value{"x.io/y"}}}}));  // so it stays
  late_mutating_ = false;
  const RequestId request_id = begin("DELETE", kMaps);
  EXPECT_FALSE(answer(request_id));
  EXPECT_FALSE(get(mapPath("a"))["metadata"]["deletionTimestamp"].isNull());
  (void)send("POST", kMaps, named("late"));
  EXPECT_FALSE(answer(request_id));
  const auto response = answer(request_id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body["items"].items().size(), 3U);
  EXPECT_EQ(names(kMaps), "a late ");
}

TEST_F(LateTest, NobodyWaitsForWhatWasGivenUp) {
  const RequestId request_id = begin("POST", kMaps, named("a"));
  api_.giveUp(request_id);
  EXPECT_FALSE(answer(request_id));
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(LateTest, WhoNeedsNoAnswerIsAnsweredAtOnce) {
  const auto read = api_.begin({"GET", kMaps}, clock_.now());
  ASSERT_TRUE(std::holds_alternative<Response>(read));
  EXPECT_EQ(std::get<Response>(read).code, 200);
  const auto missing = api_.begin({"DELETE", mapPath("none")}, clock_.now());
  EXPECT_EQ(std::get<Response>(missing).code, 404);
}

}  // namespace
}  // namespace gs::apiserver
