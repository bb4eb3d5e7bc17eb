#include "cacherim/keeper/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "cacherim/keeper/draft_writer.h"
#include "kcache/content/labels.h"
#include "kcache/content/paths.h"

namespace gs::cacherim {
namespace {

using kcache::Digest;

constexpr Duration kAskedEvery = std::chrono::milliseconds{200};  // who waits for another's layer

/// One image on its way.
class Fetch {
 public:
  Fetch(Fetching& how, ImageSource& source, const kcache::Reference& image, FetchProgress& progress)
      : how_{how}, source_{source}, reference_{image}, progress_{progress}, rules_{how.limits} {}

  Status run() {
    // The bytes are shared, the right to them is not: the registry that this cache names has to give them.
    if (isHere()) { return GS_MUTANT(AsksNoRegistry) ? Status{} : source_.serves(reference_); }
    if (how_.is_here) {  // it would be fetched without a turn
      return fail(Code::Unavailable,
                  reference_.text() + " was here, and is not any more: it is fetched later");
    }
    auto image = openImage(source_, reference_, how_.architecture);
    if (!image) { return because(image.error()); }
    if (Status good = checkLayers(*image, how_.limits); !good) { return good; }
    std::vector<Digest> layers;
    std::int64_t total = 0;
    for (const auto& layer : image->manifest.layers) {
      layers.push_back(layer.digest);
      total += layer.size;
    }
    progress_.total = total;
    if (Status fits = reserve(*image); !fits) { return fits; }
    std::set<Digest> about_to_be_used{layers.begin(), layers.end()};
    about_to_be_used.insert(*reference_.digest);  // its tree may be there, damaged: it is mended
    const LayerClaims::Needed needed{how_.claims, std::move(about_to_be_used)};
    return bring(*image, layers);
  }

 private:
  bool isHere() {
    const MutexLock lock{how_.store.mutex};
    return how_.store.store.hasTree(*reference_.digest) &&
           !how_.store.store.damagedTrees().contains(*reference_.digest);
  }

  /// One of its layers was there and is found to be damaged.
  bool isWithout(const std::vector<Digest>& layers) {
    return std::any_of(layers.begin(), layers.end(), [&](const Digest& layer) {
      const auto known = knownLayer(layer);
      return known && !*known;
    });
  }

  Status bring(const Image& image, const std::vector<Digest>& layers) {
    if (Status came = takeLayers(image); !came) { return came; }
    const Mono began = how_.clock.now().mono;
    Status out = publish(image, layers);
    if (out || !isWithout(layers)) { return out; }
    progress_.waited = progress_.waited.load() + (how_.clock.now().mono - began);
    // What was found to be damaged meanwhile comes at once: a try of its own would wait, ever longer.
    if (Status came = takeLayers(image); !came) { return came; }
    return publish(image, layers);
  }

  Status takeLayers(const Image& image) {
    rules_ = kcache::LayerRules{how_.limits};
    progress_.bytes = 0;
    if (how_.coming != nullptr) { how_.coming->beginAgain(); }
    for (const auto& layer : image.manifest.layers) {
      if (Status done = takeLayer(layer); !done) { return done; }
    }
    return {};
  }

  /// What is too much need not come: as its label says, or as was seen before. (A label that says too much
  /// keeps its own image away, and no other.)
  Status reserve(const Image& image) {
    if (how_.coming == nullptr) { return {}; }
    const auto labels = kcache::readLabels(image.config.labels);
    const std::int64_t said = labels ? labels->size_bytes.value_or(0) : 0;
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, said));
    return how_.coming->reserve(Room::max(how_.needed, Room{bytes}));
  }

  Status takeLayer(const kcache::Descriptor& layer) {
    const Mono asked = how_.clock.now().mono;
    const auto goes_on = [&] { return !how_.goes_on || how_.goes_on(); };
    const LayerClaims::Alone alone{how_.claims, reference_.registry, layer.digest, [&] {
                                     return goes_on() && how_.clock.now().mono - asked < how_.longest_wait;
                                   }};
    progress_.waited = progress_.waited.load() + (how_.clock.now().mono - asked);
    if (!goes_on()) { return wasToEnd(reference_); }
    auto known = knownLayer(layer.digest);
    if (!known) { return because(known.error()); }
    Status out = *known ? followLayer(**known) : fetchLayer(layer);
    if (out && *known) { progress_.bytes += layer.size; }
    return out;
  }

  /// nullopt: the store does not have it, or has it damaged. (It stays: it is one that is needed.)
  Result<std::optional<LayerRecord>> knownLayer(const Digest& layer) {
    std::optional<Draft> draft;
    {
      const MutexLock lock{how_.store.mutex};
      if (!how_.store.store.hasLayer(layer)) { return std::nullopt; }
      auto made = how_.store.store.draft();
      if (!made) { return because(made.error()); }
      draft.emplace(*std::move(made));
    }
    auto record = draft->layer(layer);  // reads long, so without a turn
    if (!record && record.error().code == Code::Unavailable) { return because(record.error()); }
    if (!record) { return std::nullopt; }  // damaged: it comes again
    const MutexLock lock{how_.store.mutex};
    draft.reset();
    if (!how_.store.store.isWhole(record->files)) { return std::nullopt; }
    return std::optional{*std::move(record)};
  }

  /// One that the store has: by the same rules as if it came.
  Status followLayer(const LayerRecord& record) {
    rules_.beginLayer();
    const std::string root = "io.triton.cache/";
    for (const std::string& folder : record.folders) {
      const std::string name = root + folder;
      const auto placed = rules_.place({.name = name, .kind = kcache::EntryKind::Folder, .mode = 0755});
      if (!placed) { return because(placed.error()); }
    }
    for (const auto& [path, file] : record.files) {
      const std::string name = root + path;
      const auto placed =
          rules_.place({.name = name, .size = static_cast<std::int64_t>(file.size), .mode = 0644});
      if (!placed) { return because(placed.error()); }
    }
    std::uint64_t bytes = 0;
    for (const auto& [path, file] : record.files) { bytes += file.size; }
    const Room room = Shares::roomOf(bytes, record.files.size() + record.folders.size());
    return how_.coming == nullptr ? Status{} : how_.coming->add(room);
  }

  Status fetchLayer(const kcache::Descriptor& layer) {
    std::optional<Draft> draft;
    {
      const MutexLock lock{how_.store.mutex};
      auto made = how_.store.store.draft();
      if (!made) { return because(made.error()); }
      draft.emplace(*std::move(made));
    }
    DraftWriter writer{*draft, how_.coming};
    const LayerFeed feed = [&](const ByteSink& sink) {
      return source_.blob(reference_, layer, [&](std::string_view piece) {
        if (how_.pace && !how_.pace(piece.size())) { return false; }
        const auto bytes = static_cast<std::int64_t>(piece.size());
        progress_.bytes += bytes;
        progress_.came += bytes;
        if (how_.totals != nullptr) { how_.totals->fetched += bytes; }
        return sink(piece);
      });
    };
    if (Status read = readLayer(feed, rules_, writer); !read && !GS_MUTANT(KeepsCutLayers)) { return read; }
    const auto record = writer.finish(layer.digest);
    if (!record) { return because(record.error()); }
    if (how_.totals != nullptr) {
      for (const auto& [path, file] : record->files) {
        how_.totals->unpacked += static_cast<std::int64_t>(file.size);
      }
    }
    return publishLayer(*draft, *record, how_.clock.now().wall,
                        [this](const StoreStep& step) { return atStore(step); });
  }

  Status atStore(const StoreStep& step) {
    const MutexLock lock{how_.store.mutex};
    return step(how_.store.store);
  }

  /// The files that a pod has to have otherwise than the layers.
  Status putExtras(const TreeEdit& edit) {
    if (edit.files.empty()) { return fail(Code::Invalid, "the image has no files of a cache in it"); }
    std::uint64_t bytes = 0;
    for (const auto& [path, file] : edit.files) {
      const bool may =
          kcache::bearsPaths(path) && file.size <= static_cast<std::uint64_t>(kcache::kMaxPathsText);
      if (!may) { continue; }
      if ((bytes += file.size) > how_.most_paths_text) {
        return fail(Code::Invalid,
                    fmt::format("the image has over {} bytes of files that name others by their "
                                "paths (__grp__*.json, vllm_compile_cache.py)",
                                how_.most_paths_text));
      }
      const auto text = edit.read(file, kcache::kMaxPathsText);
      if (!text) { return because(text.error()); }
      edit.bearsPaths(path);
      const auto changed = kcache::forRoot(how_.mount_path, path, *text);
      if (!changed) { continue; }
      if (Status done = edit.put(path, *changed); !done) { return done; }
    }
    return {};
  }

  Status publish(const Image& image, const std::vector<Digest>& layers) {
    const auto labels = kcache::readLabels(image.config.labels);
    const std::string summary = labels ? labels->summary.value_or("") : "";
    return publishTree(
        {*reference_.digest, layers, summary}, [this](const TreeEdit& edit) { return putExtras(edit); },
        how_.clock.now().wall, [this](const StoreStep& step) { return atStore(step); });
  }

  Fetching& how_;
  ImageSource& source_;
  const kcache::Reference& reference_;
  FetchProgress& progress_;
  kcache::LayerRules rules_;
};

}  // namespace

tl::unexpected<Error> wasToEnd(const kcache::Reference& image) {
  return fail(Code::Conflict, image.text() + ": it was to end before it was here");
}

LayerClaims::Needed::Needed(LayerClaims& claims, std::set<Digest> digests)
    : claims_{claims}, digests_{std::move(digests)} {
  const MutexLock lock{claims_.mutex_};
  claims_.needed_.insert(digests_.begin(), digests_.end());
}

LayerClaims::Needed::~Needed() {
  const MutexLock lock{claims_.mutex_};
  for (const Digest& one : digests_) { claims_.needed_.erase(claims_.needed_.find(one)); }
}

LayerClaims::Alone::Alone(LayerClaims& claims, const std::string& registry, const Digest& layer,
                          const std::function<bool()>& may_wait)
    : claims_{claims}, layer_{registry, layer} {
  const MutexLock lock{claims_.mutex_};
  while (!(is_alone_ = claims_.busy_.insert(layer_).second) && may_wait()) {
    claims_.freed_.waitFor(claims_.mutex_, kAskedEvery);
  }
}

LayerClaims::Alone::~Alone() {
  if (!is_alone_) { return; }
  const MutexLock lock{claims_.mutex_};
  claims_.busy_.erase(layer_);
  claims_.freed_.notifyAll();
}

std::set<Digest> LayerClaims::needed() {
  const MutexLock lock{mutex_};
  return {needed_.begin(), needed_.end()};
}

Status fetchImage(Fetching& how, ImageSource& source, const kcache::Reference& image,
                  FetchProgress& progress) {
  return Fetch{how, source, image, progress}.run();
}

}  // namespace gs::cacherim
