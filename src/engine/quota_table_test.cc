#include "engine/quota_table.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using model::Quota;
using model::Quotas;

constexpr Mono kBegan{1h};
const Quotas kSome{{"ns", Quota{{{"V100", 4}}, {}}}};
const Quotas kOther{{"ns", Quota{{{"V100", 2}}, {}}}};

controller::Change put(std::optional<Quotas> quotas, model::Revision revision = 1) {
  controller::Change c;
  c.kind = kapi::kQuotaMap;
  c.object = std::make_shared<const model::QuotaMap>(
      model::QuotaMap{{"kube-system", "gpuquota"}, model::Uid{"u"}, revision, std::move(quotas), "bad"});
  return c;
}
controller::Change gone() {
  controller::Change c;
  c.kind = kapi::kQuotaMap;
  return c;
}

TEST(QuotaTable, IsNotKnownBeforeTheListIs) {
  QuotaTable t;
  EXPECT_EQ(t.quotas(), nullptr);
  t.listed();
  ASSERT_NE(t.quotas(), nullptr);
  EXPECT_TRUE(t.quotas()->empty()) << "no ConfigMap: nobody has a limit";
}

TEST(QuotaTable, AChangeCountsAtOnce) {
  QuotaTable t;
  t.apply(put(kSome));
  t.listed();
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
  t.listed();
  EXPECT_EQ(t.quotas(), nullptr);
  t.apply(gone());
  EXPECT_TRUE(t.quotas()->empty());
}

/// Answered 403 for so long, from `began` on.
void forbid(QuotaTable& t, Duration time, Mono began = kBegan) {
  for (Duration passed{}; passed < time; passed += 1s) { t.forbidden(began + passed); }
  t.forbidden(began + time);
}

TEST(QuotaTable, WhereItStaysForbiddenTheFallbackCounts) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  forbid(t, 4999ms);
  EXPECT_TRUE(t.awaited());
  EXPECT_TRUE(t.undecided());
  EXPECT_EQ(t.state(), "ConfigMap kube-system/gpuquota may not be read; waiting whether it stays so");
  t.forbidden(kBegan + 5s);
  EXPECT_FALSE(t.awaited() || t.undecided());
  EXPECT_EQ(*t.quotas(), kSome);
  EXPECT_EQ(t.state(), "those of the configuration file: ConfigMap kube-system/gpuquota may not be read");
}

TEST(QuotaTable, WhatWasReadLastOutlastsThatItIsForbidden) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  forbid(t, 5s);
  t.apply(put(kOther));  // our role was given the right to it
  t.listed();
  EXPECT_EQ(*t.quotas(), kOther);
  EXPECT_FALSE(t.mayNotBeRead());
  forbid(t, 1h);  // and was taken it again
  EXPECT_EQ(*t.quotas(), kOther);
  EXPECT_TRUE(t.mayNotBeRead());
  EXPECT_EQ(t.state(), "ConfigMap kube-system/gpuquota may not be read any more; what was read last counts");
}

TEST(QuotaTable, ThatThereIsNoConfigMapCountsUntilItStaysForbidden) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  t.listed();
  forbid(t, 4s);
  EXPECT_TRUE(t.quotas()->empty());
  EXPECT_FALSE(t.undecided());
  EXPECT_EQ(t.state(), "no quotas: there is no ConfigMap kube-system/gpuquota");
  t.forbidden(kBegan + 5s);
  EXPECT_EQ(*t.quotas(), kSome);
}

TEST(QuotaTable, OtherAnswersBetweenBeginTheTimeAnew) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  forbid(t, 4s);
  t.notForbidden();
  EXPECT_FALSE(t.undecided());
  forbid(t, 4s, kBegan + 1min);
  EXPECT_TRUE(t.awaited());
  t.forbidden(kBegan + 1min + 5s);
  EXPECT_EQ(*t.quotas(), kSome);
  t.notForbidden();  // the API server is away
  EXPECT_EQ(*t.quotas(), kSome);
  EXPECT_TRUE(t.mayNotBeRead()) << "as far as we know";
}

TEST(QuotaTable, AFallbackIsNotKeptWhereThereIsNoConfigMap) {
  QuotaTable t;
  t.configure({{"kube-system", "gpuquota"}, {}, kSome});
  forbid(t, 5s);
  t.listed();
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
