#include "webhook/webhook.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "controller/parts.h"
#include "kapi/kinds.h"
#include "model/claim.h"

namespace gs::webhook {
namespace {

constexpr std::uint8_t kClaimsOwner = controller::kWebhookOwners.first;
constexpr std::uint8_t kCertificatesOwner = kClaimsOwner + 1;

void append(kapi::Effects& to, kapi::Effects more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::optional<std::int64_t> limitOf(const model::GpuClaim& claim) {
  const bool counted = claim.invalid.empty() && claim.exclusivity == model::Exclusivity::Exclusive;
  return counted ? std::optional{claim.count} : std::nullopt;
}

Webhook::Webhook(Config config, admission::Maker& maker, Rng rng) : config_{std::move(config)} {
  if (config_.injects_limits) {
    claims_.emplace(controller::Reflector::Config{.kind = kapi::kGpuClaim, .owner = kClaimsOwner, .ns = {}},
                    rng.split());
  }
  if (config_.certificates) {
    config_.certificates->owner = kCertificatesOwner;
    certificates_.emplace(*config_.certificates, maker);
  }
}

kapi::Effects Webhook::took(controller::Reflector::Output output) {
  for (const auto& change : output.changes) {
    const auto claim = change.object.as<model::GpuClaim>();
    if (config_.on_limit) { config_.on_limit(change.key, claim ? limitOf(*claim) : std::nullopt); }
  }
  if (output.went_back) { failure_ = "the API server's history went back (restored from a backup?)"; }
  return std::move(output.effects);
}

void Webhook::told() {
  if (!certificates_ || certificates_->shown() == told_) { return; }
  told_ = certificates_->shown();
  if (config_.on_pair) { config_.on_pair(told_); }
}

kapi::Effects Webhook::start(Now now) {
  kapi::Effects out;
  if (claims_) { append(out, took(claims_->start(now))); }
  if (certificates_) { append(out, certificates_->start(now)); }
  return out;
}

kapi::Effects Webhook::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    const auto owner = kapi::tokenOwner(outcome->token);
    if (claims_ && owner == kClaimsOwner) { append(out, took(claims_->handle(*outcome, now))); }
    if (certificates_ && owner == kCertificatesOwner) { append(out, certificates_->handle(*outcome, now)); }
  } else if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    if (claims_) { append(out, took(claims_->handle(*came, now))); }
  } else if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
    if (claims_) { append(out, took(claims_->handle(*ended, now))); }
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    if (claims_) { append(out, took(claims_->tick(now))); }
    if (certificates_) { append(out, certificates_->tick(now)); }
  }
  told();
  return out;
}

Readiness Webhook::readiness() const {
  Readiness out;
  // Without claims no limits are injected; pods are told their GPUs all the same.
  if (claims_) { out.note("gpuclaims", claims_->synced() ? claims_->trouble() : "not listed yet"); }
  if (certificates_) {
    out.need("certificate", certificates_->ready(), certificates_->trouble(), "not made or not trusted yet");
  }
  return out;
}

}  // namespace gs::webhook
