#include "model/pod_labels.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

TEST(PodLabelsTest, SaysWhatItWasMadeOf) {
  const Labels labels{{"", "of no name"}, {"app", "web"}, {"empty", ""}, {"team", "a"}};
  const PodLabels kept{labels};
  EXPECT_EQ(kept.all(), labels);
  EXPECT_EQ(kept.find("app"), "web");
  EXPECT_EQ(kept.find("empty"), "");
  EXPECT_EQ(kept.find(""), "of no name");
  EXPECT_EQ(kept.find("web"), std::nullopt) << "a value is no key";
  EXPECT_FALSE(kept.empty());
  EXPECT_TRUE(PodLabels{}.empty());
  EXPECT_EQ(PodLabels{}.find("app"), std::nullopt);
  EXPECT_EQ(PodLabels{}.all(), Labels{});
}

TEST(PodLabelsTest, EqualOnesAreEqualHoweverTheyWereMade) {
  const PodLabels a{{"app", "web"}, {"team", "a"}};
  EXPECT_EQ(a, (PodLabels{{"team", "a"}, {"app", "web"}}));
  EXPECT_EQ(a.hash(), (PodLabels{{"team", "a"}, {"app", "web"}}).hash());
  EXPECT_FALSE(a == (PodLabels{{"app", "web"}}));
  EXPECT_EQ(PodLabels{}, PodLabels{Labels{}});
  EXPECT_FALSE(a == PodLabels{});
}

TEST(PodLabelsTest, LeavesOutWhatNoLabelMayBe) {
  using namespace std::string_literals;
  const PodLabels kept{Labels{{"a\0b"s, "x"}, {"app", "web"}, {"c", "d\0e"s}}};
  EXPECT_EQ(kept.all(), (Labels{{"app", "web"}}));
}

TEST(PodLabelsTest, PodsThatFollowEachOtherShareThem) {
  SharedPodLabels shared;
  const PodLabels first = shared.share({{"app", "web"}});
  const auto value = first.find("app");
  const PodLabels other = shared.share({{"app", "db"}});
  const PodLabels second = shared.share({{"app", "web"}});
  EXPECT_EQ(second, first);
  EXPECT_EQ(second.find("app")->data(), value->data()) << "the same memory";
  EXPECT_FALSE(other == first);
  EXPECT_TRUE(shared.share({}).empty());
}

TEST(PodLabelsTest, ASelectorSaysOfThemWhatItSaysOfAMap) {
  using Op = LabelRequirement::Op;
  const LabelSelector selector{{{"app", Op::In, {"db", "web"}},
                                {"gone", Op::DoesNotExist, {}},
                                {"team", Op::Exists, {}},
                                {"tier", Op::NotIn, {"back"}}}};
  for (const Labels& labels :
       {Labels{{"app", "web"}, {"team", "a"}}, Labels{{"app", "web"}}, Labels{{"app", "x"}, {"team", "a"}},
        Labels{{"app", "db"}, {"team", ""}, {"tier", "back"}},
        Labels{{"app", "db"}, {"team", ""}, {"gone", ""}},
        Labels{{"app", "db"}, {"team", ""}, {"tier", "front"}}}) {
    EXPECT_EQ(selector.matches(PodLabels{labels}), selector.matches(labels));
  }
}

}  // namespace
}  // namespace gs::model
