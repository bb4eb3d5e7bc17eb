// Laws of verification at registries of all manners, with all that may lie beside an image, by chance:
// nothing counts that nobody trusted has signed, a good signature is found, and nothing is waited for.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "base/random.h"
#include "cacherim/trust/served_image_test.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
using signature::PrivateKey;

const PrivateKey kTrustedOne = PrivateKey::generate();
const PrivateKey kAnother = PrivateKey::generate();

/// One image, what lies beside it, and how its registry answers: all of it drawn from one seed.
class OddRegistry {
 public:
  explicit OddRegistry(std::uint64_t seed) : rng_{seed} {
    if (rng_.chance(40)) { addReports(); }
    for (std::uint64_t i = rng_.below(40); i > 0; --i) { addBad(); }
    if (rng_.chance(60)) { addGood(); }
    if (rng_.chance(20)) { addReports(); }
    for (std::uint64_t i = rng_.below(40); i > 0; --i) { addBad(); }
    answer();
  }

  Result<Verified> verify() {
    RegistryOptions options{
        .plain_http = {fake_.name()}, .direct = true, .until = clock_.now().mono + std::chrono::seconds{20}};
    Registry registry{std::move(options), clock_, Rng{1}, pause_};
    return verifyImage(signaturesIn(registry), fake_.image().pinned(served_.image.digest),
                       {TrustedKeys{{kTrustedOne.publicKey()}}});
  }
  [[nodiscard]] bool hasGood() const { return has_good_; }
  [[nodiscard]] Duration waited() const { return clock_.now().mono - Mono{}; }
  [[nodiscard]] std::size_t asked() const { return fake_.asked().size() + elsewhere_.asked().size(); }

 private:
  static constexpr int kMostBad = 31;  // of a source: below its limits

  kcache::Annotations signedBy(const PrivateKey& key, const std::string& text) {
    return {{kt::kSignatureKey, encodeBase64(*key.sign(text))}};
  }
  std::string text() {
    return served_.image.payload() + std::string(static_cast<std::size_t>(++texts_), ' ');
  }
  /// What a list says of the last artifact.
  void list(int source) {
    kcache::Descriptor& last = served_.image.referrers.back();
    if (source == 1) { last.annotations = {{kt::kPredicateAnnotation, std::string{kt::kSignPredicate}}}; }
    if (source == 3) { last.artifact_type = ""; }
  }
  void addGood() {
    SignedImage& image = served_.image;
    has_good_ = true;
    const int source = static_cast<int>(rng_.below(5));
    if (source == 0) { return image.addLayer(kTrustedOne, image.payload()); }
    if (source == 4) {
      return image.addArtifact({{image.payload(), signedBy(kTrustedOne, image.payload())}}, image.digest);
    }
    image.addBundle(served_.bundleBy(kTrustedOne));
    list(source);
  }
  /// More lists of parts than are kept. Nobody looks into one, so none has a manifest.
  void addReports() {
    for (int i = 0; i < 300; ++i) {
      const auto digest = kcache::Digest::of("report " + std::to_string(++texts_));
      served_.image.referrers.push_back(
          {std::string{kcache::media::kOciManifest}, digest, 1, {}, {}, "application/spdx+json"});
    }
  }
  /// Those of somebody else, of another image, attestations of whom we trust, and no signatures at all.
  void addBad() {
    SignedImage& image = served_.image;
    const int source = static_cast<int>(rng_.below(4));
    const bool is_attestation = source != 0 && rng_.chance(40);
    if (!is_attestation && ++bad_.at(static_cast<std::size_t>(source)) > kMostBad) { return; }
    const std::string other = "{\"critical\":" + std::to_string(++texts_) + "}";
    if (source == 0) {
      const std::string bad = rng_.chance(50) ? text() : other;
      return rng_.chance(50) ? image.addLayer(kAnother, bad)
                             : image.addLayer(rng_.chance(50) ? other : text(), signedBy(kTrustedOne, "x"));
    }
    const kcache::Digest another = kcache::Digest::of("another image");
    switch (is_attestation ? 0 : 1 + rng_.below(4)) {
      case 0: image.addBundle(served_.bundleBy(kTrustedOne, ++texts_)); break;
      case 1: image.addBundle(other, image.digest); break;
      case 2: image.addBundle(kt::printBundle(served_.bundleBy(kAnother)) + other, image.digest); break;
      case 3: image.addBundle(kt::printBundle(served_.bundleBy(kTrustedOne)) + " ", another); break;
      default: image.addBundle(served_.bundleBy(kAnother)); break;
    }
    if (is_attestation && source == 1) {  // it says so
      image.referrers.back().annotations = {{kt::kPredicateAnnotation, "https://example.com/x"}};
    } else {
      list(source);
    }
  }
  /// What is there comes, from here or from another host; how what is not there is answered differs.
  void answer() {
    const ServedImage::Manner away[] = {{.status = 404},
                                        {.status = 405},
                                        {.status = 303, .location = nowhere_.url()},
                                        {.status = 200, .text = "<html>a page</html>"},
                                        {.status = 200, .text = "{}"},
                                        {.status = 301, .location = nowhere_.url()}};
    const auto drawn = [&] { return away[rng_.below(std::size(away))]; };
    if (rng_.chance(70)) {
      served_.manners["referrers"] = drawn();
      if (!served_.image.referrers.empty()) { served_.putUnderFallbackTag(); }
    }
    for (const std::string& tag : {served_.fallbackTag(), served_.olderTag()}) {
      if (!served_.image.images.manifests.contains(tag)) { served_.manners[tag] = drawn(); }
    }
    if (rng_.chance(50)) {
      for (const auto* all : {&served_.image.images.manifests, &served_.image.images.blobs}) {
        for (const auto& [name, text] : *all) {
          if (rng_.chance(50)) { served_.manners[name] = {.status = 307, .location = elsewhere_.url()}; }
        }
      }
    }
  }

  Rng rng_;
  ManualClock clock_;
  NoPause pause_{clock_};
  ServedImage served_{clock_};
  bool has_good_ = false;
  int texts_ = 0;
  std::array<int, 4> bad_{};
  FakeRegistry nowhere_{[](Peer& peer, const net::Request&, int) {
    peer.write(http(404, {}, "<html>no such page</html>"));
    return true;
  }};
  FakeRegistry elsewhere_{served_.servingAsIs()};
  FakeRegistry fake_{served_.serving()};
};

RC_GTEST_PROP(OddRegistries, TrustWhatIsSignedAndNothingElseAndWaitForNothing, (std::uint64_t seed)) {
  OddRegistry registry{seed};
  const auto verified = registry.verify();
  const std::string said = verified ? "verified by " + verified->where : verified.error().message;
  RC_LOG() << said << std::endl;
  RC_ASSERT(verified.has_value() == registry.hasGood());
  RC_ASSERT(verified || verified.error().code == Code::Conflict);
  RC_ASSERT(registry.waited() == Duration::zero());
  RC_ASSERT(registry.asked() <= 600U);
}

}  // namespace
}  // namespace gs::cacherim::trust
