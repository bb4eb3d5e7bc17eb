#include "kapi/decode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/json_text_test.h"
#include "kapi/kinds.h"
#include "kapi/time.h"

namespace gs::kapi {
namespace {

// ---- nodes and their GPUs

TEST(DecodeServerVersion, ReadsTheMinorOfOne) {
  const auto minor = [](const char* text) { return decodeServerVersion(parsed(text)).minor; };
  EXPECT_EQ(minor(R"({"major":"1","minor":"33","gitVersion":"v1.33.0"})"), 33);
  EXPECT_EQ(minor(R"({"major":"1","minor":"31+"})"), 31) << "as some providers write it";
  for (const char* text :
       {R"({"major":"2","minor":"33"})", R"({"major":"1","minor":""})", R"({"major":"1","minor":33})",
        R"({"major":"1","minor":"x"})", R"({"major":"1","minor":"99999999999"})", "{}", "[]"}) {
    EXPECT_EQ(minor(text), 0) << text;
  }
}

TEST(DecodeNode, ReadsTheFieldsThatWeUse) {
  const model::Node node =
      decodeNode(parsed(R"({"metadata":{"name":"node-a","uid":"n-1","resourceVersion":"9",
    "creationTimestamp":"2025-06-15T15:06:40Z",
    "labels":{"gpu-type":"a100"}},"spec":{"unschedulable":true,"taints":[{"key":"k","value":"v",
    "effect":"NoSchedule"}]},
    "status":{"allocatable":{"cpu":"63500m","memory":"500Gi","pods":"110","nvidia.com/gpu":"8","x":"bad"},
    "capacity":{"cpu":"64","tencent.com/vcuda-core":"800"},
    "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}],
    "nodeInfo":{"kubeletVersion":"v1.36.3"}}})"));
  EXPECT_EQ(node.name, model::NodeName{"node-a"});
  EXPECT_EQ(node.revision, 9U);
  EXPECT_EQ(node.created, parseTime("2025-06-15T15:06:40Z"));
  EXPECT_EQ(node.labels.at("gpu-type"), "a100");
  EXPECT_EQ(node.taints, (std::vector<model::Taint>{{"k", "v", "NoSchedule"}}));
  EXPECT_TRUE(node.unschedulable);
  EXPECT_TRUE(node.ready);
  EXPECT_EQ(node.allocatable.cpu_milli, 63500);
  EXPECT_EQ(node.allocatable.extended, (std::map<std::string, std::int64_t>{{"nvidia.com/gpu", 8}}));
  EXPECT_EQ(node.allocatable_pods, 110);
  EXPECT_EQ(node.kubelet, "v1.36.3");
  EXPECT_EQ(node.share_capacity, (model::ShareAmounts{800, 0}));
}

TEST(DecodeNode, WithoutReadyConditionIsNotReady) {
  EXPECT_FALSE(decodeNode(parsed("{}")).ready);
  EXPECT_FALSE(
      decodeNode(parsed(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})")).ready);
}

TEST(DecodeNode, CapacityStandsInForAbsentAllocatable) {
  const model::Node node = decodeNode(parsed(R"({"status":{"capacity":{"cpu":"4","pods":"5"}}})"));
  EXPECT_EQ(node.allocatable.cpu_milli, 4000);
  EXPECT_EQ(node.allocatable_pods, 5);
}

TEST(DecodeGpuNodeStatus, ReadsDevicesInOrderOfTheirIds) {
  const auto s = decodeGpuNodeStatus(parsed(R"({"metadata":{"name":"node-a","resourceVersion":"3",
     "ownerReferences":[{"kind":"Pod","uid":"u-pod"},{"kind":"Node","uid":"u-node"}]},
    "spec":{"nodeName":"other"},"status":{"observedTime":"2025-06-15T15:06:40Z","devices":[
    {"id":1,"uuid":"GPU-1","model":"A100","memoryMiB":81920,"health":"Healthy","island":"0",
    "bandwidthGBps":600,
     "links":[{"to":0,"gbps":600,"type":"nvlink"},{"to":-1,"gbps":1},{"to":2,"gbps":-5}],
     "partitions":[{"uuid":"MIG-1"}],"idMoved":true,"inUseBy":["u-2","u-1","u-2",""]},
    {"id":0,"health":"Unhealthy","healthReason":"XID 79"},{"id":0,"uuid":"twice"},{"id":2,"health":"Sick"},
    {"id":-1},{"id":1024},{"id":"x"},{}]}})"));
  EXPECT_EQ(s.node, model::NodeName{"node-a"});
  EXPECT_EQ(s.node_uid, model::Uid{"u-node"});
  EXPECT_EQ(s.observed_time, "2025-06-15T15:06:40Z");
  ASSERT_EQ(s.devices.size(), 3U);
  EXPECT_EQ(s.devices[0].health, model::Health::Unhealthy);
  EXPECT_EQ(s.devices[0].health_reason, "XID 79");
  EXPECT_EQ(s.devices[0].uuid, "");
  const model::Device& d = s.devices[1];
  EXPECT_EQ(d.id, 1);
  EXPECT_EQ(d.memory_mib, 81920);
  EXPECT_EQ(d.links, (std::vector<model::Link>{{0, 600}, {2, 0}}));
  EXPECT_TRUE(d.partitioned);
  EXPECT_TRUE(d.id_moved);
  EXPECT_FALSE(s.devices[0].id_moved);
  EXPECT_EQ(d.in_use_by, (std::vector<model::Uid>{model::Uid{"u-1"}, model::Uid{"u-2"}}));
  EXPECT_EQ(s.devices[2].health, model::Health::Unknown);
}

TEST(DecodeGpuNodeStatus, WithoutALookItIsAReportOnlyWhereNobodySaysThatHeKeepsIt) {
  using model::Writer;
  struct Row {
    const char* label;
    const char* observed;
    Writer writer;
    bool is_report;
  };
  for (const Row& row :
       {Row{"", "", Writer::Unsaid, true}, Row{"", "t", Writer::Unsaid, true},
        Row{"else", "", Writer::Unsaid, true}, Row{"agent", "", Writer::Agent, false},
        Row{"agent", "t", Writer::Agent, true}, Row{"scheduler", "", Writer::Scheduler, false},
        Row{"scheduler", "t", Writer::Scheduler, true}}) {
    const auto s = decodeGpuNodeStatus(
        parsed(fmt::format(R"({{"metadata":{{"name":"a","labels":{{"gpu.scheduling/written-by":"{}"}}}},)"
                           R"("status":{{"observedTime":"{}"}}}})",
                           row.label, row.observed)));
    EXPECT_EQ(s.writer, row.writer) << row.label;
    EXPECT_EQ(s.isReport(), row.is_report) << row.label << " " << row.observed;
  }
}

TEST(DecodeGpuNodeStatus, ThatADriverGivesTheGpusIsNoEnforcementOfTheAgents) {
  const auto saying = [](const char* word) {
    return decodeGpuNodeStatus(
        parsed(fmt::format(R"({{"metadata":{{"name":"a"}},"status":{{"enforcement":"{}"}}}})", word)));
  };
  EXPECT_EQ(saying("dra").enforcement, model::Enforcement::Off);
  EXPECT_TRUE(saying("dra").says_dra);
  EXPECT_EQ(saying("devices").enforcement, model::Enforcement::Devices);
  EXPECT_FALSE(saying("devices").says_dra);
}

// ---- claims

model::GpuClaim claimOf(std::string_view spec) {
  return decodeClaim(
      parsed(R"({"metadata":{"namespace":"a","name":"c","uid":"u","resourceVersion":"1"},"spec":)" +
             std::string{spec} + "}"));
}

TEST(DecodeClaim, AnEmptySpecHasTheCrdsDefaults) {
  const auto c = claimOf("{}");
  EXPECT_EQ(c.count, 1);
  EXPECT_EQ(c.policy, model::Policy::Contiguous);
  EXPECT_EQ(c.exclusivity, model::Exclusivity::Exclusive);
  EXPECT_EQ(c.topology, std::nullopt);
  EXPECT_EQ(c.invalid, "");
}

TEST(DecodeClaim, ReadsEverything) {
  const auto c =
      claimOf(R"({"selector":{"matchLabels":{"gpu-type":"a100"}},"devices":{"count":4,"policy":"preferIds",
    "preferIds":[3,1],"exclusivity":"Shared"},"topology":{"mode":"Required","minBandwidthGBps":300},
    "gangRef":"g"})");
  EXPECT_EQ(c.match_labels, (std::map<std::string, std::string>{{"gpu-type", "a100"}}));
  EXPECT_EQ(c.count, 4);
  EXPECT_EQ(c.policy, model::Policy::PreferIds);
  EXPECT_EQ(c.prefer_ids, (std::vector<int>{3, 1}));
  EXPECT_EQ(c.exclusivity, model::Exclusivity::Shared);
  EXPECT_EQ(c.topology, model::TopologyMode::Required);
  EXPECT_EQ(c.min_bandwidth_gbps, 300);
  EXPECT_EQ(c.gang_ref, "g");
  EXPECT_EQ(c.invalid, "");
}

TEST(DecodeClaim, ATopologyWithoutModeIsPreferred) {
  EXPECT_EQ(claimOf(R"({"topology":{}})").topology, model::TopologyMode::Preferred);
  EXPECT_EQ(claimOf(R"({"topology":null})").topology, std::nullopt);
}

struct InvalidClaim {
  const char* name;
  const char* spec;
  const char* begins;
};
class ClaimInvalid : public testing::TestWithParam<InvalidClaim> {};
TEST_P(ClaimInvalid, NamesFieldAndValue) {
  const auto c = claimOf(GetParam().spec);
  EXPECT_EQ(c.invalid.substr(0, std::string_view{GetParam().begins}.size()), GetParam().begins) << c.invalid;
}
INSTANTIATE_TEST_SUITE_P(
    Table, ClaimInvalid,
    testing::Values(
        InvalidClaim{"CountZero", R"({"devices":{"count":0}})", "spec.devices.count is 0: write a whole"},
        InvalidClaim{"CountHuge", R"({"devices":{"count":1025}})", "spec.devices.count is 1025:"},
        InvalidClaim{"CountText", R"({"devices":{"count":"4"}})", "spec.devices.count is \"4\":"},
        InvalidClaim{"CountHalf", R"({"devices":{"count":1.5}})", "spec.devices.count is 1.5:"},
        InvalidClaim{"Policy", R"({"devices":{"policy":"best"}})", "spec.devices.policy is \"best\":"},
        InvalidClaim{"PolicyType", R"({"devices":{"policy":5}})", "spec.devices.policy is 5:"},
        InvalidClaim{"Exclusivity", R"({"devices":{"exclusivity":"shared"}})",
                     "spec.devices.exclusivity is \"shared\":"},
        InvalidClaim{"Mig", R"({"devices":{"exclusivity":"MIG"}})",
                     "spec.devices.exclusivity is \"MIG\": MIG partitions are not supported yet:"},
        InvalidClaim{"NegativeId", R"({"devices":{"preferIds":[0,-1]}})", "spec.devices.preferIds[] is -1:"},
        InvalidClaim{"DoubledId", R"({"devices":{"preferIds":[2,2]}})",
                     "spec.devices.preferIds[] is 2: the id is there twice"},
        InvalidClaim{"IdsNoList", R"({"devices":{"preferIds":"0,1"}})", "spec.devices.preferIds is"},
        InvalidClaim{"Mode", R"({"topology":{"mode":"required"}})", "spec.topology.mode is \"required\":"},
        InvalidClaim{"Bandwidth", R"({"topology":{"minBandwidthGBps":-1}})",
                     "spec.topology.minBandwidthGBps is -1:"},
        InvalidClaim{"LabelNumber", R"({"selector":{"matchLabels":{"gpus":8}}})",
                     "spec.selector.matchLabels is {\"gpus\":8}:"},
        InvalidClaim{"GangIsHandledElsewhere", R"({"gangRef":"g"})", ""}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(DecodeClaim, ASelectorOfVeryManyLabelsIsRefusedAndMatchesNoMoreThanItSays) {
  const auto with = [](int n) {
    return claimOf(R"({"selector":{"matchLabels":{)" + repeated(R"("k@":"v")", n) + "}}}");
  };
  EXPECT_EQ(with(64).invalid, "");
  EXPECT_EQ(with(64).match_labels.size(), 64U);
  const auto many = with(65);
  EXPECT_EQ(many.invalid.find(R"(spec.selector.matchLabels is {"k0":"v",)"), 0U) << many.invalid;
  EXPECT_NE(many.invalid.find("write at most 64 labels"), std::string::npos) << many.invalid;
  EXPECT_EQ(many.match_labels.size(), 64U);
}

// ---- every kind

TEST(DecodeObject, EveryKindKnowsItsKeyUidAndRevision) {
  const auto v = parsed(R"({"metadata":{"namespace":"ns","name":"x","uid":"u","resourceVersion":"7",
    "annotations":{"gpu.scheduling/lease-namespace":"gs"}}})");
  for (const Kind kind : {kPod, kNode, kGpuClaim, kGpuNodeStatus, kLease, kCrd, kQuotaMap}) {
    const model::Object o = decodeObject(kind, v);
    EXPECT_EQ(o.key().name, "x");
    EXPECT_EQ(o.uid(), model::Uid{"u"});
    EXPECT_EQ(o.revision(), 7U);
  }
  EXPECT_EQ(decodeObject(kPod, v).key().ns, "ns");
  EXPECT_EQ(decodeObject(kNode, v).key().ns, "");
  EXPECT_EQ(decodeCrd(v).lease_namespace, "gs");
  EXPECT_EQ(decodeCrd(v).schema, 0);
  EXPECT_TRUE(decodeObject(kEvent, v).empty());
  EXPECT_TRUE(decodeObject(kPod, json::Value{}).empty());
  EXPECT_EQ(model::Object{}.revision(), 0U);
}

TEST(DecodeCrd, ASchemaThatCannotBeReadIsLaterThanAllThatIsKnown) {
  const auto schema = [](const char* number) {
    return decodeCrd(parsed(R"({"metadata":{"annotations":{"gpu.scheduling/schema-version":")" +
                            std::string{number} + "\"}}}"))
        .schema;
  };
  EXPECT_EQ(schema("3"), 3);
  EXPECT_EQ(schema(""), 0);
  for (const char* number : {"1000001", "3b", "-1", "99999999999999999999"}) {
    EXPECT_EQ(schema(number), 1'000'000) << number;
  }
}

TEST(ObjectRevision, IsADecimalNumberOrNone) {
  EXPECT_EQ(objectRevision(parsed(R"({"metadata":{"resourceVersion":"18446744073709551615"}})")), UINT64_MAX);
  for (const char* text : {"\"\"", "\"-1\"", "\"1x\"", "\"18446744073709551616\"", "5", "null"}) {
    EXPECT_EQ(objectRevision(parsed("{\"metadata\":{\"resourceVersion\":" + std::string{text} + "}}")), 0U)
        << text;
  }
}

TEST(DecodeGpuNodeStatus, ADeviceWithMoreUsersThanCanBeIsGivenToNobody) {
  const auto status = [](std::size_t devices, std::size_t users) {
    std::string list;
    for (std::size_t d = 0; d < devices; ++d) {
      std::string uids;
      for (std::size_t u = 0; u < users; ++u) {
        uids += fmt::format("{}\"uid-{}-{}\"", u > 0 ? "," : "", d, u);
      }
      list += fmt::format(R"({}{{"id":{},"health":"Healthy","inUseBy":[{}]}})", d > 0 ? "," : "", d, uids);
    }
    const std::string text = R"({"metadata":{"name":"a"},"status":{"devices":[)" + list + "]}}";
    return decodeGpuNodeStatus(json::Document::read(text)->root());
  };
  EXPECT_EQ(status(4, 256).devices[3].health, model::Health::Healthy);
  const auto crowded = status(1, 257);
  EXPECT_EQ(crowded.devices[0].in_use_by.size(), 256U);
  EXPECT_EQ(crowded.devices[0].health, model::Health::Unhealthy);
  EXPECT_EQ(crowded.devices[0].health_reason, "inUseBy has 257 entries, more than 256");
  EXPECT_EQ(status(5, 256).devices[4].health, model::Health::Unhealthy) << "1,024 of a node";
}

}  // namespace
}  // namespace gs::kapi
