// Registries that are slow, break off or redirect: what takes one source's time takes none of another's.
#include <algorithm>

#include "cacherim/trust/served_image_test.h"

namespace gs::cacherim::trust {
namespace {

using namespace std::chrono_literals;

class SlowSignatures : public RegistryTest {
 protected:
  using Manner = ServedImage::Manner;
  static constexpr Duration kBudget = 20s;

  Result<Verified> verify() {
    FakeRegistry fake{served_.serving()};
    plain(fake).until = clock_.now().mono + kBudget;
    Registry registry = this->registry();
    auto out = verifyImage(signaturesIn(registry), fake.image().pinned(image_.digest),
                           {TrustedKeys{{ours_.publicKey()}}});
    asked_ = fake.asked();
    return out;
  }
  [[nodiscard]] std::string said() {
    const auto out = verify();
    return out ? "verified by " + out->where : out.error().message;
  }

  ServedImage served_{clock_};
  SignedImage& image_ = served_.image;
  std::map<std::string, Manner>& manners_ = served_.manners;
  const signature::PrivateKey ours_ = signature::PrivateKey::generate();
  Asked asked_;
};

TEST_F(SlowSignatures, AListThatTakesItsTimeLeavesSomeForTheOlderTag) {
  image_.addLayer(ours_, image_.payload());
  manners_["referrers"] = {.takes = 11s, .status = 404};
  manners_[served_.fallbackTag()] = {.takes = 11s, .status = 404};
  EXPECT_TRUE(said().starts_with("verified by sha256-")) << said();
}

TEST_F(SlowSignatures, AttestationsOfWhichNothingIsSaidLeaveTimeForTheOlderTag) {
  for (int i = 1; i <= 200; ++i) { image_.addBundle(served_.bundleBy(ours_, i)); }
  served_.each = 100ms;
  const std::string without = said();
  EXPECT_NE(without.find(" more were not looked at: no time was left for them"), std::string::npos)
      << without;
  image_.addLayer(ours_, image_.payload());
  EXPECT_TRUE(said().starts_with("verified by sha256-")) << said();
}

// Asked as often as a registry is, either would take all of the time.
TEST_F(SlowSignatures, AnArtifactThatDoesNotComeHidesNoneBehindIt) {
  image_.addBundle("no JSON", image_.digest);
  image_.addBundle(served_.bundleBy(ours_));
  for (const int status : {500, 503, 429}) {
    manners_[image_.referrers.front().digest.text()] = {.takes = 2500ms, .status = status};
    EXPECT_TRUE(said().starts_with("verified by bundle ")) << status << ": " << said();
  }
}

TEST_F(SlowSignatures, ATextThatDoesNotComeHidesNoneBehindIt) {
  const std::string other = image_.payload() + " ";
  image_.addLayer(ours_, other);
  manners_[kcache::Digest::of(other).text()] = {.takes = 2500ms, .status = 503};
  image_.addLayer(ours_, image_.payload());
  EXPECT_TRUE(said().ends_with(".sig layer 1")) << said();
}

// "Not signed" is not said where something that is there could not be looked at.
TEST_F(SlowSignatures, WhatCouldNotBeLookedAtIsTriedAgain) {
  image_.addBundle(served_.bundleBy(ours_));
  manners_[image_.referrers.front().digest.text()] = {.takes = {}, .status = 503};
  const auto away = verify();
  ASSERT_FALSE(away);
  EXPECT_NE(away.error().code, Code::Conflict) << away.error().message;
  manners_ = {{"referrers", {.takes = {}, .status = 503}}};
  image_.images.manifests[served_.fallbackTag()] =
      kcache::printIndex({std::string{kcache::media::kOciIndex}, {}});
  const auto half = verify();
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().code, Code::Conflict)
      << "the list may have more than the tag: " << half.error().message;
}

// A page that stands in front of a registry says what it likes about what is not there.
TEST_F(SlowSignatures, ARegistryThatRedirectsWhatIsNotThereCostsNoTime) {
  FakeRegistry elsewhere{[](Peer& peer, const net::Request&, int) {
    peer.write(http(404, {}, "<html>no such page</html>"));
    return true;
  }};
  image_.addBundle(served_.bundleBy(ours_));
  served_.putUnderFallbackTag();
  const std::string older = served_.olderTag();
  const Manner away{.takes = {}, .status = 303, .text = "", .location = elsewhere.url()};
  const Manner table[] = {away,
                          {.takes = {}, .status = 200, .text = "<html>", .location = {}},
                          {.takes = {}, .status = 200, .text = "{}", .location = {}}};
  const Mono began = clock_.now().mono;
  for (const Manner& how : table) {
    manners_ = {{"referrers", how}, {older, how}};
    EXPECT_TRUE(said().starts_with("verified by bundle ")) << how.text << ": " << said();
  }
  image_.images.manifests.erase(served_.fallbackTag());
  manners_ = {{"referrers", away}, {older, away}};
  const auto none = verify();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::Conflict) << none.error().message;
  EXPECT_EQ(clock_.now().mono, began) << "nothing is waited for";
}

// A mirror has a tag as it was when it was copied.
TEST_F(SlowSignatures, AMirrorThatIsLateHidesNoSignatureUnderTheOlderTag) {
  ServedImage copy{clock_};
  copy.image.addLayer(signature::PrivateKey::generate(), copy.image.payload());
  FakeRegistry mirror{copy.serving()};
  image_.addLayer(ours_, image_.payload());
  FakeRegistry fake{served_.serving()};
  plain(fake).mirrors[fake.name()] = {mirror.url()};
  options_.until = clock_.now().mono + kBudget;
  Registry registry = this->registry();
  const auto verifyAgain = [&] {
    return verifyImage(signaturesIn(registry), fake.image().pinned(image_.digest),
                       {TrustedKeys{{ours_.publicKey()}}});
  };
  const auto late = verifyAgain();
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_TRUE(late->where.ends_with(".sig layer 0")) << late->where;
  manners_ = {{"referrers", {.takes = {}, .status = 404, .text = {}, .location = {}}},
              {served_.olderTag(), {.takes = {}, .status = 404, .text = {}, .location = {}}}};
  const auto none = verifyAgain();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::Conflict) << none.error().message;
}

TEST_F(SlowSignatures, TheWorkEndsWithTheTime) {
  for (int i = 0; i < 40; ++i) { image_.addBundle("no JSON " + std::to_string(i), image_.digest); }
  served_.each = 3s;
  const auto out = verify();
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Deadline) << out.error().message;
  EXPECT_LE(asked_.size(), 8U);
}

}  // namespace
}  // namespace gs::cacherim::trust
