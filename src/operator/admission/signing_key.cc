#include "operator/admission/signing_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "kapi/write.h"

namespace gs::gkm {

using json::Object;
using kapi::CallResult;

kapi::Effects SigningKey::start(Now now) {
  next_look_ = now.mono;
  return tick(now);
}

kapi::Effects SigningKey::tick(Now now) {
  kapi::Effects out;
  (void)calls_.takeDue(now.mono);
  if (now.mono >= next_look_ && calls_.due(kOnly, now.mono)) {
    send(Doing::Read, kapi::getObject(admission::kSecret, config_.secret), out);
  }
  wake(now, out);
  return out;
}

void SigningKey::wake(Now now, kapi::Effects& out) {
  if (calls_.open(kOnly)) { return; }
  out.emplace_back(kapi::Wake{std::max({next_look_, calls_.notBefore(kOnly), now.mono})});
}

void SigningKey::send(Doing doing, kapi::Call call, kapi::Effects& out) {
  call.token = calls_.begin(kOnly, doing);
  out.emplace_back(std::move(call));
}

kapi::Effects SigningKey::handle(const kapi::Outcome& outcome, Now now) {
  kapi::Effects out;
  const auto answer = calls_.answered(outcome.token);
  if (!answer) { return out; }
  const auto secret = outcome.object.as<admission::Secret>();
  if (answer->what == Doing::Read && outcome.notFound()) {
    create(out);
  } else if (outcome.result == CallResult::Applied && secret != nullptr) {
    calls_.worked(kOnly);
    next_look_ = now.mono + kLook;
    take(*secret, out);
  } else {
    failed(outcome, now, out);
  }
  wake(now, out);
  return out;
}

void SigningKey::create(kapi::Effects& out) {
  kapi::Call call;
  call.verb = kapi::Verb::Create;
  call.kind = admission::kSecret;
  call.key = {config_.secret.ns, ""};
  call.body =
      Object{{"apiVersion", "v1"},
             {"kind", "Secret"},
             {"metadata", Object{{"name", config_.secret.name},
                                 {"namespace", config_.secret.ns},
                                 {"labels", Object{{"app.kubernetes.io/managed-by", config_.managed_by}}}}},
             {"type", "Opaque"},
             {"data", Object{{kField, encodeBase64(config_.make())}}}};
  out.emplace_back(kapi::Log{kapi::Level::Info, "making a signing key", {{"secret", config_.secret.text()}}});
  send(Doing::Create, std::move(call), out);
}

/// 409 at a creation: another replica was first, and what it made is read after the first wait.
void SigningKey::failed(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  (void)calls_.failed(kOnly, now.mono, outcome.retry_after);
  if (outcome.http == 409) { return; }
  say(fmt::format("secret {}: {} {}", config_.secret.text(), outcome.http, outcome.message), out);
}

void SigningKey::take(const admission::Secret& secret, kapi::Effects& out) {
  const auto field = secret.data.find(kField);
  if (field == secret.data.end() || field->second.size() < kLeast) {
    return say(
        fmt::format("secret {} has no {} of {} bytes or more: write one, or delete the secret to have one "
                    "made",
                    config_.secret.text(), kField, kLeast),
        out);
  }
  key_ = field->second;
  say("", out);
}

void SigningKey::say(std::string trouble, kapi::Effects& out) {
  if (!trouble.empty() && trouble != trouble_) {
    out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}});
  }
  trouble_ = std::move(trouble);
}

}  // namespace gs::gkm
