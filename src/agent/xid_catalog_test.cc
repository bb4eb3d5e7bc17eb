// Our classes of XIDs against NVIDIA's catalogue, row by row.
//
// Source: "Analyzing Xid Errors with the Xid Catalog", table 1 (A100 to GB200), column "Resolution Bucket
// (Immediate Action)": https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, read in
// November 2026. What a bucket means for a GPU that may be given to the next pod is ours, and stands in
// classOfBucket().
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

#include "agent/health.h"

namespace gs::agent {
namespace {

/// From first to last, each in this bucket; "" the catalogue gives none.
struct CatalogRow {
  std::uint64_t first;
  std::uint64_t last;
  std::string_view bucket;
};

constexpr std::uint64_t kLastListed = 172;
constexpr std::string_view kRestartApp = "RESTART_APP";
constexpr std::string_view kIgnore = "IGNORE";
constexpr std::string_view kResetGpu = "RESET_GPU";
constexpr std::string_view kNvlink5 = "WORKFLOW_NVLINK5_ERR";
/// Most of these are marked as not used on any GPU of the table.
constexpr std::string_view kSupport = "CONTACT_SUPPORT";

constexpr std::array kCatalog{
    CatalogRow{1, 7, kSupport},
    CatalogRow{8, 8, kRestartApp},
    CatalogRow{9, 10, kSupport},
    CatalogRow{11, 11, kRestartApp},
    CatalogRow{12, 12, kSupport},
    CatalogRow{13, 13, kRestartApp},
    CatalogRow{14, 14, kIgnore},
    CatalogRow{15, 24, kSupport},
    CatalogRow{25, 25, kRestartApp},
    CatalogRow{26, 30, kSupport},
    CatalogRow{31, 32, kRestartApp},
    CatalogRow{33, 36, kSupport},
    CatalogRow{37, 38, kIgnore},
    CatalogRow{39, 41, kRestartApp},
    CatalogRow{42, 42, kSupport},
    CatalogRow{43, 44, kIgnore},
    CatalogRow{45, 45, "WORKFLOW_XID_45"},
    CatalogRow{46, 46, kResetGpu},
    CatalogRow{47, 47, kSupport},
    CatalogRow{48, 48, "WORKFLOW_XID_48"},
    CatalogRow{49, 53, kSupport},
    CatalogRow{54, 54, "CHECK_MECHANICALS"},
    CatalogRow{55, 59, kSupport},
    CatalogRow{60, 60, kRestartApp},
    CatalogRow{61, 61, kSupport},
    CatalogRow{62, 62, kResetGpu},
    CatalogRow{63, 63, kIgnore},
    CatalogRow{64, 64, kResetGpu},
    CatalogRow{65, 65, kSupport},
    CatalogRow{66, 67, kIgnore},
    CatalogRow{68, 72, kRestartApp},
    CatalogRow{73, 73, kSupport},
    CatalogRow{74, 74, "WORKFLOW_NVLINK_ERR"},
    CatalogRow{75, 77, kRestartApp},
    CatalogRow{78, 78, "UPDATE_SWFW"},
    CatalogRow{79, 79, "RESTART_BM"},
    CatalogRow{80, 80, kRestartApp},
    CatalogRow{81, 81, kSupport},
    CatalogRow{82, 86, kRestartApp},
    CatalogRow{87, 87, kSupport},
    CatalogRow{88, 89, kRestartApp},
    CatalogRow{90, 91, kSupport},
    CatalogRow{92, 93, kIgnore},
    CatalogRow{94, 94, kRestartApp},
    CatalogRow{95, 95, kResetGpu},
    CatalogRow{96, 105, kRestartApp},
    CatalogRow{106, 108, kIgnore},
    CatalogRow{109, 110, kResetGpu},
    CatalogRow{111, 118, kSupport},
    CatalogRow{119, 120, kResetGpu},
    CatalogRow{121, 121, kIgnore},
    CatalogRow{122, 125, kSupport},
    CatalogRow{126, 135, kRestartApp},
    CatalogRow{136, 136, kResetGpu},
    CatalogRow{137, 137, kIgnore},
    CatalogRow{138, 138, kSupport},
    CatalogRow{139, 139, kRestartApp},
    CatalogRow{140, 140, kResetGpu},
    CatalogRow{141, 141, kIgnore},
    CatalogRow{142, 142, kSupport},
    CatalogRow{143, 143, kResetGpu},
    CatalogRow{144, 150, kNvlink5},
    CatalogRow{151, 151, "RESTART_VM"},
    CatalogRow{152, 153, kIgnore},
    CatalogRow{154, 154, "XID_154"},
    CatalogRow{155, 156, kResetGpu},
    CatalogRow{157, 157, kIgnore},
    CatalogRow{158, 158, kResetGpu},
    CatalogRow{159, 159, "CHECK_UVM"},
    CatalogRow{160, 161, kIgnore},
    CatalogRow{162, 170, ""},
    CatalogRow{171, 172, ""},
};

XidClass classOfBucket(const CatalogRow& row) {
  // It tells more of an XID 48 that comes with it: whether it was DRAM or SRAM.
  if (row.first == 171) { return classOf(48); }
  if (row.bucket == "RESTART_BM") { return XidClass::Lost; }
  if (row.bucket == kRestartApp) { return XidClass::Application; }
  // XID 45 comes with another one, or after a program was killed; of 154 NVML tells the action by itself.
  if (row.bucket == kIgnore || row.bucket == "WORKFLOW_XID_45" || row.bucket == "XID_154") {
    return XidClass::Record;
  }
  // The workflows begin with a reset; those of NVLink 5 by the sub-code, which NVML does not tell, so that
  // the worst one counts. A VM that is to be restarted is the node.
  for (const auto reset : {kResetGpu, kNvlink5, std::string_view{"WORKFLOW_XID_48"},
                           std::string_view{"WORKFLOW_NVLINK_ERR"}, std::string_view{"RESTART_VM"}}) {
    if (row.bucket == reset) { return XidClass::Reset; }
  }
  return XidClass::Suspect;  // somebody has to look: support, cables, software; or nothing is said
}

TEST(XidCatalog, ListsEachOnce) {
  std::uint64_t next = 1;
  for (const CatalogRow& row : kCatalog) {
    EXPECT_EQ(row.first, next);
    EXPECT_LE(row.first, row.last);
    next = row.last + 1;
  }
  EXPECT_EQ(next, kLastListed + 1);
}

TEST(XidCatalog, GivesEachXidItsClass) {
  for (const CatalogRow& row : kCatalog) {
    for (std::uint64_t xid = row.first; xid <= row.last; ++xid) {
      EXPECT_EQ(classOf(xid), classOfBucket(row)) << "XID " << xid << ", " << row.bucket;
    }
  }
}

TEST(XidCatalog, WhatItDoesNotListIsSuspect) {
  EXPECT_EQ(classOf(0), XidClass::Suspect);
  for (std::uint64_t xid = kLastListed + 1; xid < 2000; ++xid) {
    EXPECT_EQ(classOf(xid), XidClass::Suspect) << xid;
  }
  EXPECT_EQ(classOf(1ULL << 60U), XidClass::Suspect);
}

/// NVIDIA's device plugin leaves out these, as faults of programs (internal/rm/health.go of
/// k8s-device-plugin). The catalogue wants a reset after 109, so here it counts.
TEST(XidCatalog, WhatNvidiasDevicePluginSkipsIsHealthyButForOne) {
  const std::set<std::uint64_t> kCounts{109};
  for (const std::uint64_t xid : {13, 31, 43, 45, 68, 109}) {
    Facts facts;
    facts.xids = {xid};
    const auto want = kCounts.contains(xid) ? model::Health::Unhealthy : model::Health::Healthy;
    EXPECT_EQ(healthOf(facts).health, want) << xid;
  }
}

}  // namespace
}  // namespace gs::agent
