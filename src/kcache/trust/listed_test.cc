#include "kcache/trust/listed.h"

#include <gtest/gtest.h>

#include <string>

#include "kcache/trust/bundle.h"
#include "kcache/trust/simple_signing.h"

namespace gs::kcache::trust {
namespace {

struct ListedCase {
  const char* name;
  std::string type;
  const char* predicate;  // nullptr: nothing is said of it
  Listed is;
};
class ListedArtifact : public ::testing::TestWithParam<ListedCase> {};

TEST_P(ListedArtifact, IsWhatItsListSays) {
  Descriptor one{"m", Digest::of("a"), 1, {}, {}, GetParam().type};
  if (GetParam().predicate != nullptr) {
    one.annotations.emplace(kPredicateAnnotation, GetParam().predicate);
  }
  EXPECT_EQ(listedAs(one), GetParam().is);
  EXPECT_EQ(mayBeSignature(one), GetParam().is != Listed::Attestation && GetParam().is != Listed::Other);
}

constexpr const char* kSigns = "https://sigstore.dev/cosign/sign/v1";
constexpr const char* kSpdx = "https://spdx.dev/Document";
INSTANTIATE_TEST_SUITE_P(
    Table, ListedArtifact,
    ::testing::Values(
        // name                      type                             predicate  is
        ListedCase{"SignedBundle", std::string{kBundleType}, kSigns, Listed::SaysSignature},
        ListedCase{"CosignsArtifact", std::string{kSignatureArtifact}, nullptr, Listed::SaysSignature},
        ListedCase{"CosignsArtifactWithAWord", std::string{kSignatureArtifact}, kSpdx, Listed::SaysSignature},
        ListedCase{"Bundle", std::string{kBundleType}, nullptr, Listed::Bundle},
        ListedCase{"BundleOfLater", std::string{kBundlePrefix} + ".v9+json", nullptr, Listed::Bundle},
        ListedCase{"NoType", "", nullptr, Listed::MayBe},
        ListedCase{"TypeOfAnEmptyConfig", std::string{kEmptyConfigType}, nullptr, Listed::MayBe},
        ListedCase{"Attestation", std::string{kBundleType}, kSpdx, Listed::Attestation},
        ListedCase{"ListOfParts", "application/spdx+json", nullptr, Listed::Other},
        ListedCase{"ListOfPartsThatSaysItSigns", "application/spdx+json", kSigns, Listed::SaysSignature}),
    [](const auto& param) { return std::string{param.param.name}; });

}  // namespace
}  // namespace gs::kcache::trust
