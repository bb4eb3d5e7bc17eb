#include "serve/node/node_counts.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

const model::ObjectKey kCache{"ns", "one"};

cacherim::FetchEnd ending(Status how, bool was_admitted = true) {
  cacherim::FetchEnd out;
  out.job.cache = kCache;
  out.job.progress->total = 100;
  out.how = std::move(how);
  out.was_admitted = was_admitted;
  out.time = std::chrono::seconds{2};
  return out;
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(NodeCounts, EndsAreCountedByStepAndResult) {
  NodeCounts counts{0};
  counts.ended(ending({}));
  counts.ended(ending(fail(Code::NotFound, "manifest unknown")));
  counts.ended(ending(fail(Code::Invalid, "nobody signed it"), false));
  counts.ended(ending(fail(Code::Conflict, "no signature of it counts"), false));
  counts.ended(ending(fail(Code::Conflict, "it was to end")));
  cacherim::FetchEnd again = ending(fail(Code::Unavailable, "no route"));
  again.job.image.attempt = 1;
  counts.ended(again);
  const std::string text = counts.text({}, {});
  EXPECT_TRUE(has(text, R"(gkm_agent_fetches_total{result="ok",step="fetch"} 1)")) << text;
  EXPECT_TRUE(has(text, R"(gkm_agent_fetches_total{result="not_found",step="fetch"} 1)"));
  EXPECT_TRUE(has(text, R"(gkm_agent_fetches_total{result="invalid",step="policy"} 2)"));
  EXPECT_TRUE(has(text, R"(gkm_agent_fetches_total{result="not_wanted",step="fetch"} 1)"));
  EXPECT_TRUE(has(text, R"(gkm_agent_fetches_total{result="unavailable",step="fetch"} 1)"));
  EXPECT_TRUE(has(text, "gkm_agent_fetch_retries_total 1"));
  EXPECT_TRUE(has(text, "gkm_agent_fetch_seconds_count 1"));
  EXPECT_TRUE(has(text, "gkm_agent_fetch_seconds_sum 2"));
}

TEST(NodeCounts, AnImageThatWasThereTookNoTime) {
  NodeCounts counts{0};
  cacherim::FetchEnd end = ending({});
  end.job.progress->total = 0;
  counts.ended(end);
  EXPECT_EQ(counts.text({}, {}).find("gkm_agent_fetch_seconds"), std::string::npos);
}

TEST(NodeCounts, AnImageThatIsUnderWayHasARowUntilItIsOver) {
  NodeCounts counts{0};
  cacherim::KeeperFigures figures;
  figures.under_way.push_back({.cache = kCache, .image = {}});
  figures.under_way[0].progress->bytes = 30;
  figures.under_way[0].progress->total = 100;
  figures.waiting = 2;
  std::string text = counts.text(figures, {});
  EXPECT_TRUE(has(text, R"(gkm_agent_fetch_bytes{cache="ns/one"} 30)")) << text;
  EXPECT_TRUE(has(text, R"(gkm_agent_fetch_total_bytes{cache="ns/one"} 100)"));
  EXPECT_TRUE(has(text, "gkm_agent_fetches_under_way 1"));
  EXPECT_TRUE(has(text, "gkm_agent_fetches_waiting 2"));
  text = counts.text({}, {});
  EXPECT_EQ(text.find("ns/one"), std::string::npos);
  EXPECT_TRUE(has(text, "gkm_agent_fetches_under_way 0"));
}

TEST(NodeCounts, TheStoreIsShownWithItsQuotaAndWhatItDidNotHaveToKeep) {
  NodeCounts counts{1000};
  cacherim::KeeperFigures figures;
  figures.fetched_bytes = 50;
  figures.unpacked_bytes = 120;
  figures.store_bytes = 70;
  figures.store = {.bytes_new = 70, .bytes_shared = 50};
  (void)counts.text(figures, {});
  figures.fetched_bytes = 60;
  const std::string text = counts.text(figures, {{kcache::State::Running, 2}});
  EXPECT_TRUE(has(text, "gkm_agent_fetched_bytes_total 60")) << text;
  EXPECT_TRUE(has(text, "gkm_agent_unpacked_bytes_total 120"));
  EXPECT_TRUE(has(text, "gkm_agent_store_bytes 70"));
  EXPECT_TRUE(has(text, "gkm_agent_store_quota_bytes 1000"));
  EXPECT_TRUE(has(text, "gkm_agent_store_shared_bytes_total 50"));
  EXPECT_TRUE(has(text, R"(gkm_agent_caches{state="Running"} 2)"));
  EXPECT_TRUE(has(text, R"(gkm_agent_caches{state="Error"} 0)"));
}

TEST(NodeCounts, UsesAndRatesAreThoseOfWhatWasToldLast) {
  NodeCounts counts{0};
  kcache::NodeHas told;
  told.caches[kCache]["a"].pods = {{"ns", "p", "v"}, {"ns", "q", "w"}};
  told.caches[kCache]["b"].progress = kcache::Progress{1, 10, 500};
  counts.told(told);
  EXPECT_TRUE(has(counts.text({}, {}), "gkm_agent_uses 2"));
  EXPECT_TRUE(has(counts.text({}, {}), "gkm_agent_fetch_bytes_per_second 500"));
  counts.told({});
  EXPECT_TRUE(has(counts.text({}, {}), "gkm_agent_uses 0"));
}

}  // namespace
}  // namespace gs::serve
