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

TEST(Resources, ServeStorage) {
  const Resources resources;
  const auto at = [&](const char* target) {
    const auto route = resources.route(target);
    return route ? route->resource->kind : "";
  };
  EXPECT_EQ(at("/apis/storage.k8s.io/v1/storageclasses/a"), "StorageClass");
  EXPECT_EQ(at("/apis/storage.k8s.io/v1/csinodes"), "CSINode");
  EXPECT_EQ(at("/apis/storage.k8s.io/v1/csidrivers"), "CSIDriver");
  EXPECT_EQ(at("/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities/b"), "CSIStorageCapacity");
  EXPECT_EQ(at("/apis/storage.k8s.io/v1/volumeattachments/a/status"), "VolumeAttachment");
  EXPECT_EQ(resources.find("storage.k8s.io", "storageclasses")->short_names,
            (std::vector<std::string>{"sc"}));
  EXPECT_TRUE(resources.find("storage.k8s.io", "storageclasses")->unconditional());
  EXPECT_FALSE(resources.find("storage.k8s.io", "csinodes")->unconditional());
}

}  // namespace
}  // namespace gs::apiserver
