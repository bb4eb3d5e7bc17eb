#include "kcache/trust/listed.h"

#include "kcache/trust/bundle.h"
#include "kcache/trust/simple_signing.h"

namespace gs::kcache::trust {

Listed listedAs(const Descriptor& one) {
  const auto says = one.annotations.find(kPredicateAnnotation);
  const bool is_said = says != one.annotations.end();
  if (one.artifact_type == kSignatureArtifact || (is_said && says->second == kSignPredicate)) {
    return Listed::SaysSignature;
  }
  if (is_said) { return Listed::Attestation; }
  if (one.artifact_type.starts_with(kBundlePrefix)) { return Listed::Bundle; }
  const bool may_be = one.artifact_type.empty() || one.artifact_type == kEmptyConfigType;
  return may_be ? Listed::MayBe : Listed::Other;
}

}  // namespace gs::kcache::trust
