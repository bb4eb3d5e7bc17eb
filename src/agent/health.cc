#include "agent/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/ascii.h"

namespace gs::agent {
namespace {

using model::Health;

constexpr std::array<std::uint64_t, 26> kReset{46,  48,  62,  64,  74,  95,  109, 110, 119,
                                               120, 136, 140, 143, 144, 145, 146, 147, 148,
                                               149, 150, 151, 155, 156, 158, 171, 172};
constexpr std::array<std::uint64_t, 35> kApplication{8,  11, 13, 25, 31, 32, 39, 40,  41,  60,  68, 69,
                                                     70, 71, 72, 75, 76, 77, 80, 82,  83,  84,  85, 86,
                                                     88, 89, 94, 96, 97, 98, 99, 100, 101, 102, 103};
constexpr std::array<std::uint64_t, 23> kRecord{14,  37,  38,  43,  44,  45,  63,  66,  67,  92,  93, 106,
                                                107, 108, 121, 137, 141, 152, 153, 154, 157, 160, 161};

bool isAmong(const auto& list, std::uint64_t xid) {
  return std::binary_search(list.begin(), list.end(), xid);
}

std::string listOf(const std::vector<std::uint64_t>& xids) {
  return fmt::format("XID {}", fmt::join(xids, ", "));
}

Verdict unhealthy(std::string reason) { return {Health::Unhealthy, std::move(reason)}; }
Verdict unknown(std::string reason) { return {Health::Unknown, std::move(reason)}; }

std::vector<std::uint64_t> ofClass(const Facts& facts, XidClass which) {
  std::vector<std::uint64_t> out;
  for (const auto xid : facts.xids) {
    if (classOf(xid) == which) { out.push_back(xid); }
  }
  return out;
}

/// What the driver itself says is to be done; "" nothing, or it does not say.
std::string remedyOf(const Facts& facts) {
  switch (facts.recovery.value_or(Recovery::None)) {
    case Recovery::None: return {};
    case Recovery::Reset: return "reset the GPU";
    case Recovery::Reboot: return "reboot the node";
    case Recovery::DrainPeers: return "end what uses its links to other GPUs";
    case Recovery::DrainAndReset: return "drain and reset the GPU";
  }
  return {};
}

/// Where the driver says that nothing is to be done, errors of before have been seen to.
Verdict byXids(const Facts& facts) {
  if (facts.recovery == Recovery::None) { return {}; }
  if (const auto lost = ofClass(facts, XidClass::Lost); !lost.empty()) {
    return unhealthy(listOf(lost) + ": the GPU fell off the bus; reboot the node");
  }
  if (const auto reset = ofClass(facts, XidClass::Reset); !reset.empty()) {
    return unhealthy(listOf(reset) + ": reset the GPU, or reboot the node");
  }
  if (const auto suspect = ofClass(facts, XidClass::Suspect); !suspect.empty()) {
    return unknown(listOf(suspect) + ": may be harmless; look at the kernel's log");
  }
  return {};
}

Verdict byMemory(const Facts& facts) {
  if (facts.remap_failed) { return unhealthy("a memory row could not be replaced; have the GPU replaced"); }
  if (facts.uncorrected > 0 && !facts.remaps) {
    return unhealthy(fmt::format("{} uncorrectable memory errors; reset the GPU", facts.uncorrected));
  }
  if (facts.remap_pending) { return unknown("memory rows wait to be replaced; reset the GPU"); }
  if (facts.uncorrected > 0) {
    return unknown(
        fmt::format("{} uncorrectable memory errors since the driver was loaded; their rows are "
                    "not used any more",
                    facts.uncorrected));
  }
  return {};
}

}  // namespace

XidClass classOf(std::uint64_t xid) {
  if (xid == 79) { return XidClass::Lost; }
  if (isAmong(kReset, xid)) { return XidClass::Reset; }
  const bool of_program = (xid >= 104 && xid <= 105) || (xid >= 126 && xid <= 135) || xid == 139;
  if (of_program || isAmong(kApplication, xid)) { return XidClass::Application; }
  return isAmong(kRecord, xid) ? XidClass::Record : XidClass::Suspect;
}

bool isOut(const Facts& facts) {
  const bool is_off_bus = facts.recovery != Recovery::None && !ofClass(facts, XidClass::Lost).empty();
  return facts.lost || facts.needs_reset || is_off_bus;
}

namespace {

/// The first of all that is wrong.
Verdict worstOf(const Facts& facts) {
  if (facts.lost) { return unhealthy("GPU is lost: it does not answer on the bus; reboot the node"); }
  if (facts.needs_reset) { return unhealthy("the driver wants the GPU reset"); }
  if (const std::string remedy = remedyOf(facts); !remedy.empty()) {
    return unhealthy("the driver says: " + remedy);
  }
  const Verdict memory = byMemory(facts);
  const Verdict xids = byXids(facts);
  for (const Verdict& verdict : {memory, xids}) {
    if (verdict.health == Health::Unhealthy) { return verdict; }
  }
  if (facts.split_into_nothing) {
    return unhealthy(fmt::format("{}, and there is no partition: make some, or turn MIG off", kMigOn));
  }
  if (facts.split_unread) {
    return unhealthy(fmt::format(
        "{}, and its partitions cannot be read ({}): let the agent do so (agent.mig of the chart, "
        "else NVIDIA_MIG_MONITOR_DEVICES=all and CAP_SYS_ADMIN), or turn MIG off",
        kMigOn, facts.unreadable));
  }
  if (facts.fabric_failed) { return unhealthy("the NVLink fabric failed; see to nvidia-fabricmanager"); }
  if (facts.fabric_limited) {
    return unknown("the NVLink fabric works with less than it has; see to nvidia-fabricmanager");
  }
  if (facts.fabric_pending) {
    return unknown("the NVLink fabric is not set up; see to nvidia-fabricmanager");
  }
  if (!facts.unreadable.empty()) { return unknown(facts.unreadable); }
  return memory.health != Health::Healthy ? memory : xids;
}

}  // namespace

/// After a restart only the published text says that a GPU is split of which no partition is known.
Verdict healthOf(const Facts& facts) {
  Verdict out = worstOf(facts);
  const bool is_split = facts.split_into_nothing || facts.split_unread;
  if (is_split && out.reason.find(kMigOn) == std::string::npos) {
    out.reason = fmt::format("{}; {}", out.reason, kMigOn);
  }
  return out;
}

std::set<std::uint64_t> xidsIn(std::string_view reason) {
  static constexpr std::string_view kBegin = "XID ";
  const auto end = reason.find(':');
  if (!reason.starts_with(kBegin) || end == std::string_view::npos) { return {}; }
  std::set<std::uint64_t> out;
  for (const auto& number : commaList(reason.substr(kBegin.size(), end - kBegin.size()))) {
    std::uint64_t xid = 0;
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), xid);
    if (error == std::errc{} && at == number.data() + number.size()) { out.insert(xid); }
  }
  return out;
}

}  // namespace gs::agent
