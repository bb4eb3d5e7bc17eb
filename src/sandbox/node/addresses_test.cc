#include "sandbox/node/addresses.h"

#include <gtest/gtest.h>

namespace gs::sandbox {
namespace {

TEST(Addresses, AreHandedOutInOrder) {
  Addresses pods{"10.244"};
  EXPECT_EQ(pods.next(), "10.244.0.1");
  EXPECT_EQ(pods.next(), "10.244.0.2");
}

TEST(Addresses, GoOnAfterTheHighestInUse) {
  Addresses pods{"10.244"};
  for (const char* used :
       {"10.244.0.250", "10.244.0.7", "10.0.9.9", "10.244.1", "10.244.300.1", "", "10.244.9.1x"}) {
    pods.inUse(used);
  }
  EXPECT_EQ(pods.next(), "10.244.1.1");
}

}  // namespace
}  // namespace gs::sandbox
