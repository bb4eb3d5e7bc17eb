#include "sandbox/world/api_port.h"

#include <gtest/gtest.h>

#include "apiserver/handlers/api.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"

namespace gs::sandbox {
namespace {

using json::Object;

/// What somebody else than the quotas reads of a ConfigMap.
struct Motto {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::string words;
  friend bool operator==(const Motto&, const Motto&) = default;
};

Motto decodeMotto(const json::View& v) {
  return {kapi::objectKey(v), model::Uid{v["metadata"]["uid"].str()}, kapi::objectRevision(v),
          std::string{v["data"]["motto"].str()}};
}

constexpr kapi::KindInfo kMottoInfo{"", "v1", "configmaps", "ConfigMap", true, kapi::decodedBy<decodeMotto>};
constexpr kapi::Kind kMotto{kMottoInfo};

class TwoReaders : public ::testing::Test {
 protected:
  /// The next object that comes on this stream.
  model::Object next(kapi::Token stream) {
    const auto event = port.poll(1, stream);
    const auto* brought = event ? std::get_if<kapi::WatchEvent>(&*event) : nullptr;
    return brought == nullptr ? model::Object{} : brought->object;
  }
  void create(const char* name, const char* motto) {
    const Object body{{"metadata", Object{{"name", name}}}, {"data", Object{{"motto", motto}}}};
    const auto answer =
        api.handle({"POST", "/api/v1/namespaces/default/configmaps", "application/json", body}, now);
    ASSERT_EQ(answer.code, 201);
  }

  Now now = ManualClock{}.now();
  apiserver::Api api{Rng{1}, now};
  ApiPort port{api};
};

TEST_F(TwoReaders, OfOneKindGetWhatEachReadsOfTheSameEvent) {
  ASSERT_FALSE(port.open(1, {7, kapi::kQuotaMap, "", ""}, now));
  ASSERT_FALSE(port.open(1, {8, kMotto, "", ""}, now));
  create("a", "sapere aude");
  EXPECT_TRUE(next(7).is<model::QuotaMap>());
  const auto motto = next(8).as<Motto>();
  ASSERT_NE(motto, nullptr);
  EXPECT_EQ(motto->words, "sapere aude");
}

TEST_F(TwoReaders, OfOneKindListTheSameObjects) {
  create("a", "carpe diem");
  kapi::Call list;
  list.verb = kapi::Verb::List;
  for (const kapi::Kind kind : {kapi::kQuotaMap, kMotto}) {
    list.kind = kind;
    const kapi::Outcome listed = port.call(list, now);
    std::size_t ours = 0;
    for (const auto& item : listed.items) {
      if (item.key().name != "a") { continue; }
      ++ours;
      EXPECT_EQ(item.is<Motto>(), kind == kMotto);
      EXPECT_EQ(item.is<model::QuotaMap>(), kind == kapi::kQuotaMap);
    }
    EXPECT_EQ(ours, 1U);
  }
}

}  // namespace
}  // namespace gs::sandbox
