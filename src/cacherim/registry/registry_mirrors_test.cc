// Mirrors of registries.
#include "base/system_clock.h"
#include "cacherim/registry/registry.h"
#include "cacherim/registry/registry_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

class MirrorTest : public RegistryTest {
 protected:
  RegistryOptions& use(const FakeRegistry& origin, const FakeRegistry& mirror) {
    plain(origin).mirrors[origin.name()] = {mirror.url() + "/proxy"};
    return options_;
  }
  static FakeRegistry::Handle answering(std::string answer) {
    return [answer = std::move(answer)](Peer& peer, const net::Request&, int) {
      peer.write(answer);
      return false;
    };
  }
};

TEST_F(MirrorTest, IsAskedFirstByItsPathAndForWhichRegistry) {
  FakeRegistry origin{answering(http(500, {}, ""))};
  FakeRegistry mirror{answering(http(200, {}, kManifest))};
  use(origin, mirror);
  ASSERT_TRUE(registry().manifest(origin.image()));
  const std::string port = origin.name().substr(origin.name().find(':') + 1);
  EXPECT_EQ(mirror.asked(), Asked{"GET /v2/proxy/a/b/manifests/v1?ns=127.0.0.1%3A" + port});
  EXPECT_TRUE(origin.requests().empty());
}

TEST_F(MirrorTest, OneThatDoesNotHaveItOrFailsIsPassedOverAtOnce) {
  for (const std::string& answer :
       {http(404, {}, ""), http(500, {}, ""), http(403, {}, ""), std::string{"nonsense"}}) {
    FakeRegistry origin{answering(http(200, {}, kManifest))};
    FakeRegistry mirror{answering(answer)};
    use(origin, mirror);
    const auto out = registry().manifest(origin.image());
    EXPECT_TRUE(out) << answer << out.error().message;
    EXPECT_TRUE(pause_.waits.empty()) << answer;
  }
}

TEST_F(MirrorTest, OneThatHangsLeavesHalfOfTheTimeToTheRegistry) {
  FakeRegistry origin{answering(http(200, {}, kManifest))};
  FakeRegistry mirror{[](Peer& /*peer*/, const net::Request&, int) { return true; }};  // says nothing
  use(origin, mirror).whole = std::chrono::seconds{6};
  const SystemClock clock;
  Registry registry{options_, clock, Rng{1}, pause_};
  const auto out = registry.manifest(origin.image());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(mirror.requests().size(), 1U);
}

TEST_F(MirrorTest, OneThatIsAwayIsNotAskedAgain) {
  FakeRegistry origin{answering(http(200, {}, kManifest))};
  FakeRegistry mirror{answering(http(503, {}, ""))};
  use(origin, mirror);
  Registry registry = this->registry();
  ASSERT_TRUE(registry.manifest(origin.image()));
  ASSERT_TRUE(registry.blob(origin.image(), descriptorOf(kManifest), sink()));
  ASSERT_TRUE(registry.manifest(origin.image("v2")));
  EXPECT_EQ(mirror.requests().size(), 1U);
  EXPECT_EQ(origin.requests().size(), 3U);

  FakeRegistry other{answering(http(404, {}, ""))};
  use(origin, other);
  Registry again = this->registry();
  ASSERT_TRUE(again.manifest(origin.image()));
  ASSERT_TRUE(again.manifest(origin.image("v2")));
  EXPECT_EQ(other.requests().size(), 2U) << "it is there, and does not have this";
}

TEST_F(MirrorTest, OneThatIsAwayForABlobIsNotAskedForTheNext) {
  FakeRegistry origin{answering(http(200, {}, "good"))};
  FakeRegistry mirror{answering(http(503, {}, ""))};
  use(origin, mirror);
  Registry registry = this->registry();
  for (int i = 0; i < 2; ++i) { EXPECT_TRUE(registry.blob(origin.image(), descriptorOf("good"), sink())); }
  EXPECT_EQ(mirror.requests().size(), 1U);
}

TEST_F(MirrorTest, ABlobThatItCutsGoesOnAtTheRegistry) {
  FakeRegistry origin{[&](Peer& peer, const net::Request& request, int) {
    peer.write(partial(large_, rangeStart(request)));
    return true;
  }};
  FakeRegistry mirror{answering(http(200, {}, large_).substr(0, 200'000))};
  use(origin, mirror);
  const Status out = registry().blob(origin.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
  EXPECT_EQ(mirror.requests().size(), 1U);
  EXPECT_GT(rangeStart(origin.requests()[0]), 0U);
}

TEST_F(MirrorTest, OneThatLiedAboutABlobIsNotAskedForItAgain) {
  FakeRegistry origin{answering(http(200, {}, "good"))};
  FakeRegistry mirror{answering(http(200, {}, "evil"))};
  use(origin, mirror);
  Registry registry = this->registry();
  EXPECT_FALSE(registry.blob(origin.image(), descriptorOf("good"), sink()));
  got_.clear();
  const Status again = registry.blob(origin.image(), descriptorOf("good"), sink());
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(got_, "good");
  EXPECT_EQ(mirror.requests().size(), 1U);
}

TEST_F(MirrorTest, OneThatLiedAndThenCutIsNotAskedAgainEither) {
  FakeRegistry origin{[&](Peer& peer, const net::Request& request, int) {
    const std::size_t from = rangeStart(request);
    peer.write(from == 0 ? http(200, {}, large_) : partial(large_, from));
    return true;
  }};
  FakeRegistry mirror{answering(http(200, {}, std::string(large_.size(), 'x')).substr(0, 200'000))};
  use(origin, mirror);
  Registry registry = this->registry();
  EXPECT_FALSE(registry.blob(origin.image(), descriptorOf(large_), sink()));
  got_.clear();
  const Status again = registry.blob(origin.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(got_, large_);
}

TEST_F(MirrorTest, OneThatLiesAboutTheSizeIsPassedOverBeforeAnythingIsTaken) {
  FakeRegistry origin{answering(http(200, {}, "good"))};
  FakeRegistry mirror{answering(http(200, {}, "too long"))};
  use(origin, mirror);
  const Status out = registry().blob(origin.image(), descriptorOf("good"), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, "good");
}

}  // namespace
}  // namespace gs::cacherim
