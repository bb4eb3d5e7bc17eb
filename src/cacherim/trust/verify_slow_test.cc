// Registries that are slow, break off or redirect: what takes one source's time takes none of another's.
#include <algorithm>
#include <map>

#include "cacherim/registry/registry_fixture_test.h"
#include "cacherim/trust/image_of_test.h"

namespace gs::cacherim::trust {
namespace {

using namespace std::chrono_literals;
namespace kt = kcache::trust;

class SlowSignatures : public RegistryTest {
 protected:
  struct Manner {
    Duration takes{};
    int status = 0;      // 0: as it is there
    std::string text{};  // instead of what is there
    std::string location{};
  };
  static constexpr Duration kBudget = 20s;

  /// As its registry has it; the clock moves with each answer.
  FakeRegistry::Handle serving() {
    return [this](Peer& peer, const net::Request& request, int) {
      const std::string path{request.path()};
      const std::string last = path.substr(path.rfind('/') + 1);
      const bool is_list = path.find("/referrers/") != std::string::npos;
      const auto manner = manners_.find(is_list ? "referrers" : last);
      const Manner how = manner == manners_.end() ? Manner{} : manner->second;
      clock_.advance(how.takes + each_);
      if (how.status != 0) {
        const net::Headers to =
            how.location.empty() ? net::Headers{} : net::Headers{{"Location", how.location}};
        peer.write(http(how.status, to, how.text));
        return true;
      }
      const auto& from =
          path.find("/blobs/") != std::string::npos ? image_.images.blobs : image_.images.manifests;
      const auto it = from.find(last);
      if (is_list) {
        peer.write(
            http(200, {}, kcache::printIndex({std::string{kcache::media::kOciIndex}, image_.referrers})));
      } else {
        peer.write(it == from.end() ? http(404, {}, "") : http(200, {}, it->second));
      }
      return true;
    };
  }
  Result<Verified> verify() {
    FakeRegistry fake{serving()};
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
  kt::Bundle bundle(const std::string& statement) {
    kt::Envelope envelope{std::string{kt::kStatementType}, statement, ""};
    envelope.signature = *ours_.sign(kt::signedTextOf(envelope));
    return {.certificates = {}, .key_hint = "", .entries = {}, .timestamps = {}, .content = envelope};
  }
  std::string statement(int number) const {
    std::string out = kt::printStatement(image_.digest.hex());
    if (number == 0) { return out; }
    return out.replace(out.find(kt::kSignPredicate), kt::kSignPredicate.size(),
                       "https://example.com/" + std::to_string(number));
  }
  /// What the index of the fallback tag has, and no list.
  void underFallbackTag() {
    image_.images.manifests["sha256-" + std::string{image_.digest.hex()}] =
        kcache::printIndex({std::string{kcache::media::kOciIndex}, image_.referrers});
  }

  SignedImage image_;
  const signature::PrivateKey ours_ = signature::PrivateKey::generate();
  std::map<std::string, Manner> manners_;  // by the last part of the path; of a list "referrers"
  Duration each_{};
  Asked asked_;
};

TEST_F(SlowSignatures, AListThatTakesItsTimeLeavesSomeForTheOlderTag) {
  image_.addLayer(ours_, image_.payload());
  manners_["referrers"] = {.takes = 11s, .status = 404};
  manners_["sha256-" + std::string{image_.digest.hex()}] = {.takes = 11s, .status = 404};
  EXPECT_TRUE(said().starts_with("verified by sha256-")) << said();
}

TEST_F(SlowSignatures, AttestationsOfWhichNothingIsSaidLeaveTimeForTheOlderTag) {
  for (int i = 1; i <= 200; ++i) { image_.addBundle(bundle(statement(i))); }
  each_ = 100ms;
  const std::string without = said();
  EXPECT_NE(without.find(" more were not looked at: no time was left for them"), std::string::npos)
      << without;
  image_.addLayer(ours_, image_.payload());
  EXPECT_TRUE(said().starts_with("verified by sha256-")) << said();
}

// Asked as often as a registry is, either would take all of the time.
TEST_F(SlowSignatures, AnArtifactThatDoesNotComeHidesNoneBehindIt) {
  image_.addBundle("no JSON", image_.digest);
  image_.addBundle(bundle(statement(0)));
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
  image_.addBundle(bundle(statement(0)));
  manners_[image_.referrers.front().digest.text()] = {.takes = {}, .status = 503};
  const auto away = verify();
  ASSERT_FALSE(away);
  EXPECT_NE(away.error().code, Code::Conflict) << away.error().message;
  manners_ = {{"referrers", {.takes = {}, .status = 503}}};
  image_.images.manifests["sha256-" + std::string{image_.digest.hex()}] =
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
  image_.addBundle(bundle(statement(0)));
  underFallbackTag();
  const std::string older = kt::signatureTag(image_.reference, image_.digest).tag;
  const Manner away{.takes = {}, .status = 303, .text = "", .location = elsewhere.url() + "/x"};
  const Manner table[] = {away,
                          {.takes = {}, .status = 200, .text = "<html>", .location = {}},
                          {.takes = {}, .status = 200, .text = "{}", .location = {}}};
  const Mono began = clock_.now().mono;
  for (const Manner& how : table) {
    manners_ = {{"referrers", how}, {older, how}};
    EXPECT_TRUE(said().starts_with("verified by bundle ")) << how.text << ": " << said();
  }
  image_.images.manifests.erase("sha256-" + std::string{image_.digest.hex()});
  manners_ = {{"referrers", away}, {older, away}};
  const auto none = verify();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::Conflict) << none.error().message;
  EXPECT_EQ(clock_.now().mono, began) << "nothing is waited for";
}

TEST_F(SlowSignatures, TheWorkEndsWithTheTime) {
  for (int i = 0; i < 40; ++i) { image_.addBundle("no JSON " + std::to_string(i), image_.digest); }
  each_ = 3s;
  const auto out = verify();
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Deadline) << out.error().message;
  EXPECT_LE(asked_.size(), 8U);
}

}  // namespace
}  // namespace gs::cacherim::trust
