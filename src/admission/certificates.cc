#include "admission/certificates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::admission {
namespace {

using json::Object;
using json::Value;
using kapi::CallResult;

constexpr const char* kCa = "ca.crt";
constexpr const char* kCertificate = "tls.crt";
constexpr const char* kKey = "tls.key";
/// Clocks of nodes differ.
constexpr auto kBefore = std::chrono::minutes{5};

std::string of(const Secret& secret, const char* name) {
  const auto it = secret.data.find(name);
  return it == secret.data.end() ? std::string{} : it->second;
}

/// Of the `ca` of a pair of ours that is the CA which signed it, of a `certificate` the one for our Service.
std::string firstOf(const std::string& ca) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const auto end = ca.find(kEnd);
  return end == std::string::npos ? ca : ca.substr(0, std::min(end + kEnd.size() + 1, ca.size()));
}

Pair pairOf(const Secret& secret) { return {of(secret, kCa), of(secret, kCertificate), of(secret, kKey)}; }

Value bodyOf(const model::ObjectKey& key, const std::string& managed_by, const Secret* there,
             const Pair& pair) {
  Value metadata = Object{{"labels", Object{{"app.kubernetes.io/managed-by", managed_by}}}};
  if (there != nullptr) {
    metadata.set("uid", there->uid.text);
    metadata.set("resourceVersion", std::to_string(there->revision));
  } else {
    metadata.set("name", key.name);
    metadata.set("namespace", key.ns);
  }
  Value body = Object{{"apiVersion", "v1"}, {"kind", "Secret"}};
  body.set("metadata", std::move(metadata));
  if (there == nullptr) { body.set("type", "kubernetes.io/tls"); }
  body.set("data", Object{{kCa, encodeBase64(pair.ca)},
                          {kCertificate, encodeBase64(pair.certificate)},
                          {kKey, encodeBase64(pair.key)}});
  return body;
}

}  // namespace

Certificates::Certificates(Config config, Maker& maker)
    : config_{std::move(config)},
      maker_{maker},
      calls_{config_.owner},
      configurations_{Configuration{.name = config_.mutating}, Configuration{.name = config_.validating}} {}

const kapi::Kind& Certificates::kindOf(What what) const {
  switch (what) {
    case What::Secret: return kSecret;
    case What::Mutating: return kMutatingConfiguration;
    case What::Validating: break;
  }
  return kValidatingConfiguration;
}

model::ObjectKey Certificates::keyOf(What what) const {
  if (what == What::Secret) { return config_.secret; }
  return {"", what == What::Mutating ? config_.mutating : config_.validating};
}

bool Certificates::isUsed(What what) const { return !keyOf(what).name.empty(); }

std::vector<std::string> Certificates::names() const {
  const std::string& ns = config_.secret.ns;
  const std::string& service = config_.service;
  return {fmt::format("{}.{}.svc", service, ns), service, fmt::format("{}.{}", service, ns),
          fmt::format("{}.{}.svc.cluster.local", service, ns)};
}

// ---- time

kapi::Effects Certificates::start(Now now) {
  next_look_ = now.mono;
  return tick(now);
}

kapi::Effects Certificates::tick(Now now) {
  kapi::Effects out;
  (void)calls_.takeDue(now.mono);
  const bool all = now.mono >= next_look_;
  if (all) { next_look_ = now.mono + kLook; }
  for (const What what : kAll) {
    const bool again = calls_.failures(what) > 0 || all;  // what failed is read again when its wait is over
    if (isUsed(what) && again && calls_.due(what, now.mono)) { read(what, out); }
  }
  show(now, out);
  wake(now, out);
  return out;
}

void Certificates::wake(Now now, kapi::Effects& out) {
  Mono at = next_look_;
  if (const auto due = calls_.nextDue()) { at = std::min(at, *due); }
  if (trusted_since_ && shown_ != stored_) { at = std::min(at, *trusted_since_ + kSpread); }
  out.emplace_back(kapi::Wake{std::max(at, now.mono)});
}

// ---- answers

void Certificates::read(What what, kapi::Effects& out) {
  kapi::Call call = kapi::getObject(kindOf(what), keyOf(what));
  call.token = calls_.begin(what, Doing::Read);
  out.emplace_back(std::move(call));
}

void Certificates::say(What what, std::string trouble, kapi::Effects& out) {
  std::string& known = trouble_.at(static_cast<std::size_t>(what));
  if (known != trouble && !trouble.empty()) { out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  known = std::move(trouble);
}

std::string Certificates::trouble() const {
  for (const std::string& trouble : trouble_) {
    if (!trouble.empty()) { return trouble; }
  }
  return {};
}

void Certificates::failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  (void)calls_.failed(what, now.mono, outcome.retry_after);
  say(what,
      fmt::format("{} {}: {} {}", kindOf(what)->name, keyOf(what).text(), outcome.http, outcome.message),
      out);
}

kapi::Effects Certificates::handle(const kapi::Outcome& outcome, Now now) {
  kapi::Effects out;
  const auto answered = calls_.answered(outcome.token);
  if (!answered || answered->stale) { return out; }
  if (answered->what == Doing::Write) {
    written(answered->key, outcome, now, out);
  } else if (answered->key == What::Secret) {
    secretRead(outcome, now, out);
  } else {
    configurationRead(answered->key, outcome, now, out);
  }
  show(now, out);
  wake(now, out);
  return out;
}

/// What is there counts, so it is read again: at once when it was taken, or another replica was first; for
/// the next try the key waits in any case.
void Certificates::written(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool first = calls_.failures(what) <= 1;
  if (outcome.result == CallResult::Applied || (outcome.http == 409 && first)) { return read(what, out); }
  failed(what, outcome, now, out);
}

// ---- the Secret

void Certificates::secretRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (outcome.notFound()) { return renew(nullptr, now, out); }
  const auto secret = outcome.object.as<Secret>();
  if (outcome.result != CallResult::Applied || secret == nullptr) {
    return failed(What::Secret, outcome, now, out);
  }
  secretIs(*secret, now, out);
}

void Certificates::secretIs(const Secret& secret, Now now, kapi::Effects& out) {
  const bool ours = secret.managed_by == config_.managed_by;
  Pair pair = pairOf(secret);
  const auto life = maker_.check(pair, names().front());
  const bool early = life && now.wall + kClocks < life->from;  // made by a node whose clock was wrong
  const bool due =
      !life || early || pair.ca.empty() || now.wall >= life->from + (life->until - life->from) * 2 / 3;
  if (ours && due) { return renew(&secret, now, out); }
  calls_.worked(What::Secret);
  if (!life) {
    return say(
        What::Secret,
        fmt::format("secret {} is not ours (label app.kubernetes.io/managed-by), and cannot be used: {}; "
                    "mend it, or delete it to have one made",
                    config_.secret.text(), life.error().message),
        out);
  }
  std::string trouble;
  if (now.wall >= life->until || early) {
    trouble =
        fmt::format("the certificate in secret {} is good from {} to {}; whoever made it is to renew it",
                    config_.secret.text(), kapi::timeText(life->from), kapi::timeText(life->until));
  }
  say(What::Secret, std::move(trouble), out);
  if (stored_ != nullptr && *stored_ == pair) { return; }
  stored_ = std::make_shared<const Pair>(std::move(pair));
  stored_until_ = life->until;
  for (const What what : {What::Mutating, What::Validating}) {
    configuration(what).trusts = false;
    if (isUsed(what) && !calls_.open(what)) { read(what, out); }
  }
}

void Certificates::renew(const Secret* secret, Now now, kapi::Effects& out) {
  if (!calls_.due(What::Secret, now.mono)) { return; }
  auto made = maker_.make(names(), {now.wall - kBefore, now.wall + kLife});
  if (!made) {
    (void)calls_.failed(What::Secret, now.mono);
    return say(What::Secret, "no certificate can be made: " + made.error().message, out);
  }
  if (secret != nullptr) {
    const Pair before = pairOf(*secret);
    const auto life = maker_.check(before, names().front());
    if (life && now.wall < life->until) { made->ca += firstOf(before.ca); }
  }
  kapi::Call call;
  call.verb = secret == nullptr ? kapi::Verb::Create : kapi::Verb::MergePatch;
  call.kind = kSecret;
  call.key = config_.secret;
  if (secret == nullptr) { call.key.name.clear(); }
  call.body = bodyOf(config_.secret, config_.managed_by, secret, *made);
  (void)calls_.failed(What::Secret, now.mono);  // a try, until a read shows that it took
  call.token = calls_.begin(What::Secret, Doing::Write);
  out.emplace_back(kapi::Log{kapi::Level::Info,
                             secret == nullptr ? "making a certificate" : "renewing the certificate",
                             {{"secret", config_.secret.text()}}});
  out.emplace_back(std::move(call));
}

// ---- the configurations

/// What is stored, and beside it what is shown while that is another one.
std::string Certificates::wanted() const {
  if (stored_->ca.empty()) {
    const bool beside =
        shown_ != nullptr && shown_->ca.empty() && shown_->certificate != stored_->certificate;
    return firstOf(stored_->certificate) + (beside ? "\n" + firstOf(shown_->certificate) : "");
  }
  if (shown_ == nullptr || stored_->ca.find(firstOf(shown_->ca)) != std::string::npos) { return stored_->ca; }
  return stored_->ca + shown_->ca;
}

/// Whom else it trusts does no harm: another replica may still show the certificate before.
bool Certificates::isTrustedBy(const WebhookConfiguration::Webhook& webhook) const {
  if (stored_->ca.empty()) {
    const Pair pair{webhook.ca_bundle, stored_->certificate, stored_->key};
    return !webhook.ca_bundle.empty() && maker_.check(pair, names().front()).has_value();
  }
  const bool shown = shown_ == nullptr || webhook.ca_bundle.find(firstOf(shown_->ca)) != std::string::npos;
  return shown && webhook.ca_bundle.find(stored_->ca) != std::string::npos;
}

/// Where the Secret says of no CA, whoever set a caBundle keeps it, but for what we wrote there ourselves.
bool Certificates::isOursToWrite(const WebhookConfiguration::Webhook& webhook) const {
  const std::string& bundle = webhook.ca_bundle;
  return !stored_->ca.empty() || bundle.empty() ||
         (shown_ != nullptr && shown_->ca.empty() && bundle.starts_with(firstOf(shown_->certificate)));
}

void Certificates::configurationRead(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  Configuration& known = configuration(what);
  known.absent = outcome.notFound();
  const auto seen = outcome.object.as<WebhookConfiguration>();
  if (!known.absent && (outcome.result != CallResult::Applied || seen == nullptr)) {
    return failed(what, outcome, now, out);
  }
  if (known.absent || stored_ == nullptr) {
    known.trusts = true;
    calls_.worked(what);
    return say(what, "", out);
  }
  const auto& all = seen->webhooks;
  const bool any = std::any_of(all.begin(), all.end(), [&](const auto& w) { return asksUs(w); });
  known.trusts =
      any && std::all_of(all.begin(), all.end(), [&](const auto& w) { return !asksUs(w) || isTrustedBy(w); });
  if (known.trusts) {
    calls_.worked(what);
    return say(what, "", out);
  }
  if (!any) {
    (void)calls_.failed(what, now.mono);
    return say(
        what,
        fmt::format("{} {} has no webhook that asks service {}/{}: write that into clientConfig.service",
                    kindOf(what)->name, seen->key.name, config_.secret.ns, config_.service),
        out);
  }
  const bool may = std::all_of(all.begin(), all.end(), [&](const auto& w) {
    return !asksUs(w) || isTrustedBy(w) || isOursToWrite(w);
  });
  if (!may) {
    (void)calls_.failed(what, now.mono);
    return say(what,
               fmt::format("{} {} has a caBundle that did not sign the certificate of secret {}, and that "
                           "secret has no ca.crt: write its CA there, or into clientConfig.caBundle",
                           kindOf(what)->name, seen->key.name, config_.secret.text()),
               out);
  }
  if (calls_.due(what, now.mono)) { trust(what, *seen, now, out); }
}

/// Counted as a try until a read shows that it took.
void Certificates::trust(What what, const WebhookConfiguration& seen, Now now, kapi::Effects& out) {
  json::Array webhooks;
  for (const auto& webhook : seen.webhooks) {
    if (!asksUs(webhook) || isTrustedBy(webhook)) { continue; }
    webhooks.emplace_back(
        Object{{"name", webhook.name}, {"clientConfig", Object{{"caBundle", encodeBase64(wanted())}}}});
  }
  kapi::Call call;
  call.verb = kapi::Verb::StrategicPatch;  // webhooks merge by name
  call.kind = kindOf(what);
  call.key = seen.key;
  call.body =
      Object{{"metadata", Object{{"uid", seen.uid.text}, {"resourceVersion", std::to_string(seen.revision)}}},
             {"webhooks", std::move(webhooks)}};
  if (calls_.failures(what) == 0) {
    out.emplace_back(kapi::Log{
        kapi::Level::Info, "telling the API server whom to trust", {{"configuration", seen.key.name}}});
  }
  (void)calls_.failed(what, now.mono);
  call.token = calls_.begin(what, Doing::Write);
  out.emplace_back(std::move(call));
}

// ---- what is shown

bool Certificates::isTrusted() const {
  return std::all_of(configurations_.begin(), configurations_.end(),
                     [](const Configuration& c) { return c.name.empty() || c.trusts; });
}

void Certificates::show(Now now, kapi::Effects& out) {
  if (stored_ == nullptr) { return; }
  const bool trusted = isTrusted();
  was_trusted_ = was_trusted_ || trusted;
  if (shown_ == stored_) { return; }
  if (!trusted) { trusted_since_.reset(); }
  if (trusted && !trusted_since_) { trusted_since_ = now.mono; }
  const bool spread = trusted_since_ && now.mono >= *trusted_since_ + kSpread;
  const bool over = shown_ == nullptr || now.wall >= shown_until_;
  if (!over && !spread) { return; }
  shown_ = stored_;
  shown_until_ = stored_until_;
  out.emplace_back(kapi::Log{
      kapi::Level::Info, "showing the certificate of the secret", {{"secret", config_.secret.text()}}});
}

}  // namespace gs::admission
