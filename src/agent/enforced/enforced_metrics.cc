#include "agent/enforced/enforced_metrics.h"

#include <cstdint>
#include <utility>

#include "agent/enforced/metrics.h"

namespace gs::agent {
namespace {

using kapi::Metric;
using kapi::MetricOp;

void count(const char* name, const char* label, std::string value, std::uint64_t by, kapi::Effects& out) {
  if (by == 0) { return; }
  out.emplace_back(Metric{MetricOp::Add, name, {{label, std::move(value)}}, static_cast<double>(by)});
}

/// What begins anew begins at 0.
std::uint64_t grown(std::uint64_t now, std::uint64_t before) { return now >= before ? now - before : now; }

std::uint64_t of(const enforce::Counts& counts, enforce::Remark remark) {
  return counts.remarked.at(static_cast<std::size_t>(remark));
}

}  // namespace

void EnforcedMetrics::tell(const enforce::Report& report, const enforce::NodeRecord& record,
                           kapi::Effects& out) {
  tellCounts(report.counts, out);
  tellHolders(report, record, out);
}

void EnforcedMetrics::tellCounts(const enforce::Counts& counts, kapi::Effects& out) {
  std::uint64_t named = 0;
  const auto answer = [&](const std::string& name, std::uint64_t by) {
    named += by;
    count(kContainers, "answer", name, by, out);
  };
  for (const auto remark : {enforce::Remark::Adjusted, enforce::Remark::Moved}) {
    const bool is_own = remark == enforce::Remark::Adjusted;
    answer(is_own ? "own" : "moved", grown(of(counts, remark), of(told_, remark)));
  }
  for (std::size_t i = 0; i < enforce::kReasons; ++i) {
    const std::string name = enforce::reasonName(static_cast<enforce::Reason>(i));
    answer("refused_" + name, grown(counts.refused.at(i), told_.refused.at(i)));
  }
  const std::uint64_t all = grown(counts.answered, told_.answered);
  if (all > named) { count(kContainers, "answer", "other", all - named, out); }  // two moves may be of one
  for (std::size_t i = 0; i < enforce::kWrongs; ++i) {
    const std::string name = enforce::wrongName(static_cast<enforce::Wrong>(i));
    count(kMismatches, "kind", name, grown(counts.wrong.at(i), told_.wrong.at(i)), out);
  }
  told_ = counts;
}

void EnforcedMetrics::tellHolders(const enforce::Report& report, const enforce::NodeRecord& record,
                                  kapi::Effects& out) {
  const enforce::DeviceTable table{record};
  std::set<Holder> now;
  for (const enforce::ContainerGpus& one : report.containers) {
    for (const model::DeviceId id : one.devices) {
      if (now.size() >= kMostHolders) { break; }
      const enforce::NodeDevice* device = table.byId(id);
      const bool has_uuid = device != nullptr && !device->uuid.empty();
      now.insert({has_uuid ? device->uuid : model::print(id), one.pod.name, one.pod.ns, one.container});
    }
  }
  const auto say = [&](MetricOp op, const Holder& holder) {
    const auto& [uuid, pod, ns, container] = holder;
    out.emplace_back(Metric{
        op, kHolder, {{"gpu_uuid", uuid}, {"pod", pod}, {"namespace", ns}, {"container", container}}, 1});
  };
  for (const Holder& gone : holders_) {
    if (!now.contains(gone)) { say(MetricOp::Remove, gone); }
  }
  for (const Holder& come : now) {
    if (!holders_.contains(come)) { say(MetricOp::Set, come); }
  }
  holders_ = std::move(now);
}

}  // namespace gs::agent
