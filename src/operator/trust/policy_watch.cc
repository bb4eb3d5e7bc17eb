#include "operator/trust/policy_watch.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "controller/parts.h"
#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::gkm {
namespace {

constexpr std::uint8_t kOwner = controller::kPolicyWatchOwner.first;
constexpr std::size_t kMostKeys = 64;  // roots of Sigstores, and the policy

struct PolicyObject {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  PolicyTexts texts;
  friend bool operator==(const PolicyObject&, const PolicyObject&) = default;
};

PolicyObject decodePolicy(const json::View& v) {
  PolicyObject out;
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  for (const auto& [key, value] : v["data"].members()) {
    if (out.texts.size() == kMostKeys) { break; }
    out.texts.emplace(key, kapi::text(value));
  }
  return out;
}

constexpr kapi::KindInfo kPolicyInfo{"",          "v1", "configmaps",
                                     "ConfigMap", true, kapi::decodedBy<decodePolicy>};
constinit const kapi::Kind kPolicy{kPolicyInfo};

controller::Reflector::Config watchOf(const std::string& ns, const std::string& name) {
  controller::Reflector::Config out{.kind = kPolicy, .owner = kOwner, .ns = ns};
  out.selectors.fields = fmt::format("metadata.name={}", name);
  return out;
}

}  // namespace

PolicyWatch::PolicyWatch(const std::string& ns, std::string name, Told told, Rng rng)
    : name_{std::move(name)}, told_{std::move(told)}, reflector_{watchOf(ns, name_), rng} {}

bool PolicyWatch::isForIt(const kapi::MachineEvent& event) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    return kapi::tokenOwner(outcome->token) == kOwner;
  }
  if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    return kapi::tokenOwner(came->stream) == kOwner;
  }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
    return kapi::tokenOwner(ended->stream) == kOwner;
  }
  return false;
}

kapi::Effects PolicyWatch::start(Now now) { return took(reflector_.start(now)); }

kapi::Effects PolicyWatch::handle(const kapi::MachineEvent& event, Now now) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    return took(reflector_.handle(*outcome, now));
  }
  if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    return took(reflector_.handle(*came, now));
  }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
    return took(reflector_.handle(*ended, now));
  }
  return took(reflector_.tick(now));
}

kapi::Effects PolicyWatch::took(controller::Reflector::Output output) {
  bool is_told = false;
  for (const auto& change : output.changes) {
    if (change.key.name != name_) { continue; }
    is_told = true;
    const auto object = change.object.as<PolicyObject>();
    told_(object == nullptr ? nullptr : std::make_shared<const PolicyTexts>(object->texts));
  }
  if (output.synced_now) {
    is_known_ = true;
    if (!is_told) { told_(nullptr); }
  }
  return std::move(output.effects);
}

Readiness::Check PolicyWatch::check() const {
  const auto trouble = reflector_.trouble();
  return {"trust-policy", !trouble.empty() ? trouble : is_known_ ? "ok" : "not listed yet"};
}

}  // namespace gs::gkm
