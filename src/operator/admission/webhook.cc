#include "operator/admission/webhook.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "controller/parts.h"
#include "kapi/effects.h"

namespace gs::gkm {
namespace {

constexpr std::uint8_t kCertificatesOwner = controller::kCacheWebhookOwners.first;
constexpr std::uint8_t kKeyOwner = kCertificatesOwner + 1;

}  // namespace

Webhook::Webhook(Config config, admission::Maker& maker) : config_{std::move(config)} {
  if (config_.certificates) {
    config_.certificates->owner = kCertificatesOwner;
    certificates_.emplace(*config_.certificates, maker);
  }
  if (config_.key) {
    config_.key->owner = kKeyOwner;
    key_.emplace(*config_.key);
  }
}

bool Webhook::isForIt(const kapi::MachineEvent& event) {
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  if (outcome == nullptr) { return false; }
  const std::uint8_t owner = kapi::tokenOwner(outcome->token);
  return owner == kCertificatesOwner || owner == kKeyOwner;
}

kapi::Effects Webhook::start(Now now) {
  kapi::Effects out;
  if (certificates_) { kapi::append(out, certificates_->start(now)); }
  if (key_) { kapi::append(out, key_->start(now)); }
  return out;
}

kapi::Effects Webhook::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    const auto owner = kapi::tokenOwner(outcome->token);
    if (certificates_ && owner == kCertificatesOwner) {
      kapi::append(out, certificates_->handle(*outcome, now));
    }
    if (key_ && owner == kKeyOwner) { kapi::append(out, key_->handle(*outcome, now)); }
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    if (certificates_) { kapi::append(out, certificates_->tick(now)); }
    if (key_) { kapi::append(out, key_->tick(now)); }
  }
  told();
  return out;
}

void Webhook::told() {
  if (certificates_ && certificates_->shown() != told_pair_) {
    told_pair_ = certificates_->shown();
    if (config_.on_pair) { config_.on_pair(told_pair_); }
  }
  if (key_ && key_->key() != told_key_) {
    told_key_ = key_->key();
    if (config_.on_key) { config_.on_key(told_key_); }
  }
}

Readiness Webhook::readiness() const {
  Readiness out;
  if (certificates_) {
    out.need("certificate", certificates_->ready(), certificates_->trouble(), "not made or not trusted yet");
  }
  if (key_) { out.need("signing key", !key_->key().empty(), key_->trouble(), "not known yet"); }
  return out;
}

}  // namespace gs::gkm
