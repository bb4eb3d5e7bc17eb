#include "agent/topology.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

namespace gs::agent {
namespace {

constexpr auto kNv = LinkType::NvLink;
constexpr auto kPci = LinkType::Pcie;

/// All pairs of these.
void link(std::vector<PairLink>& links, const std::vector<std::size_t>& gpus, LinkType type,
          std::int64_t gbps) {
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) { links.push_back({gpus[a], gpus[b], type, gbps}); }
  }
}
std::string names(const std::vector<Place>& places) {
  std::string out;
  for (const Place& place : places) { out += place.island; }
  return out;
}

TEST(Islands, AnNvSwitchMakesOne) {
  std::vector<PairLink> links;
  link(links, {0, 1, 2, 3, 4, 5, 6, 7}, kNv, 956);
  EXPECT_EQ(islandsOf(8, links), std::vector<Place>(8, {"0", 956}));
}

TEST(Islands, WithoutNvLinkOnePerNumaNode) {
  std::vector<PairLink> links;
  link(links, {0, 2}, kPci, 64);
  link(links, {1, 3}, kPci, 64);
  EXPECT_EQ(islandsOf(4, links), (std::vector<Place>{{"0", 64}, {"1", 64}, {"0", 64}, {"1", 64}}));
}

TEST(Islands, ACubeMeshComesApartIntoItsSquares) {
  std::vector<PairLink> links;
  link(links, {0, 1, 2, 3}, kNv, 50);
  link(links, {4, 5, 6, 7}, kNv, 50);
  for (std::size_t i = 0; i < 4; ++i) { links.push_back({i, i + 4, kNv, 100}); }
  link(links, {0, 1, 2, 3, 4, 5, 6, 7}, kPci, 32);
  EXPECT_EQ(names(islandsOf(8, links)), "00001111");
  EXPECT_EQ(islandsOf(8, links)[5].gbps, 50);
}

TEST(Islands, BridgedPairsAndTheRest) {
  std::vector<PairLink> links;
  link(links, {0, 1}, kNv, 600);
  link(links, {0, 1, 2, 3}, kPci, 64);  // 2 and 3 have no NVLink: an island of their own
  EXPECT_EQ(islandsOf(4, links), (std::vector<Place>{{"0", 600}, {"0", 600}, {"1", 64}, {"1", 64}}));
}

TEST(Islands, TheWorstPairCounts) {
  std::vector<PairLink> links;
  link(links, {0, 1, 2}, kNv, 600);
  links.at(2).gbps = 400;  // 1 and 2
  EXPECT_EQ(islandsOf(3, links), std::vector<Place>(3, {"0", 400}));
}

TEST(Islands, OneThatIsAloneHasNoBandwidth) {
  EXPECT_EQ(islandsOf(2, {}), (std::vector<Place>{{"0", 0}, {"1", 0}}));
  EXPECT_TRUE(islandsOf(0, {}).empty());
}

TEST(Islands, LinksThatLeadNowhereAreIgnored) {
  EXPECT_EQ(islandsOf(2, {{0, 0, kNv, 1}, {0, 2, kNv, 1}, {7, 1, kNv, 1}}),
            (std::vector<Place>{{"0", 0}, {"1", 0}}));
}

TEST(Islands, OfSeveralLinksNvLinkCountsThenTheFastest) {
  EXPECT_EQ(islandsOf(2, {{0, 1, kNv, 50}, {1, 0, kPci, 999}, {1, 0, kNv, 100}, {0, 1, kNv, 75}}),
            std::vector<Place>(2, {"0", 100}));
}

/// Whatever the links: every pair of an island is linked by one type, at no less than it says.
TEST(Islands, HoldWhatTheySay) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 9);
    std::map<std::pair<std::size_t, std::size_t>, PairLink> links;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        const int kind = *rc::gen::inRange(0, 3);
        if (kind == 0) { continue; }
        links[{a, b}] = {a, b, kind == 1 ? kNv : kPci, *rc::gen::inRange<std::int64_t>(1, 9)};
      }
    }
    std::vector<PairLink> all;
    for (const auto& [pair, one] : links) { all.push_back(one); }
    const auto places = islandsOf(count, all);
    RC_ASSERT(places.size() == count);
    std::map<std::string, std::set<LinkType>> types;
    std::map<std::string, std::int64_t> worst;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        if (places[a].island != places[b].island) { continue; }
        RC_ASSERT((links.count({a, b}) == 1));
        const PairLink& one = links[{a, b}];
        types[places[a].island].insert(one.type);
        const auto [it, is_new] = worst.try_emplace(places[a].island, one.gbps);
        it->second = std::min(it->second, one.gbps);
      }
    }
    for (const auto& [island, which] : types) { RC_ASSERT(which.size() == 1U); }
    for (const Place& place : places) {
      const auto it = worst.find(place.island);
      RC_ASSERT(place.gbps == (it == worst.end() ? 0 : it->second));
    }
  }));
}

}  // namespace
}  // namespace gs::agent
