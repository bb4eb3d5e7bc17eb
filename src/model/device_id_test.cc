#include "model/device_id.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gs::model {
namespace {

TEST(DeviceIdText, IsReadAsItIsPrinted) {
  for (const DeviceId id :
       {DeviceId{0, DeviceId::kWhole}, DeviceId{3, 1}, DeviceId{1023, 127}, DeviceId{0, 0}}) {
    EXPECT_EQ(parseDeviceId(print(id)), id) << print(id);
  }
  EXPECT_EQ(print({3, DeviceId::kWhole}), "3");
  EXPECT_EQ(print({3, 1}), "3/1");
}

TEST(DeviceIdText, SaysWhatIsWrong) {
  for (const char* text : {"", "-1", "+1", "1024", "3/", "/1", "3/128", "3/1/0", "3 ", "a", "3/-1"}) {
    const auto id = parseDeviceId(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, Code::Invalid);
    EXPECT_NE(id.error().message.find("'" + std::string{text} + "'"), std::string::npos)
        << id.error().message;
  }
}

TEST(DeviceIdOrder, AGpuComesBeforeItsPartitions) {
  EXPECT_LT((DeviceId{1, DeviceId::kWhole}), (DeviceId{1, 0}));
  EXPECT_LT((DeviceId{1, 5}), (DeviceId{2, DeviceId::kWhole}));
}

}  // namespace
}  // namespace gs::model
