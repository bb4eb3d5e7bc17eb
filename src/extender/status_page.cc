#include "extender/status_page.h"

#include <fmt/format.h>

#include <iterator>

#include "extender/metrics.h"

namespace gs::extender {
namespace {

constexpr double kMilli = 1000;

/// As the text format wants them.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') { out += '\\'; }
    out += c;
  }
  return out;
}

std::string labels(const std::string& ns, const std::string& model) {
  return fmt::format("{{namespace=\"{}\",model=\"{}\"}}", escaped(ns), escaped(model));
}

void addQuota(const engine::Engine& engine, std::string& out) {
  const auto add = std::back_inserter(out);
  const auto head = [&](const char* name, const char* help) {
    fmt::format_to(add, "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  };
  head(kQuotaUnusable, "1 while the ConfigMap of the quotas cannot be read as such.");
  fmt::format_to(add, "{} {}\n", kQuotaUnusable, engine.quota().unusable() != nullptr ? 1 : 0);
  head(kQuotaLimit, "GPUs of a model that a namespace may use.");
  const model::Quotas* quotas = engine.quota().quotas();
  if (quotas == nullptr) { return; }
  for (const auto& [ns, quota] : *quotas) {
    for (const auto& [model, gpus] : quota.gpus) {
      fmt::format_to(add, "{}{} {}\n", kQuotaLimit, labels(ns, model), gpus);
    }
  }
  head(kQuotaUsed, "GPUs of a model that a namespace with a quota uses, parts as parts.");
  for (const auto& [ns, quota] : *quotas) {
    for (const auto& [model, gpus] : quota.gpus) {
      fmt::format_to(add, "{}{} {}\n", kQuotaUsed, labels(ns, model),
                     static_cast<double>(engine.ledger().gpuUse(ns, model)) / kMilli);
    }
  }
}

}  // namespace

std::string readinessText(const Alone& machine) {
  const Alone::Readiness r = machine.readiness();
  std::string out = r.ready ? "1" : "0";
  for (const auto& [what, state] : r.checks) { out += fmt::format("{}: {}\n", what, state); }
  return out;
}

std::string stateMetrics(const Extender& extender, const engine::Engine& engine) {
  const Extender::Sizes grants = extender.grants();
  std::string out = fmt::format(
      "# HELP {0} Pods that have a node and are not bound yet, by state.\n"
      "# TYPE {0} gauge\n"
      "{0}{{state=\"writing\"}} {1}\n"
      "{0}{{state=\"written\"}} {2}\n"
      "{0}{{state=\"removing\"}} {3}\n"
      "# HELP {4} 1 while this process decides.\n"
      "# TYPE {4} gauge\n"
      "{4} {5}\n",
      kReservations, grants.writing, grants.written, grants.removing, kLeading, extender.leading() ? 1 : 0);
  addQuota(engine, out);
  return out;
}

}  // namespace gs::extender
