#include "engine/quota_table.h"

#include <gtest/gtest.h>

namespace gs::engine {
namespace {

using model::Quota;
using model::Quotas;

const Quotas kSome{{"ns", Quota{{{"V100", 4}}, {}}}};
const Quotas kOther{{"ns", Quota{{{"V100", 2}}, {}}}};

kapi::Change put(std::optional<Quotas> quotas, model::Revision revision = 1) {
  kapi::Change c;
  c.kind = model::Kind::ConfigMap;
  c.object = std::make_shared<const model::QuotaMap>(
      model::QuotaMap{{"kube-system", "gpuquota"}, model::Uid{"u"}, revision, std::move(quotas), "bad"});
  return c;
}
kapi::Change gone() {
  kapi::Change c;
  c.kind = model::Kind::ConfigMap;
  return c;
}

TEST(QuotaTable, IsNotKnownBeforeTheListIs) {
  QuotaTable t;
  EXPECT_EQ(t.quotas(), nullptr);
  t.listed(false);
  ASSERT_NE(t.quotas(), nullptr);
  EXPECT_TRUE(t.quotas()->empty()) << "no ConfigMap: nobody has a limit";
}

TEST(QuotaTable, AChangeCountsAtOnce) {
  QuotaTable t;
  t.apply(put(kSome));
  t.listed(false);
  EXPECT_EQ(*t.quotas(), kSome);
  const auto before = t.version();
  t.apply(put(kSome, 2));
  EXPECT_EQ(t.version(), before) << "the same";
  t.apply(put(kOther, 3));
  EXPECT_EQ(*t.quotas(), kOther);
  EXPECT_NE(t.version(), before);
  t.apply(gone());
  EXPECT_TRUE(t.quotas()->empty());
}

TEST(QuotaTable, OneThatCannotBeReadKeepsTheLastGoodOne) {
  QuotaTable t;
  t.apply(put(kSome));
  t.apply(put(std::nullopt, 2));
  EXPECT_EQ(*t.quotas(), kSome);
  ASSERT_NE(t.unusable(), nullptr);
  EXPECT_EQ(t.unusable()->revision, 2U);
  t.apply(put(kOther, 3));
  EXPECT_EQ(t.unusable(), nullptr);
  EXPECT_EQ(*t.quotas(), kOther);
}

TEST(QuotaTable, OneThatNeverCouldBeReadIsNotKnown) {
  QuotaTable t;
  t.apply(put(std::nullopt));
  t.listed(false);
  EXPECT_EQ(t.quotas(), nullptr);
  t.apply(gone());
  EXPECT_TRUE(t.quotas()->empty());
}

TEST(QuotaTable, WhereItIsForbiddenTheFallbackCounts) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  t.listed(true);
  EXPECT_EQ(*t.quotas(), kSome);
  EXPECT_EQ(t.state(), "those of the configuration file: ConfigMap kube-system/gpuquota may not be read");
  t.apply(put(kOther));  // our role was given the right to it
  t.listed(false);
  EXPECT_EQ(*t.quotas(), kOther);
  t.listed(true);  // and was taken it again
  EXPECT_EQ(*t.quotas(), kOther);
}

TEST(QuotaTable, AFallbackIsNotKeptWhereThereIsNoConfigMap) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  t.listed(true);
  t.listed(false);
  EXPECT_TRUE(t.quotas()->empty());
}

TEST(QuotaTable, WarnsOnceForEachVersionThatCannotBeRead) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, {}});
  EXPECT_EQ(t.state(), "not read yet");
  EXPECT_TRUE(t.awaited());
  EXPECT_FALSE(t.takeWarning());
  t.apply(put(std::nullopt, 5));
  const auto warning = t.takeWarning();
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->note, "ConfigMap kube-system/gpuquota: bad; no pod gets a GPU until this is mended");
  EXPECT_EQ(warning->object, (model::ObjectKey{"kube-system", "gpuquota"}));
  EXPECT_FALSE(t.takeWarning());
  t.apply(put(std::nullopt, 6));
  EXPECT_TRUE(t.takeWarning());
  t.apply(put(kSome, 7));
  EXPECT_EQ(t.state(), "ok");
  EXPECT_FALSE(t.takeWarning());
  EXPECT_FALSE(t.awaited());
}

}  // namespace
}  // namespace gs::engine
