#include "operator/node/pod_watch.h"

#include <gtest/gtest.h>

#include <optional>

#include "operator/beside_test.h"

namespace gs::gkm {
namespace {

using json::Array;
using json::Object;

class PodWatchTest : public BesideTest {
 protected:
  std::vector<kcache::MountPaths> told;
  std::vector<std::string> logs;

  void start() {
    watch_.emplace(
        parts_, model::NodeName{"n1"}, [this](const kcache::MountPathsPtr& paths) { told.push_back(*paths); },
        Rng{1});
    BesideTest::start(*watch_);
  }
  void put(const std::string& name, json::Value spec) {
    server.put(kind_,
               Object{{"metadata", Object{{"name", name}, {"namespace", "ns"}}}, {"spec", std::move(spec)}});
    settle();
  }
  [[nodiscard]] std::string uidOf(const std::string& name) {
    return std::string{server.objects.at({"pods", {"ns", name}})["metadata"]["uid"].str()};
  }
  static json::Value mount(const char* volume, const char* path, const char* sub = nullptr) {
    json::Value out = Object{{"name", volume}, {"mountPath", path}};
    if (sub != nullptr) { out.set("subPath", sub); }
    return out;
  }
  static json::Value specOf(Array volumes, Array mounts) {
    return Object{{"nodeName", "n1"},
                  {"volumes", std::move(volumes)},
                  {"containers", Array{Object{{"name", "c"}, {"volumeMounts", std::move(mounts)}}}}};
  }
  static json::Value ours(const char* name) {
    return Object{{"name", name}, {"csi", Object{{"driver", "csi.gkm.io"}}}};
  }
  static json::Value claim(const char* name, const char* of) {
    return Object{{"name", name}, {"persistentVolumeClaim", Object{{"claimName", of}}}};
  }
  static constexpr kapi::KindInfo kPods{"", "v1", "pods", "Pod", true, nullptr};
  kapi::Kind kind_{kPods};
  std::optional<PodWatch> watch_;
  std::string asked_;  // the query of the last list

 private:
  kapi::Outcome answerTo(const kapi::Call& call) override {
    kind_ = call.kind;
    asked_ = call.query;
    return server.carryOut(call);
  }
  void logged(const kapi::Log& log) override { logs.push_back(log.fields.at(0).second + ": " + log.message); }
};

TEST_F(PodWatchTest, TellsWherePodsHaveTheirCaches) {
  start();
  EXPECT_EQ(told, std::vector{kcache::MountPaths{}}) << "that there are none is told too";
  put("plain", specOf({Object{{"name", "tmp"}, {"emptyDir", Object{}}}}, {mount("tmp", "/tmp")}));
  EXPECT_EQ(told.size(), 1U) << "a pod without a cache is nothing new";
  put("one", specOf({ours("k"), claim("v", "vector-add")}, {mount("k", "/cache"), mount("v", "/models")}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told.back(),
            (kcache::MountPaths{
                {uidOf("one"), {.volumes = {{"k", "/cache"}}, .claims = {{"vector-add", "/models"}}}}}));
  server.touch({"pods", {"ns", "one"}});
  settle();
  EXPECT_EQ(told.size(), 2U) << "the same again";
  server.remove(kind_, {"ns", "one"});
  settle();
  EXPECT_EQ(told.back(), kcache::MountPaths{});
}

// The pods of test/testbed/contract/gkm-head.
TEST_F(PodWatchTest, PodsOfTheNewestExamplesHaveThemWhereTheySay) {
  start();
  put("uses-it", specOf({claim("kernels", "vector-add")}, {mount("kernels", "/cache")}));
  json::Value vllm = Object{
      {"name", "kernels"},
      {"csi", Object{{"driver", "csi.gkm.io"},
                     {"volumeAttributes",
                      Object{{"csi.gkm.io/GKMCache", "llama"}, {"csi.gkm.io/namespace", "caches-1"}}}}}};
  put("server", specOf({std::move(vllm)}, {mount("kernels", "/home/vllm/.cache/vllm")}));
  EXPECT_EQ(told.back(),
            (kcache::MountPaths{
                {uidOf("uses-it"), {.volumes = {}, .claims = {{"vector-add", "/cache"}}}},
                {uidOf("server"), {.volumes = {{"kernels", "/home/vllm/.cache/vllm"}}, .claims = {}}}}));
}

TEST_F(PodWatchTest, OfSeveralMountsTheFirstAsAWholeCounts) {
  start();
  json::Value spec = Object{
      {"volumes", Array{ours("k"), ours("part"), ours("init")}},
      {"containers",
       Array{Object{{"name", "a"}, {"volumeMounts", Array{mount("part", "/sub", "x"), mount("k", "/first")}}},
             Object{{"name", "b"}, {"volumeMounts", Array{mount("k", "/second")}}}}},
      {"initContainers",
       Array{Object{{"name", "i"}, {"volumeMounts", Array{mount("k", "/i"), mount("init", "/only")}}}}}};
  put("many", std::move(spec));
  EXPECT_EQ(told.back().at(uidOf("many")).volumes,
            (std::map<std::string, std::string>{{"k", "/first"}, {"init", "/only"}}));
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_TRUE(logs[0].starts_with("ns/many: this pod mounts a cache at several places")) << logs[0];
  server.touch({"pods", {"ns", "many"}});
  settle();
  EXPECT_EQ(logs.size(), 1U) << "once";
}

/// As the label cache-mount-subpath of an image has it.
TEST_F(PodWatchTest, APartThatIsMountedUnderItsOwnNameSaysWhereTheRestWouldBe) {
  start();
  put("parts", specOf({ours("a"), ours("b"), ours("c"), claim("d", "llama")},
                      {mount("a", "/home/vllm/.cache/vllm/torch_compile_cache/", "torch_compile_cache"),
                       mount("a", "/home/vllm/.cache/vllm/torch_aot_compile", "torch_aot_compile"),
                       mount("b", "/kernels/x/y", "x/y/"), mount("b", "/elsewhere"), mount("c", "/y", "y"),
                       mount("d", "/home/vllm/.cache/x", "x")}));
  EXPECT_EQ(told.back().at(uidOf("parts")),
            (kcache::PodPaths{.volumes = {{"a", "/home/vllm/.cache/vllm"}, {"b", "/elsewhere"}},
                              .claims = {{"llama", "/home/vllm/.cache"}}}));
  ASSERT_EQ(logs.size(), 1U) << "b is at two places; c would be at '/'";
  put("other-name", specOf({ours("a")}, {mount("a", "/cache/z", "y")}));
  put("no-part", specOf({ours("a")}, {mount("a", "/cachey", "y")}));
  json::Value by_variable = mount("a", "/cache");
  by_variable.set("subPathExpr", "$(POD_NAME)");
  put("expr", specOf({ours("a")}, {std::move(by_variable)}));
  for (const char* name : {"other-name", "no-part", "expr"}) {
    EXPECT_EQ(told.back().at(uidOf(name)), kcache::PodPaths{}) << name;
  }
  EXPECT_EQ(logs.size(), 4U);
  put("whole", specOf({ours("a"), ours("b")}, {mount("a", "/cache", "."), mount("b", "/b", "./")}));
  EXPECT_EQ(told.back().at(uidOf("whole")).volumes,
            (std::map<std::string, std::string>{{"a", "/cache"}, {"b", "/b"}}));
  put("claims",
      specOf({claim("d", "data")}, {mount("d", "/data/z", "y"), mount("d", "/a"), mount("d", "/b")}));
  EXPECT_EQ(logs.size(), 4U) << "which most claims are not for";
}

TEST_F(PodWatchTest, APathIsToldAsTheKubeletMountsIt) {
  start();
  put("odd",
      specOf({ours("a"), ours("b"), ours("c"), ours("d")},
             {mount("a", "/home/vllm/"), mount("b", "//x//y"), mount("c", "z"), mount("d", "/p/./q/../r")}));
  EXPECT_EQ(
      told.back().at(uidOf("odd")).volumes,
      (std::map<std::string, std::string>{{"a", "/home/vllm"}, {"b", "/x/y"}, {"c", "/z"}, {"d", "/p/r"}}));
}

TEST_F(PodWatchTest, APodThatMountsNoneAsAWholeIsSeenAllTheSame) {
  start();
  put("part", specOf({ours("k")}, {mount("k", "/sub", "x")}));
  EXPECT_EQ(told.back(), (kcache::MountPaths{{uidOf("part"), {}}}));
  put("long", specOf({ours("k"), ours("l")},
                     {mount("k", ("/" + std::string(2000, 'a')).c_str()), mount("l", "/a\nb")}));
  EXPECT_EQ(told.back().at(uidOf("long")), (kcache::PodPaths{.volumes = {}, .claims = {}, .has_more = true}));
  EXPECT_EQ(logs.size(), 2U) << "of the part, and of those that cannot be told";
  put("odd", Object{{"volumes", Array{7, ours("k")}}, {"containers", "none"}});
  EXPECT_TRUE(told.back().contains(uidOf("odd")));
}

TEST_F(PodWatchTest, APodThatHasEndedIsForgotten) {
  start();
  put("job", specOf({ours("k")}, {mount("k", "/a")}));
  for (const char* phase : {"Succeeded", "Failed"}) {
    json::Value& job = server.objects.at({"pods", {"ns", "job"}});
    job.set("status", Object{{"phase", "Running"}});
    server.touch({"pods", {"ns", "job"}});
    settle();
    EXPECT_EQ(told.back().size(), 1U) << phase;
    server.objects.at({"pods", {"ns", "job"}}).set("status", Object{{"phase", phase}});
    server.touch({"pods", {"ns", "job"}});
    settle();
    EXPECT_EQ(told.back(), kcache::MountPaths{}) << phase;
  }
}

TEST_F(PodWatchTest, AStaticPodHasTheUidThatItsKubeletGaveIt) {
  start();
  put("plain", specOf({ours("k")}, {mount("k", "/plain")}));
  const std::string hash = "0123456789abcdef0123456789abcdef";
  const auto mirror = [&](const char* name, const std::string& of) {
    json::Value pod = Object{{"metadata", Object{{"name", name}, {"namespace", "ns"}}},
                             {"spec", specOf({ours("k")}, {mount("k", "/static")})}};
    pod.child("metadata").set("annotations", Object{{"kubernetes.io/config.mirror", of}});
    server.put(kind_, std::move(pod));
    settle();
  };
  mirror("mirror", hash);
  const std::string place = kcache::staticPodOf("ns", "mirror", hash);
  EXPECT_EQ(told.back().at(place).volumes.at("k"), "/static");
  EXPECT_FALSE(told.back().contains(uidOf("mirror"))) << "its kubelet does not know that one";
  mirror("forged", uidOf("plain"));
  EXPECT_EQ(told.back().at(uidOf("plain")).volumes.at("k"), "/plain") << "nobody takes another's place";
  mirror("forged", hash);
  EXPECT_EQ(told.back().at(place).volumes.at("k"), "/static") << "nor that of a static pod";
  server.remove(kind_, {"ns", "forged"});
  settle();
  EXPECT_TRUE(told.back().contains(place)) << "nor does it go with it";
  server.remove(kind_, {"ns", "mirror"});
  settle();
  EXPECT_FALSE(told.back().contains(place));
}

TEST_F(PodWatchTest, OfAPodWithTooManyVolumesItIsSaidThatItHasMore) {
  start();
  const auto putWith = [&](const char* name, int volumes) {
    Array all;
    Array mounts;
    for (int i = 0; i < volumes; ++i) {
      const std::string volume = "v" + std::to_string(i);
      all.push_back(ours(volume.c_str()));
      mounts.push_back(mount(volume.c_str(), "/cache"));
    }
    put(name, specOf(std::move(all), std::move(mounts)));
    return told.back().at(uidOf(name));
  };
  EXPECT_FALSE(putWith("full", 64).has_more);
  EXPECT_TRUE(logs.empty());
  const kcache::PodPaths paths = putWith("over", 65);
  EXPECT_EQ(paths.volumes.size(), 64U);
  EXPECT_TRUE(paths.has_more);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_TRUE(logs[0].starts_with("ns/over: not all mount paths of this pod are told")) << logs[0];
  server.touch({"pods", {"ns", "over"}});
  settle();
  EXPECT_EQ(logs.size(), 1U) << "once";
}

TEST_F(PodWatchTest, AnotherPodOfTheNameTakesItsPlace) {
  start();
  put("one", specOf({ours("k")}, {mount("k", "/a")}));
  const std::string before = uidOf("one");
  server.remove(kind_, {"ns", "one"});
  put("one", specOf({ours("k")}, {mount("k", "/b")}));
  EXPECT_NE(uidOf("one"), before);
  EXPECT_EQ(told.back(), (kcache::MountPaths{{uidOf("one"), {.volumes = {{"k", "/b"}}}}}));
}

TEST_F(PodWatchTest, OnlyPodsOfItsNodeAreAskedFor) {
  start();
  EXPECT_NE(asked_.find("fieldSelector=spec.nodeName%3Dn1"), std::string::npos) << asked_;
  EXPECT_EQ(watch_->check().state, "ok");
}

}  // namespace
}  // namespace gs::gkm
