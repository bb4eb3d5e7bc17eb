#include "serve/node/node_counts.h"

#include <chrono>
#include <utility>
#include <vector>

namespace gs::serve {
namespace {

using kcache::State;

/// `step`: policy (whether the cache may have the image), fetch. `result`: ok, not_found, invalid
/// (signature, limits, digest), unavailable (registry, disk), deadline, not_wanted (given up because the
/// cache changed), internal. An attempt that the registry cuts off and that goes on is one.
constexpr const char* kFetches = "gkm_agent_fetches_total";
constexpr const char* kRetries = "gkm_agent_fetch_retries_total";
/// Those that had to come only.
constexpr const char* kSeconds = "gkm_agent_fetch_seconds";
/// `cache`: NAMESPACE/NAME, of a ClusterGKMCache NAME. Of those that are under way: at most --concurrency.
constexpr const char* kBytes = "gkm_agent_fetch_bytes";
/// `cache`: as of the bytes.
constexpr const char* kTotal = "gkm_agent_fetch_total_bytes";
const std::vector<double> kBuckets{0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600};

const char* resultOf(const cacherim::FetchEnd& end) {
  if (end.how) { return "ok"; }
  switch (end.how.error().code) {
    case Code::Invalid: return "invalid";
    case Code::NotFound: return "not_found";
    case Code::Conflict: return end.was_admitted ? "not_wanted" : "invalid";  // no signature of it counts
    case Code::Unavailable: return "unavailable";
    case Code::Deadline: return "deadline";
    case Code::Internal: break;
  }
  return "internal";
}

}  // namespace

void NodeCounts::ended(const cacherim::FetchEnd& end) {
  metrics_
      .counter(kFetches, "Attempts to bring a cache its image, by step and result.",
               {{"step", end.was_admitted ? "fetch" : "policy"}, {"result", resultOf(end)}})
      .add();
  if (end.job.image.attempt > 0) { metrics_.counter(kRetries, "Those of them that were another try.").add(); }
  const bool has_come = end.how && end.job.progress->total > 0;  // 0: the image was there
  if (!has_come) { return; }
  metrics_.histogram(kSeconds, "How long images took to be fetched, unpacked and published.", kBuckets)
      .observe(std::chrono::duration<double>{end.time}.count());
}

void NodeCounts::told(const kcache::NodeHas& has) {
  std::size_t uses = 0;
  std::int64_t rate = 0;
  for (const auto& [cache, images] : has.caches) {
    for (const auto& [digest, image] : images) {
      uses += image.pods.size();
      if (image.progress) { rate += image.progress->bytes_per_second; }
    }
  }
  const MutexLock lock{mutex_};
  uses_ = uses;
  bytes_per_second_ = rate;
}

void NodeCounts::showStates(const std::map<State, std::size_t>& states) {
  for (const State one : {State::Pending, State::Extracted, State::Running, State::Outdated, State::Error,
                          State::UnloadError}) {
    const auto it = states.find(one);
    // `state`: Pending, Extracted, Running, Outdated, Error, UnloadError.
    metrics_
        .gauge("gkm_agent_caches", "Images of caches on the node, by the state that its objects say.",
               {{"state", kcache::nameOf(one)}})
        .set(it == states.end() ? 0 : static_cast<double>(it->second));
  }
}

/// A counter that somebody else counts.
void NodeCounts::grow(const char* name, const char* help, double to) {
  double& has = grown_[name];
  metrics_.counter(name, help).add(to - has);
  has = to;
}

void NodeCounts::showStore(const cacherim::KeeperFigures& figures) {
  metrics_.gauge("gkm_agent_store_bytes", "Bytes of all files of the store, each content once.")
      .set(static_cast<double>(figures.store_bytes));
  metrics_.gauge("gkm_agent_store_quota_bytes", "--cache-quota; 0: no limit.")
      .set(static_cast<double>(quota_.bytes));
  metrics_.gauge("gkm_agent_store_inodes", "Files and folders of the store.")
      .set(static_cast<double>(figures.store_inodes));
  metrics_.gauge("gkm_agent_store_quota_inodes", "--cache-inodes; 0: no limit.")
      .set(static_cast<double>(quota_.inodes));
  metrics_.gauge("gkm_agent_damaged_images", "Images of the store of which a file is damaged.")
      .set(static_cast<double>(figures.damaged_images));
  grow("gkm_agent_verified_bytes_total",
       "Bytes of the store that were read again to see whether they are good.",
       static_cast<double>(figures.verified_bytes));
  grow("gkm_agent_fetched_bytes_total", "Bytes of layers that came from registries.",
       static_cast<double>(figures.fetched_bytes));
  grow("gkm_agent_unpacked_bytes_total", "Bytes of the files that were in them.",
       static_cast<double>(figures.unpacked_bytes));
  grow("gkm_agent_store_new_bytes_total", "Of those, bytes that the store did not have.",
       static_cast<double>(figures.store.bytes_new));
  grow("gkm_agent_store_shared_bytes_total", "Of those, bytes that it had already.",
       static_cast<double>(figures.store.bytes_shared));
  grow("gkm_agent_store_copied_bytes_total",
       "Bytes that were written again because a file has too many links.",
       static_cast<double>(figures.store.bytes_copied));
}

void NodeCounts::showUnderWay(const cacherim::KeeperFigures& figures) {
  std::set<std::string> gone = std::exchange(shown_, {});
  for (const auto& job : figures.under_way) {
    const Metrics::Labels labels{{"cache", job.cache.text()}};
    metrics_.gauge(kBytes, "Bytes that came so far of an image that is under way.", labels)
        .set(static_cast<double>(job.progress->bytes));
    metrics_.gauge(kTotal, "Bytes of all its layers; 0: not known yet.", labels)
        .set(static_cast<double>(job.progress->total));
    shown_.insert(job.cache.text());
    gone.erase(job.cache.text());
  }
  for (const std::string& cache : gone) {
    metrics_.dropGauge(kBytes, {{"cache", cache}});
    metrics_.dropGauge(kTotal, {{"cache", cache}});
  }
  metrics_.gauge("gkm_agent_fetches_under_way", "Images that are being fetched.")
      .set(static_cast<double>(figures.under_way.size()));
  metrics_.gauge("gkm_agent_fetches_waiting", "Images whose turn has not come.")
      .set(static_cast<double>(figures.waiting));
}

std::string NodeCounts::text(const cacherim::KeeperFigures& figures,
                             const std::map<State, std::size_t>& states) {
  showStates(states);
  showStore(figures);
  showUnderWay(figures);
  const MutexLock lock{mutex_};
  metrics_.gauge("gkm_agent_uses", "Volumes of pods that have a cache mounted.")
      .set(static_cast<double>(uses_));
  metrics_.gauge("gkm_agent_fetch_bytes_per_second", "How fast images come now, all together.")
      .set(static_cast<double>(bytes_per_second_));
  return metrics_.text();
}

}  // namespace gs::serve
