#include "webhook/webhook.h"

#include <fmt/format.h>

#include <utility>

#include "kapi/effects.h"
#include "kapi/kinds.h"
#include "model/claim.h"
#include "model/dra.h"
#include "model/resources.h"

namespace gs::webhook {
namespace {

std::vector<controller::Reflector::Config> kindsOf(InjectLimits inject) {
  std::vector<controller::Reflector::Config> out;
  if (inject != InjectLimits::Never) { out.emplace_back().kind = kapi::kGpuClaim; }
  if (inject == InjectLimits::Auto) {
    out.emplace_back().kind = kapi::kDeviceClass;
    out.back().optional = true;
  }
  return out;
}

bool servesLimits(const model::DeviceClass& one) { return one.extended_resource == model::kNvidiaGpu; }

}  // namespace

std::optional<std::int64_t> limitOf(const model::GpuClaim& claim) {
  const bool counted = claim.invalid.empty() && claim.exclusivity == model::Exclusivity::Exclusive;
  return counted ? std::optional{claim.count} : std::nullopt;
}

Webhook::Webhook(Config config, admission::Maker& maker, Rng rng)
    : config_{std::move(config)},
      watches_{parts_, kindsOf(config_.inject_limits), rng,
               [this](const auto&, const auto& output, Now, kapi::Effects&) { take(output); }} {
  if (config_.certificates) {
    config_.certificates->owner = owners_.take();
    certificates_.emplace(*config_.certificates, maker);
  }
}

void Webhook::take(const controller::Reflector::Output& output) {
  for (const auto& change : output.changes) {
    if (change.kind == kapi::kDeviceClass) {
      const auto one = change.object.as<model::DeviceClass>();
      serving_.erase(change.key);
      if (one && servesLimits(*one)) { serving_.insert(change.key); }
    } else {
      const auto claim = change.object.as<model::GpuClaim>();
      if (config_.on_limit) { config_.on_limit(change.key, claim ? limitOf(*claim) : std::nullopt); }
    }
  }
  tellInjecting();
}

void Webhook::tellInjecting() {
  const bool is_on = config_.inject_limits == InjectLimits::Always || !serving_.empty();
  if (is_on == injecting_) { return; }
  injecting_ = is_on;
  if (config_.on_injecting) { config_.on_injecting(is_on); }
}

void Webhook::told() {
  if (!certificates_ || certificates_->shown() == told_) { return; }
  told_ = certificates_->shown();
  if (config_.on_pair) { config_.on_pair(told_); }
}

kapi::Effects Webhook::start(Now now) {
  kapi::Effects out;
  watches_.start(now, out);
  tellInjecting();
  if (certificates_) { kapi::append(out, certificates_->start(now)); }
  return out;
}

kapi::Effects Webhook::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool is_taken = parts_.handle(event, now, out);
  if (!is_taken && outcome != nullptr && certificates_) {
    kapi::append(out, certificates_->handle(*outcome, now));
  }
  if (std::holds_alternative<kapi::TimerDue>(event)) {
    watches_.tick(now, out);
    if (certificates_) { kapi::append(out, certificates_->tick(now)); }
  }
  told();
  return out;
}

Readiness Webhook::readiness() const {
  Readiness out;
  // Without claims no limits are injected; pods are told their GPUs all the same.
  for (const auto& one : watches_.all()) {
    const char* absent = one.kind() == kapi::kDeviceClass
                             ? "ok (not served, or not to be listed: no limits are injected)"
                             : "not served; apply the CRDs";
    out.note(one.kind()->plural, controller::stateOf(one, absent));
  }
  if (certificates_) {
    out.need("certificate", certificates_->ready(), certificates_->trouble(), "not made or not trusted yet");
  }
  return out;
}

}  // namespace gs::webhook
