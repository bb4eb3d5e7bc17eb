#include "kcache/kinds/names.h"

#include <gtest/gtest.h>

namespace gs::kcache {
namespace {

TEST(Names, FinalizerOfANodeIsTheAncestors) {
  EXPECT_EQ(nodeFinalizer("vector-add-cache-rocm"), "gkm.io.vector-add-cache-rocm/finalizer");
  EXPECT_EQ(handleIn("gkm.io.vector-add-cache-rocm/finalizer"), "vector-add-cache-rocm");
}

TEST(Names, WhatIsNoFinalizerOfANodeHasNoHandle) {
  for (const char* other : {"", "gkm.io./finalizer", "gkm.io.a", "a/finalizer",
                            "example.com/gkm.io.a/finalizer", "kubernetes.io/finalizer"}) {
    EXPECT_EQ(handleIn(other), "") << other;
  }
}

TEST(Names, LongNamesOfCachesFitIntoAFinalizerAndStayApart) {
  const std::string longest_kept(246, 'a');
  EXPECT_EQ(handleOf(longest_kept), longest_kept);
  const std::string one(253, 'a');
  const std::string two = std::string(252, 'a') + 'b';
  EXPECT_NE(handleOf(one), handleOf(two));
  EXPECT_NE(handleOf(one), handleOf(std::string(247, 'a')));
  for (const std::string& name : {one, two}) {
    EXPECT_LE(std::string_view{nodeFinalizer(name)}.find('/'), 253U);
    EXPECT_EQ(handleIn(nodeFinalizer(name)), handleOf(name));
  }
}

TEST(Names, ACacheThatIsNamedLikeAShortenedHandleHasAnother) {
  const std::string lengthy(253, 'a');
  const std::string shortened = handleOf(lengthy);
  EXPECT_NE(handleOf(shortened), shortened);
  EXPECT_LE(handleOf(shortened).size(), 246U);
  EXPECT_NE(handleOf(handleOf(shortened)), handleOf(shortened));
  // Short names never look like that.
  EXPECT_EQ(handleOf("a-0123456789abcdef"), "a-0123456789abcdef");
}

TEST(Names, AShortenedHandleEndsNoPartWithADash) {
  const std::string name = std::string(199, 'a') + '.' + std::string(50, 'b');
  EXPECT_EQ(handleOf(name).substr(0, 200), std::string(199, 'a') + '-');
}

}  // namespace
}  // namespace gs::kcache
