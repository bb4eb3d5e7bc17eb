#include "apiserver/registry/kind_checks_test.h"

namespace gs::apiserver {
namespace {

#define GS_NOTE "container.apparmor.security.beta.kubernetes.io/"

/// What is said of the annotations of a pod that has a container `main` and this spec beside.
class AppArmorNotes : public testing::TestWithParam<Said> {};
TEST_P(AppArmorNotes, SayWhatKubeApiserverSays) {
  EXPECT_EQ(findings(GetParam().resource, GetParam().object, GetParam().next), GetParam().said);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AppArmorNotes,
    testing::Values(
        Said{"OfNoContainer", "/pods", R"({"metadata": {"annotations": {")" GS_NOTE R"(none": "unconfined"}},
                 "spec": {"containers": [{"name": "main", "image": "i:1"}]}})",
             "metadata.annotations[" GS_NOTE R"(none]: Invalid value: "none": container not found)"},
        Said{"OfAnInitContainer", "/pods",
             R"({"metadata": {"annotations": {")" GS_NOTE R"(init": "localhost/a"}},
                 "spec": {"containers": [{"name": "main", "image": "i:1"}],
                          "initContainers": [{"name": "init", "image": "i:1"}]}})",
             ""},
        Said{"OfNoProfile", "/pods", R"({"metadata": {"annotations": {")" GS_NOTE R"(main": "mine"}},
                 "spec": {"containers": [{"name": "main", "image": "i:1"}]}})",
             "metadata.annotations[" GS_NOTE
             R"(main]: Invalid value: "mine": invalid AppArmor profile name: "mine")"},
        Said{"OfAnotherProfileThanTheField", "/pods",
             R"({"metadata": {"annotations": {")" GS_NOTE R"(main": "unconfined"}},
                 "spec": {"containers": [{"name": "main", "image": "i:1",
                 "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}]}})",
             "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: "
             "apparmor type in annotation and field must match"},
        Said{
            "OfATemplate", "apps/daemonsets",
            R"({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"},
                 "annotations": {")" GS_NOTE R"(main": "unconfined", ")" GS_NOTE R"(x": "unconfined"}},
                 "spec": {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}},
                 "containers": [{"name": "main", "image": "i:1"}]}}}})",
            "spec.template.annotations[" GS_NOTE R"(x]: Invalid value: "x": container not found)"
            "\nspec.template.spec.containers[0].securityContext.appArmorProfile.type: Forbidden: "
            "apparmor type in annotation and field must match"}),
    nameOf);

/// A new pod's container, `main`, with this annotation and this profile of the whole pod.
struct Settled {
  const char* name;
  const char* note;    // as JSON
  const char* of_pod;  // as JSON
  const char* field;   // of the container
  const char* noted;
};
class AppArmorOfNewPods : public testing::TestWithParam<Settled> {};
TEST_P(AppArmorOfNewPods, StandsInFieldAndAnnotation) {
  static const Resources kResources;
  json::Value pod = json::parse(R"({"metadata": {}, "spec": {"securityContext": {},
                                    "containers": [{"name": "main", "image": "i:1"}]}})")
                        .value();
  const json::Value note = json::parse(GetParam().note).value();
  if (!note.isNull()) { pod.child("metadata").child("annotations").set(GS_NOTE "main", note); }
  const json::Value of_pod = json::parse(GetParam().of_pod).value();
  if (!of_pod.isNull()) { pod.child("spec").child("securityContext").set("appArmorProfile", of_pod); }
  beginKind(*kResources.stored("/pods"), pod, {});
  const json::Value& container = pod["spec"]["containers"].at(0);
  EXPECT_EQ(json::print(container["securityContext"]["appArmorProfile"]), GetParam().field);
  EXPECT_EQ(json::print(pod["metadata"]["annotations"][GS_NOTE "main"]), GetParam().noted);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AppArmorOfNewPods,
    testing::Values(
        Settled{"OfTheAnnotation", R"("runtime/default")", "null", R"({"type":"RuntimeDefault"})",
                R"("runtime/default")"},
        Settled{"AFileOfTheAnnotation", R"("localhost/a")", "null",
                R"({"type":"Localhost","localhostProfile":"a"})", R"("localhost/a")"},
        Settled{"NoFileIsNamed", R"("localhost/")", "null", "null", R"("localhost/")"},
        Settled{"AFileThatNoneIsCalled", R"("localhost/ a")", "null", "null", R"("localhost/ a")"},
        Settled{"ThePodSaysTheSame", R"("unconfined")", R"({"type": "Unconfined"})", "null",
                R"("unconfined")"},
        Settled{"ThePodSaysOtherwise", R"("unconfined")", R"({"type": "RuntimeDefault"})",
                R"({"type":"Unconfined"})", R"("unconfined")"},
        Settled{"OfThePod", "null", R"({"type": "RuntimeDefault"})", "null", R"("runtime/default")"},
        Settled{"None", "null", "null", "null", "null"}),
    [](const auto& info) { return std::string{info.param.name}; });

#undef GS_NOTE

}  // namespace
}  // namespace gs::apiserver
