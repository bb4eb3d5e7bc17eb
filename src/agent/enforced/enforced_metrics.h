// EnforcedMetrics: metrics of what the thread that answers the container runtime reports: counts as what came
// since the report before, and one gauge for each GPU of a container, which goes with the container.
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>

#include "enforce/device_table.h"
#include "enforce/node_record.h"
#include "enforce/report.h"
#include "kapi/call.h"

namespace gs::agent {

class EnforcedMetrics {
 public:
  static constexpr std::size_t kMostHolders = 4096;

  void tell(const enforce::Report& report, const enforce::NodeRecord& record, kapi::Effects& out);

 private:
  using Holder = std::array<std::string, 4>;  // UUID, pod, namespace, container

  void tellCounts(const enforce::Counts& counts, kapi::Effects& out);
  void tellHolders(const enforce::Report& report, const enforce::NodeRecord& record, kapi::Effects& out);

  enforce::Counts told_;
  std::set<Holder> holders_;
};

}  // namespace gs::agent
