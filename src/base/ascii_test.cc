#include "base/ascii.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

using Texts = std::vector<std::string>;

TEST(FoldedLines, ALineThatBeginsWithASpaceGoesOnWithTheOneBefore) {
  EXPECT_EQ(foldedLines("a b\n  c\n d\n\ne"), (Texts{"a b  c d", "e"}));
  EXPECT_EQ(foldedLines("a\n b\n"), Texts{"a b"});
  EXPECT_EQ(foldedLines(" a\nb"), (Texts{" a", "b"})) << "there is none before";
  EXPECT_EQ(foldedLines("\n"), Texts{});
}

TEST(CommaList, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(commaList(" a, b ,,c"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(commaList(" , "), Texts{});
}

}  // namespace
}  // namespace gs
