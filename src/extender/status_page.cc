#include "extender/status_page.h"

#include <fmt/format.h>

#include "base/metrics.h"
#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

constexpr double kMilli = 1000;

void addQuota(const engine::Engine& engine, Metrics& m) {
  m.gauge(kQuotaUnusable, "1 while the ConfigMap of the quotas cannot be read as such.")
      .set(engine.quota().unusable() != nullptr ? 1 : 0);
  m.gauge(kQuotaForbidden, "1 while this account may not read the ConfigMap of the quotas.")
      .set(engine.quota().mayNotBeRead() ? 1 : 0);
  const model::Quotas* quotas = engine.quota().quotas();
  if (quotas == nullptr) { return; }
  for (const auto& [ns, quota] : *quotas) {
    for (const auto& [model, gpus] : quota.gpus) {
      const Metrics::Labels labels{{"namespace", ns}, {"model", model}};
      m.gauge(kQuotaLimit, "GPUs of a model that a namespace may use.", labels)
          .set(static_cast<double>(gpus));
      m.gauge(kQuotaUsed, "GPUs of a model that a namespace with a quota uses, parts as parts.", labels)
          .set(static_cast<double>(engine.ledger().gpuUse(ns, model)) / kMilli);
    }
  }
}

}  // namespace

void noteRequests(const Extender& extender, bool another_leads, Readiness& out) {
  if (another_leads) { return out.note("requests", "ok, sent on to the replica that leads"); }
  const std::string refused = extender.refusesBecause();
  out.need("requests", refused.empty(), refused);
}

std::string stateMetrics(const Extender& extender, const engine::Engine& engine) {
  Metrics m;  // what there is now; nothing of it is kept
  const auto reservations = [&](const char* state, std::size_t grants) {
    m.gauge(kReservations, "Pods that have a node and are not bound yet, by state.", {{"state", state}})
        .set(static_cast<double>(grants));
  };
  const Extender::Sizes grants = extender.grants();
  reservations("writing", grants.writing);
  reservations("written", grants.written);
  reservations("removing", grants.removing);
  m.gauge(kLeading, "1 while this process decides.").set(extender.leading() ? 1 : 0);
  addQuota(engine, m);
  return m.text();
}

}  // namespace gs::extender
