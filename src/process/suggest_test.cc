#include "process/suggest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gs::process {
namespace {

TEST(Distance, CountsLettersPutInLeftOutReplacedAndSwapped) {
  struct Row {
    const char* a;
    const char* b;
    std::size_t away;
  };
  for (const Row& row : {Row{"", "", 0}, Row{"serve", "serve", 0}, Row{"", "abc", 3}, Row{"srve", "serve", 1},
                         Row{"servee", "serve", 1}, Row{"sarve", "serve", 1}, Row{"sevre", "serve", 1},
                         Row{"demo", "node", 4}, Row{"ab", "ba", 1}, Row{"abc", "ca", 3}}) {
    EXPECT_EQ(distance(row.a, row.b), row.away) << row.a << " " << row.b;
    EXPECT_EQ(distance(row.b, row.a), row.away) << row.b << " " << row.a;
  }
}

TEST(DistanceProperty, IsNoMoreThanTheLongerAndNoLessThanTheDifference) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    const std::size_t away = distance(a, b);
    RC_ASSERT(away <= std::max(a.size(), b.size()));
    RC_ASSERT(away + std::min(a.size(), b.size()) >= std::max(a.size(), b.size()));
    RC_ASSERT((away == 0) == (a == b));
  }));
}

TEST(Nearest, IsNamedWhenItIsNearOnly) {
  const std::vector<std::string> names{"serve", "node", "nodes", "gpu", "demo", "completion"};
  EXPECT_EQ(nearest("srve", names), "serve");
  EXPECT_EQ(nearest("nod", names), "node");
  EXPECT_EQ(nearest("nodess", names), "nodes");
  EXPECT_EQ(nearest("gup", names), "gpu");
  EXPECT_EQ(nearest("complte", names), std::nullopt) << "four letters away";
  EXPECT_EQ(nearest("completon", names), "completion");
  EXPECT_EQ(nearest("start", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
}

}  // namespace
}  // namespace gs::process
