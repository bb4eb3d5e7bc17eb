#include "extender/status_page.h"

#include <fmt/format.h>

namespace gs::extender {

std::string readinessText(const Alone& machine) {
  const Alone::Readiness r = machine.readiness();
  std::string out = r.ready ? "1" : "0";
  for (const auto& [what, state] : r.checks) { out += fmt::format("{}: {}\n", what, state); }
  return out;
}

std::string stateMetrics(const Alone& machine) {
  const Extender::Sizes grants = machine.extender().grants();
  return fmt::format(
      "# HELP gpu_admission_reservations Pods that have a node and are not bound yet, by state.\n"
      "# TYPE gpu_admission_reservations gauge\n"
      "gpu_admission_reservations{{state=\"writing\"}} {}\n"
      "gpu_admission_reservations{{state=\"written\"}} {}\n"
      "gpu_admission_reservations{{state=\"removing\"}} {}\n"
      "# HELP gpu_admission_leading 1 while this process decides.\n"
      "# TYPE gpu_admission_leading gauge\n"
      "gpu_admission_leading {}\n",
      grants.writing, grants.written, grants.removing, machine.extender().leading() ? 1 : 0);
}

}  // namespace gs::extender
