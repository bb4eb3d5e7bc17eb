#include "cacherim/keeper/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/mutant.h"

namespace gs::cacherim {
namespace {

using kcache::Digest;
using kcache::HasImage;
using kcache::PodUse;

Result<CacheName> nameOf(const model::ObjectKey& cache) {
  return cache.ns.empty() ? CacheName::ofCluster(cache.name) : CacheName::inNamespace(cache.ns, cache.name);
}

model::ObjectKey keyOf(const CacheName& cache) { return {cache.ns(), cache.name()}; }

/// What went wrong first is said.
void say(std::string& trouble, const Error& error) {
  if (trouble.empty()) { trouble = error.message; }
}

}  // namespace

Reconciler::Reconciler(Options options, SharedStore& store, LayerClaims& claims, Shares& shares, Usage usage,
                       Disk disk)
    : options_{std::move(options)},
      store_{store},
      claims_{claims},
      shares_{shares},
      usage_{std::move(usage)},
      disk_{std::move(disk)} {}

Status Reconciler::begin() {
  const MutexLock lock{store_.mutex};
  const auto placed = store_.store.placed();
  if (!placed) { return because(placed.error()); }
  for (const auto& [cache, image] : *placed) { places_.emplace(Key{keyOf(cache), image}, Place{}); }
  if (Status read = readPresents(); !read) { return read; }
  const auto old = store_.store.oldTrees();
  if (!old) { return because(old.error()); }
  for (const auto& [cache, image] : *old) {
    log::info("a tree of an older version is there: it is taken over if its files are those of the image",
              {{"cache", cache.folder() + '/' + cache.name()}, {"image", image.text()}});
  }
  return {};
}

/// What new pods are told, of all caches; what is not behind a place of ours is not told any more.
Status Reconciler::readPresents() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& scope : fs::directory_iterator{options_.root + "/caches", error}) {
    for (const auto& cache : fs::directory_iterator{scope.path(), error}) {
      const auto name =
          CacheName::fromFolder(scope.path().filename().string(), cache.path().filename().string());
      if (!name) { continue; }
      auto present = readPresent(options_.root, *name);
      if (!present && present.error().code == Code::NotFound) { continue; }
      const auto place = present ? places_.find({keyOf(*name), present->image}) : places_.end();
      if (place != places_.end()) {
        const auto written = kcache::parseReference(present->reference);
        place->second.given_by = written ? written->name() : "";
        presents_.insert_or_assign(keyOf(*name), *std::move(present));
      } else if (Status hid = removePresent(options_.root, *name, disk_); !hid) {
        return hid;
      }
    }
    error.clear();  // a folder that went, or a file among the folders
  }
  return {};
}

bool Reconciler::isWanted(const Key& key) const {
  const auto it = wanted_->images.find(key.first);
  return it != wanted_->images.end() && *it->second.image.digest == key.second;
}

bool Reconciler::isGiven(const model::ObjectKey& cache, const kcache::WantedImage& image) const {
  const auto place = places_.find({cache, *image.image.digest});
  return place != places_.end() && place->second.given_by == image.image.name() &&
         !damaged_.contains(*image.image.digest);
}

// ---- jobs

/// What is placed counts as what is there, and what failed no more. (What still comes is counted where it
/// does.)
void Reconciler::share() {
  Shares::Here here;
  for (const auto& [cache, image] : wanted_->images) { here[cache.ns]; }
  for (const auto& [key, place] : places_) {  // with those that pods have mounted
    if (const Tree* tree = treeOf(key.second)) { here[key.first.ns].emplace(key.second, tree->on_disk); }
  }
  {
    const MutexLock lock{store_.mutex};
    shares_.areHere(std::move(here), Room{store_.store.bytes(), store_.store.inodes()});
  }
  for (auto& [cache, job] : jobs_) {
    const bool is_placed = places_.contains({cache, *job.job.image.image.digest});
    if (job.is_over && (!job.how || is_placed)) { job.job.coming.reset(); }
  }
}

bool Reconciler::isHere(const Digest& image) const {
  const MutexLock lock{store_.mutex};
  return store_.store.hasTree(image) && !damaged_.contains(image);
}

std::vector<KeeperJob> Reconciler::takeJobs() {
  std::vector<KeeperJob> out;
  if (wanted_ == nullptr) { return out; }
  std::erase_if(jobs_, [&](const auto& one) {
    return one.second.is_over && !wanted_->images.contains(one.first) &&
           !wanted_->undecided.contains(one.first);
  });
  share();
  learnDamage();
  for (const auto& [cache, image] : wanted_->images) {
    if (isGiven(cache, image)) { continue; }
    const auto known = jobs_.find(cache);
    // One that is under way for another image ends first.
    const bool is_done = known != jobs_.end() && (!known->second.is_over || known->second.job.image == image);
    if (is_done) { continue; }
    Job job{.job = {.cache = cache, .image = image, .is_here = isHere(*image.image.digest)}};
    job.job.coming = std::make_shared<Shares::Coming>(shares_, cache.ns, *image.image.digest);
    if (known != jobs_.end() && known->second.job.image.image == image.image && !known->second.how) {
      job.failed_before = known->second.how.error().message;
      job.needed = job.job.needed = known->second.needed;
    }
    out.push_back(job.job);
    jobs_.insert_or_assign(cache, std::move(job));
  }
  return out;
}

void Reconciler::finished(const KeeperJob& job, const Status& how) {
  Job& mine = jobs_.at(job.cache);
  mine.is_over = true;
  mine.how = how;
  if (mine.job.coming != nullptr) { mine.needed = Room::max(mine.needed, mine.job.coming->needed()); }
  if (!how) {
    log::warn("an image could not be brought here",
              {{"cache", job.cache.text()}, {"image", job.image.image.text()}, {"why", how.error().message}});
  }
}

// ---- what is in use

Result<Reconciler::Uses> Reconciler::readUses() const {
  const auto all = usage_.all();
  if (!all) { return because(all.error()); }
  Uses out;
  for (const VolumeUse& use : *all) {
    out[{keyOf(use.cache), use.image}].push_back(PodUse{use.pod_ns, use.pod_name, use.volume_id});
  }
  for (auto& [key, pods] : out) { std::sort(pods.begin(), pods.end()); }
  return out;
}

// ---- bringing

Status Reconciler::place(const Key& key, Now now, const Uses& uses) {
  const auto name = nameOf(key.first);
  if (!name) { return because(name.error()); }
  // An old tree that pods have mounted, perhaps, is not replaced under them.
  const auto at =
      fmt::format("{}/caches/{}/{}/{}", options_.root, name->folder(), name->name(), key.second.text());
  std::error_code error;
  const bool is_old = std::filesystem::is_directory(std::filesystem::symlink_status(at, error));
  places_[key].is_old = is_old && (!is_complete_ || uses.contains(key));
  if (places_[key].is_old) { return {}; }
  const MutexLock lock{store_.mutex};
  const auto placed = store_.store.place(*name, key.second, now.wall);
  if (!placed) { return because(placed.error()); }
  if (placed->what == Adoption::Different) {
    log::warn("a tree of an older version is not what its image has, and is left alone",
              {{"cache", key.first.text()}, {"first difference", placed->detail}});
  }
  return {};
}

void Reconciler::placeAll(Now now, const Uses& uses) {
  for (const auto& [cache, image] : wanted_->images) {
    const Key key{cache, *image.image.digest};
    const auto job = jobs_.find(cache);
    const bool has_come = job != jobs_.end() && job->second.is_over && job->second.how &&
                          job->second.job.image.image == image.image;
    const auto placed = places_.find(key);
    const bool is_placed = placed != places_.end();
    const bool may_be_taken_over = is_placed && placed->second.is_old && is_complete_ && !uses.contains(key);
    if (!has_come && !isGiven(cache, image)) { continue; }
    if (!is_placed || may_be_taken_over) {
      if (Status done = place(key, now, uses); !done) {
        places_.erase(key);
        if (job != jobs_.end()) { job->second.how = because(done.error()); }
        continue;
      }
    }
    places_.at(key).given_by = image.image.name();
    showPresent(cache, image);
  }
}

void Reconciler::showPresent(const model::ObjectKey& cache, const kcache::WantedImage& image) {
  const Tree* tree = treeOf(*image.image.digest);
  const auto name = nameOf(cache);
  if (tree == nullptr || !name) { return; }
  Present present{.image = *image.image.digest,
                  .reference = image.written,
                  .bytes = static_cast<std::uint64_t>(tree->bytes),
                  .compatible_gpus = {},
                  .incompatible_gpus = {}};
  if (tree->targets) {
    auto match = kcache::match(*tree->targets, wanted_->gpus);
    present.compatible_gpus = std::move(match.matched);
    present.incompatible_gpus = std::move(match.unmatched);
  }
  std::string& trouble = places_.at({cache, present.image}).show_error;
  const auto known = presents_.find(cache);
  if (known != presents_.end() && known->second == present) { return trouble.clear(); }
  const Status wrote = writePresent(options_.root, *name, present, disk_);
  const std::string now = wrote ? "" : wrote.error().message;
  if (!now.empty() && now != trouble) {
    log::warn("new pods cannot be told of an image", {{"cache", cache.text()}, {"why", now}});
  }
  trouble = now;
  if (!wrote) { return; }
  presents_.insert_or_assign(cache, std::move(present));
}

const Reconciler::Tree* Reconciler::treeOf(const Digest& image) {
  const auto known = trees_.find(image);
  if (known != trees_.end()) { return &known->second; }
  const MutexLock lock{store_.mutex};
  const auto record = store_.store.tree(image);
  if (!record) { return nullptr; }
  Tree tree{.bytes = static_cast<std::int64_t>(record->bytes),
            .on_disk = Shares::roomOf(record->bytes, record->files + record->folders)};
  if (!record->summary.empty()) {
    if (auto targets = kcache::parseSummary(record->summary)) { tree.targets = *std::move(targets); }
  }
  return &trees_.insert_or_assign(image, std::move(tree)).first->second;
}

// ---- taking away

bool Reconciler::mustTakeAway(const Uses& uses) const {
  const auto isOver = [&](const model::ObjectKey& cache) {
    return !wanted_->images.contains(cache) && !wanted_->undecided.contains(cache);
  };
  const bool hides =
      std::any_of(presents_.begin(), presents_.end(), [&](const auto& one) { return isOver(one.first); });
  return hides || std::any_of(places_.begin(), places_.end(), [&](const auto& one) {
           const auto& [key, place] = one;
           const auto present = presents_.find(key.first);
           const bool is_shown = present != presents_.end() && present->second.image == key.second;
           return !isWanted(key) && !wanted_->undecided.contains(key.first) && !uses.contains(key) &&
                  (!is_shown || isOver(key.first));
         });
}

/// Caches that are over give no new pod anything.
void Reconciler::hidePresents(std::string& trouble) {
  for (auto it = presents_.begin(); it != presents_.end();) {
    const auto name = nameOf(it->first);
    const bool stays = wanted_->images.contains(it->first) || wanted_->undecided.contains(it->first) || !name;
    if (stays) {
      ++it;
      continue;
    }
    if (const Status hid = removePresent(options_.root, *name, disk_); !hid) {
      say(trouble, hid.error());
      ++it;
    } else {
      it = presents_.erase(it);
    }
  }
}

/// The store first: who holds it may be at it for long, and nobody can mount while the uses are locked.
void Reconciler::takeAway(Now now, std::string& trouble) {
  const MutexLock store_lock{store_.mutex};
  const auto lock = usage_.lock(Usage::Hold::Alone, options_.lock_limit);
  if (!lock) { return; }  // somebody mounts: next time
  hidePresents(trouble);
  const auto uses = readUses();
  if (!uses) { return say(trouble, uses.error()); }
  learnComplete();  // behind the uses: who empties the folder takes both away
  if (!is_complete_) { return; }
  for (auto it = places_.begin(); it != places_.end();) {
    auto& [key, place] = *it;
    const auto present = presents_.find(key.first);
    const bool is_shown = present != presents_.end() && present->second.image == key.second;
    const auto name = nameOf(key.first);
    const bool is_mounted = uses->contains(key) && !GS_MUTANT(TakesMounted);
    const bool stays =
        isWanted(key) || wanted_->undecided.contains(key.first) || is_mounted || is_shown || !name;
    if (stays) {
      place.unload_error.clear();
      ++it;
      continue;
    }
    static_cast<void>(store_.store.touch(key.second, now.wall));  // it was of use until now
    if (const Status gone = store_.store.unplace(*name, key.second); !gone) {
      place.unload_error = gone.error().message;
      ++it;
    } else {
      it = places_.erase(it);
    }
  }
  sweep(now, *uses, trouble);
}

void Reconciler::sweep(Now now, const Uses& uses, std::string& trouble) {
  if (now.mono < next_sweep_) { return; }
  next_sweep_ = now.mono + options_.sweep_every;
  std::set<Digest> in_use = claims_.needed();  // with the store locked: nobody counts on more meanwhile
  for (const auto& [key, pods] : uses) {
    if (!GS_MUTANT(TakesMounted)) { in_use.insert(key.second); }
  }
  for (const auto& [key, place] : places_) { in_use.insert(key.second); }
  for (const auto& [cache, present] : presents_) { in_use.insert(present.image); }
  for (const auto& [cache, image] : wanted_->images) {
    // Who is refused an image, or cannot get it, does not keep what others had of it on the node.
    const auto job = jobs_.find(cache);
    const bool has_failed = job != jobs_.end() && job->second.is_over && !job->second.how;
    if (!has_failed) { in_use.insert(*image.image.digest); }
  }
  const auto swept = store_.store.sweep(in_use, options_.sweep, now.wall);
  if (!swept) { return say(trouble, swept.error()); }
  for (const Digest& image : swept->trees) {
    trees_.erase(image);
    log::info("an image that nothing uses was taken away", {{"image", image.text()}});
  }
  if (swept->over_quota && !is_over_quota_) {
    log::warn("caches that are in use or wanted have more than the quota: delete some, or raise it",
              {{"bytes", std::to_string(store_.store.bytes())},
               {"quota", std::to_string(options_.sweep.quota)},
               {"inodes", std::to_string(store_.store.inodes())},
               {"quota of inodes", std::to_string(options_.sweep.inode_quota)}});
  }
  is_over_quota_ = swept->over_quota;
}

// ---- telling

kcache::NodeHas Reconciler::told(const Uses& uses) {
  kcache::NodeHas out;
  const auto entry = [&](const model::ObjectKey& cache, const Digest& image) -> HasImage& {
    return out.caches[cache][image.text()];
  };
  for (const auto& [key, pods] : uses) { entry(key.first, key.second).pods = pods; }
  for (const auto& [key, place] : places_) {
    HasImage& mine = entry(key.first, key.second);
    mine.what = place.show_error.empty() ? HasImage::What::Here : HasImage::What::Failed;
    mine.cause = place.show_error.empty() ? "" : "new pods cannot be told of it: " + place.show_error;
    if (const auto damage = damaged_.find(key.second); damage != damaged_.end()) {
      mine.what = HasImage::What::Failed;
      mine.cause = fmt::format("a file of it is damaged on this node's disk ({}): {}", damage->second,
                               wanted_ != nullptr && isWanted(key)
                                   ? "it is fetched again"
                                   : "no cache names it any more; start the pods that have it anew");
    }
    mine.unload_error = place.unload_error;
    if (const Tree* tree = treeOf(key.second)) {
      mine.size = tree->bytes;
      mine.targets = tree->targets;
    }
    if (const auto job = jobs_.find(key.first);
        job != jobs_.end() && *job->second.job.image.image.digest == key.second) {
      mine.attempt = job->second.job.image.attempt;
    }
    // The one that is asked for, though another cache's job has done it: else the next would not be.
    if (wanted_ != nullptr && isWanted(key)) { mine.attempt = wanted_->images.at(key.first).attempt; }
  }
  for (const auto& [cache, job] : jobs_) {
    const Key key{cache, *job.job.image.image.digest};
    const bool is_asked_for_anew = isWanted(key) && !isGiven(cache, wanted_->images.at(cache));
    const bool counts = (is_asked_for_anew || !places_.contains(key)) && (!job.is_over || isWanted(key));
    const bool was_here = job.is_over && job.how && damaged_.contains(key.second);  // it was whole then
    if (!counts || was_here) { continue; }
    HasImage& mine = entry(cache, key.second);
    mine.attempt = job.job.image.attempt;
    if (job.is_over && !job.how) {
      mine.what = HasImage::What::Failed;
      mine.cause = job.how.error().message;
      continue;
    }
    mine.what = HasImage::What::Coming;
    mine.cause = job.failed_before;
    if (const auto total = job.job.progress->total.load(); total > 0) {
      mine.progress = kcache::Progress{
          .bytes = job.job.progress->bytes.load(), .total_bytes = total, .bytes_per_second = job.rate};
    }
  }
  return out;
}

void Reconciler::learnComplete() {
  const auto complete = usage_.isComplete();
  const bool is_now = complete && *complete;
  if (is_complete_ && !is_now) {
    log::warn("nothing is taken away: the CSI driver of this node has not said what is mounted", {});
  }
  is_complete_ = is_now;
}

void Reconciler::learnDamage() {
  const MutexLock lock{store_.mutex};
  if (damaged_ != store_.store.damagedTrees()) { damaged_ = store_.store.damagedTrees(); }
}

/// How fast images come, between two looks.
void Reconciler::measure(Now now) {
  for (auto& [cache, job] : jobs_) {
    const std::int64_t bytes = job.job.progress->bytes.load();
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now.mono - job.looked_at);
    if (passed < std::chrono::seconds{1}) { continue; }
    job.rate =
        job.looked_at == Mono{} ? 0 : std::max<std::int64_t>(0, bytes - job.bytes) * 1000 / passed.count();
    job.bytes = bytes;
    job.looked_at = now.mono;
  }
}

bool Reconciler::wants(const KeeperJob& job) const {
  if (wanted_ == nullptr || wanted_->undecided.contains(job.cache)) { return true; }
  const auto it = wanted_->images.find(job.cache);
  return it != wanted_->images.end() && it->second.image == job.image.image;
}

void Reconciler::withdrawn(const KeeperJob& job) { jobs_.erase(job.cache); }

kcache::NodeHas Reconciler::turn(Now now) {
  std::string trouble;
  auto uses = readUses();
  if (!uses) { say(trouble, uses.error()); }
  learnComplete();
  learnDamage();
  if (wanted_ != nullptr && uses) {
    placeAll(now, *uses);
    const bool is_due = mustTakeAway(*uses) || now.mono >= next_sweep_;
    if (is_due && is_complete_) { takeAway(now, trouble); }
    if (is_due && !is_complete_) { hidePresents(trouble); }
  }
  // Of an emptied folder nobody knows what was in it.
  if (uses && (is_complete_ || !last_uses_)) { last_uses_ = *std::move(uses); }
  measure(now);
  kcache::NodeHas out = told(last_uses_.value_or(Uses{}));
  out.is_known = last_uses_.has_value();
  out.trouble = std::move(trouble);
  return out;
}

}  // namespace gs::cacherim
