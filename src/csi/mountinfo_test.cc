#include "csi/mountinfo.h"

#include <gtest/gtest.h>

namespace gs::csi {
namespace {

using cacherim::CacheName;

const kcache::Digest kImage = kcache::Digest::of("image");
const std::string kHex{kImage.hex()};
const CacheName kCache = *CacheName::inNamespace("ml", "vectors");
const Places kPlaces{.target_root = "/var/lib/kubelet/pods",
                     .real_target_root = "/data/kubelet/pods",
                     .real_store = "/var/lib/gkm"};
const std::string kTarget = "/data/kubelet/pods/u1/volumes/kubernetes.io~csi/k/mount";
const std::string kShown = "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/k/mount";

std::vector<TargetMount> read(const std::string& text) {
  const auto lines = parseMountinfo(text);
  EXPECT_TRUE(lines) << (lines ? "" : lines.error().message);
  return targetMounts(lines.value_or(std::vector<MountLine>{}), kPlaces);
}

TEST(Mountinfo, ALineIsReadWithAndWithoutOptionalFields) {
  const auto lines = parseMountinfo(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
      "37 35 0:40 / /p ro - overlay a\\134b rw\n");
  ASSERT_TRUE(lines);
  EXPECT_EQ(*lines, (std::vector<MountLine>{{"98:0", "/mnt1", "/mnt 2", false, "ext3", "/dev/root"},
                                            {"0:40", "/", "/p", true, "overlay", "a\\b"}}));
}

TEST(Mountinfo, WhatIsNoLineIsNamed) {
  const auto lines = parseMountinfo("36 35 98:0 / /\n");
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, Code::Invalid);
  EXPECT_NE(lines.error().message.find("36 35 98:0 / /"), std::string::npos);
}

TEST(Mountinfo, AnOverlayOfOursSaysWhatItIs) {
  const std::string source = overlaySource(kCache, kImage);
  EXPECT_EQ(source, "gkm:ml/vectors@" + kImage.text());
  EXPECT_EQ(read("66 43 0:40 / " + kTarget + " rw,nosuid,nodev - overlay " + source + " rw\n"),
            (std::vector<TargetMount>{{kShown, true, kImage, kCache, false}}));
}

TEST(Mountinfo, ABindOfTheStoreIsOursWhereverTheStoreIs) {
  const std::string bind = " " + kTarget + " ro,nosuid - ext4 /dev/vda rw\n";
  const TargetMount ours{kShown, true, kImage, std::nullopt, true};
  EXPECT_EQ(
      read("1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 254:0 /var/lib/gkm/trees/" + kHex + "/root" + bind),
      std::vector{ours});
  EXPECT_EQ(read("1 0 254:0 / / rw - ext4 /dev/vda rw\n3 1 254:9 / /var/lib/gkm rw - xfs /dev/vdb rw\n"
                 "2 1 254:9 /trees/" +
                 kHex + "/root" + bind),
            std::vector{ours});
  EXPECT_EQ(read("1 0 0:9 / / rw - overlay x rw\n3 1 254:0 /srv/gkm /var/lib/gkm rw - ext4 /dev/vda rw\n"
                 "2 1 254:0 /srv/gkm/trees/" +
                 kHex + "/root//deleted" + bind),
            std::vector{ours});
}

// As where a container's file system holds it, or a system that is an image.
TEST(Mountinfo, ABindOfAStoreThatIsOnAnOverlayIsOurs) {
  EXPECT_EQ(read("1 0 0:9 / /var rw - overlay overlay rw\n2 1 0:9 /lib/gkm/trees/" + kHex + "/root " +
                 kTarget + " ro - overlay overlay rw\n"),
            (std::vector<TargetMount>{{kShown, true, kImage, std::nullopt, true}}));
}

TEST(Mountinfo, ABindThatTheAncestorMadeIsOurs) {
  const std::string root = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 254:0 /var/lib/gkm/caches/";
  const std::string bind = " " + kTarget + " rw - ext4 /dev/vda rw\n";
  EXPECT_EQ(read(root + "ml/vectors/" + kImage.text() + bind),
            (std::vector<TargetMount>{{kShown, true, kImage, kCache, false}}));
  EXPECT_EQ(
      read(root + "cluster-scoped/vectors" + bind),
      (std::vector<TargetMount>{{kShown, true, std::nullopt, *CacheName::ofCluster("vectors"), false}}));
}

TEST(Mountinfo, OtherMountsAreNotOurs) {
  const TargetMount foreign{kShown, false, std::nullopt, std::nullopt, false};
  const std::string root = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 ";
  for (const std::string& other :
       {"254:1 /var/lib/gkm/trees/" + kHex + "/root", std::string{"254:0 /var/lib/gkm"},
        "254:0 /var/lib/gkm2/trees/" + kHex + "/root", std::string{"254:0 /var/lib/gkm/trees/../root"},
        std::string{"254:0 /var/lib/gkm/files"}, std::string{"254:0 /etc"}}) {
    EXPECT_EQ(read(root + other + " " + kTarget + " rw - ext4 /dev/vda rw\n"), std::vector{foreign}) << other;
  }
  EXPECT_EQ(read(root + "0:40 / " + kTarget + " rw - overlay overlay rw\n"), std::vector{foreign});
  EXPECT_EQ(read(root + "0:40 / /data/kubelet/pods2/x rw - overlay gkm:a rw\n"), std::vector<TargetMount>{});
  EXPECT_EQ(read(root + "0:40 / /data/kubelet/pods rw - overlay gkm:a rw\n"), std::vector<TargetMount>{});
}

}  // namespace
}  // namespace gs::csi
