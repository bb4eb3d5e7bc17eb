#include "apiserver/lifecycle/event_expiry.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::apiserver {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

StoreKey eventNamed(const char* name) { return {"events.k8s.io/events", "default", name}; }

std::string takeAll(EventExpiry& expiry, Duration since_start) {
  std::string names;
  while (const auto key = expiry.takeExpired(Mono{since_start})) { names += key->name + " "; }
  return names;
}

TEST(EventExpiryTest, AnHourAfterItsLastWrite) {
  EventExpiry expiry;
  expiry.written(eventNamed("a"), Mono{});
  expiry.written(eventNamed("b"), Mono{});
  expiry.written(eventNamed("b"), Mono{minutes{40}});
  EXPECT_EQ(takeAll(expiry, hours{1} - Duration{1}), "");
  EXPECT_EQ(takeAll(expiry, hours{1}), "a ");
  EXPECT_EQ(takeAll(expiry, hours{1} + minutes{39}), "");
  EXPECT_EQ(takeAll(expiry, hours{1} + minutes{40}), "b ");
  EXPECT_EQ(takeAll(expiry, hours{9}), "");
}

TEST(EventExpiryTest, TheLongestAgoFirst) {
  EventExpiry expiry;
  for (const char* name : {"c", "a", "b"}) { expiry.written(eventNamed(name), Mono{}); }
  EXPECT_EQ(takeAll(expiry, hours{2}), "c a b ");
}

TEST(EventExpiryTest, WhatExpiredMayBeWrittenAgain) {
  EventExpiry expiry;
  expiry.written(eventNamed("a"), Mono{});
  EXPECT_EQ(takeAll(expiry, hours{1}), "a ");
  expiry.written(eventNamed("a"), Mono{hours{1}});
  EXPECT_EQ(takeAll(expiry, hours{2}), "a ");
}

TEST(EventExpiryTest, NothingIsLeftOnceCleared) {
  EventExpiry expiry;
  expiry.written(eventNamed("a"), Mono{});
  expiry.clear();
  EXPECT_EQ(takeAll(expiry, hours{2}), "");
}

}  // namespace
}  // namespace gs::apiserver
