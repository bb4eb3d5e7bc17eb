#include "operator/pull_secrets.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "controller/parts.h"
#include "json/document.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/write.h"

namespace gs::gkm {
namespace {

constexpr Duration kTimeout = std::chrono::seconds{5};

PullSecret decodePullSecret(const json::View& v) {
  return {kapi::objectKey(v), kapi::uidField(v), kapi::objectRevision(v),
          json::print(json::Object{{"type", v["type"].value()}, {"data", v["data"].value()}})};
}

constexpr kapi::KindInfo kPullSecretInfo{"",       "v1", "secrets",
                                         "Secret", true, kapi::decodedBy<decodePullSecret>};

tl::unexpected<Error> whyNot(const model::ObjectKey& secret, const kapi::Outcome& outcome) {
  const std::string what = fmt::format("Secret {} (spec.imagePullSecrets)", secret.text());
  if (outcome.notFound()) { return fail(Code::NotFound, what + " is not there"); }
  if (outcome.http == 403) {
    return fail(Code::Unavailable,
                fmt::format("{} may not be read: bind the ClusterRole gkm-pull-secrets to gkm-agent and "
                            "gkm-operator in namespace {} (pullSecrets.namespaces of charts/gkm)",
                            what, secret.ns));
  }
  return fail(Code::Unavailable,
              fmt::format("{} cannot be read: {} {}", what, outcome.http, outcome.message));
}

}  // namespace

constinit const kapi::Kind kPullSecret{kPullSecretInfo};

kapi::Effects PullSecrets::read(const model::ObjectKey& secret, Done done) {
  kapi::Call call = kapi::getObject(kPullSecret, secret);
  call.token = kapi::makeToken(owner_, next_++);
  call.timeout = kTimeout;
  asked_.emplace(call.token, Asked{secret, std::move(done)});
  kapi::Effects out;
  out.emplace_back(std::move(call));
  return out;
}

void PullSecrets::handle(const kapi::Outcome& outcome, Now /*now*/, kapi::Effects& /*out*/) {
  const auto asked = asked_.extract(outcome.token);
  if (asked.empty()) { return; }
  const auto secret = outcome.object.as<PullSecret>();
  const bool is_there = outcome.result == kapi::CallResult::Applied && secret != nullptr;
  if (is_there) {
    asked.mapped().done(secret->text);
  } else {
    asked.mapped().done(whyNot(asked.mapped().secret, outcome));
  }
}

}  // namespace gs::gkm
