#include "test/sim/cache_machine.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "kcache/kinds/names.h"

namespace gs::sim {
namespace {

namespace fs = std::filesystem;
using cacherim::CacheName;
using csi::FakeMounts;

constexpr const char* kVolume = "kernels";
constexpr const char* kInMemory = "/dev/shm";  // as POSIX systems have it; else where temporary files are
constexpr std::size_t kMostOfAFile = 4096;
constexpr std::size_t kMostOfARecord = 65536;
constexpr cacherim::JobQueue::Terms kTerms{.workers = 2, .most_begun = 16};  // as Keeper::Options
constexpr std::uint64_t kVerifiedAtOnce = std::uint64_t{1} << 20;            // all that there is
const Duration kToldWithin = csi::NodeService::Options{}.told_within;

std::string newFolder() {
  std::error_code error;
  const bool has_memory = fs::is_directory(kInMemory, error);
  std::string pattern = (has_memory ? fs::path{kInMemory} : fs::temp_directory_path()) / "gs_sim.XXXXXX";
  const char* made = ::mkdtemp(pattern.data());
  GS_CHECK(made != nullptr, "no folder for a machine's caches: {}", pattern);
  return pattern;
}

model::ObjectKey keyOf(const CacheName& cache) { return {cache.ns(), cache.name()}; }

}  // namespace

/// Once it is dead every call fails, so that what its code does on the way out does nothing either.
bool CacheMachine::Process::counts() {
  if (dies_in < 0) { return is_dead; }
  if (dies_in-- == 0) { is_dead = true; }
  return is_dead;
}

CacheMachine::CacheMachine(sandbox::World& world, const CacheRegistry& registry, std::string node)
    : world_{world}, registry_{registry}, node_{std::move(node)}, clock_{world}, folder_{newFolder()} {
  fs::create_directories(folder_ + "/store/caches");
  mounts_.fault = [this](const char* call, bool is_done) -> Status {
    const bool is_change = std::string_view{call} != "list" && !is_done;
    const bool fails = is_change ? driver_.counts() : driver_.is_dead;
    return fails ? Status{fail(Code::Unavailable, call)} : Status{};
  };
  startDriver();
}

CacheMachine::~CacheMachine() {
  *is_there_ = false;
  end();
  service_.reset();
  std::error_code ignored;  // what is left in memory is found by its name
  fs::remove_all(folder_, ignored);
}

cacherim::Disk CacheMachine::diskOf(Process& process) {
  return cacherim::Disk{[this, &process](std::string_view) {
                          if (process.counts()) { return EIO; }
                          return world_.now().mono < full_until_ ? ENOSPC : 0;
                        },
                        false};
}

// ---- the agent's process

void CacheMachine::begin(Now now) {
  agent_ = {};
  began_ = now.mono;
  teller_.emplace(folder_ + "/usage", diskOf(agent_));
  open(now);
}

void CacheMachine::end() {
  agent_.is_dead = true;
  verifier_.reset();
  reconciler_.reset();
  store_.reset();
  queue_.reset();
  jobs_.clear();
  wanted_.reset();
  teller_.reset();
  told_.reset();
}

/// Where that fails it is tried again with the next turn.
void CacheMachine::open(Now /*now*/) {
  auto store = cacherim::Store::open(folder_ + "/store", diskOf(agent_));
  if (!store) { return; }
  auto usage = cacherim::Usage::open(folder_ + "/usage", diskOf(agent_));
  if (!usage) { return; }
  store_ = std::make_unique<cacherim::SharedStore>(*std::move(store));
  reconciler_ = std::make_unique<cacherim::Reconciler>(
      cacherim::Reconciler::Options{
          .root = folder_ + "/store",
          .usage_folder = folder_ + "/usage",
          .sweep = {.most_age = std::chrono::seconds{3}, .layer_grace = std::chrono::seconds{3}},
          .sweep_every = std::chrono::seconds{4},
          .lock_limit = Duration::zero()},
      *store_, claims_, shares_, *std::move(usage), diskOf(agent_));
  if (!reconciler_->begin()) {
    reconciler_.reset();
    store_.reset();
    return;
  }
  queue_.emplace(kTerms);
  verifier_.emplace(*store_);
  reconciler_->want(wanted_);
}

void CacheMachine::mountPaths(kcache::MountPathsPtr paths) {
  if (teller_) { teller_->mountPaths(std::move(paths)); }
}

void CacheMachine::want(kcache::WantedPtr wanted) {
  wanted_ = std::move(wanted);
  if (reconciler_ == nullptr) { return; }
  reconciler_->want(wanted_);
  const auto is_wanted = [&](const cacherim::KeeperJob& job) { return reconciler_->wants(job); };
  for (const auto& job : queue_->dropUnless(is_wanted)) { reconciler_->withdrawn(job); }
  std::erase_if(jobs_, [&](const auto& one) {
    if (is_wanted(one.second.job)) { return false; }
    queue_->ended(one.second.job);
    reconciler_->finished(one.second.job, fail(Code::Conflict, "not wanted any more"));
    return true;
  });
}

void CacheMachine::takeJobs(Now now) {
  for (auto& job : reconciler_->takeJobs()) { queue_->push(std::move(job)); }
  if (wanted_ != nullptr) { queue_->bringForward(wanted_->first); }
  takeTurns(now);
  giveTurns(now);
}

void CacheMachine::takeTurns(Now now) {
  for (auto& [cache, one] : jobs_) {
    const bool is_used = one.since && !one.job.is_here && now.mono - *one.since >= cacherim::JobQueue::kTurn;
    if (!is_used || !queue_->isAwaited()) { continue; }
    one.left -= now.mono - *one.since;
    one.since.reset();
    queue_->rest(cache);
  }
}

void CacheMachine::giveTurns(Now now) {
  while (auto next = queue_->next()) {
    if (auto* begin = std::get_if<cacherim::JobQueue::Begin>(&*next)) {
      const Duration takes = registry_.takes(begin->job.image.image);
      jobs_[begin->job.cache] = {.job = begin->job, .left = takes, .since = now.mono};
    } else if (const auto* go_on = std::get_if<cacherim::JobQueue::GoOn>(&*next)) {
      jobs_.at(go_on->cache).since = now.mono;
    } else {
      const auto job = jobs_.extract(std::get<cacherim::JobQueue::GiveUp>(*next).cache).mapped().job;
      queue_->ended(job);
      reconciler_->finished(job, fail(Code::Unavailable, "it gave its place up"));
    }
  }
}

void CacheMachine::carryOut(const cacherim::KeeperJob& job) {
  cacherim::Fetching how{
      .store = *store_, .claims = claims_, .clock = clock_, .coming = job.coming.get(), .needed = job.needed};
  const auto source = registry_.source(job.image.image);
  const Status done = cacherim::fetchImage(how, *source, job.image.image, *job.progress);
  if (agent_.is_dead) { return; }
  queue_->ended(job);
  reconciler_->finished(job, done);
}

kcache::NodeHasPtr CacheMachine::turn(Now now) {
  if (reconciler_ == nullptr) { open(now); }
  if (!agent_.is_dead) { teller_->turn(now.mono); }
  if (agent_.is_dead) { return nullptr; }
  kcache::NodeHas has;
  if (reconciler_ != nullptr) {
    takeJobs(now);
    for (auto it = jobs_.begin(); it != jobs_.end() && !agent_.is_dead;) {
      const bool is_due = it->second.since && *it->second.since + it->second.left <= now.mono;
      if (!is_due) {
        ++it;
        continue;
      }
      const cacherim::KeeperJob due = it->second.job;
      it = jobs_.erase(it);
      carryOut(due);
    }
    if (!agent_.is_dead) { giveTurns(now); }
    if (!agent_.is_dead && damaged_at_) { static_cast<void>(verifier_->step(kVerifiedAtOnce)); }
    if (!agent_.is_dead) { has = reconciler_->turn(now); }
  } else {
    has.is_known = false;
    has.trouble = "the store cannot be opened";
  }
  if (has.trouble.empty()) { has.trouble = teller_->trouble(); }
  look("the agent's turn");
  if (agent_.is_dead || (told_ != nullptr && *told_ == has)) { return nullptr; }
  told_ = std::make_shared<const kcache::NodeHas>(std::move(has));
  return told_;
}

std::optional<Mono> CacheMachine::nextDue() const {
  std::optional<Mono> due;
  const auto sooner = [&](Mono at) { due = due ? std::min(*due, at) : at; };
  for (const auto& [cache, one] : jobs_) {
    if (!one.since) { continue; }
    sooner(*one.since + one.left);
    const Mono turn_ends = *one.since + cacherim::JobQueue::kTurn;
    if (queue_->isAwaited() && turn_ends > world_.now().mono) { sooner(turn_ends); }
  }
  return due;
}

// ---- the driver's process

void CacheMachine::startDriver() {
  driver_ = {};
  auto usage = cacherim::Usage::open(folder_ + "/usage", diskOf(driver_));
  if (!usage) { return driverEnded(); }
  service_ = std::make_unique<csi::NodeService>(csi::NodeService::Options{.store = folder_ + "/store",
                                                                          .usage = folder_ + "/usage",
                                                                          .target_root = FakeMounts::kRoot,
                                                                          .lock_limit = Duration::zero()},
                                                *std::move(usage), mounts_, &waiting_);
  for (auto& [uid, volume] : volumes_) { volume.waits.reset(); }
  (void)service_->start();  // what it cannot do now it does with the next call
}

void CacheMachine::driverEnded() {
  service_.reset();
  driver_.is_dead = true;
  world_.after(kStartAgain, [this, there = is_there_] {
    if (*there && service_ == nullptr) { startDriver(); }
  });
}

void CacheMachine::crashDriver() {
  if (service_ != nullptr) { driverEnded(); }
}

rpc::PublishRequest CacheMachine::requestOf(const Pod& pod) {
  rpc::PublishRequest out{.volume_id = "",
                          .target_path = mounts_.podVolume(pod.uid, kVolume),
                          .has_capability = true,
                          .is_block = false,
                          .mount_flags = {},
                          .read_only = pod.is_read_only,
                          .context = {{kcache::kCacheAttribute, pod.cache},
                                      {"csi.storage.k8s.io/ephemeral", "true"},
                                      {"csi.storage.k8s.io/pod.name", pod.name},
                                      {"csi.storage.k8s.io/pod.namespace", pod.ns},
                                      {"csi.storage.k8s.io/pod.uid", pod.uid},
                                      {"csi.storage.k8s.io/serviceAccount.name", "default"}}};
  if (!pod.cache_ns.empty()) { out.context[kcache::kNamespaceAttribute] = pod.cache_ns; }
  if (!pod.attribute.empty()) { out.context[kcache::kMountPathAttribute] = pod.attribute; }
  out.volume_id = csi::readTarget(out.target_path, FakeMounts::kRoot)->volume_id;
  return out;
}

bool CacheMachine::publish(const Pod& pod) {
  if (service_ == nullptr) { return false; }
  const auto [it, is_new] = volumes_.try_emplace(pod.uid);
  if (is_new) { it->second = {.pod = pod, .request = requestOf(pod)}; }
  waiting_.of(it->second);
  bool is_done = false;
  try {
    is_done = service_->publish(it->second.request).has_value();
    if (!is_done) { it->second.waits.reset(); }
  } catch (const Waiting::Stands&) { is_done = false; }
  if (driver_.is_dead) { driverEnded(); }
  look("a pod's volume was published");
  return is_done && service_ != nullptr;
}

bool CacheMachine::Waiting::wait(Duration /*time*/) {
  if (!volume_->waits) { volume_->waits = world_.now().mono; }
  if (world_.now().mono - *volume_->waits < kToldWithin) { throw Stands{}; }
  return true;
}

bool CacheMachine::unpublish(const std::string& uid) {
  if (service_ == nullptr) { return false; }
  const rpc::PublishRequest& request = volumes_.at(uid).request;
  const Status done =
      service_->unpublish({.volume_id = request.volume_id, .target_path = request.target_path});
  if (driver_.is_dead) { driverEnded(); }
  look("a pod's volume was taken away");
  if (!done || service_ == nullptr) { return false; }
  if (problem_.empty() && mounts_.top(request.target_path) != nullptr) {
    problem_ = fmt::format("a volume of pod {} is still mounted though that was said to be over", uid);
  }
  mounts_.removePod(uid);
  volumes_.erase(uid);
  return true;
}

void CacheMachine::probe() {
  if (service_ == nullptr) { return; }
  (void)service_->ready();
  if (driver_.is_dead) { driverEnded(); }
}

std::vector<std::string> CacheMachine::published() const {
  std::vector<std::string> out;
  for (const auto& [uid, volume] : volumes_) { out.push_back(uid); }
  return out;
}

// ---- what goes wrong

/// Its agent dies by whoever runs it.
void CacheMachine::reboot() {
  mounts_.mounts.clear();
  for (auto& [uid, volume] : volumes_) { volume.is.clear(); }
  fs::remove_all(folder_ + "/usage");
  crashDriver();
}

void CacheMachine::emptyRun() { fs::remove_all(folder_ + "/usage"); }

bool CacheMachine::tellsPaths() const { return fs::exists(folder_ + "/usage/paths.json"); }

void CacheMachine::calmDown() {
  full_until_ = {};
  agent_.dies_in = driver_.dies_in = -1;
}

// ---- what is there

std::vector<CacheMachine::Mounted> CacheMachine::mounted() const {
  std::vector<Mounted> out;
  for (const auto& mount : mounts_.mounts) {
    const auto target = csi::readTarget(mount.shown.target, FakeMounts::kRoot);
    out.push_back({target->pod_uid, keyOf(*mount.shown.cache), *mount.shown.image});
  }
  return out;
}

std::vector<std::pair<model::ObjectKey, std::string>> CacheMachine::placed() const {
  std::vector<std::pair<model::ObjectKey, std::string>> out;
  for (const auto& scope : fs::directory_iterator{folder_ + "/store/caches"}) {
    if (!scope.is_directory()) { continue; }
    for (const auto& cache : fs::directory_iterator{scope.path()}) {
      const auto name =
          CacheName::fromFolder(scope.path().filename().string(), cache.path().filename().string());
      if (!name) { continue; }
      for (const auto& link : fs::directory_iterator{cache.path()}) {
        if (link.is_symlink()) { out.emplace_back(keyOf(*name), link.path().filename().string()); }
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void CacheMachine::damage(int which, Damage how) {
  const DamageDone done = damageStore(folder_ + "/store", which, how);
  if (!done.is_any) { return; }
  gone_.insert(done.gone.begin(), done.gone.end());
  damaged_at_ = world_.now().mono;
}

/// "" where there is no such tree, too.
std::string CacheMachine::damagedFileOf(const kcache::Digest& image) const {
  const fs::path tree = fs::path{folder_} / "store/trees" / image.hex();
  const auto* files = damaged_at_ && fs::exists(tree) ? CacheRegistry::filesOf(image) : nullptr;
  if (files == nullptr) { return ""; }
  for (const auto& [path, text] : *files) {
    const std::string at = tree / "root" / path;
    const auto has = readFile(at, kMostOfAFile);
    if (!has || *has != text) { return at; }
  }
  return "";
}

Mono CacheMachine::hinderedAt() const {
  const Mono full = std::min(full_until_, world_.now().mono);
  return std::max({began_, full, damaged_at_.value_or(Mono{})});
}

/// Its record, and the files that name others by paths, from which a driver makes those of a mount.
bool CacheMachine::isUndamaged(const FakeMounts::Mounted& mount) const {
  const auto record = readFile(fs::path{mount.tree}.parent_path() / "record.json", kMostOfARecord);
  if (!record || record->starts_with(kDamaged)) { return false; }
  for (const auto& [path, text] : *CacheRegistry::filesOf(*mount.shown.image)) {
    const auto has = namesPaths(path) ? readFile(mount.tree + '/' + path, kMostOfAFile) : text;
    if (!has || *has != text) { return false; }
  }
  return true;
}

/// A pod has its own place, which the attribute says, or the agent told: the driver has waited for that, but
/// where there is no agent's file.
std::set<std::string> CacheMachine::placesOf(const Volume& of) const {
  const bool has_waited = of.waits && world_.now().mono - *of.waits >= kToldWithin;
  const bool is_told = !of.pod.attribute.empty() || knows_places_ || (tellsPaths() && !has_waited);
  std::set<std::string> out{of.pod.is};
  if (!is_told || of.is_of_damaged) { out.insert(kSharedPlace); }
  return out;
}

/// `text`: what all pods share. Nothing is made of a damaged file.
std::string CacheMachine::wrongFile(const FakeMounts::Mounted& mount, const std::string& path,
                                    const std::string& text, const Volume& of) const {
  const std::string at = mount.tree + '/' + path;
  const auto shared = readFile(at, kMostOfAFile);
  const bool is_damaged = shared ? isDamagedText(*shared, text) : gone_.contains(at);
  if (!shared && !is_damaged) { return fmt::format("has no {} any more, or not yet", path); }
  if (!is_damaged && *shared != text) { return fmt::format("has another {}", path); }
  const auto own = mount.paths.find(path);
  if (own == mount.paths.end() && (is_damaged || !namesPaths(path))) { return ""; }
  if (!namesPaths(path)) { return fmt::format("has a copy of {}", path); }
  const std::string& shown = own == mount.paths.end() ? text : own->second;
  const bool is_right = std::any_of(of.is.begin(), of.is.end(),
                                    [&](const auto& place) { return shown == textAt(text, place); });
  return is_right ? "" : fmt::format("has a {} that is not for {}", path, fmt::join(of.is, " or "));
}

std::string CacheMachine::wrongWith(const FakeMounts::Mounted& mount) {
  const auto* files = CacheRegistry::filesOf(*mount.shown.image);
  if (files == nullptr) { return "is of no image that there is"; }
  Volume& of = volumes_.at(csi::readTarget(mount.shown.target, FakeMounts::kRoot)->pod_uid);
  if (of.is.empty()) {
    of.is_of_damaged = !isUndamaged(mount);
    of.is = placesOf(of);
  }
  for (const auto& [path, text] : mount.paths) {
    if (!files->contains(path)) { return fmt::format("has a {} that its image has not", path); }
  }
  for (const auto& [path, text] : *files) {
    if (std::string wrong = wrongFile(mount, path, text, of); !wrong.empty()) { return wrong; }
  }
  return "";
}

void CacheMachine::look(const char* after) {
  std::erase_if(gone_, [](const fs::path& path) { return fs::exists(path); });
  for (const auto& mount : mounts_.mounts) {
    if (!problem_.empty()) { return; }
    if (const std::string wrong = wrongWith(mount); !wrong.empty()) {
      problem_ = fmt::format("on {} what a pod has mounted of {} {} after {}", node_,
                             keyOf(*mount.shown.cache).text(), wrong, after);
    }
  }
}

std::string CacheMachine::left(bool by_age) const {
  if (!mounts_.mounts.empty()) { return node_ + " has volumes mounted of pods that are gone"; }
  if (!volumes_.empty()) { return node_ + " cannot take a volume away"; }
  if (!placed().empty()) { return node_ + " has images of caches that are gone"; }
  if (by_age && !fs::is_empty(folder_ + "/store/trees")) { return node_ + " has trees that nobody uses"; }
  if (const auto uses = service_ ? service_->uses() : std::vector<cacherim::VolumeUse>{};
      !uses || !uses->empty()) {
    return node_ + " has uses of pods that are gone";
  }
  return "";
}

}  // namespace gs::sim
