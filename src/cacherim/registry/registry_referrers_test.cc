// What lies beside an image, by whichever way its registry tells.
#include <fmt/format.h>

#include "cacherim/registry/registry_fixture_test.h"
#include "kcache/trust/bundle.h"

namespace gs::cacherim {
namespace {

class ReferrersTest : public RegistryTest {
 protected:
  static std::string indexOf(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string out;
    for (const auto& [text, type] : entries) {
      out += (out.empty() ? "" : ",") +
             std::string{R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","size":4,"digest":")"} +
             kcache::Digest::of(text).text() + R"(","artifactType":")" + type + "\"}";
    }
    return R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)" + out +
           "]}";
  }
  const kcache::Digest subject_ = kcache::Digest::of("image");
};

TEST_F(ReferrersTest, ByTheApiFilteredHere) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, indexOf({{"a", "sig"}, {"b", "other"}, {"a", "sig"}})));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "sig");
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->found.size(), 1U);
  EXPECT_EQ(out->found[0].digest, kcache::Digest::of("a"));
  EXPECT_EQ(fake.asked(), Asked{"GET /v2/a/b/referrers/" + subject_.text() + "?artifactType=sig"});
}

TEST_F(ReferrersTest, ByTheTagThatStandsInForIt) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) {
    const bool tag = request.target.find("/manifests/sha256-") != std::string::npos;
    peer.write(tag ? http(200, {}, indexOf({{"a", "sig"}, {"b", "other"}})) : http(404, {}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 2U);
}

TEST_F(ReferrersTest, NoneIsNoError) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(404, {}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(out->found.empty());
}

TEST_F(ReferrersTest, OnlyWhatFindsThemIsKept) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    std::string text = indexOf({{"a", "sig"}});
    text.insert(text.find("\"artifactType\""),
                R"("annotations":{"a":"b"},"platform":{"os":"linux","architecture":"x"},)");
    peer.write(http(200, {}, text));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->found.size(), 1U);
  EXPECT_EQ(out->found[0].artifact_type, "sig");
  EXPECT_EQ(out->found[0].size, 4);
  EXPECT_TRUE(out->found[0].annotations.empty());
  EXPECT_FALSE(out->found[0].platform);
}

/// Pages without end, each with as many as `page` says and so much besides.
FakeRegistry::Handle pagesOf(const std::function<std::string(int)>& page) {
  return [page](Peer& peer, const net::Request& request, int count) {
    const std::string next =
        request.target.substr(0, request.target.find('?')) + "?n=" + std::to_string(count);
    peer.write(http(200, {{"Link", "<" + next + ">; rel=\"next\""}}, page(count)));
    return true;
  };
}

TEST_F(ReferrersTest, NoMoreThan256AreTaken) {
  FakeRegistry fake{pagesOf([](int count) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (int i = 0; i < 100; ++i) { entries.emplace_back(std::to_string(100 * count + i), ""); }
    return indexOf(entries);
  })};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 256U);
  EXPECT_TRUE(out->is_cut);
  EXPECT_EQ(fake.asked().size(), 3U);
}

TEST_F(ReferrersTest, NoMoreThan8MibAreRead) {
  FakeRegistry fake{pagesOf([](int count) {
    return indexOf({{std::to_string(count), "sig"}}) + std::string(std::size_t{3} << 20, ' ');
  })};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(fake.asked().size(), 3U);
  EXPECT_TRUE(out->is_cut);
}

TEST_F(ReferrersTest, AListOfTooManyValuesIsRefused) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, "{\"tags\":[" + std::string(65'536, ',') + "]}"));
    return true;
  }};
  plain(fake);
  EXPECT_NE(registry().tags(fake.image()).error().message.find("it has too many values"), std::string::npos);
  EXPECT_NE(registry().referrers(fake.image(), subject_, "").error().message.find("it has too many values"),
            std::string::npos);
}

// Proxies, portals and registries before 1.1 of the API: whatever they say there, the tag is asked at once.
TEST_F(ReferrersTest, AnAnswerThatIsNoListLeadsToTheTag) {
  struct Row {
    const char* what;
    std::string answer;
  };
  FakeRegistry elsewhere{[](Peer& peer, const net::Request&, int) {
    peer.write(http(404, {}, "<html>not found</html>"));
    return true;
  }};
  const Row table[] = {
      {"none", http(404, {}, "")},
      {"not acceptable", http(406, {}, "")},
      {"a page", http(200, {{"Content-Type", "text/html"}}, "<html>a package</html>")},
      {"an empty object", http(200, {{"Content-Type", "application/json"}}, "{}")},
      {"another object", http(200, {}, R"({"manifests":{"a":1}})")},
      {"an image", http(200, {}, R"({"schemaVersion":2,"config":{},"layers":[]})")},
      {"a redirect to elsewhere", http(303, {{"Location", "http://" + elsewhere.name() + "/-/x"}}, "")},
      {"a redirect to nowhere", http(303, {}, "")},
      {"not allowed", http(403, {}, "")},
      {"an error", http(500, {}, "")},
      {"too many", http(429, {}, "")},
  };
  for (const Row& row : table) {
    FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
      const bool is_list = request.target.find("/referrers/") != std::string::npos;
      peer.write(is_list ? row.answer : http(200, {}, indexOf({{"a", "sig"}})));
      return true;
    }};
    plain(fake);
    const Mono began = clock_.now().mono;
    const auto out = registry().referrers(fake.image(), subject_, "");
    ASSERT_TRUE(out) << row.what << ": " << out.error().message;
    EXPECT_EQ(out->found.size(), 1U) << row.what;
    EXPECT_EQ(fake.asked().size(), 2U) << row.what << ": each is asked once";
    EXPECT_EQ(clock_.now().mono, began) << row.what << ": nothing is waited for";
  }
}

// "There are none" must not be said by a registry that could not say it.
TEST_F(ReferrersTest, WhereTheTagHasNoneAnErrorOfTheApiIsTriedAgain) {
  int asked = 0;
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    const bool is_list = request.target.find("/referrers/") != std::string::npos;
    if (is_list && ++asked == 3) {
      peer.write(http(200, {}, indexOf({{"a", "sig"}})));
    } else {
      peer.write(http(is_list ? 503 : 404, {}, ""));
    }
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 1U);
  FakeRegistry denies{[&](Peer& peer, const net::Request& request, int) {
    peer.write(http(request.target.find("/referrers/") != std::string::npos ? 403 : 404, {}, ""));
    return true;
  }};
  plain(denies);
  EXPECT_EQ(registry().referrers(denies.image(), subject_, "").error().code, Code::Invalid);
}

TEST_F(ReferrersTest, AttestationsTakeNoRoomFromOthers) {
  FakeRegistry fake{pagesOf([](int count) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (int i = 0; i < 100; ++i) { entries.emplace_back(std::to_string(100 * count + i), "bundle"); }
    std::string out = indexOf(entries);
    const std::string says =
        count == 6 ? std::string{kcache::trust::kSignPredicate} : "https://spdx.dev/Document";
    for (std::size_t at = out.find("\"artifactType\""); at != std::string::npos;
         at = out.find("\"artifactType\"", at + 1)) {
      const std::string text =
          fmt::format(R"("annotations":{{"{}":"{}"}},)", kcache::trust::kPredicateAnnotation, says);
      out.insert(at, text);
      at += text.size();
    }
    return out;
  })};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 356U) << "100 signatures, and 256 of the attestations";
  EXPECT_TRUE(out->is_cut);
  const auto& first = out->found.front().annotations;
  EXPECT_EQ(first.at(kcache::trust::kPredicateAnnotation), kcache::trust::kSignPredicate);
}

// Lists of parts and reports of faults, each under a type of its own.
TEST_F(ReferrersTest, WhatIsNoSignatureTakesNoRoomFromWhatMayBeOne) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (int i = 0; i < 300; ++i) {
    entries.emplace_back("before" + std::to_string(i), i % 2 == 0 ? "application/spdx+json" : "text/sarif");
  }
  entries.emplace_back("signature", kcache::trust::kBundleType);
  entries.emplace_back("unnamed", "");
  for (int i = 0; i < 300; ++i) {
    entries.emplace_back("after" + std::to_string(i), "application/spdx+json");
  }
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, indexOf(entries)));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 258U);
  EXPECT_EQ(out->found[0].digest, kcache::Digest::of("signature"));
  EXPECT_EQ(out->found[1].digest, kcache::Digest::of("unnamed"));
  EXPECT_FALSE(out->is_cut) << "nothing is missing that may be a signature";
}

TEST_F(ReferrersTest, AnEntryThatCannotBeReadHidesNoOther) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    std::string text = indexOf({{"a", "sig"}});
    text.insert(text.find('[') + 1, R"({"digest":"sha512:00","mediaType":"m","size":1},7,)");
    peer.write(http(200, {}, text));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 1U);
}

// What a page said before the next one broke off is there, and so is what the tag has.
TEST_F(ReferrersTest, WhatWasReadBeforeAnErrorCountsTooEachOnce) {
  for (const bool has_tag : {true, false}) {
    for (const int second : {503, 403, 200}) {
      FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
        const bool is_list = request.target.find("/referrers/") != std::string::npos;
        const std::string path{request.path()};
        if (request.target.find("?page=2") != std::string::npos) {
          peer.write(http(second, {}, "<html>"));
        } else if (is_list) {
          peer.write(http(200, {{"Link", "<" + path + "?page=2>; rel=\"next\""}}, indexOf({{"a", "sig"}})));
        } else {
          peer.write(has_tag ? http(200, {}, indexOf({{"b", "sig"}, {"a", "sig"}})) : http(404, {}, ""));
        }
        return true;
      }};
      plain(fake);
      const auto out = registry().referrers(fake.image(), subject_, "");
      ASSERT_TRUE(out) << has_tag << ' ' << second << ": " << out.error().message;
      ASSERT_EQ(out->found.size(), has_tag ? 2U : 1U) << second;
      EXPECT_EQ(out->found[0].digest, kcache::Digest::of("a"));
    }
  }
}

TEST_F(ReferrersTest, OneArtifactOfWhichTwoThingsAreSaidIsListedTwice) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, indexOf({{"a", "text/spdx"}, {"a", "sig"}, {"a", "text/spdx"}})));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 2U);
}

// Garbage under the tag, which whoever may push can put there, must not keep the list from being read.
TEST_F(ReferrersTest, ATagThatIsNoListHidesNothing) {
  int asked = 0;
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    const bool is_list = request.target.find("/referrers/") != std::string::npos;
    peer.write(!is_list       ? http(200, {}, "<html>")
               : ++asked == 1 ? http(503, {}, "")
                              : http(200, {}, indexOf({{"a", "sig"}})));
    return true;
  }};
  plain(fake);
  const auto out = registry().referrers(fake.image(), subject_, "");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->found.size(), 1U);
}

TEST_F(ReferrersTest, ALinkToAnotherPageThanTheNextIsNotFollowed) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) {
    peer.write(http(200, {{"Link", "<" + std::string{request.path()} + "?next=0>; rel=\"prev\""}},
                    indexOf({{"a", "sig"}})));
    return true;
  }};
  plain(fake);
  ASSERT_TRUE(registry().referrers(fake.image(), subject_, ""));
  EXPECT_EQ(fake.asked().size(), 1U);
}

}  // namespace
}  // namespace gs::cacherim
