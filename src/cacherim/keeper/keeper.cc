#include "cacherim/keeper/keeper.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cacherim/keeper/verifier.h"

namespace gs::cacherim {
namespace {

constexpr std::uint64_t kVerifiedAtOnce = std::uint64_t{16} << 20;  // bytes, so that an end is heard
constexpr Duration kLongestWait = std::chrono::seconds{1};          // of one piece, so that an end is heard

}  // namespace

Duration ByteRate::take(std::size_t bytes) {
  if (per_second_ == 0) { return Duration::zero(); }
  const Mono now = clock_.now().mono;
  const auto time = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>{static_cast<double>(bytes) / static_cast<double>(per_second_)});
  const MutexLock lock{mutex_};
  const Mono from = std::max(now, free_at_);
  free_at_ = from + time;
  return from - now;
}

Keeper::Keeper(Options options, Outside outside, Disk disk, const Clock& clock, Pause& pause)
    : options_{std::move(options)},
      outside_{std::move(outside)},
      disk_{std::move(disk)},
      clock_{clock},
      pause_{pause},
      rate_{options_.bytes_per_second, clock},
      shares_{options_.quota},
      teller_{options_.reconciler.usage_folder, disk_} {}

void Keeper::start() {
  threads_.push_back(std::make_unique<Worker>("keeper", [this](const std::stop_token&) { run(); }));
  threads_.push_back(
      std::make_unique<Worker>("paths", [this](const std::stop_token&) { teller_.run(clock_); }));
  for (int i = 0; i < std::max(options_.workers, options_.most_begun); ++i) {
    threads_.push_back(std::make_unique<Worker>("fetch", [this](const std::stop_token&) { work(); }));
  }
}

void Keeper::stop() {
  {
    const MutexLock lock{mutex_};
    is_stopping_ = true;
    for (auto& [cache, one] : under_way_) { endEarly(one); }
  }
  pause_.cancel();
  teller_.stop();
  news_.close();
  to_do_.close();
  threads_.clear();
}

void Keeper::want(kcache::WantedPtr wanted) { news_.push(std::move(wanted)); }

// ---- the thread that keeps

std::unique_ptr<Reconciler> Keeper::open() {
  const auto failed = [this](const Error& error) {
    kcache::NodeHas has;
    store_.reset();  // and its lock
    has.trouble = error.message;
    has.is_known = false;
    tell(std::move(has));
    return std::unique_ptr<Reconciler>{};
  };
  auto store = Store::open(options_.reconciler.root, disk_);
  if (!store) { return failed(store.error()); }
  auto usage = Usage::open(options_.reconciler.usage_folder, disk_);
  if (!usage) { return failed(usage.error()); }
  store_ = std::make_unique<SharedStore>(*std::move(store));
  auto out =
      std::make_unique<Reconciler>(options_.reconciler, *store_, claims_, shares_, *std::move(usage), disk_);
  if (const Status begun = out->begin(); !begun) { return failed(begun.error()); }
  return out;
}

void Keeper::run() {
  std::unique_ptr<Reconciler> reconciler = open();
  for (; reconciler == nullptr; reconciler = open()) {
    if (auto news = news_.pop(clock_.now().mono + kAgain)) {
      if (auto* wanted = std::get_if<kcache::WantedPtr>(&*news)) { wanted_ = std::move(*wanted); }
    }
    if (news_.drained()) { return; }
  }
  reconciler->want(wanted_);
  const Worker verifying{"verify",
                         [this](const std::stop_token& stop) { verify(stop); }};  // ends with the pause
  JobQueue queue{
      {.workers = options_.workers, .most_begun = std::max(options_.workers, options_.most_begun)}};
  while (true) {
    for (auto& job : reconciler->takeJobs()) { queue.push(std::move(job)); }
    if (wanted_ != nullptr) { queue.bringForward(wanted_->first); }
    takeTurns(queue);
    giveTurns(queue);
    tell(reconciler->turn(clock_.now()));
    count(queue.waiting() + to_do_.size());
    const Mono next = clock_.now().mono + options_.look;
    if (auto news = news_.pop(next)) { hear(*reconciler, queue, *std::move(news)); }
    if (news_.drained()) { return; }
  }
}

/// A second's bytes, then a second of rest, at the lowest I/O priority (not every disk's scheduler has any).
void Keeper::verify(const std::stop_token& stop) {
  if (options_.verify_rate == 0) { return; }
  static_cast<void>(
      ::syscall(SYS_ioprio_set, 1 /* this thread */, 0, 3 << 13 /* idle */));  // no more than a wish
  Verifier verifier{*store_};
  do {
    for (std::uint64_t left = options_.verify_rate; left > 0 && !stop.stop_requested();) {
      const std::uint64_t some = verifier.step(std::min(left, kVerifiedAtOnce));
      verified_ = verifier.verified();
      left -= some == 0 ? left : std::min(left, some);
    }
  } while (!stop.stop_requested() && pause_.wait(std::chrono::seconds{1}));
}

void Keeper::hear(Reconciler& reconciler, JobQueue& queue, News news) {
  if (auto* wanted = std::get_if<kcache::WantedPtr>(&news)) {
    wanted_ = std::move(*wanted);
    reconciler.want(wanted_);
    const auto is_wanted = [&](const KeeperJob& job) { return reconciler.wants(job); };
    for (const KeeperJob& job : queue.dropUnless(is_wanted)) { reconciler.withdrawn(job); }
    cancelUnless(is_wanted);
  } else if (const auto* ended = std::get_if<FetchEnd>(&news)) {
    queue.ended(ended->job);
    reconciler.finished(ended->job, ended->how);
    const MutexLock lock{mutex_};
    under_way_.erase(ended->job.cache);
  }
}

// ---- turns

void Keeper::takeTurns(JobQueue& queue) {
  const Mono now = clock_.now().mono;
  const MutexLock lock{mutex_};
  for (auto& [cache, one] : under_way_) {
    const bool is_used = now - one.turn_began >= options_.turn ||
                         one.job.progress->came - one.turn_bytes >= JobQueue::kTurnBytes;
    if (!one.has_turn || one.job.is_here || !is_used || !queue.isAwaited()) { continue; }
    one.has_turn = false;
    queue.rest(cache);
  }
}

void Keeper::giveTurns(JobQueue& queue) {
  while (auto next = queue.next()) {
    if (auto* begin = std::get_if<JobQueue::Begin>(&*next)) {
      {
        const MutexLock lock{mutex_};
        UnderWay& one = under_way_[begin->job.cache];
        one = UnderWay{.job = begin->job};
        giveTurn(one);
      }
      to_do_.push(std::move(begin->job));
      continue;
    }
    const MutexLock lock{mutex_};
    if (const auto* go_on = std::get_if<JobQueue::GoOn>(&*next)) {
      giveTurn(under_way_.at(go_on->cache));
    } else {
      endEarly(under_way_.at(std::get<JobQueue::GiveUp>(*next).cache));
    }
  }
}

void Keeper::giveTurn(UnderWay& to) {
  to.has_turn = true;
  to.is_used = false;
  to.turn_began = clock_.now().mono;
  to.turn_bytes = to.job.progress->came;
  changed_.notifyAll();
}

void Keeper::endEarly(UnderWay& one) {
  one.is_over = true;
  if (one.source != nullptr) { one.source->cancel(); }
  changed_.notifyAll();
}

bool Keeper::mayGoOn(const KeeperJob& job) {
  const MutexLock lock{mutex_};
  UnderWay& mine = under_way_.at(job.cache);
  const bool is_used = job.progress->came - mine.turn_bytes >= JobQueue::kTurnBytes;
  if (mine.has_turn && is_used && !std::exchange(mine.is_used, true)) { news_.tryPush(TurnUsed{}); }
  if (mine.has_turn || mine.is_over) { return !mine.is_over; }
  const Mono rests = clock_.now().mono;
  while (!mine.has_turn && !mine.is_over && !is_stopping_) { changed_.wait(mutex_); }
  job.progress->waited = job.progress->waited.load() + (clock_.now().mono - rests);
  return !mine.is_over && !is_stopping_;
}

bool Keeper::goesOn(const KeeperJob& job) {
  const MutexLock lock{mutex_};
  return !is_stopping_ && !under_way_.at(job.cache).is_over;
}

void Keeper::tell(kcache::NodeHas has) {
  if (has.trouble.empty()) { has.trouble = teller_.trouble(); }
  if (told_ != nullptr && *told_ == has) { return; }
  told_ = std::make_shared<const kcache::NodeHas>(std::move(has));
  outside_.tell(told_);
}

void Keeper::count(std::size_t waiting) {
  KeeperFigures now{.under_way = {}, .waiting = waiting};
  {
    const MutexLock lock{store_->mutex};
    now.store_bytes = store_->store.bytes();
    now.store_inodes = store_->store.inodes();
    now.store = store_->store.counters();
    now.damaged_images = store_->store.damagedTrees().size();
  }
  const MutexLock lock{mutex_};
  counted_ = std::move(now);
}

KeeperFigures Keeper::figures() const {
  const MutexLock lock{mutex_};
  KeeperFigures out = counted_;
  for (const auto& [cache, one] : under_way_) { out.under_way.push_back(one.job); }
  out.fetched_bytes = totals_.fetched;
  out.unpacked_bytes = totals_.unpacked;
  out.verified_bytes = verified_;
  return out;
}

// ---- the threads that fetch

void Keeper::work() {
  while (auto job = to_do_.pop()) {
    FetchEnd end = carryOut(*std::move(job));
    if (outside_.ended) { outside_.ended(end); }
    news_.push(std::move(end));
  }
}

FetchEnd Keeper::carryOut(KeeperJob job) {
  FetchEnd out{.job = std::move(job)};
  out.how = outside_.admit(out.job.cache, out.job.image);
  if (!out.how) { return out; }
  out.was_admitted = true;
  const Mono began = clock_.now().mono;
  out.how = fetch(out.job);
  out.time = clock_.now().mono - began;
  return out;
}

Status Keeper::fetch(const KeeperJob& job) {
  auto made = outside_.sources(job.cache, job.image);
  if (!made) { return because(made.error()); }
  ImageSource& source = **made;
  if (!begin(job, source)) { return wasToEnd(job.image.image); }
  const Mono began = clock_.now().mono;
  bool is_too_slow = false;
  Fetching how{.store = *store_,
               .claims = claims_,
               .clock = clock_,
               .architecture = options_.architecture,
               .mount_path = options_.mount_path,
               .limits = options_.limits,
               .is_here = job.is_here,
               .pace =
                   [&](std::size_t bytes) {
                     if (!mayGoOn(job)) { return false; }
                     is_too_slow = isTooSlow(*job.progress, clock_.now().mono - began, leastRate());
                     if (is_too_slow) { return false; }
                     for (Duration left = rate_.take(bytes); left > Duration::zero(); left -= kLongestWait) {
                       if (!pause_.wait(std::min(left, kLongestWait))) { return false; }
                     }
                     return true;
                   },
               .goes_on = [&] { return goesOn(job); },
               .totals = &totals_,
               .coming = job.coming.get(),
               .needed = job.needed};
  Status out = fetchImage(how, source, job.image.image, *job.progress);
  end(job);
  if (out || !is_too_slow) { return out; }
  return fail(
      Code::Unavailable,
      fmt::format("the registry gave {} bytes in {} s: too slow", job.progress->came.load(),
                  std::chrono::duration_cast<std::chrono::seconds>(clock_.now().mono - began).count()));
}

std::uint64_t Keeper::leastRate() const {
  const std::uint64_t ours = options_.bytes_per_second / static_cast<std::uint64_t>(2 * options_.workers);
  return ours == 0 ? kLeastRate : std::min(kLeastRate, ours);
}

bool isTooSlow(const FetchProgress& progress, Duration time, std::uint64_t least) {
  const Duration by_registry = time - progress.waited.load();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(by_registry - Keeper::kGrace).count();
  return seconds > 0 &&
         static_cast<std::uint64_t>(progress.came.load()) < least * static_cast<std::uint64_t>(seconds);
}

bool Keeper::begin(const KeeperJob& job, ImageSource& source) {
  const MutexLock lock{mutex_};
  UnderWay& mine = under_way_.at(job.cache);
  if (is_stopping_ || mine.is_over) { return false; }
  mine.source = &source;
  return true;
}

void Keeper::cancelUnless(const std::function<bool(const KeeperJob&)>& is_wanted) {
  const MutexLock lock{mutex_};
  for (auto& [cache, one] : under_way_) {
    if (!is_wanted(one.job)) { endEarly(one); }
  }
}

void Keeper::end(const KeeperJob& job) {
  const MutexLock lock{mutex_};
  under_way_.at(job.cache).source = nullptr;
}

}  // namespace gs::cacherim
