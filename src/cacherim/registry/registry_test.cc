#include "cacherim/registry/registry.h"

#include "base/system_clock.h"
#include "cacherim/registry/registry_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

TEST_F(RegistryTest, GivesAManifestByTagAndByDigest) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(200,
                    {{"Content-Type", "application/vnd.oci.image.manifest.v1+json; charset=utf-8"},
                     {"Docker-Content-Digest", kcache::Digest::of(kManifest).text()}},
                    kManifest));
    return true;
  }};
  plain(fake);
  Registry registry = this->registry();
  const auto by_tag = registry.manifest(fake.image());
  ASSERT_TRUE(by_tag) << by_tag.error().message;
  EXPECT_EQ(by_tag->text, kManifest);
  EXPECT_EQ(by_tag->media_type, kcache::media::kOciManifest);
  EXPECT_EQ(by_tag->digest, kcache::Digest::of(kManifest));
  ASSERT_TRUE(registry.manifest(fake.image().pinned(by_tag->digest)));
  EXPECT_EQ(fake.asked(),
            (Asked{"GET /v2/a/b/manifests/v1", "GET /v2/a/b/manifests/" + by_tag->digest.text()}));
  for (const std::string_view type : {kcache::media::kOciManifest, kcache::media::kOciIndex,
                                      kcache::media::kDockerManifest, kcache::media::kDockerList}) {
    EXPECT_NE(headerOf(fake.requests()[0], "Accept").find(type), std::string::npos) << type;
  }
}

TEST_F(RegistryTest, RefusesAManifestThatIsNotWhatItsDigestSays) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    const net::Headers lie{{"Docker-Content-Digest", kcache::Digest::of("other").text()}};
    peer.write(http(200, count == 0 ? net::Headers{} : lie, kManifest));
    return true;
  }};
  plain(fake);
  Registry registry = this->registry();
  const auto pinned = registry.manifest(fake.image().pinned(kcache::Digest::of("other")));
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, Code::Invalid);
  const auto said = registry.manifest(fake.image());
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, Code::Invalid);
  EXPECT_EQ(fake.requests().size(), 2U);  // a lie is not asked for again
}

TEST_F(RegistryTest, AnEndlessManifestEndsAtTheLimit) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.streamHead();
    for (int i = 0; i < 5 * 64; ++i) { peer.chunk(std::string(std::size_t{16} << 10, ' ')); }
    return false;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Invalid) << out.error().message;
}

TEST_F(RegistryTest, WhatIsNotThereIsNotFoundAndWhatIsRefusedIsInvalid) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    peer.write(http(count == 0 ? 404 : 403, {}, R"({"errors":[{"code":"DENIED","message":"s3cret"}]})"));
    return true;
  }};
  plain(fake);
  Registry registry = this->registry();
  const auto missing = registry.manifest(fake.image());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::NotFound);
  const auto denied = registry.manifest(fake.image());
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::Invalid);
  EXPECT_NE(denied.error().message.find("pull secret"), std::string::npos) << denied.error().message;
  EXPECT_EQ(denied.error().message.find("s3cret"), std::string::npos) << denied.error().message;
}

TEST_F(RegistryTest, ABlobComesPieceByPiece) {
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, large_));
    return true;
  }};
  plain(fake);
  Registry registry = this->registry();
  const Status out = registry.blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
  EXPECT_EQ(registry.bytesDownloaded(), large_.size());
  EXPECT_EQ(fake.asked(), Asked{"GET /v2/a/b/blobs/" + kcache::Digest::of(large_).text()});
  EXPECT_EQ(headerOf(fake.requests()[0], "Range"), "");
}

TEST_F(RegistryTest, AnEmptyBlobIsABlob) {
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, ""));
    return true;
  }};
  plain(fake);
  EXPECT_TRUE(registry().blob(fake.image(), descriptorOf(""), sink()));
}

TEST_F(RegistryTest, RefusesABlobOfAnotherDigestOrSize) {
  struct Lie {
    const char* name;
    std::function<void(Peer&)> answer;
    std::size_t most;  // bytes that the sink may have seen
  };
  const std::string text = "0123456789";
  for (const Lie& lie : {Lie{"digest", [](Peer& peer) { peer.write(http(200, {}, "0123456780")); }, 10},
                         Lie{"longer", [](Peer& peer) { peer.write(http(200, {}, "01234567890")); }, 0},
                         Lie{"shorter", [](Peer& peer) { peer.write(http(200, {}, "012345678")); }, 0},
                         Lie{"endless",
                             [](Peer& peer) {
                               peer.streamHead();
                               for (int i = 0; i < 1000; ++i) { peer.chunk("0123456789"); }
                             },
                             10}}) {
    FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
      lie.answer(peer);
      return false;
    }};
    plain(fake);
    got_.clear();
    const Status out = registry().blob(fake.image(), descriptorOf(text), sink());
    ASSERT_FALSE(out) << lie.name;
    EXPECT_EQ(out.error().code, Code::Invalid) << lie.name << ": " << out.error().message;
    EXPECT_LE(got_.size(), lie.most) << lie.name;
    EXPECT_EQ(fake.requests().size(), 1U) << lie.name;
  }
}

TEST_F(RegistryTest, ACutBlobGoesOnWhereItEnded) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int count) {
    const std::size_t from = rangeStart(request);
    const std::string answer = from == 0 ? http(200, {}, large_) : partial(large_, from);
    peer.write(count < 3 ? std::string_view{answer}.substr(0, answer.size() - large_.size() + from + 90'000)
                         : answer);
    return false;
  }};
  plain(fake);
  Registry registry = this->registry();
  const Status out = registry.blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
  EXPECT_EQ(registry.bytesDownloaded(), large_.size());
  const auto requests = fake.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(headerOf(requests[0], "Range"), "");
  EXPECT_GT(rangeStart(requests[1]), 0U);
  EXPECT_GT(rangeStart(requests[2]), rangeStart(requests[1]));
}

TEST_F(RegistryTest, AStalledBlobGoesOnToo) {
  options_.idle = 50ms;
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int count) {
    if (count > 0) {
      peer.write(partial(large_, rangeStart(request)));
      return false;
    }
    peer.write(std::string_view{http(200, {}, large_)}.substr(0, 200'000));
    peer.waitForClose();
    return false;
  }};
  plain(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
}

TEST_F(RegistryTest, ARegistryWithoutRangesGivesTheBeginningAgain) {
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int count) {
    const std::string answer = http(200, {}, large_);
    peer.write(count == 0 ? std::string_view{answer}.substr(0, 200'000) : answer);
    return false;
  }};
  plain(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
}

TEST_F(RegistryTest, AnAnswerToAnotherRangeIsNotTakenButAllIsAskedForAgain) {
  for (const char* wrong : {"bytes 0-9/10", "bytes 5-9/10", "bytes */10", "nonsense", ""}) {
    FakeRegistry fake{[&](Peer& peer, const net::Request& request, int count) {
      const std::string answer = http(200, {}, large_);
      if (count == 0) {
        peer.write(std::string_view{answer}.substr(0, 200'000));
        return false;
      }
      const bool ranged = !headerOf(request, "Range").empty();
      peer.write(ranged ? http(206, {{"Content-Range", wrong}}, "0123456789") : answer);
      return true;
    }};
    plain(fake);
    got_.clear();
    const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
    EXPECT_TRUE(out) << wrong << ": " << out.error().message;
    EXPECT_EQ(got_, large_) << wrong;
    EXPECT_EQ(fake.requests().size(), 3U) << wrong;
  }
}

TEST_F(RegistryTest, ASinkThatHasEnoughEndsIt) {
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, large_));
    return false;
  }};
  plain(fake);
  const Status out =
      registry().blob(fake.image(), descriptorOf(large_), [](std::string_view) { return false; });
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Conflict);
  EXPECT_EQ(fake.requests().size(), 1U);
}

TEST_F(RegistryTest, AStormOf429EndsAfterSoManyTriesAndWaitsAsLongAsAskedUpToALimit) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    peer.write(http(429, {{"Retry-After", count == 0 ? "7" : "100000"}}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Unavailable);
  EXPECT_EQ(fake.requests().size(), 6U);
  ASSERT_EQ(pause_.waits.size(), 5U);
  EXPECT_GE(pause_.waits[0], 7s);
  EXPECT_LE(pause_.waits[0], 8750ms);
  EXPECT_GE(pause_.waits[1], 60s);
  EXPECT_LE(pause_.waits[1], 75s);
}

TEST_F(RegistryTest, BrokenAnswersAreTriedAgainWithGrowingWaits) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    if (count == 0) { return false; }  // closes without a word; a GET goes out again at once
    if (count < 4) {
      peer.write(http(500 + count, {}, ""));
      return true;
    }
    peer.write(http(200, {}, kManifest));
    return true;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  EXPECT_TRUE(out) << out.error().message;
  ASSERT_GE(pause_.waits.size(), 3U);
  Duration least = 500ms;
  for (const Duration wait : pause_.waits) {
    EXPECT_GE(wait, least);
    EXPECT_LE(wait, least * 5 / 4);
    least *= 2;
  }
}

TEST_F(RegistryTest, ACallEndsWhenItsTimeIsOver) {
  options_.whole = 10s;
  options_.tries = 1000;
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(503, {}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Deadline);
  EXPECT_LE(clock_.now().mono.time_since_epoch(), 10s);
}

// It waits for its turn between two pieces, for longer than a call may take; its connection is closed then.
TEST_F(RegistryTest, TheTimeOfWhoTakesABlobIsNotTheRegistrys) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int count) {
    const std::string answer = count == 0 ? http(200, {}, large_) : partial(large_, rangeStart(request));
    peer.write(std::string_view{answer}.substr(0, count == 0 ? answer.size() / 2 : answer.size()));
    return false;
  }};
  plain(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), [&](std::string_view piece) {
    if (got_.empty()) { clock_.advance(3h); }
    got_ += piece;
    return true;
  });
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
}

TEST_F(RegistryTest, TricklesAreNoProgress) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    const std::size_t from = rangeStart(request);
    const std::string answer = from == 0 ? http(200, {}, large_) : partial(large_, from);
    peer.write(std::string_view{answer}.substr(0, answer.size() - large_.size() + from + 10));
    return false;
  }};
  plain(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Unavailable);
  EXPECT_EQ(fake.requests().size(), 6U);
}

TEST_F(RegistryTest, CancelEndsWhatIsUnderWayAndAllThatComes) {
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(std::string_view{http(200, {}, large_)}.substr(0, 1000));
    peer.waitForClose();
    return false;
  }};
  plain(fake);
  Registry registry = this->registry();
  std::jthread canceller;
  const Status out = registry.blob(fake.image(), descriptorOf(large_), [&](std::string_view) {
    if (!canceller.joinable()) {
      canceller = std::jthread{[&] { registry.cancel(); }};
    }
    return true;
  });
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Unavailable);
  EXPECT_FALSE(registry.manifest(fake.image()));
  EXPECT_EQ(fake.requests().size(), 1U);
}

TEST_F(RegistryTest, NothingIsSaidToARegistryWithoutTlsUnlessItIsNamedOrThisMachine) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) {
    peer.write(http(request.target == "/v2/" ? 401 : 200, {}, kManifest));
    return true;
  }};
  options_.direct = true;
  const auto out = registry().manifest(fake.image());  // 127.0.0.1, and no TLS there
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(fake.asked(), (Asked{"GET /v2/", "GET /v2/a/b/manifests/v1"}));
}

// ---- Lists

TEST_F(RegistryTest, PingSaysWhetherTheApiIsThere) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    peer.write(http(count == 0 ? 200 : 404, {}, "{}"));
    return true;
  }};
  plain(fake);
  Registry registry = this->registry();
  EXPECT_TRUE(registry.ping(fake.name()));
  EXPECT_FALSE(registry.ping(fake.name()));
}

TEST_F(RegistryTest, TagsComePageByPageAndOfThisHostOnly) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int count) {
    const char* next =
        count == 0 ? "</v2/a/b/tags/list?n=1000&last=b>; rel=\"next\"" : "<https://evil/v2/>; rel=\"next\"";
    peer.write(
        http(200, {{"Link", next}}, count == 0 ? R"({"tags":["a","b","../x"]})" : R"({"tags":["c"]})"));
    return true;
  }};
  plain(fake);
  const auto out = registry().tags(fake.image());
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(*out, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(fake.asked(), (Asked{"GET /v2/a/b/tags/list?n=1000", "GET /v2/a/b/tags/list?n=1000&last=b"}));
}

TEST_F(RegistryTest, AllCallsShareOneEnd) {
  FakeRegistry fake{[this](Peer& peer, const net::Request&, int) {
    clock_.advance(std::chrono::seconds{8});
    peer.write(http(200, {}, kManifest));
    return true;
  }};
  plain(fake).until = clock_.now().mono + std::chrono::seconds{20};
  Registry registry = this->registry();
  int given = 0;
  while (given < 9 && registry.manifest(fake.image())) { ++given; }
  EXPECT_EQ(given, 3);
  EXPECT_EQ(registry.manifest(fake.image()).error().code, Code::Deadline);
  EXPECT_EQ(fake.asked().size(), 3U);
}

}  // namespace
}  // namespace gs::cacherim
