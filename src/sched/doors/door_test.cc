#include "sched/doors/door.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::sched {
namespace {

using testing::makeClaim;
using testing::PodBuilder;

struct BlockedCase {
  const char* name;
  model::Pod pod;
  std::optional<model::GpuClaim> claim;
  const char* kind;
  std::string says;  // a part of the text that names field and fix
};

model::GpuClaim claimWith(std::int64_t count, auto change) {
  model::GpuClaim c = makeClaim("c", count);
  change(c);
  return c;
}

PodBuilder mapped(const char* name, std::string map) {
  return std::move(PodBuilder(name).annotate("gpu-scheduling-map", std::move(map)));
}

/// It names a ResourceClaim.
PodBuilder claiming(const char* claim) { return std::move(PodBuilder("p").resourceClaim(claim)); }

class DoorRefuses : public ::testing::TestWithParam<BlockedCase> {};

TEST_P(DoorRefuses, SayingWhy) {
  const auto& c = GetParam();
  const auto result = readPod(c.pod, {.claim = c.claim ? &*c.claim : nullptr});
  const auto* blocked = std::get_if<Blocked>(&result);
  ASSERT_NE(blocked, nullptr);
  EXPECT_EQ(blocked->kind, c.kind);
  EXPECT_NE(blocked->text.find(c.says), std::string::npos) << blocked->text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, DoorRefuses,
    ::testing::Values(
        BlockedCase{"Gated", PodBuilder("p").gate("g1").value(), {}, "SchedulingGated", "g1"},
        BlockedCase{"TwoDoors",
                    mapped("p-0", "0=n:0").claim("c").value(),
                    {},
                    "TwoDoors",
                    "gpu.scheduling/claim and annotation gpu-scheduling-map"},
        BlockedCase{"Unsupported",
                    PodBuilder("p").unsupported("spec.affinity").value(),
                    {},
                    "Unsupported:spec.affinity",
                    "spec.affinity is not supported"},
        BlockedCase{"EmptyName", PodBuilder("p").claim("").value(), {}, "ClaimNameEmpty", "write the name"},
        BlockedCase{"BlankInAName",
                    PodBuilder("p").claim(" one").value(),
                    {},
                    "ClaimNameInvalid",
                    "annotation gpu.scheduling/claim: \" one\" is no name of a GpuClaim, which has "
                    "lower-case letters and digits with '-' and '.' between them; 253 characters at most; "
                    "write \"one\" for the one of namespace default"},
        BlockedCase{"OtherNamespaceInAName",
                    PodBuilder("p").claim("team/one").value(),
                    {},
                    "ClaimNameInvalid",
                    "\"team/one\" is no name of a GpuClaim, which has lower-case letters and digits with "
                    "'-' and '.' between them; 253 characters at most; write \"one\" for the one of "
                    "namespace default (others cannot be used)"},
        BlockedCase{"CapitalsInAName",
                    PodBuilder("p").claim("ONE").value(),
                    {},
                    "ClaimNameInvalid",
                    "\"ONE\" is no name of a GpuClaim, which has"},
        BlockedCase{"NoNameAtAll",
                    PodBuilder("p").claim("{{ .Values.claim }}").value(),
                    {},
                    "ClaimNameInvalid",
                    "write the name of one of namespace default"},
        BlockedCase{"LineEndInAName",
                    PodBuilder("p").claim("one\n").value(),
                    {},
                    "ClaimNameInvalid",
                    "\"one\\n\" is no name of a GpuClaim"},
        BlockedCase{"DotsInAName",
                    PodBuilder("p").claim("a..b").value(),
                    {},
                    "ClaimNameInvalid",
                    "\"a..b\" is no name"},
        BlockedCase{"LongName",
                    PodBuilder("p").claim(std::string(254, 'n').c_str()).value(),
                    {},
                    "ClaimNameInvalid",
                    "nnn\"... is no name"},
        BlockedCase{"LongestName",
                    PodBuilder("p").claim(std::string(253, 'n').c_str()).value(),
                    {},
                    "ClaimMissing",
                    "create it"},
        BlockedCase{"NoClaim",
                    PodBuilder("p").claim("c").value(),
                    {},
                    "ClaimMissing",
                    "\"c\" not found in namespace default"},
        BlockedCase{"Invalid", PodBuilder("p").claim("c").value(),
                    claimWith(1, [](auto& c) { c.invalid = "spec.devices.count=0"; }), "ClaimInvalid",
                    "spec.devices.count=0"},
        BlockedCase{"Gang", PodBuilder("p").claim("c").value(),
                    claimWith(1, [](auto& c) { c.gang_ref = "g"; }), "Gang", "gangs are not supported yet"},
        BlockedCase{"OtherLimit", PodBuilder("p").claim("c").gpus(2).value(), claimWith(4, [](auto&) {}),
                    "LimitNotCount", "=2 but claim c has spec.devices.count=4"},
        BlockedCase{"SharedLimit", PodBuilder("p").claim("c").gpus(1).value(),
                    claimWith(1, [](auto& c) { c.exclusivity = model::Exclusivity::Shared; }),
                    "LimitOnShared", "remove the limit"},
        BlockedCase{"ClaimsAndLimit",
                    claiming("gpus").gpus(1).value(),
                    {},
                    "LimitBesideClaims",
                    "resources.limits[\"nvidia.com/gpu\"]=1, and a limit is a claim of its own: remove one"},
        BlockedCase{"ClaimsAndClaim",
                    claiming("gpus").claim("c").value(),
                    claimWith(1, [](auto&) {}),
                    "TwoDoors",
                    "annotation gpu.scheduling/claim and field spec.resourceClaims"},
        BlockedCase{"Vcuda",
                    [] {
                      model::Pod pod = PodBuilder("p").gpus(1).value();
                      pod.requests.extended[model::kVcudaMemory] = 1;
                      return pod;
                    }(),
                    {},
                    "NoSuchDoor",
                    "resource tencent.com/vcuda-memory is not served by this scheduler yet"},
        BlockedCase{"MapAndVcuda",
                    [] {
                      model::Pod pod = mapped("p-0", "0=n:0").value();
                      pod.requests.extended[model::kVcudaCore] = 50;
                      return pod;
                    }(),
                    {},
                    "TwoDoors",
                    "annotation gpu-scheduling-map and resource tencent.com/vcuda-core"},
        BlockedCase{"MapAndLimit",
                    mapped("p-0", "0=n:0").gpus(2).value(),
                    {},
                    "LimitOnMap",
                    "annotation gpu-scheduling-map names the pod's GPUs, but the pod sets "
                    "resources.limits[\"nvidia.com/gpu\"]=2; remove the limit"},
        BlockedCase{"MapNoOrdinal",
                    mapped("web", "0=n:0").value(),
                    {},
                    "MapNoOrdinal",
                    "annotation gpu-scheduling-map: the name of pod web ends with no number behind a -"},
        BlockedCase{"MapNoEntry",
                    mapped("p-7", "0=n:0\n1=n:1").value(),
                    {},
                    "MapNoEntry",
                    "annotation gpu-scheduling-map has no line for index 7; add 7=<node>:<GPU ids>"},
        BlockedCase{"MapReadInPart",
                    mapped("p-2", "0=n:0\nx=n:1\n2=n:2").value(),
                    {},
                    "MapNoEntry",
                    "(it is read up to the line \"x=n:1\" only: what stands before its = is no whole "
                    "number)"},
        BlockedCase{"MapNoColon",
                    mapped("p-0", "0=node1\n1=n:1").value(),
                    {},
                    "MapNoEntry",
                    "annotation gpu-scheduling-map, line \"0=node1\": it has no ':'; write 0=<node>:"
                    "<GPU ids>"},
        BlockedCase{"MapNoName",
                    mapped("p-0", "0=node 1:1").value(),
                    {},
                    "MapNoNode",
                    "line \"0=node 1:1\": \"node 1\" can be no node's name and no value of the label "
                    "gpu-node-name; write that of a node"},
        BlockedCase{"MapOtherAlphabet",
                    mapped("p-0", "0=" + std::string(122, 'n') + "\u20acn:1").value(),
                    {},
                    "MapNoNode",
                    "line \"0=" + std::string(122, 'n') + "\u20acn...\": \"" + std::string(122, 'n') +
                        "\u20acn\" can"},
        BlockedCase{"MapCutBeforeACharacter",
                    mapped("p-0", "0=" + std::string(125, 'n') + "\u20acn:1").value(),
                    {},
                    "MapNoNode",
                    "line \"0=" + std::string(125, 'n') + "...\": "},
        BlockedCase{"MapToldOther",
                    [] {
                      model::Pod pod = mapped("p-0", "0=n:1").value();
                      pod.told_otherwise = "container a was told CUDA_VISIBLE_DEVICES=\"0\"";
                      return pod;
                    }(),
                    {},
                    "MapToldOther",
                    "annotation gpu-scheduling-map, line \"0=n:1\": when the pod was created container a was "
                    "told CUDA_VISIBLE_DEVICES=\"0\"; delete the pod and create it again"},
        BlockedCase{"MapNoNode",
                    mapped("p-0", "0= :1").value(),
                    {},
                    "MapNoNode",
                    "annotation gpu-scheduling-map, line \"0=:1\": no node is named between = and :; write "
                    "0=<node>:<GPU ids>"},
        BlockedCase{"MapLongNode",
                    mapped("p-0", "0=" + std::string(254, 'n') + ":1").value(),
                    {},
                    "MapNoNode",
                    "nnn...\": what stands between = and : has more than 253 characters"},
        BlockedCase{"MapGpus",
                    mapped("p-1", "1=n:0,x").value(),
                    {},
                    "MapGpus",
                    "annotation gpu-scheduling-map, line \"1=n:0,x\": 'x' is no GPU id; write ids from 0 "
                    "to 1023 with a comma between them"},
        BlockedCase{"MapTwice", mapped("p-1", "1=n:3,3").value(), {}, "MapGpus", "names GPU 3 twice"},
        BlockedCase{"MapMig", mapped("p-1", "1=n:3/1").value(), {}, "MapGpus", "names a MIG partition"}),
    [](const auto& info) { return std::string{info.param.name}; });

PodRequest readMapped(const PodBuilder& pod) {
  const auto result = readPod(pod.value(), {});
  const auto* request = std::get_if<PodRequest>(&result);
  return request == nullptr ? PodRequest{} : *request;
}

TEST(MapDoor, GivesThePodOfAnOrdinalItsNodeAndItsGpus) {
  const PodRequest r = readMapped(mapped("my-app-1", "0=node1:0,1\n1= node2 : 2, 0\n"));
  EXPECT_EQ(r.door, &kMapDoor);
  EXPECT_EQ(r.on_node, "node2");
  ASSERT_TRUE(r.devices);
  EXPECT_EQ(r.devices->exact, (std::vector<int>{0, 2}));
  EXPECT_EQ(r.devices->count, 2);
  EXPECT_TRUE(r.devices->shared) << "two pods may name one GPU";
}

TEST(MapDoor, ANodesNameMayBeAsLongAsAnyIs) {
  EXPECT_EQ(readMapped(mapped("p-0", "0=" + std::string(253, 'n') + ":0")).on_node, std::string(253, 'n'));
  EXPECT_EQ(readMapped(mapped("p-0", "0=Node_1:0")).on_node, "Node_1") << "by its label";
}

TEST(MapDoor, AnEntryWithoutGpusNamesTheNodeAlone) {
  const PodRequest r = readMapped(mapped("p-0", "0=n:"));
  EXPECT_EQ(r.door, &kMapDoor);
  EXPECT_EQ(r.on_node, "n");
  EXPECT_FALSE(r.devices);
}

TEST(MapDoor, TheOrdinalStandsBehindWhatTheNameWasGeneratedFrom) {
  model::Pod pod = mapped("sts7", "7=n:0").value();
  pod.generated = 3;
  const auto read = readPod(pod, {});
  EXPECT_EQ(std::get<PodRequest>(read).on_node, "n");
  pod.generated = 0;
  EXPECT_EQ(std::get<Blocked>(readPod(pod, {})).kind, "MapNoOrdinal");
}

TEST(Doors, WhoIsGivenDevicesByIdIsToBeToldWhich) {
  EXPECT_TRUE(asksById(mapped("p-0", "0=n:1").value()));
  EXPECT_TRUE(asksById(PodBuilder("p").claim("c").gpus(1).value()));
  EXPECT_FALSE(asksById(PodBuilder("p").gpus(1).value()));
  EXPECT_FALSE(asksById(PodBuilder("p").value()));
}

// A ResourceClaim names 32 devices at most.
TEST(PlainDoor, CountsWhatAClaimForItsLimitsWouldName) {
  using Of = model::GpuLimit::Of;
  const auto too_many = [](std::vector<model::GpuLimit> limits) {
    model::Pod pod = PodBuilder("p").gpus(8).value();
    pod.gpu_limits = std::move(limits);
    return std::get<PodRequest>(readPod(pod, {})).too_many_results;
  };
  EXPECT_EQ(too_many({{"i", 8, Of::Init}, {"j", 8, Of::Init}, {"k", 8, Of::Init}, {"main", 8}}), 0);
  EXPECT_EQ(too_many({{"main", 32}}), 0);
  EXPECT_EQ(too_many({{"main", 33}}), 33);
  EXPECT_EQ(too_many({{"i", 8, Of::Init},
                      {"j", 7, Of::Init},
                      {"k", 6, Of::Init},
                      {"l", 5, Of::Init},
                      {"m", 4, Of::Init},
                      {"main", 3}}),
            33);
}

struct SelectsTwo : DeviceSelection {
  [[nodiscard]] Picked pick(const model::NodeName& /*node*/, const std::vector<int>& /*free*/,
                            const std::vector<Joinable>& /*joinable*/) const override {
    return {};
  }
  [[nodiscard]] std::int64_t most() const override { return 2; }
};

TEST(DraDoor, TakesWhatTheClaimsSelect) {
  const auto selection = std::make_shared<const SelectsTwo>();
  const auto read = readPod(claiming("gpus").value(), {.selection = selection});
  const auto& request = std::get<PodRequest>(read);
  EXPECT_EQ(request.door, &kDraDoor);
  ASSERT_TRUE(request.devices.has_value());
  EXPECT_EQ(request.devices->selection, selection);
  EXPECT_EQ(request.devices->count, 2);
  EXPECT_TRUE(request.devices->shared) << "others may name that claim";
}

/// One that was made for the pod nobody else can use; of those that it names, others have the devices too.
TEST(DraDoor, OnlyClaimsThatWereMadeForThePodAreItsAlone) {
  const auto selection = std::make_shared<const SelectsTwo>();
  const auto shares = [&](std::vector<bool> are_its) {
    model::Pod pod = PodBuilder("p").allocated("n:1").on("n").value();
    for (const bool is_its : are_its) {
      pod.claims.push_back({fmt::format("c{}", pod.claims.size()), "name", is_its});
    }
    const auto read = readPod(pod, {.selection = selection});
    EXPECT_EQ(std::get<PodRequest>(read).devices->shared, holdingsOf(pod).shared);
    return holdingsOf(pod).shared;
  };
  EXPECT_FALSE(shares({true}));
  EXPECT_TRUE(shares({false}));
  EXPECT_FALSE(shares({true, true}));
  EXPECT_TRUE(shares({true, false}));
}

TEST(DraDoor, SaysWhyNothingIsSelected) {
  const auto read = readPod(claiming("gpus").value(), {.no_selection = {"K", "text"}});
  EXPECT_EQ(std::get<Blocked>(read), (Blocked{"K", "text"}));
}

/// A kube-scheduler that asks us about shares sees to the claims of its pods itself.
TEST(DraDoor, IsClosedToPodsOfOthers) {
  const auto read = readPod(claiming("gpus").value(), {}, kDoors, Filters::Theirs);
  EXPECT_EQ(std::get<PodRequest>(read).door, nullptr);
}

TEST(MapDoor, AsksKubeSchedulersForTheSameNode) {
  const model::Pod pod = mapped("p-0", "0=n:1").value();
  const auto theirs = readPod(pod, {}, kDoors, Filters::Theirs);
  EXPECT_EQ(std::get<PodRequest>(theirs).on_node, "n");
  EXPECT_TRUE(asksAtOwnDoor(pod));
}

TEST(MapDoor, ItsPodsShareWhatTheyHave) {
  const model::Pod pod = mapped("p-0", "0=n:1").allocated("n:1").on("n").value();
  EXPECT_TRUE(holdingsOf(pod).shared);
  EXPECT_EQ(holdingsOf(pod).ids, (std::vector<int>{1}));
  EXPECT_FALSE(holdingsOf(PodBuilder("p").claim("c").allocated("n:1").on("n").value()).shared);
  EXPECT_FALSE(holdingsOf(mapped("p-0", "0=n:1").claim("c").allocated("n:1").on("n").value()).shared)
      << "its claim says whether";
  EXPECT_FALSE(holdingsOf(PodBuilder("p").gpus(1).on("n").value()).shared);
}

TEST(MapDoor, TellsIdsForItsContainersWereToldIds) {
  const auto told = kMapDoor.annotations(
      {.node = model::NodeName{"n"}, .ids = {0, 1}, .uuids = {"GPU-a", "GPU-b"}, .reservation = "r"});
  EXPECT_EQ(told.at(model::kVisibleDevicesKey), "0,1");
  EXPECT_EQ(told.at(model::kAllocatedKey), "n:0,1");
  EXPECT_EQ(told.at(model::kReservationKey), "r");
}

TEST(ClaimDoor, CarriesTheClaimIntoTheRequest) {
  const auto claim = claimWith(4, [](auto& c) {
    c.policy = model::Policy::PreferIds;
    c.prefer_ids = {3, 1};
    c.match_labels = {{"gpu-type", "a100"}};
    c.topology = model::TopologyMode::Required;
    c.min_bandwidth_gbps = 600;
  });
  const auto result = readPod(PodBuilder("p").claim("c").gpus(4).value(), {.claim = &claim});
  const auto* request = std::get_if<PodRequest>(&result);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->door, &kClaimDoor);
  EXPECT_EQ(request->match_labels, claim.match_labels);
  ASSERT_TRUE(request->devices);
  EXPECT_EQ(request->devices->count, 4);
  EXPECT_EQ(request->devices->prefer_ids, (std::vector<int>{3, 1}));
  EXPECT_EQ(request->devices->min_bandwidth_gbps, 600);
}

TEST(ClaimDoor, PreferIdsCountOnlyUnderTheirPolicy) {
  const auto claim = claimWith(1, [](auto& c) { c.prefer_ids = {3}; });
  const auto result = readPod(PodBuilder("p").claim("c").value(), {.claim = &claim});
  EXPECT_TRUE(std::get<PodRequest>(result).devices->prefer_ids.empty());
}

TEST(PlainDoor, TakesTheCountOfTheLimit) {
  const auto result = readPod(PodBuilder("p").gpus(2).value(), {});
  const auto& request = std::get<PodRequest>(result);
  EXPECT_EQ(request.door, &kPlainDoor);
  EXPECT_EQ(request.devices->count, 2);
}

TEST(NoDoor, AnOrdinaryPodAsksForNoDevices) {
  const auto result = readPod(PodBuilder("p").cpu(500).value(), {});
  const auto& request = std::get<PodRequest>(result);
  EXPECT_EQ(request.door, nullptr);
  EXPECT_FALSE(request.devices);
  EXPECT_EQ(request.resources.cpu_milli, 500);
}

TEST(Doors, EachReadsWhatItWrites) {
  const ContainerShare half{0, 500, 256};
  for (const Door* door : kDoors) {
    if (door->annotations == nullptr) { continue; }
    model::Pod pod = PodBuilder("p").on("node-a").value();
    pod.share_limits = {{50, 1}};
    const bool by_shares = door == &kVcudaDoor;
    const Decision decision{.node = pod.node,
                            .ids = by_shares ? std::vector<int>{} : std::vector<int>{1, 3},
                            .uuids = {"GPU-b", "GPU-d"},
                            .reservation = "r",
                            .shares = by_shares ? SharePicks{{half, {2}}} : SharePicks{},
                            .time_ns = 7};
    pod.annotations = door->annotations(decision);
    const Holdings holdings = holdingsOf(pod);
    EXPECT_EQ(holdings.ids.value_or(std::vector<int>{}), decision.ids) << door->name;
    const bool tells_uuids = !by_shares && door != &kMapDoor;
    EXPECT_EQ(holdings.uuids, tells_uuids ? decision.uuids : std::vector<std::string>{}) << door->name;
    EXPECT_EQ(holdings.reservation, by_shares ? "" : "r") << door->name;
    EXPECT_EQ(holdings.shares.at(0).asked, half) << door->name;
    EXPECT_EQ(holdings.shares.at(0).ids, by_shares ? std::vector<int>{2} : std::vector<int>{}) << door->name;
    EXPECT_EQ(holdings.milli, 500) << door->name;
    EXPECT_TRUE(holdings.on_the_way) << door->name;
    for (const auto& [key, value] : pod.annotations) { EXPECT_TRUE(model::isReadAnnotation(key)) << key; }
  }
}

TEST(Doors, IdsAreToldWhereAUuidIsNotKnown) {
  const auto told = [](std::vector<std::string> uuids) {
    return kPlainDoor
        .annotations({.node = model::NodeName{"node-a"}, .ids = {0, 1}, .uuids = std::move(uuids)})
        .at(model::kVisibleDevicesKey);
  };
  EXPECT_EQ(told({"A", "B"}), "A,B");
  EXPECT_EQ(told({"A", ""}), "0,1");
  EXPECT_EQ(told({}), "0,1");
}

TEST(Doors, APodOfACountIsToldItsReservationOnly) {
  EXPECT_EQ(kPlainDoor.annotations({.node = model::NodeName{"node-a"}, .ids = {}, .reservation = "r"}),
            (Annotations{{model::kReservationKey, "r"}}));
}

TEST(Doors, PodsThatAskTheSameGetEqualRequests) {
  const auto claim = claimWith(1, [](auto&) {});
  EXPECT_EQ(std::get<PodRequest>(readPod(PodBuilder("a").claim("c").value(), {.claim = &claim})),
            std::get<PodRequest>(readPod(PodBuilder("b").claim("c").value(), {.claim = &claim})));
}

}  // namespace
}  // namespace gs::sched
