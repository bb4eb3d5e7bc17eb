#include "operator/trust/policy_watch.h"

#include <fmt/format.h>

#include <utility>

#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::gkm {
namespace {

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
  controller::Reflector::Config out;
  out.kind = kPolicy;
  out.ns = ns;
  out.selectors.fields = fmt::format("metadata.name={}", name);
  return out;
}

}  // namespace

PolicyWatch::PolicyWatch(controller::Parts& parts, const std::string& ns, std::string name, Told told,
                         Rng rng)
    : name_{std::move(name)},
      told_{std::move(told)},
      watches_{
          parts, {watchOf(ns, name_)}, rng, [this](const auto&, const auto& output, Now, kapi::Effects&) {
            take(output);
          }} {}

void PolicyWatch::take(const controller::Reflector::Output& output) {
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
}

Readiness::Check PolicyWatch::check() const {
  const std::string& trouble = watches_.all().front().trouble();
  return {"trust-policy", !trouble.empty() ? trouble : is_known_ ? "ok" : "not listed yet"};
}

}  // namespace gs::gkm
