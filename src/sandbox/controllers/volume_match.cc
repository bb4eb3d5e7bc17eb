#include "sandbox/controllers/volume_match.h"

#include <algorithm>
#include <tuple>

#include "apiserver/admission/default_class.h"
#include "apiserver/meta/label_selector.h"
#include "kapi/quantity.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

model::Quantity amountIn(const Value& amounts) {
  const Value& amount = amounts["storage"];
  const auto exact = kapi::exactQuantity(amount.isString() ? std::string{amount.str()} : json::print(amount));
  return exact ? *exact : model::Quantity{};
}
model::Quantity sizeOf(const Value& volume) { return amountIn(volume["spec"]["capacity"]); }
model::Quantity wantedBy(const Value& claim) { return amountIn(claim["spec"]["resources"]["requests"]); }

bool hasAllModes(const Value& volume, const Value& claim) {
  const auto& has = volume["spec"]["accessModes"].items();
  const auto& wants = claim["spec"]["accessModes"].items();
  return std::all_of(wants.begin(), wants.end(),
                     [&](const Value& mode) { return std::find(has.begin(), has.end(), mode) != has.end(); });
}

bool isBlock(const Value& object) { return object["spec"]["volumeMode"].str() == "Block"; }

/// A volume's class stands where a claim's does.
bool isOfItsClass(const Value& volume, const Value& claim) {
  return apiserver::classOfClaim(volume) == apiserver::classOfClaim(claim);
}

bool isFree(const Value& volume, const Value& claim) {
  const Value& selector = claim["spec"]["selector"];
  return volume["spec"]["claimRef"].isNull() && volume["status"]["phase"].str() == "Available" &&
         (selector.isNull() || apiserver::selects(selector, volume["metadata"]["labels"])) &&
         isOfItsClass(volume, claim);
}

/// As large as it wants, of its form, and there to stay.
bool hasItsForm(const Value& volume, const Value& claim) {
  return !isDeleting(volume) && isBlock(volume) == isBlock(claim) && hasAllModes(volume, claim) &&
         sizeOf(volume) >= wantedBy(claim);
}

/// Those that can no more than is asked for come first.
auto rankOf(const Value& volume, const Value& claim) {
  return std::tuple{volume["spec"]["accessModes"].items().size(), !isFor(volume, claim), sizeOf(volume),
                    nameOf(volume)};
}

}  // namespace

bool isFor(const json::Value& volume, const json::Value& claim) {
  const Value& of = volume["spec"]["claimRef"];
  const auto uid = of["uid"].str();
  return of.isObject() && of["namespace"].str() == claim["metadata"]["namespace"].str() &&
         of["name"].str() == nameOf(claim) && (uid.empty() || uid == uidOf(claim));
}

std::string whyNotBound(const json::Value& volume, const json::Value& claim) {
  if (isDeleting(volume)) { return "the volume is marked for deletion \"" + nameOf(volume) + "\""; }
  if (sizeOf(volume) < wantedBy(claim)) { return "requested PV is too small"; }
  if (!isOfItsClass(volume, claim)) { return "storageClassName does not match"; }
  if (isBlock(volume) != isBlock(claim)) { return "incompatible volumeMode"; }
  return hasAllModes(volume, claim) ? "" : "incompatible accessMode";
}

apiserver::ObjectPtr bestVolume(const std::vector<apiserver::ObjectPtr>& volumes, const json::Value& claim,
                                bool waits) {
  ObjectPtr best;
  for (const ObjectPtr& volume : volumes) {
    const bool may_be = isFor(*volume, claim) || (!waits && isFree(*volume, claim));
    if (!may_be || !hasItsForm(*volume, claim)) { continue; }
    if (!best || rankOf(*volume, claim) < rankOf(*best, claim)) { best = volume; }
  }
  return best;
}

}  // namespace gs::sandbox::controllers
