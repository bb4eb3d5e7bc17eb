#include "apiserver/admission/plugins.h"

#include <gtest/gtest.h>

#include <string>

#include "apiserver/admission/default_class.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class PluginsTest : public testing::Test {
 protected:
  PluginsTest() {
    put("/namespaces", "default", Object{{"metadata", Object{{"name", "default"}}}});
    put("/namespaces", "going",
        Object{{"metadata", Object{{"name", "going"}, {"deletionTimestamp", "2025-06-15T15:06:40Z"}}}});
    put("scheduling.k8s.io/priorityclasses", "high", Object{{"value", 1000}, {"preemptionPolicy", "Never"}});
  }
  void put(const char* resource, const char* name, Value object) {
    store_.put({resource, "", name}, std::move(object), nullptr);
  }
  AdmissionRequest request(Operation operation, const char* plural, const char* ns, const char* name,
                           const char* subresource = "") {
    return {operation, *resources_.find("", plural), subresource, ns, name, old_, false, "", {}, 0};
  }
  /// "": allowed; else the code.
  static std::string codeOf(AdmissionPlugin& plugin, const AdmissionRequest& request, Value& object) {
    const auto said = plugin.mutate(request, object);
    EXPECT_TRUE(said);
    return said && said->refused ? std::to_string(said->refused->code) : "";
  }
  std::string code(AdmissionPlugin& plugin, const AdmissionRequest& request) {
    Value object = Object{};
    return codeOf(plugin, request, object);
  }
  static Value pod(Object spec = {}) { return Object{{"spec", std::move(spec)}}; }

  Value old_;
  Store store_;
  Resources resources_;
};

TEST_F(PluginsTest, NamesThatNoneCanHave) {
  const auto of = [&](AdmissionPlugin& plugin, Object spec) {
    Value made = pod(std::move(spec));
    return codeOf(plugin, request(Operation::Create, "pods", "default", "p"), made);
  };
  const auto account = serviceAccount();
  EXPECT_EQ(of(*account, Object{{"serviceAccountName", "a.b"}}), "");
  EXPECT_EQ(of(*account, Object{{"serviceAccountName", "Bad Name"}}), "403");
  const auto runtime = runtimeClass();
  EXPECT_EQ(of(*runtime, {}), "");
  EXPECT_EQ(of(*runtime, Object{{"runtimeClassName", "nvidia"}}), "");
  EXPECT_EQ(of(*runtime, Object{{"runtimeClassName", "A B"}}), "403");
}

TEST_F(PluginsTest, NamespaceLifecycle) {
  const auto plugin = namespaceLifecycle(store_);
  const auto of = [&](Operation operation, const char* plural, const char* ns, const char* name,
                      const char* subresource = "") {
    return code(*plugin, request(operation, plural, ns, name, subresource));
  };
  EXPECT_EQ(of(Operation::Create, "pods", "default", "p"), "");
  EXPECT_EQ(of(Operation::Create, "pods", "nowhere", "p"), "404");
  EXPECT_EQ(of(Operation::Create, "pods", "going", "p"), "403");
  EXPECT_EQ(of(Operation::Create, "pods", "going", "p", "binding"), "403");
  EXPECT_EQ(of(Operation::Create, "bindings", "going", "p"), "403");
  EXPECT_EQ(of(Operation::Update, "pods", "going", "p"), "");
  EXPECT_EQ(of(Operation::Delete, "pods", "going", "p"), "");
  EXPECT_EQ(of(Operation::Create, "nodes", "", "n"), "");
  EXPECT_EQ(of(Operation::Create, "namespaces", "new", "new"), "");
  EXPECT_EQ(of(Operation::Delete, "namespaces", "going", "going"), "");
  EXPECT_EQ(of(Operation::Delete, "namespaces", "default", "default"), "403");
  EXPECT_EQ(of(Operation::Delete, "namespaces", "kube-system", "kube-system"), "403");
  EXPECT_EQ(of(Operation::Update, "namespaces", "kube-system", "kube-system"), "");
}

TEST_F(PluginsTest, AClaimGrowsIfItsClassLetsIt) {
  put(kStorageClassesId, "grows", Object{{"allowVolumeExpansion", true}});
  put(kStorageClassesId, "stays", Object{{"allowVolumeExpansion", false}});
  const auto plugin = claimResize(store_);
  const auto grown = [&](const char* phase, const char* of, const char* next_of) {
    const auto claim = [](const char* size, const char* name) {
      return Value{Object{{"spec", Object{{"storageClassName", name},
                                          {"resources", Object{{"requests", Object{{"storage", size}}}}}}}}};
    };
    old_ = claim("1Gi", of);
    old_.set("status", Object{{"phase", phase}});
    const auto said = plugin->validate(request(Operation::Update, "persistentvolumeclaims", "default", "c"),
                                       claim("2Gi", next_of));
    return said && said->refused ? said->refused->message : "";
  };
  EXPECT_EQ(grown("Bound", "grows", "grows"), "");
  EXPECT_NE(grown("Bound", "stays", "stays"), "");
  EXPECT_NE(grown("Bound", "gone", "gone"), "");
  EXPECT_NE(grown("Bound", "stays", "grows"), "");
  EXPECT_EQ(grown("Pending", "grows", "grows"),
            "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded");
}

TEST_F(PluginsTest, AClaimWithoutAClassDoesNotGrow) {
  const auto plugin = claimResize(store_);
  const auto claim = [](const char* size) {
    return Value{Object{{"spec", Object{{"resources", Object{{"requests", Object{{"storage", size}}}}}}}}};
  };
  old_ = claim("1Gi");
  old_.set("status", Object{{"phase", "Bound"}});
  const auto of = [&](Operation operation, const char* size, const char* subresource = "") {
    const auto asked = request(operation, "persistentvolumeclaims", "default", "c", subresource);
    const auto said = plugin->validate(asked, claim(size));
    return said && said->refused ? said->refused->message : "";
  };
  EXPECT_EQ(of(Operation::Update, "1Gi"), "");
  EXPECT_EQ(of(Operation::Update, "1Mi"), "") << "validation refuses that";
  EXPECT_EQ(of(Operation::Update, "2Gi"),
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and "
            "the storageclass that provisions the pvc must support resize");
  EXPECT_EQ(of(Operation::Update, "2Gi", "status"), "");
  EXPECT_EQ(of(Operation::Create, "2Gi"), "");
}

TEST_F(PluginsTest, AClaimWithoutAClassGetsTheDefaultOne) {
  const auto plugin = defaultStorageClass(store_);
  const auto create = request(Operation::Create, "persistentvolumeclaims", "default", "c");
  const auto given = [&](Value claim) {
    EXPECT_EQ(codeOf(*plugin, create, claim), "");
    return json::print(claim["spec"]["storageClassName"]);
  };
  EXPECT_EQ(given(Object{}), "null") << "there is none";
  const auto marked = [](const char* born) {
    return Object{{"metadata",
                   Object{{"name", born},  // its name is when it was made
                          {"creationTimestamp", born},
                          {"annotations", Object{{"storageclass.kubernetes.io/is-default-class", "true"}}}}}};
  };
  put(kStorageClassesId, "2025-01-01T00:00:00Z", marked("2025-01-01T00:00:00Z"));
  put(kStorageClassesId, "2025-03-01T00:00:00Z", marked("2025-03-01T00:00:00Z"));
  put(kStorageClassesId, "2025-02-01T00:00:00Z", marked("2025-02-01T00:00:00Z"));
  put(kStorageClassesId, "other", Object{{"metadata", Object{{"name", "other"}}}});
  EXPECT_EQ(given(Object{}), R"("2025-03-01T00:00:00Z")");
  EXPECT_EQ(given(Object{{"spec", Object{{"storageClassName", ""}}}}), R"("")") << "none, on purpose";
  EXPECT_EQ(given(Object{{"spec", Object{{"storageClassName", "other"}}}}), R"("other")");
  const Value noted = Object{
      {"metadata", Object{{"annotations", Object{{"volume.beta.kubernetes.io/storage-class", "other"}}}}}};
  EXPECT_EQ(given(noted), "null");
}

TEST_F(PluginsTest, PodsWithoutAClassGetTheLowestDefault) {
  const auto plugin = priority(store_);
  put("scheduling.k8s.io/priorityclasses", "b",
      Object{{"metadata", Object{{"name", "b"}}}, {"value", 7}, {"globalDefault", true}});
  put("scheduling.k8s.io/priorityclasses", "a",
      Object{{"metadata", Object{{"name", "a"}}}, {"value", 9}, {"globalDefault", true}});
  Value made = pod();
  EXPECT_EQ(codeOf(*plugin, request(Operation::Create, "pods", "default", "p"), made), "");
  EXPECT_EQ(made["spec"]["priorityClassName"].str(), "b");
  EXPECT_EQ(made["spec"]["priority"].intOr(0), 7);
}

TEST_F(PluginsTest, OneClassIsForPodsWithoutOne) {
  const auto plugin = priority(store_);
  const auto said = [&](Operation operation, const char* name) {
    const Value made = Object{{"metadata", Object{{"name", name}}}, {"value", 1}, {"globalDefault", true}};
    const AdmissionRequest asked{operation, *resources_.find("scheduling.k8s.io", "priorityclasses"),
                                 "",        "",
                                 name,      old_,
                                 false,     "",
                                 {},        0};
    const auto answer = plugin->validate(asked, made);
    return answer && answer->refused ? answer->refused->message : "";
  };
  EXPECT_EQ(said(Operation::Create, "first"), "");
  put("scheduling.k8s.io/priorityclasses", "first",
      Object{{"metadata", Object{{"name", "first"}}}, {"value", 1}, {"globalDefault", true}});
  EXPECT_EQ(
      said(Operation::Create, "second"),
      "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass first is already marked as "
      "default. Only one default can exist");
  EXPECT_EQ(said(Operation::Update, "first"), "");
  EXPECT_NE(said(Operation::Update, "second"), "");
}

TEST_F(PluginsTest, PriorityIsGivenOnce) {
  const auto plugin = priority(store_);
  const auto create = request(Operation::Create, "pods", "default", "p");
  const auto given = [&](Object spec) {
    Value made = pod(std::move(spec));
    EXPECT_EQ(codeOf(*plugin, create, made), "");
    return json::print(made["spec"]["priority"]) + std::string{made["spec"]["preemptionPolicy"].str()};
  };
  EXPECT_EQ(given({}), "0PreemptLowerPriority");
  EXPECT_EQ(given({{"priorityClassName", "high"}}), "1000Never");
  EXPECT_EQ(given({{"priorityClassName", "high"}, {"priority", 1000}}), "1000Never");
  EXPECT_EQ(given({{"priorityClassName", "system-node-critical"}}), "2000001000PreemptLowerPriority");
  EXPECT_EQ(given({{"priorityClassName", "high"}, {"preemptionPolicy", "Never"}}), "1000Never");
  Value by_itself = pod({{"preemptionPolicy", "Never"}});
  EXPECT_EQ(codeOf(*plugin, create, by_itself), "403") << "only a class says so";
  Value nameless = pod({{"priorityClassName", "nope"}});
  EXPECT_EQ(codeOf(*plugin, create, nameless), "403");
  Value other = pod({{"priorityClassName", "high"}, {"priority", 7}});
  EXPECT_EQ(codeOf(*plugin, create, other), "403");

  old_ = pod({{"priority", 5}, {"preemptionPolicy", "Never"}});
  const auto update = request(Operation::Update, "pods", "default", "p");
  Value without = pod();
  EXPECT_EQ(codeOf(*plugin, update, without), "");
  EXPECT_EQ(without, old_);
  Value changed = pod({{"priority", 6}});
  EXPECT_EQ(codeOf(*plugin, update, changed), "");
  EXPECT_EQ(changed["spec"]["priority"].intOr(0), 6);  // validation refuses that
}

TEST_F(PluginsTest, TolerationsAreAddedWhereThereAreNone) {
  const auto plugin = defaultTolerationSeconds();
  const auto create = request(Operation::Create, "pods", "default", "p");
  const auto given = [&](Array tolerations) {
    Value made = pod({{"tolerations", std::move(tolerations)}});
    EXPECT_EQ(codeOf(*plugin, create, made), "");
    std::string out;
    for (const Value& t : made["spec"]["tolerations"].items()) {
      out += std::string{t["key"].str()} + ":" + json::print(t["tolerationSeconds"]) + " ";
    }
    return out;
  };
  const std::string not_ready = "node.kubernetes.io/not-ready:";
  const std::string unreachable = "node.kubernetes.io/unreachable:";
  EXPECT_EQ(given({}), not_ready + "300 " + unreachable + "300 ");
  EXPECT_EQ(given({Value{Object{{"key", "node.kubernetes.io/unreachable"}, {"tolerationSeconds", 5}}}}),
            unreachable + "5 " + not_ready + "300 ");
  EXPECT_EQ(given({Value{Object{{"operator", "Exists"}}}}), ":null ");
  EXPECT_EQ(given({Value{Object{{"operator", "Exists"}, {"effect", "NoSchedule"}}}}),
            ":null " + not_ready + "300 " + unreachable + "300 ");
}

TEST_F(PluginsTest, APodRunsAsSomebody) {
  const auto plugin = serviceAccount();
  const auto create = request(Operation::Create, "pods", "default", "p");
  Value made = pod();
  EXPECT_EQ(codeOf(*plugin, create, made), "");
  EXPECT_EQ(made, pod({{"serviceAccountName", "default"}, {"serviceAccount", "default"}}));
  made = pod({{"serviceAccountName", "me"}});
  EXPECT_EQ(codeOf(*plugin, create, made), "");
  EXPECT_EQ(made, pod({{"serviceAccountName", "me"}, {"serviceAccount", "me"}}));
}

TEST_F(PluginsTest, WhatIsNoPodStaysAsItIs) {
  Admission builtins;
  addBuiltins(builtins, store_);
  std::vector<std::string> warnings;
  for (const auto& asked : {request(Operation::Update, "pods", "default", "p", "status"),
                            request(Operation::Create, "pods", "default", "p", "binding"),
                            request(Operation::Create, "configmaps", "default", "m")}) {
    AdmissionNotes notes;
    Value object = Object{{"data", "x"}};
    EXPECT_TRUE(builtins.mutate(notes, asked, object, {}, warnings)) << asked.subresource;
    EXPECT_EQ(object, (Value{Object{{"data", "x"}}})) << asked.subresource;
  }
}

}  // namespace
}  // namespace gs::apiserver
