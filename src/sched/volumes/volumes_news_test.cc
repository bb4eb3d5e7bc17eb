// Whom a change concerns.
#include <gtest/gtest.h>

#include <utility>
#include <variant>

#include "sched/volumes/volumes_hand_test.h"

namespace gs::sched {
namespace {

TEST(VolumesNews, ASmallPlaceIsToldToItsNodes) {
  VolumesWithNodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("data"));
  const auto pod = mounting("p", {"data"});
  n.volumes.podChanged(pod, true, false);
  const auto version = [&](const char* name) { return n.ledger.find(model::NodeName{name})->facts_version; };
  const auto before = std::pair{version("a"), version("b")};
  auto volume = makeVolume("pv");
  volume.affinity = onlyWith("host", {"a"});
  EXPECT_TRUE(n.has(volume).empty());
  EXPECT_GT(version("a"), before.first);
  EXPECT_EQ(version("b"), before.second);
  volume.revision = 2;
  const auto then = version("a");
  EXPECT_TRUE(n.has(volume).empty());
  EXPECT_EQ(version("a"), then) << "the same again";
}

/// They ask for the same as before, and are looked at again: however many wait, that costs the same.
TEST(VolumesNews, WhatIsEverywhereWakesThoseWhoWait) {
  VolumesWithNodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("data"));
  const auto pod = mounting("p", {"data"});
  n.volumes.podChanged(pod, true, false);
  const auto ask = std::get<VolumeAsk>(n.volumes.ask(pod));
  const auto moment = n.volumes.momentOf(ask);
  auto wide = n.ledger.wideChanges();
  EXPECT_TRUE(n.has(makeVolume("pv")).empty()) << "it asks for the same";
  EXPECT_GT(n.volumes.momentOf(ask), moment);
  EXPECT_GT(n.ledger.wideChanges(), wide) << "or it would sleep on";
  wide = n.ledger.wideChanges();
  model::CsiDriver driver;
  driver.key = {"", "d"};
  n.has(driver);
  EXPECT_GT(n.ledger.wideChanges(), wide);
  wide = n.ledger.wideChanges();
  model::CsiStorageCapacity room;
  room.key = {"ns", "room"};
  room.storage_class = "local";
  room.nodes = model::LabelSelector{};
  n.has(room);
  EXPECT_GT(n.ledger.wideChanges(), wide);
  const auto then = n.volumes.momentOf(ask);
  EXPECT_TRUE(n.volumes.putVolume("pv", nullptr).empty()) << "who waits has nothing from that";
  EXPECT_GT(n.volumes.momentOf(ask), then) << "but what is known of nodes is out of date";
  EXPECT_TRUE(n.has(makeVolumeClaim("data")).empty()) << "the same again";
  n.volumes.podChanged(pod, false, false);
  EXPECT_TRUE(n.has(makeVolume("pv")).empty());
}

/// Of a volume that is meant for it something changed: it asks for the same, and may fit.
TEST(VolumesNews, WhatIsMeantForAClaimWakesThoseWhoWaitForIt) {
  VolumesWithNodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("data", 10));
  const auto pod = mounting("p", {"data"});
  n.volumes.podChanged(pod, true, false);
  auto meant = makeVolume("pv", 5);
  meant.claim = model::ClaimRef{{"default", "data"}, {}};
  n.has(meant);
  const auto ask = std::get<VolumeAsk>(n.volumes.ask(pod));
  EXPECT_EQ(n.takers(pod), "") << "it is too small";
  const auto moment = n.volumes.momentOf(ask);
  const auto wide = n.ledger.wideChanges();
  meant.capacity = {10, 0};
  n.has(meant);
  EXPECT_EQ(n.takers(pod), "abc");
  EXPECT_EQ(std::get<VolumeAsk>(n.volumes.ask(pod)), ask);
  EXPECT_GT(n.volumes.momentOf(ask), moment);
  EXPECT_GT(n.ledger.wideChanges(), wide);
}

/// While nobody waited nobody was told.
TEST(VolumesNews, WhoeverWaitsForAClaimAnewLooksAnew) {
  VolumesWithNodes n;
  n.has(makeClass("local"));
  n.has(makeVolumeClaim("data", 10));
  auto meant = makeVolume("pv", 5);
  meant.claim = model::ClaimRef{{"default", "data"}, {}};
  n.has(meant);
  const auto first = mounting("first", {"data"});
  n.volumes.podChanged(first, true, false);
  const auto ask = std::get<VolumeAsk>(n.volumes.ask(first));
  const auto moment = n.volumes.momentOf(ask);
  n.volumes.podChanged(first, false, false);
  meant.capacity = {10, 0};
  n.has(meant);
  const auto second = mounting("second", {"data"});
  n.volumes.podChanged(second, true, false);
  EXPECT_EQ(std::get<VolumeAsk>(n.volumes.ask(second)), ask);
  EXPECT_NE(n.volumes.momentOf(ask), moment);
}

}  // namespace
}  // namespace gs::sched
