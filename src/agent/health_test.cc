#include "agent/health.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace gs::agent {
namespace {

using model::Health;

Facts withXids(std::initializer_list<std::uint64_t> xids) {
  Facts out;
  out.xids = xids;
  return out;
}

struct Case {
  const char* name;
  Facts facts;
  Health health;
  const char* says;  // in its reason
};
class HealthTable : public ::testing::TestWithParam<Case> {};
TEST_P(HealthTable, Says) {
  const Verdict verdict = healthOf(GetParam().facts);
  EXPECT_EQ(verdict.health, GetParam().health) << verdict.reason;
  EXPECT_NE(verdict.reason.find(GetParam().says), std::string::npos) << verdict.reason;
  EXPECT_EQ(verdict.reason.empty(), verdict.health == Health::Healthy);
}

INSTANTIATE_TEST_SUITE_P(
    Table, HealthTable,
    ::testing::Values(
        Case{"Fine", {}, Health::Healthy, ""},
        Case{"FineAndSaidSo", {.recovery = Recovery::None, .remaps = true}, Health::Healthy, ""},
        Case{"Lost", {.lost = true}, Health::Unhealthy, "GPU is lost"},
        Case{"NeedsReset", {.needs_reset = true}, Health::Unhealthy, "wants the GPU reset"},
        Case{"RecoveryReset", {.recovery = Recovery::Reset}, Health::Unhealthy, "reset the GPU"},
        Case{"RecoveryReboot", {.recovery = Recovery::Reboot}, Health::Unhealthy, "reboot the node"},
        Case{"RecoveryPeers", {.recovery = Recovery::DrainPeers}, Health::Unhealthy, "links to other GPUs"},
        Case{"RecoveryDrain", {.recovery = Recovery::DrainAndReset}, Health::Unhealthy, "drain and reset"},
        Case{"RemapFailed", {.remap_failed = true, .remaps = true}, Health::Unhealthy, "replaced"},
        Case{"RemapPending", {.remap_pending = true, .remaps = true}, Health::Unknown, "wait to be replaced"},
        Case{"EccWhereRowsAreReplaced",
             {.remaps = true, .uncorrected = 2},
             Health::Unknown,
             "2 uncorrectable memory errors"},
        Case{"EccWhereNothingReplacesThem", {.uncorrected = 2}, Health::Unhealthy, "reset the GPU"},
        Case{
            "MigWithoutPartitions", {.split_into_nothing = true}, Health::Unhealthy, "there is no partition"},
        Case{"MigWhosePartitionsCannotBeRead",
             {.split_unread = true, .unreadable = "Insufficient Permissions (4)"},
             Health::Unhealthy,
             "MIG is on, and its partitions cannot be read (Insufficient Permissions (4)): let the agent"},
        Case{"FabricNotSetUp", {.fabric_pending = true}, Health::Unknown, "nvidia-fabricmanager"},
        Case{"FabricFailed", {.fabric_failed = true}, Health::Unhealthy, "the NVLink fabric failed"},
        Case{"FabricLimited", {.fabric_limited = true}, Health::Unknown, "less than it has"},
        Case{"Unreadable", {.unreadable = "the driver cannot tell its name"}, Health::Unknown, "its name"},
        Case{"XidLost", withXids({79}), Health::Unhealthy, "XID 79: the GPU fell off the bus"},
        Case{"XidReset", withXids({31, 95, 119}), Health::Unhealthy, "XID 95, 119: reset the GPU"},
        Case{"XidOfAProgram", withXids({13, 31, 43, 68}), Health::Healthy, ""},
        Case{"XidForTheRecord", withXids({63, 92, 154}), Health::Healthy, ""},
        Case{"XidNotInTheCatalogue", withXids({999}), Health::Unknown, "XID 999: may be harmless"},
        Case{"XidUncertain", withXids({54}), Health::Unknown, "XID 54"},
        Case{"AnUnhealthyXidBeatsMemoryThatIsInDoubt",
             {.remap_pending = true, .remaps = true, .xids = {79}},
             Health::Unhealthy,
             "XID 79"},
        Case{"TheDriverSaysThatXidsWereSeenTo",
             {.recovery = Recovery::None, .xids = {79, 95, 999}},
             Health::Healthy,
             ""},
        Case{"TheDriversWordGoesFirst",
             {.recovery = Recovery::Reboot, .xids = {95}},
             Health::Unhealthy,
             "reboot the node"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Xid, AreReadOutOfTheReasonThatNamesThem) {
  for (const auto& xids : {std::set<std::uint64_t>{79}, {48, 95}, {54, 999}}) {
    Facts facts;
    facts.xids = xids;
    EXPECT_EQ(xidsIn(healthOf(facts).reason), xids);
    EXPECT_EQ(xidsIn(healthOf(facts).reason + "; GPU is lost"), xids);
  }
  for (const char* other : {"", "XID", "XID 95", "XID : x", "XID 95x: y", "GPU is lost: XID 95: z"}) {
    EXPECT_TRUE(xidsIn(other).empty()) << other;
  }
}

}  // namespace
}  // namespace gs::agent
