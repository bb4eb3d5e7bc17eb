#include "sandbox/node/gpu_manager.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apiserver/handlers/api.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Trouble = GpuManager::Trouble;

/// Two GPUs of 32 vcuda-memory; pods that are bound to their node.
class GpuManagerTest : public testing::Test {
 protected:
  struct Limits {
    int cores = 0;
    int memory = 0;
  };
  /// `ids` by container, "" none.
  void bound(const std::string& name, const std::vector<Limits>& limits, const std::vector<std::string>& ids,
             int time, const std::vector<Limits>& sidecars = {}) {
    Array containers;
    Array init;
    for (const Limits& of : sidecars) {
      init.push_back(
          Object{{"name", "s" + std::to_string(init.size())},
                 {"image", "cuda"},
                 {"restartPolicy", "Always"},
                 {"resources",
                  Object{{"limits", Object{{"tencent.com/vcuda-core", std::to_string(of.cores)},
                                           {"tencent.com/vcuda-memory", std::to_string(of.memory)}}}}}});
    }
    Object notes{{"tencent.com/gpu-assigned", "false"}, {"tencent.com/predicate-time", std::to_string(time)}};
    for (std::size_t i = 0; i < limits.size(); ++i) {
      containers.push_back(Object{
          {"name", "c" + std::to_string(i)},
          {"image", "cuda"},
          {"resources",
           Object{{"limits", Object{{"tencent.com/vcuda-core", std::to_string(limits[i].cores)},
                                    {"tencent.com/vcuda-memory", std::to_string(limits[i].memory)}}}}}});
      if (!ids[i].empty()) { notes["tencent.com/predicate-gpu-idx-" + std::to_string(i)] = ids[i]; }
    }
    const apiserver::Response r = api_.handle(
        {"POST", "/api/v1/namespaces/default/pods", "application/json",
         Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", Object{{"name", name}, {"namespace", "default"}, {"annotations", notes}}},
                {"spec", Object{{"nodeName", "n"},
                                {"initContainers", std::move(init)},
                                {"containers", std::move(containers)}}}}},
        clock_.now());
    ASSERT_EQ(r.code, 201) << json::print(r.body);
  }
  [[nodiscard]] Value object(const std::string& name) {
    return api_.handle({"GET", "/api/v1/namespaces/default/pods/" + name, "", {}}, clock_.now()).body;
  }
  /// "" or why the kubelet fails it.
  std::string taken(const std::string& name) {
    const auto refusal = manager_.allocate(object(name), clock_.now());
    return refusal ? refusal->reason + ": " + refusal->message : "";
  }
  std::string started(const std::string& name) {
    const auto refusal = manager_.preStart(object(name), clock_.now());
    return refusal ? refusal->reason : "";
  }
  [[nodiscard]] std::string note(const std::string& name, const char* key) {
    return std::string{object(name)["metadata"]["annotations"][std::string{"tencent.com/"} + key].str()};
  }
  void gone(const std::string& name) {
    (void)api_.handle({"DELETE", "/api/v1/namespaces/default/pods/" + name, "application/json",
                       Object{{"gracePeriodSeconds", 0}}},
                      clock_.now());
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  GpuManager manager_{api_, {"n", 2, 32}, Rng{2}};
};

TEST_F(GpuManagerTest, GivesTheTightestDeviceAndSaysWhatItGave) {
  bound("a", {{50, 4}}, {"0"}, 1);
  EXPECT_EQ(taken("a"), "");
  bound("b", {{50, 4}}, {"0"}, 2);
  EXPECT_EQ(taken("b"), "") << "full now";
  bound("c", {{10, 4}}, {"1"}, 3);
  EXPECT_EQ(taken("c"), "");
  EXPECT_EQ(note("c", "gpu-assigned"), "false");
  EXPECT_EQ(started("c"), "");
  EXPECT_EQ(note("c", "gpu-assigned"), "true");
  EXPECT_EQ(note("c", "predicate-gpu-idx-0"), "1");
  EXPECT_EQ(manager_.sharesGiven(), 3);
}

TEST_F(GpuManagerTest, AnotherDeviceThanTheAnnotatedOneFailsThePod) {
  bound("a", {{50, 4}}, {"1"}, 1);
  EXPECT_EQ(taken("a"),
            "UnexpectedAdmissionError: Nvidia node mismatch for pod a(c0), pick up:/dev/nvidia0  predicate: "
            "/dev/nvidia1");
  ASSERT_EQ(manager_.refused().size(), 1U);
  EXPECT_TRUE(manager_.refused()[0].tie);
}

/// The kubelet asks for them, and no container of spec.containers has so many cores, or it is served then.
TEST_F(GpuManagerTest, ASidecarsShareAndCoresWithoutMemoryFailThePod) {
  bound("other", {{50, 4}}, {"0"}, 1, {{60, 4}});
  EXPECT_NE(taken("other").find("candidate pod not found"), std::string::npos);
  bound("equal", {{30, 4}}, {"0"}, 2, {{30, 4}});
  EXPECT_NE(taken("equal").find("candidate pod not found"), std::string::npos) << "its container is served";
  bound("cores", {{20, 0}}, {""}, 3);
  EXPECT_NE(taken("cores").find("candidate pod not found"), std::string::npos);
}

TEST_F(GpuManagerTest, EqualCoresAreServedInTheOrderOfTheirTimes) {
  bound("late", {{50, 4}}, {"0"}, 2);
  bound("early", {{50, 30}}, {"0"}, 1);
  EXPECT_EQ(taken("late"), "");
  EXPECT_EQ(started("late"), "PreStartContainerCheckErr") << "it was served to the other one";
  EXPECT_EQ(started("early"), "");
}

TEST_F(GpuManagerTest, APodThatWasBegunIsFinishedFirst) {
  bound("two", {{10, 1}, {20, 1}}, {"0", "0"}, 1);
  bound("one", {{20, 1}}, {"0"}, 2);
  bound("other", {{30, 1}}, {"0"}, 3);
  EXPECT_EQ(taken("one"), "") << "the second container of the first pod";
  EXPECT_NE(taken("other").find("allocation request mismatch"), std::string::npos);
  EXPECT_EQ(manager_.refused()[0].trouble, Trouble::OtherCount);
}

TEST_F(GpuManagerTest, WholeOnesAreAnyThatAreUntouchedAndFreeWhenThePodIsGone) {
  bound("share", {{10, 1}}, {"0"}, 1);
  EXPECT_EQ(taken("share"), "");
  bound("whole", {{100, 0}}, {"0"}, 2);
  EXPECT_EQ(taken("whole"), "") << "whatever its annotation says";
  EXPECT_EQ(started("whole"), "");
  EXPECT_EQ(note("whole", "predicate-gpu-idx-0"), "1");
  bound("next", {{100, 0}}, {"0"}, 3);
  EXPECT_NE(taken("next"), "");
  gone("whole");
  EXPECT_EQ(taken("next"), "");
}

}  // namespace
}  // namespace gs::sandbox
