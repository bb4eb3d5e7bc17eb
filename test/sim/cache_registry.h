// The registry of a play: small images, some of which share layers, and tags that move between them. It
// is away, gives other bytes than were asked for, ends in the middle, or is slow; or it gives its manifests
// itself and sends to another host for all else, which does not answer, or answers a page.
// It stands at ImageSource, above HTTP: what is played is what comes of a redirect, not how one is followed
// (cacherim/trust/odd_registries_test.cc). Of what it gives every byte is checked, as ImageSource promises;
// what it gave until then has been given.
// One thread; the World that tells the time must outlive it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cacherim/image/image_source.h"
#include "sandbox/world/world.h"

namespace gs::sim {

inline constexpr int kCacheImages = 6;
inline constexpr int kPathImages = 2;  // behind them, with files that name others by paths (cache_places.h)
inline constexpr int kCacheTags = 3;

class CacheRegistry {
 public:
  using Files = std::map<std::string, std::string>;  // text by path
  enum class Fault : std::uint8_t { Away, Lies, Cut, Slow, SendsNowhere, SendsToPage };
  static constexpr int kEvenFaults = 4;  // those that plans draw with equal chance

  explicit CacheRegistry(const sandbox::World& world) : world_{world} {}

  /// "quay.io/gkm/caches:v1"
  [[nodiscard]] static std::string nameOf(int tag);
  void move(int tag, int image) { tags_.at(static_cast<std::size_t>(tag)) = image; }
  void fail(Fault how, Duration lasts);
  void calmDown() { until_ = Mono{}; }
  /// Nothing comes whole now, however long it takes.
  [[nodiscard]] bool fails() const { return world_.now().mono < until_ && how_ != Fault::Slow; }
  /// What the webhook would write; nullopt: nobody answers.
  [[nodiscard]] std::optional<kcache::Digest> resolve(int tag) const;
  /// How long it takes until an image is here.
  [[nodiscard]] Duration takes(const kcache::Reference& image) const;
  [[nodiscard]] std::unique_ptr<cacherim::ImageSource> source(const kcache::Reference& image) const;
  /// Another registry's name for an image: one that does not have it, or one that drips. For ever.
  [[nodiscard]] static std::string elsewhere(bool drips);
  [[nodiscard]] static kcache::Digest digestOf(int image);
  /// What a pod that mounts it at kSharedPlace has to find in an image's tree; nullptr: there is none.
  [[nodiscard]] static const Files* filesOf(const kcache::Digest& image);

 private:
  [[nodiscard]] bool is(Fault how) const { return world_.now().mono < until_ && how_ == how; }

  const sandbox::World& world_;
  std::array<int, kCacheTags> tags_{0, 1, 2};
  Fault how_{};
  Mono until_{};
};

}  // namespace gs::sim
