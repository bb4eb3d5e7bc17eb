#include "noderim/pci_device.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/temp_folder_test.h"

namespace gs::noderim {
namespace {

TEST(PciDevice, ItsFolderIsByTheAddressAsTheKernelWritesIt) {
  EXPECT_EQ(pciFolder("00000000:1B:00.0", "/sys"), "/sys/bus/pci/devices/0000:1b:00.0");
  EXPECT_EQ(pciFolder("", "/sys"), "");
  EXPECT_EQ(pciFolder("1B:00.0", "/sys"), "");
  EXPECT_EQ(pciFolder("../../../../1B", "/sys"), "") << "no address leads elsewhere";
}

TEST(PciDevice, ItsRenderNodeIsTheOneInItsFolder) {
  const TempFolder folder;
  const std::string drm = folder.path("bus/pci/devices/0000:1b:00.0/drm");
  EXPECT_EQ(renderNodeOf("00000000:1B:00.0", folder.path("")), "") << "the kernel has no such device";
  std::filesystem::create_directories(drm + "/card1");
  EXPECT_EQ(renderNodeOf("00000000:1B:00.0", folder.path("")), "") << "a card is none";
  std::filesystem::create_directories(drm + "/renderD130");
  EXPECT_EQ(renderNodeOf("00000000:1B:00.0", folder.path("")), "/dev/dri/renderD130");
  EXPECT_EQ(renderNodeOf("00000000:1C:00.0", folder.path("")), "") << "of another one";
  EXPECT_EQ(renderNodeOf("", folder.path("")), "");
}

}  // namespace
}  // namespace gs::noderim
