#include "webhook/claim_check.h"

#include <fmt/format.h>

#include "kapi/decode.h"
#include "model/claim_oddities.h"

namespace gs::webhook {

admission::Verdict checkClaim(const admission::Review& review) {
  admission::Verdict out;
  const bool comes = review.operation == "CREATE" || review.operation == "UPDATE";
  if (!comes || !review.subresource.empty()) { return out; }
  const model::GpuClaim claim = kapi::decodeClaim(review.object);
  const bool same_spec =
      review.old_object.isObject() && review.object["spec"].value() == review.old_object["spec"].value();
  if (same_spec) { return out; }
  if (!claim.invalid.empty()) {
    out.allowed = false;
    out.message = fmt::format("gpuclaim \"{}\" is invalid: {}", claim.key.name, claim.invalid);
    return out;
  }
  if (!claim.gang_ref.empty()) {
    out.warnings.emplace_back(
        "spec.gangRef: gangs are not supported yet; pods of this claim wait until it is removed");
  }
  for (const auto& oddity : model::odditiesOfSpec(claim)) { out.warnings.push_back(oddity.text); }
  return out;
}

}  // namespace gs::webhook
