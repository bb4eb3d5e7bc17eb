#include "operator/admission/webhook.h"

#include <fmt/format.h>

#include <utility>

#include "kapi/effects.h"

namespace gs::gkm {

Webhook::Webhook(controller::Parts& parts, Config config, admission::Maker& maker)
    : config_{std::move(config)} {
  const std::uint8_t first = parts.add(*this, 2);
  if (config_.certificates) {
    config_.certificates->owner = first;
    certificates_.emplace(*config_.certificates, maker);
  }
  if (config_.key) {
    config_.key->owner = first + 1;
    key_.emplace(*config_.key);
  }
}

void Webhook::start(Now now, kapi::Effects& out) {
  if (certificates_) { kapi::append(out, certificates_->start(now)); }
  if (key_) { kapi::append(out, key_->start(now)); }
}

void Webhook::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const std::uint8_t owner = kapi::tokenOwner(outcome.token);
  if (certificates_ && owner == config_.certificates->owner) {
    kapi::append(out, certificates_->handle(outcome, now));
  } else if (key_ && owner == config_.key->owner) {
    kapi::append(out, key_->handle(outcome, now));
  }
  told();
}

void Webhook::tick(Now now, kapi::Effects& out) {
  if (certificates_) { kapi::append(out, certificates_->tick(now)); }
  if (key_) { kapi::append(out, key_->tick(now)); }
  told();
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
