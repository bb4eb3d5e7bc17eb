#include "model/annotations.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace gs::model {
namespace {

struct AllocationCase {
  const char* name;
  const char* text;
  const char* node;
  std::vector<int> ids;
};
class AllocationRead : public testing::TestWithParam<AllocationCase> {};
TEST_P(AllocationRead, Gives) {
  const auto a = parseAllocation(GetParam().text);
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(*a, (Allocation{NodeName{GetParam().node}, GetParam().ids}));
}
INSTANTIATE_TEST_SUITE_P(
    Table, AllocationRead,
    testing::Values(AllocationCase{"Full", "node-a:0,1", "node-a", {0, 1}},
                    AllocationCase{"Bare", "0,1", "", {0, 1}}, AllocationCase{"One", "3", "", {3}},
                    AllocationCase{"AnyOrder", "n:7,0,3", "n", {0, 3, 7}},
                    AllocationCase{"Twice", "n:1,1", "n", {1}},
                    AllocationCase{"Spaces", "n: 0, 1 ", "n", {0, 1}},
                    AllocationCase{"DottedNode", "ip-10.ec2.internal:0", "ip-10.ec2.internal", {0}},
                    AllocationCase{"HighestId", "n:1023", "n", {1023}}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(AllocationRead, RefusesEverythingElse) {
  for (const char* text :
       {"", " ", ",", "n:", ":0", "n:0,", "n:,0", "n:-1", "n:1024", "n:99999999999999999999", "n:a", "a b:0",
        "n:0:1", "n:0x1", "n:+1", "0/1", "n:GPU-5a", "n/m:0"}) {
    const auto a = parseAllocation(text);
    ASSERT_FALSE(a) << text;
    EXPECT_EQ(a.error().code, Code::Invalid);
    EXPECT_NE(a.error().message.find("'" + std::string{text} + "'"), std::string::npos) << a.error().message;
  }
}

TEST(AllocationRead, NamesNoMoreThanThereCanBe) {
  std::string all = "0";
  for (int i = 1; i <= kMaxDeviceId; ++i) { all += "," + std::to_string(i); }
  EXPECT_EQ(parseAllocation("n:" + all)->ids.size(), std::size_t{kMaxDeviceId} + 1);
  const auto twice = parseAllocation("n:" + all + ",0");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("too many ids"), std::string::npos) << twice.error().message;
  EXPECT_LT(twice.error().message.size(), 500U) << "it is not repeated as a whole";
  EXPECT_FALSE(parseAllocation(all + ",0"));
}

TEST(AllocationRead, SaysThatPartitionsAreNotSupported) {
  EXPECT_NE(parseAllocation("n:0/1").error().message.find("MIG"), std::string::npos);
}

TEST(AllocationProperty, ParsingWhatWasPrintedGivesTheSame) {
  EXPECT_TRUE(rc::check([] {
    const auto drawn = *rc::gen::nonEmpty(rc::gen::container<std::set<int>>(rc::gen::inRange(0, 1024)));
    const std::vector<int> ids(drawn.begin(), drawn.end());
    const NodeName node{
        *rc::gen::element(std::string{"a"}, std::string{"node-1.example.org"}, std::string(253, 'x'))};
    RC_ASSERT(*parseAllocation(printAllocation(node, ids)) == (Allocation{node, ids}));
    RC_ASSERT(*parseAllocation(printIds(ids)) == (Allocation{NodeName{}, ids}));
  }));
}

TEST(LeaseName, IsPlainUpTo253) {
  EXPECT_EQ(leaseName(NodeName{"node-a"}, 3), "gpu-node-a-3");
  const std::string node(247, 'n');
  EXPECT_EQ(leaseName(NodeName{node}, 3), "gpu-" + node + "-3");
  EXPECT_EQ(leaseName(NodeName{node}, 3).size(), 253U - 0U);
}

// sha256("nnn...n", 248 times) begins with the ten digits below (sha256sum).
TEST(LeaseName, IsShortenedWithAHashOver253) {
  const std::string node(248, 'n');
  const std::string name = leaseName(NodeName{node}, 3);
  EXPECT_EQ(name.substr(0, 204), "gpu-" + std::string(200, 'n'));
  EXPECT_EQ(name.size(), 204U + 1 + 10 + 2);
  EXPECT_EQ(name.substr(215), "-3");
  EXPECT_NE(leaseName(NodeName{std::string(247, 'n') + "m"}, 3), name);
}

TEST(LeaseName, StripsDotsAndDashesBeforeTheHash) {
  const std::string node = std::string(198, 'n') + "-." + std::string(53, 'm');
  EXPECT_EQ(leaseName(NodeName{node}, 0).substr(0, 203), "gpu-" + std::string(198, 'n') + "-");
  EXPECT_NE(leaseName(NodeName{node}, 0)[203], '.');
}

TEST(LeaseNameProperty, FitsAndDiffersByNodeAndId) {
  EXPECT_TRUE(rc::check([] {
    const auto name = [] {
      return NodeName{*rc::gen::nonEmpty(
          rc::gen::resize(253, rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab-."}))))};
    };
    const NodeName a = name();
    const NodeName b = name();
    const int id = *rc::gen::inRange(0, 1024);
    RC_ASSERT(leaseName(a, id).size() <= 253U);
    RC_ASSERT((leaseName(a, id) == leaseName(b, id)) == (a == b));
    RC_ASSERT(leaseName(a, id) != leaseName(a, id + 1));
  }));
}

TEST(PodLabel, IsThePodsNameUpTo63) {
  EXPECT_EQ(podLabel("train-0"), "train-0");
  EXPECT_EQ(podLabel(std::string(63, 'p')), std::string(63, 'p'));
}

TEST(PodLabel, IsShortenedWithAHashOver63) {
  const std::string label = podLabel(std::string(64, 'p'));
  EXPECT_EQ(label.size(), 63U);
  EXPECT_EQ(label.substr(0, 53), std::string(52, 'p') + "-");
  EXPECT_NE(podLabel(std::string(65, 'p')), label);
  EXPECT_EQ(podLabel(std::string(50, 'p') + ".." + std::string(20, 'q')).substr(0, 51),
            std::string(50, 'p') + "-");
}

}  // namespace
}  // namespace gs::model
