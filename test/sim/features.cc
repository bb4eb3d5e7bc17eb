#include "test/sim/features.h"

#include <algorithm>
#include <array>

namespace gs::sim {
namespace {

struct Row {
  Feature feature;
  const char* name;
  int percent;
};
constexpr std::array<Row, kFeatures> kRows{{
    {Feature::Rates, "rates", 100},
    {Feature::Standby, "standby", 100},
    {Feature::Unknown, "unknown", 100},
    {Feature::Uuids, "uuids", 20},
    {Feature::Renumber, "renumber", 12},
    {Feature::Foreign, "foreign", 10},
    {Feature::Sidecars, "sidecars", 10},
    {Feature::Stuck, "stuck", 12},
    {Feature::Forbidden, "forbidden", 8},
    {Feature::LeaseEdits, "lease-edits", 10},
    {Feature::PodEdits, "pod-edits", 10},
    {Feature::Forged, "forged", 10},
    {Feature::Unmanaged, "unmanaged", 8},
    {Feature::Another, "another", 8},
    {Feature::Restore, "restore", 5},
    {Feature::Resources, "resources", 12},
    {Feature::Enforcer, "enforcer", 5},
    {Feature::Clock, "clock", 8},
    {Feature::LatePatches, "late-patches", 10},
    {Feature::Large, "large", 0},
    {Feature::Combined, "combined", 10},
    {Feature::Unstarted, "unstarted", 8},
    {Feature::Quotas, "quotas", 10},
    {Feature::Unenforced, "unenforced", 15},
    {Feature::KubeScheduler, "kube-scheduler", 12},
    {Feature::Gangs, "gangs", 8},
    {Feature::Maps, "map", 12},
    {Feature::Agents, "agents", 15},
    {Feature::LateStatuses, "late-statuses", 50},
    {Feature::Webhook, "webhook", 15},
    {Feature::Ends, "ends", 15},
    {Feature::Caches, "caches", 10},
    {Feature::OddShares, "odd-shares", 12},
    {Feature::Lost, "lost", 10},
    {Feature::OddCaches, "odd-caches", 60},
}};

/// Features that show what is not mended yet.
const Features kHeldBack{};

}  // namespace

const char* nameOf(Feature feature) { return kRows.at(static_cast<std::size_t>(feature)).name; }

std::optional<Feature> featureOf(std::string_view name) {
  const auto at = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
  return at == kRows.end() ? std::nullopt : std::optional{at->feature};
}

Features allFeatures() {
  Features out;
  for (const Row& row : kRows) { out.insert(row.feature); }
  return out;
}

Features defaultFeatures() {
  Features out = allFeatures();
  for (const Feature held : kHeldBack) { out.erase(held); }
  return out;
}

int percentOf(Feature feature) { return kRows.at(static_cast<std::size_t>(feature)).percent; }

}  // namespace gs::sim
