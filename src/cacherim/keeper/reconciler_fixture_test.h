// For tests only: what is kept on a node, with its jobs done by the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/keeper/images_test.h"
#include "cacherim/keeper/reconciler.h"

namespace gs::cacherim {

inline const model::ObjectKey kTwo{"ns", "two"};
inline const model::ObjectKey kWide{"", "wide"};

/// A node's store with its jobs done by the test.
class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() { open(); }

  void open() {
    reconciler_.reset();
    shared_.reset();
    auto store = Store::open(root(), disk_);
    ASSERT_TRUE(store) << store.error().message;
    shared_ = std::make_unique<SharedStore>(*std::move(store));
    auto usage = Usage::open(usageFolder(), disk_);
    ASSERT_TRUE(usage) << usage.error().message;
    usage_.emplace(*std::move(usage));
    if (is_said_) { ASSERT_TRUE(usage_->sayComplete()); }
    shares_ = std::make_unique<Shares>(quota_);
    reconciler_ = std::make_unique<Reconciler>(
        Reconciler::Options{.root = root(), .usage_folder = usageFolder(), .sweep = terms_}, *shared_,
        claims_, *shares_, *usage_, disk_);
    ASSERT_TRUE(reconciler_->begin());
  }
  [[nodiscard]] std::string root() const { return folder_.path("store"); }
  [[nodiscard]] std::string usageFolder() const { return folder_.path("usage"); }

  void want(std::map<model::ObjectKey, kcache::Reference> images, std::set<model::ObjectKey> undecided = {}) {
    kcache::Wanted wanted;
    for (auto& [cache, image] : images) {
      wanted.images.emplace(cache, kcache::WantedImage{written_, std::move(image), attempt_});
    }
    wanted.undecided = std::move(undecided);
    wanted.gpus = gpus_;
    reconciler_->want(std::make_shared<const kcache::Wanted>(std::move(wanted)));
  }
  /// All jobs are done; how many there were.
  int work() {
    int out = 0;
    for (auto& job : reconciler_->takeJobs()) {
      ++out;
      Fetching how{.store = *shared_,
                   .claims = claims_,
                   .clock = clock_,
                   .coming = job.coming.get(),
                   .needed = job.needed};
      how.most_paths_text = most_paths_text_;
      const auto source = images_.source();
      const Status admitted = admit_(job);
      reconciler_->finished(job,
                            admitted ? fetchImage(how, *source, job.image.image, *job.progress) : admitted);
    }
    return out;
  }
  kcache::NodeHas turn() { return reconciler_->turn(clock_.now()); }
  /// Everything that is wanted is done.
  kcache::NodeHas settle() {
    work();
    turn();
    return turn();
  }
  const kcache::HasImage& of(const kcache::NodeHas& has, const model::ObjectKey& cache,
                             const kcache::Reference& image) {
    return has.caches.at(cache).at(image.digest->text());
  }
  [[nodiscard]] std::string mountedText(const kcache::Reference& image, const std::string& path) const {
    return *readFile(fmt::format("{}/trees/{}/root/{}", root(), image.digest->hex(), path));
  }
  [[nodiscard]] bool hasTree(const kcache::Reference& image) const {
    return std::filesystem::exists(fmt::format("{}/trees/{}/root", root(), image.digest->hex()));
  }
  [[nodiscard]] bool isPlaced(const std::string& folder, const std::string& name,
                              const kcache::Reference& image) const {
    return std::filesystem::exists(
        fmt::format("{}/caches/{}/{}/{}", root(), folder, name, image.digest->text()));
  }
  std::string present(const CacheName& cache) {
    const auto read = readPresent(root(), cache);
    return read ? read->image.text() : "";
  }
  std::string presentOfOne() { return present(*CacheName::inNamespace("ns", "one")); }
  void use(const kcache::Reference& image, const std::string& volume) {
    ASSERT_TRUE(usage_->add({.volume_id = volume,
                             .target = "/t/" + volume,
                             .cache = *CacheName::inNamespace("ns", "one"),
                             .image = *image.digest,
                             .pod_ns = "ns",
                             .pod_name = "pod-" + volume,
                             .pod_uid = "u"}));
  }

  TempFolder folder_;
  ManualClock clock_;
  Disk::Fault fault_;
  Disk::ReadFault read_fault_;
  const Disk disk_{[this](std::string_view call) { return fault_ ? fault_(call) : 0; }, false,
                   [this](std::string_view call, std::uint64_t inode) {
                     return read_fault_ ? read_fault_(call, inode) : 0;
                   }};
  ImagesOnPaper images_;
  LayerClaims claims_;
  Room quota_;
  std::unique_ptr<Shares> shares_;
  SweepTerms terms_{.most_age = std::chrono::hours{1}};
  std::vector<kcache::CacheGpu> gpus_;
  std::int64_t attempt_ = 0;
  std::string written_ = "quay.io/gkm/a:b";
  std::uint64_t most_paths_text_ = std::uint64_t{64} << 20;
  bool is_said_ = true;  // by the CSI driver, what is mounted
  /// The registries, by repository, that do not have what they are asked for.
  void have(std::set<std::string> none_at) {
    images_.manifest_fate = [none_at = std::move(none_at)](const kcache::Reference& image) -> Status {
      if (none_at.contains(image.name())) { return fail(Code::NotFound, image.name() + ": there is none"); }
      return {};
    };
  }
  [[nodiscard]] static kcache::Reference at(const std::string& repository, const kcache::Reference& image) {
    return kcache::parseReference(repository)->pinned(*image.digest);
  }

  std::function<Status(const KeeperJob&)> admit_ = [](const KeeperJob&) { return Status{}; };
  std::unique_ptr<SharedStore> shared_;
  std::optional<Usage> usage_;
  std::unique_ptr<Reconciler> reconciler_;
  const kcache::Reference first_ = images_.make({{{"K/a.json", "one"}}});
  const kcache::Reference second_ = images_.make({{{"K/a.json", "two"}}});
};

}  // namespace gs::cacherim
