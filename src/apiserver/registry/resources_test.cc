#include "apiserver/registry/resources.h"

#include <gtest/gtest.h>

namespace gs::apiserver {
namespace {

struct Flag {
  const char* query;
  bool set;
};
class Flags : public testing::TestWithParam<Flag> {};
TEST_P(Flags, AreReadAsARealServerReadsThem) {
  EXPECT_EQ(isTrue(readQuery(std::string{"/api/v1/pods?"} + GetParam().query), "watch"), GetParam().set);
}
INSTANTIATE_TEST_SUITE_P(Table, Flags,
                         testing::Values(Flag{"", false}, Flag{"limit=1", false}, Flag{"watch=true", true},
                                         Flag{"watch=1", true}, Flag{"watch=True", true}, Flag{"watch", true},
                                         Flag{"watch=0", false}, Flag{"watch=false", false},
                                         Flag{"limit=1&watch=False", false}));

}  // namespace
}  // namespace gs::apiserver
