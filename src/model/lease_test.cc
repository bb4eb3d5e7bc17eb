#include "model/lease.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

Lease exclusive(const char* pod_uid, const char* holder) {
  Lease l;
  l.holder = holder;
  l.pod_uid = Uid{pod_uid};
  l.pod = {"default", "p"};
  l.reservation = ReservationId{"r"};
  l.devices = "a:0";
  return l;
}

TEST(Lease, OfOnePodNamesIt) {
  const Lease l = exclusive("u", "u");
  EXPECT_EQ(l.uids(), std::vector{Uid{"u"}});
  EXPECT_EQ(l.partOf(Uid{"u"}), (ShareHolder{Uid{"u"}, {"default", "p"}, 0, 0, ReservationId{"r"}, "a:0"}));
  EXPECT_FALSE(l.names(Uid{"v"}));
  EXPECT_FALSE(l.partOf(Uid{"v"}));
}

TEST(Lease, OfAnAncestorNamesItsHolder) {
  EXPECT_EQ(exclusive("", "u").uids(), std::vector{Uid{"u"}});
  EXPECT_TRUE(exclusive("", "u").names(Uid{"u"}));
  EXPECT_TRUE(exclusive("", "").uids().empty());
  EXPECT_FALSE(exclusive("", "").names(Uid{""}));
}

TEST(Lease, OfSharersNamesEach) {
  Lease l = exclusive("", "shared");
  l.holders = {{Uid{"u"}, {"default", "p"}, 5, 0, ReservationId{"r1"}, "a:0"},
               {Uid{"v"}, {"default", "q"}, 7, 0, ReservationId{"r2"}, "a:0,1"}};
  EXPECT_EQ(l.uids(), (std::vector{Uid{"u"}, Uid{"v"}}));
  EXPECT_EQ(l.partOf(Uid{"v"}), l.holders[1]);
  EXPECT_FALSE(l.names(Uid{"shared"}));
}

}  // namespace
}  // namespace gs::model
