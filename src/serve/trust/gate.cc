#include "serve/trust/gate.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "cacherim/trust/verify.h"
#include "json/value.h"
#include "yaml/yaml.h"

namespace gs::serve {
namespace {

tl::unexpected<Error> bad(std::string_view what) {
  return fail(Code::Conflict,
              fmt::format("the policy of signatures cannot be used, so no image may: ConfigMap {}, {}",
                          kcache::trust::kPolicyConfigMap, what));
}

}  // namespace

TrustGate::Read TrustGate::read(const std::map<std::string, std::string>& texts) {
  auto out = std::make_shared<Rules>();
  out->roots = texts;
  const auto text = out->roots.extract(kcache::trust::kPolicyKey);
  if (text.empty()) { return bad(fmt::format("key {} is missing", kcache::trust::kPolicyKey)); }
  const auto documents = yaml::toJson(text.mapped());
  if (!documents) { return bad(documents.error().message); }
  if (documents->size() > 1) { return bad("more than one document"); }
  const auto value = documents->empty() ? json::Value{} : json::parse(documents->front());
  if (!value) { return bad(value.error().message); }
  auto policy = kcache::trust::parsePolicy(*value);
  if (!policy) { return bad(policy.error().message); }
  out->policy = *std::move(policy);
  return std::shared_ptr<const Rules>{std::move(out)};
}

void TrustGate::policyIs(const std::shared_ptr<const std::map<std::string, std::string>>& texts) {
  Read now = texts == nullptr ? Read{std::make_shared<const Rules>()} : read(*texts);
  if (!now) {
    log::error("the policy of signatures cannot be used", {{"why", now.error().message}});
  } else {
    log::info("the policy of signatures", {{"rules", std::to_string((*now)->policy.rules.size())},
                                           {"is", texts == nullptr ? "absent" : "read"}});
  }
  const MutexLock lock{mutex_};
  read_ = std::move(now);
}

TrustGate::Read TrustGate::rules() const {
  const MutexLock lock{mutex_};
  return read_;
}

Result<std::string> TrustGate::admit(cacherim::Registry& registry, const model::ObjectKey& cache,
                                     const kcache::Reference& image) const {
  const Read rules = this->rules();
  if (!rules) { return tl::unexpected(rules.error()); }
  const auto decision = kcache::trust::ruleFor((*rules)->policy, {cache.ns}, image);
  if (decision.kind == kcache::trust::Decision::Kind::Unsigned) { return decision.why; }  // nobody is asked
  auto admitted = cacherim::trust::admitImage(cacherim::trust::signaturesIn(registry), (*rules)->policy,
                                              (*rules)->roots, {cache.ns}, image);
  if (!admitted) { return tl::unexpected(admitted.error()); }
  return std::move(admitted->why);
}

std::string TrustGate::trouble() const {
  const Read rules = this->rules();
  return rules || rules.error().code == Code::Unavailable ? "" : rules.error().message;
}

}  // namespace gs::serve
