// Pods whose limits gpu-manager would refuse, or would serve without counting it: every scheduler is told so
// before a node is chosen, with the field and what to write. Bodies as schedulers send them, through every
// verb that decides about a pod.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "extender/protocol/request_handler_hand_test.h"
#include "json/document.h"
#include "json/value.h"
#include "kapi/decode.h"

namespace gs::extender {
namespace {

struct OddCase {
  const char* name;
  const char* spec;  // of the pod
  const char* says;  // a part of the refusal; "": it is placed
  const char*
      as_ancestor;  // what --compat=strict answers of node a: "placed", "untouched" or a part of why not
};

/// `limits`: members of resources.limits, vcuda-core as "core" and vcuda-memory as "memory".
std::string specOf(std::string_view short_form) {
  std::string out;
  for (std::size_t at = 0; at < short_form.size();) {
    const auto taken = [&](std::string_view word, std::string_view full) {
      if (!short_form.substr(at).starts_with(word)) { return false; }
      out += full;
      at += word.size();
      return true;
    };
    if (taken("core:", R"("tencent.com/vcuda-core":)")) { continue; }
    if (taken("memory:", R"("tencent.com/vcuda-memory":)")) { continue; }
    if (taken("L{", R"("resources":{"limits":{)")) { continue; }
    if (taken("}L", "}}")) { continue; }
    out += short_form[at++];
  }
  return out;
}

std::string podOf(const OddCase& c) {
  return fmt::format(R"({{"metadata":{{"name":"p","namespace":"ml","uid":"u-1"}},"spec":{{{}}}}})",
                     specOf(c.spec));
}

class OddShares : public ::testing::TestWithParam<OddCase> {
 protected:
  struct Front : RequestHandlerHand {
    explicit Front(bool strict, const OddCase& c) : RequestHandlerHand{configOf(strict)} {
      addNode(gpuNode("a", 2, 32));
      addNode(gpuNode("cpu", 0));
      const auto read = json::Document::read(podOf(c));
      const model::Pod pod = kapi::decodePod(read->root());
      server.add(pod);
      watchBrings("p");
    }
    static Config configOf(bool strict) {
      Config config;
      config.strict = strict;
      return config;
    }
    json::Value asked(const std::string& path, const std::string& body) {
      const auto read = json::parse(reply("/scheduler/" + path, body));
      return read ? *read : json::Value{};
    }
  };
  [[nodiscard]] std::string filterBody() const {
    return fmt::format(R"({{"Pod":{},"NodeNames":["a","cpu"]}})", podOf(GetParam()));
  }
  [[nodiscard]] std::string taskBody() const {
    return fmt::format(
        R"({{"task":{{"Pod":{}}},"node":{{"Name":"a","Node":{{"metadata":{{"name":"a"}}}}}}}})",
        podOf(GetParam()));
  }
  [[nodiscard]] bool fits() const { return std::string_view{GetParam().says}.empty(); }
  void expectSaid(std::string_view text) const {
    EXPECT_NE(text.find(GetParam().says), std::string_view::npos) << text;
    EXPECT_EQ(text.find(", "), std::string_view::npos) << "kube-scheduler joins reasons with it: " << text;
  }
};

TEST_P(OddShares, KubeSchedulerIsToldAndPreemptsNobody) {
  Front front{false, GetParam()};
  const json::Value reply = front.asked("filter", filterBody());
  if (fits()) {
    ASSERT_EQ(reply["NodeNames"].items().size(), 1U);
    EXPECT_EQ(reply["NodeNames"].items()[0].str(), "a");
    return;
  }
  EXPECT_TRUE(reply["NodeNames"].items().empty());
  for (const char* node : {"a", "cpu"}) {
    expectSaid(reply["FailedNodes"][node].str());
    expectSaid(reply["FailedAndUnresolvableNodes"][node].str());
  }
  EXPECT_EQ(front.server.writes, 0);
  const json::Value preempt = front.asked(
      "preempt", fmt::format(R"({{"Pod":{},"NodeNameToMetaVictims":{{"a":{{"Pods":[{{"UID":"v"}}]}}}}}})",
                             podOf(GetParam())));
  EXPECT_TRUE(preempt["NodeNameToMetaVictims"].members().empty()) << "nobody is to die for it";
}

TEST_P(OddShares, SoIsVolcano) {
  Front front{false, GetParam()};
  const json::Value old = front.asked("volcano-1.7/predicate", taskBody());
  const json::Value newer = front.asked("volcano-1.13/predicate", taskBody());
  if (fits()) {
    EXPECT_EQ(old["errorMessage"].str(), "");
    EXPECT_EQ(newer["status"].str(), "");
    return;
  }
  expectSaid(old["errorMessage"].str());
  expectSaid(newer["status"].str());
  EXPECT_EQ(newer["code"].intOr(0), 3) << "preemption does not help";
  const std::string on_a =
      fmt::format(R"({{"task":{{"NodeName":"a","Pod":{}}},"node":null}})", podOf(GetParam()));
  expectSaid(front.asked("volcano-1.13/allocateFunc", on_a)["errorMessage"].str());
  EXPECT_EQ(front.server.writes, 0);
}

TEST_P(OddShares, NobodyBindsItThroughUs) {
  Front front{false, GetParam()};
  const json::Value reply =
      front.asked("bind", R"({"PodName":"p","PodNamespace":"ml","PodUID":"u-1","Node":"a"})");
  if (fits()) {
    EXPECT_EQ(reply["Error"].str(), "");
  } else {
    expectSaid(reply["Error"].str());
    EXPECT_EQ(front.server.writes, 0);
  }
}

TEST_P(OddShares, StrictlyTheAncestorsRuleHolds) {
  Front front{true, GetParam()};
  const json::Value reply = front.asked("filter", filterBody());
  const std::string_view wanted = GetParam().as_ancestor;
  const std::size_t nodes = reply["NodeNames"].items().size();
  if (wanted == "untouched") {
    EXPECT_EQ(nodes, 2U);
  } else if (wanted == "placed") {
    EXPECT_EQ(nodes, 1U);
  } else {
    EXPECT_EQ(nodes, 0U);
    EXPECT_NE(reply["FailedNodes"]["a"].str().find(wanted), std::string_view::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, OddShares,
    ::testing::Values(
        OddCase{"Share", R"("containers":[{"name":"c",L{core:"50",memory:"8"}L}])", "", "placed"},
        OddCase{"WholeGpu", R"("containers":[{"name":"c",L{core:"100"}L}])", "", "placed"},
        OddCase{"WholeGpuWithMemory", R"("containers":[{"name":"c",L{core:"200",memory:"3"}L}])", "",
                "placed"},
        OddCase{"ZerosBeside",
                R"("initContainers":[{"name":"i",L{core:"0"}L}],
                   "containers":[{"name":"c",L{core:"50",memory:"8"}L},{"name":"d",L{core:"0",memory:0}L},
                                 {"name":"e"}])",
                "", "placed"},
        OddCase{
            "TwoShares",
            R"("containers":[{"name":"c",L{core:"50",memory:"8"}L},{"name":"d",L{core:"30",memory:"8"}L}])",
            "", "placed"},
        OddCase{
            "CoresAlone", R"("containers":[{"name":"c",L{core:"50"}L}])",
            R"(spec.containers[0].resources.limits["tencent.com/vcuda-core"]=50 without tencent.com/vcuda-memory: gpu-manager gives no such share; add tencent.com/vcuda-memory (1 is 256 MiB) or ask for 100 cores which are a whole GPU)",
            "untouched"},
        OddCase{"CoresWithZeroMemory", R"("containers":[{"name":"c",L{core:"99",memory:"0"}L}])",
                R"(limits["tencent.com/vcuda-core"]=99 without)", "untouched"},
        OddCase{"CoresAloneInTheSecond",
                R"("containers":[{"name":"c",L{core:"50",memory:"8"}L},{"name":"d",L{core:"10"}L}])",
                R"(spec.containers[1].resources.limits["tencent.com/vcuda-core"]=10 without)", "placed"},
        OddCase{"CoresAloneTwice", R"("containers":[{"name":"c",L{core:"60"}L},{"name":"d",L{core:"60"}L}])",
                R"(spec.containers[0].resources.limits["tencent.com/vcuda-core"]=60 without)", "placed"},
        OddCase{
            "MemoryAlone", R"("containers":[{"name":"c",L{memory:"10"}L}])",
            R"(spec.containers[0].resources.limits["tencent.com/vcuda-memory"]=10 without tencent.com/vcuda-core: gpu-manager gives no GPU by it; add tencent.com/vcuda-core (100 is one GPU))",
            "untouched"},
        OddCase{"MemoryAloneBesideAWholeGpu",
                R"("containers":[{"name":"c",L{core:"100"}L},{"name":"d",L{memory:"4"}L}])",
                R"(spec.containers[1].resources.limits["tencent.com/vcuda-memory"]=4 without)", "placed"},
        OddCase{"NotWhole", R"("containers":[{"name":"c",L{core:"150",memory:"8"}L}])",
                "make it a multiple of 100", "placed"},
        OddCase{
            "Negative", R"("containers":[{"name":"c",L{core:"-50",memory:"8"}L}])",
            R"(spec.containers[0].resources.limits["tencent.com/vcuda-core"]=-50: write a number from 0 on)",
            "untouched"},
        OddCase{"NegativeMemory", R"("containers":[{"name":"c",L{core:"100",memory:"-8"}L}])",
                R"(limits["tencent.com/vcuda-memory"]=-8: write a number from 0 on)", "placed"},
        OddCase{
            "InitContainerAlone",
            R"("initContainers":[{"name":"i",L{core:"50",memory:"8"}L}],"containers":[{"name":"c"}])",
            R"(spec.initContainers[0].resources.limits["tencent.com/vcuda-core"]=50: gpu-manager gives GPUs to spec.containers only and refuses pods with shares in init containers or sidecars; move it to one of spec.containers)",
            "untouched"},
        OddCase{"InitContainerBeside",
                R"("initContainers":[{"name":"i"},{"name":"j",L{core:"200"}L}],
                   "containers":[{"name":"c",L{core:"50",memory:"8"}L}])",
                R"(spec.initContainers[1].resources.limits["tencent.com/vcuda-core"]=200: gpu-manager gives)",
                "placed"},
        OddCase{"SidecarAlone",
                R"("initContainers":[{"name":"i","restartPolicy":"Always",L{core:"50",memory:"8"}L}],
                   "containers":[{"name":"c"}])",
                R"(spec.initContainers[0].resources.limits["tencent.com/vcuda-core"]=50: gpu-manager gives)",
                "untouched"},
        OddCase{"SidecarBeside",
                R"("initContainers":[{"name":"i","restartPolicy":"Always",L{core:"60",memory:"10"}L}],
                   "containers":[{"name":"c",L{core:"60",memory:"10"}L}])",
                R"(spec.initContainers[0].resources.limits["tencent.com/vcuda-core"]=60: gpu-manager gives)",
                "placed"},
        OddCase{
            "MemoryInASidecar",
            R"("initContainers":[{"name":"i","restartPolicy":"Always",L{memory:"10"}L}],
                   "containers":[{"name":"c",L{core:"60",memory:"10"}L}])",
            R"(spec.initContainers[0].resources.limits["tencent.com/vcuda-memory"]=10: gpu-manager gives)",
            "placed"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(OddSharesProtocol, WhatNoNodeHasFitsNowhereAndIsNoError) {
  for (const char* limits :
       {R"("tencent.com/vcuda-core":"9000000000000000000")",
        R"("tencent.com/vcuda-core":"50","tencent.com/vcuda-memory":"9000000000000000000")"}) {
    RequestHandlerHand front;
    front.addNode(gpuNode("a", 2, 32));
    const auto read = json::parse(front.reply(
        "/scheduler/filter",
        fmt::format(
            R"({{"Pod":{{"metadata":{{"name":"p","namespace":"ml","uid":"u"}},"spec":{{"containers":[{{"resources":{{"limits":{{{}}}}}}}]}}}},"NodeNames":["a"]}})",
            limits)));
    EXPECT_NE((*read)["FailedNodes"]["a"].str().find("does not match with this node"),
              std::string_view::npos);
    EXPECT_TRUE((*read)["FailedAndUnresolvableNodes"].isNull()) << "a larger node may come";
  }
}

/// gpu-manager and the kubelet read limits only; an API server takes no such request without its limit, and
/// no resources of an ephemeral container.
TEST(OddSharesProtocol, WhatIsNoLimitOfAContainerAsksForNothing) {
  for (
      const char* spec :
      {R"("containers":[{"name":"c","resources":{"requests":{"tencent.com/vcuda-core":"50"}}}])",
       R"("containers":[{"name":"c"}],"ephemeralContainers":[{"name":"e","resources":{"limits":{"tencent.com/vcuda-core":"50"}}}])"}) {
    RequestHandlerHand front;
    front.addNode(gpuNode("a", 2, 32));
    const auto read = json::parse(front.reply(
        "/scheduler/filter",
        fmt::format(
            R"({{"Pod":{{"metadata":{{"name":"p","namespace":"ml","uid":"u"}},"spec":{{{}}}}},"NodeNames":["a","cpu"]}})",
            spec)));
    EXPECT_EQ((*read)["NodeNames"].items().size(), 2U) << spec;
  }
}

TEST(OddSharesProtocol, ALimitOfAnInitContainerThatIsNoQuantityIsRefused) {
  RequestHandlerHand front;
  front.addNode(gpuNode("a", 2, 32));
  const auto read = json::parse(front.reply(
      "/scheduler/filter",
      R"({"Pod":{"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":{"initContainers":[{"resources":{"limits":{"tencent.com/vcuda-core":"many"}}}]}},"NodeNames":["a"]})"));
  EXPECT_NE((*read)["Error"].str().find("Pod.spec.initContainers[0].resources.limits[\"tencent.com/"
                                        "vcuda-core\"]: \"many\" is not a quantity"),
            std::string_view::npos)
      << (*read)["Error"].str();
}

}  // namespace
}  // namespace gs::extender
