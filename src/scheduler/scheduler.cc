// Events in, effects out; leadership. The work on one pod is in review.cc, placing.cc and binding.cc.
#include "scheduler/scheduler.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/planted.h"
#include "kapi/paths.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "scheduler/metrics.h"

namespace gs::scheduler {
namespace {

using model::Kind;

constexpr Duration kSweepEvery = std::chrono::seconds{30};
constexpr Duration kCensusEvery = std::chrono::minutes{10};
constexpr Duration kRecordEvery = std::chrono::seconds{10};
constexpr Duration kBoundUnseen = std::chrono::seconds{10};
constexpr int kSweepStep = 256;       // pods reviewed per event
constexpr int kReviewsPerTurn = 512;  // of those that something changed for

std::vector<engine::Feed::Source> watched(const Config& config) {
  std::vector<engine::Feed::Source> sources{{.kind = Kind::Pod},
                                            {.kind = Kind::Node},
                                            {.kind = Kind::GpuClaim},
                                            {.kind = Kind::GpuNodeStatus},
                                            {.kind = Kind::Lease,
                                             .ns = config.lease_namespace,
                                             .selectors = {std::string{model::kManagedLabel} + "=true", ""}}};
  if (config.quota.on()) { sources.push_back(engine::Feed::quotaSource(config.quota)); }
  return sources;
}

}  // namespace

Scheduler::Scheduler(Config config, Rng rng)
    : config_{std::move(config)},
      rng_{rng},
      record_{config_.lease_namespace, config_.scheduler_name},
      desk_{engine_, config_.max_sharers},
      recorder_{config_.scheduler_name, config_.instance, Rng{rng_.next()}},
      events_{recorder_},
      reporter_{engine_.cache(), recorder_, config_.max_pending_writes},
      claims_{engine_.cache(),
              {[this](const model::Uid& uid) {
                 const auto it = waiting_text_.find(uid);
                 return it == waiting_text_.end() ? std::string{} : *it->second;
               },
               [this](const model::Uid& uid) {
                 const Grant* g = grantOf(uid);
                 return g != nullptr && reserved(*g);
               }}},
      feed_{engine_, watched(config_), rng_},
      slots_{config_.max_open_grants} {
  engine_.configureQuota(config_.quota);
}

kapi::Effects Scheduler::start(Now now) {
  now_ = now;
  feed_.start(now, out_);
  fed();
  wakeAtNextDue();
  feed_.sent(out_);
  return std::exchange(out_, {});
}

/// What the feed has to say besides the changes that it brought.
void Scheduler::fed() {
  for (const Kind kind : feed_.takeCaughtUp()) { barrier_.caughtUp(kind); }
  if (!failure().empty() && (taking_ || phase_ != Phase::Standby)) {
    log(kapi::Level::Error, failure(), {});
    taking_ = false;
    if (phase_ != Phase::Standby) { lose(); }
  }
}

namespace {

bool isDeletion(const Event& event) {
  const auto* seen = std::get_if<kapi::WatchEvent>(&event);
  return seen != nullptr && seen->type == kapi::WatchType::Deleted;
}

}  // namespace

kapi::Effects Scheduler::handle(const Event& event, Now now) {
  now_ = now;
  if (GS_PLANTED(StandbyIsDeaf) && phase_ == Phase::Standby && isDeletion(event)) { return {}; }
  if (feed_.handle(event, now, out_)) {
    // the engine knows
  } else if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    route(*outcome);
  } else if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    tick();
  }
  fed();
  settle();
  wakeAtNextDue();
  feed_.sent(out_);
  return std::exchange(out_, {});
}

void Scheduler::route(const kapi::Outcome& outcome) {
  switch (kapi::tokenOwner(outcome.token)) {
    case Barrier::kOwner: barrier_.handle(outcome, now_.mono, out_); return;
    case LeaseRecord::kOwner: record_.handle(outcome, now_.mono); return;
    case LeaseDesk::kOwner: desk_.handle(outcome, now_.mono); return;
    case kapi::EventSender::kOwner: events_.handle(outcome, now_.mono); return;
    case ClaimStatusWriter::kOwner: claims_.handle(outcome, now_.mono); return;
    case Reporter::kOwner:
      if (const auto uid = reporter_.handle(outcome, now_); uid && !uid->empty()) {
        engine_.learn(outcome.object, now_.mono);
        review_.insert(*uid);
      }
      return;
    default: break;
  }
  if (outcome.token == status_call_) { return statusRevisionTold(outcome); }
  if (const auto look = block_calls_.extract(outcome.token)) {
    return blockedLookedAt(look.mapped(), outcome);
  }
  const auto it = calls_.find(outcome.token);
  if (it == calls_.end()) { return; }  // of an earlier term
  const Pending pending = it->second;
  calls_.erase(it);
  review_.insert(pending.uid);
  if (pending.purpose == Purpose::ProveGone) {
    goneProven(pending.uid, outcome);
    return;
  }
  if (pending.purpose == Purpose::FenceRepair) {
    repairFenced(pending.uid, outcome);
    return;
  }
  if (pending.purpose == Purpose::Probe) {
    probed(pending.uid, outcome);
    return;
  }
  Grant* grant = grantOf(pending.uid);
  if (grant == nullptr || grant->call != outcome.token) { return; }
  grant->call = 0;
  switch (pending.purpose) {
    case Purpose::Bind: bindAnswered(*grant, outcome); break;
    case Purpose::ReadAfterConflict: conflictRead(*grant, outcome); break;
    case Purpose::FenceGrant: fenceAnswered(*grant, outcome); break;
    case Purpose::ReadBound: engine_.learn(outcome.object, now_.mono); break;
    case Purpose::ProveGone:
    case Purpose::Probe:
    case Purpose::FenceRepair: break;
  }
}

void Scheduler::call(kapi::Call c, Purpose purpose, const model::Uid& uid) {
  c.token = nextToken();
  c.guarded = c.verb != kapi::Verb::Get;
  if (c.guarded) { c.lane = "pod/" + uid.text; }
  calls_[c.token] = {purpose, uid};
  if (purpose == Purpose::FenceRepair) {
    repairs_[uid].call = c.token;
  } else if (purpose != Purpose::ProveGone && purpose != Purpose::Probe) {
    grantOf(uid)->call = c.token;
    slots_.goOn(uid);
  }
  out_.emplace_back(std::move(c));
}

void Scheduler::led(const kapi::Leadership& leadership) {
  if (leadership.went_back) {
    feed_.historyWentBack("the leader lease");
    fed();
    return;
  }
  if (!leadership.leading) {
    if (phase_ != Phase::Standby) { lose(); }
    if (leadership.soon && taking_) { expectBarrier(); }
  } else if (taking_ && (phase_ == Phase::Standby || leadership.term != term_)) {
    if (phase_ != Phase::Standby) { lose(); }
    term_ = leadership.term;
    begin();
  }
}

/// What the barrier will wait for longest is begun: a second watch of each kind.
void Scheduler::expectBarrier() {
  feed_.expectCatchUp(barrier_.caughtUpKinds(), now_, out_);
  fed();
}

void Scheduler::begin() {
  phase_ = Phase::Recovering;
  expectBarrier();
  log(kapi::Level::Info, "leading; catching up before deciding", {{"term", std::to_string(term_)}});
  barrier_open_ = false;
  record_.start(
      rng_.uuid(),
      out_);  // the barrier comes after it: while another scheduler may still write, no census is worth anything
}

void Scheduler::lose() {
  log(kapi::Level::Warn, "no longer leading; what was under way is dropped",
      {{"grants", std::to_string(grants_.size())}});
  phase_ = Phase::Standby;
  dropUnderWay();
  barrier_.reset();
  record_.reset();
}

/// What was decided is forgotten. Its leases stay, and are adopted or fenced by whoever leads next, we ourselves perhaps.
void Scheduler::dropUnderWay() {
  const std::set<sched::ClassId> parked = engine_.queue().parkedClasses();
  for (const auto pod_class : parked) { engine_.queue().unpark(pod_class); }
  for (const auto& [uid, item] : queued_) { engine_.queue().remove(uid); }
  queued_.clear();
  for (const auto& [uid, grant] : grants_) {
    if (grant.boundPerhaps()) { bound_perhaps_[uid] = placingOf(grant); }
  }
  grants_.clear();
  repairs_.clear();
  calls_.clear();
  proving_.clear();
  probes_.clear();
  slots_.reset();
  held_back_.clear();
  attempts_.reset();
  in_vain_.clear();
  proofs_.reset();
  lease_repairs_.reset();
  blocked_looks_.reset();
  block_calls_.clear();
  engine_.unblockDevices();  // whoever decides next finds them anew
  failing_.clear();
  warned_.clear();
  unreadable_.clear();
  waiting_text_.clear();
  first_seen_.clear();  // the next term sees them for the first time: who ends meanwhile is not reviewed
  parked_.clear();
  untold_.clear();  // equivalent: who is not parked is not told
  refresh_at_.reset();
  review_later_.clear();
  sweep_.clear();
  adopted_ = false;
  unchecked_ = 0;
  review_.clear();
  desk_.reset();
  events_.reset();
  reporter_.reset();
  claims_.reset();
}

/// The barrier is passed: everybody is reviewed, which adopts or fences what an earlier leader left; then pods are placed.
void Scheduler::recover() {
  phase_ = Phase::Leading;
  engine_.synced(now_.mono);  // the census has the leases, though the reflector may not have listed them yet
  log(kapi::Level::Info, "deciding", {{"pods", std::to_string(engine_.cache().pods().size())}});
  next_census_ = now_.mono + kCensusEvery;
  next_record_ = now_.mono + kRecordEvery;
  had_record_ = record_.ours();
  settleBoundPerhaps();
  beginSweep();
  for (const auto& [key, claim] : engine_.cache().claims()) { claims_.touched(key); }
  if (before_deciding_) { before_deciding_(now_); }
}

/// Pods that came to something while we did not lead: the engine knows of those that are bound; others are gone, or wait.
void Scheduler::settleBoundPerhaps() {
  std::vector<model::Uid> over;
  for (const auto& [uid, sent] : bound_perhaps_) {
    const model::Pod* pod = engine_.cache().pod(uid);
    if (pod == nullptr || pod->bound() || pod->finished()) { over.push_back(uid); }
  }
  for (const auto& uid : over) {
    if (engine_.cache().pod(uid) == nullptr) {
      endBoundPerhaps(uid);
    } else {
      bound_perhaps_.erase(uid);
    }
  }
}

void Scheduler::touchClaimOf(const model::Uid& uid) {
  const model::Pod* pod = engine_.cache().pod(uid);
  if (pod == nullptr) { return; }
  if (auto claim = sched::claimName(*pod); !claim.empty()) {
    claims_.touched({pod->key.ns, std::move(claim)});
  }
}

/// Every managed lease of every namespace, as one consistent list: what is not in it and not newer is gone.
void Scheduler::takeCensus(const Barrier::Census& census) {
  engine_.unblockDevices();
  std::set<model::ObjectKey> listed;
  for (const auto& lease : census.leases) {
    listed.insert(lease->key);
    engine_.learn(model::Object{lease}, now_.mono);
  }
  std::vector<std::pair<model::ObjectKey, model::Uid>> gone;
  for (const auto& [key, lease] : engine_.cache().leases()) {
    if (lease->revision <= census.revision && !listed.contains(key)) { gone.emplace_back(key, lease->uid); }
  }
  for (const auto& [key, uid] : gone) { engine_.leaseGone(key, uid, census.revision); }
}

/// A lease that is not ours is none that we watch: what took the name of one is read now and then.
void Scheduler::lookAtBlocked() {
  for (const auto& device : engine_.takeBlocked()) { blocked_looks_.tried(device, now_.mono); }
  for (const auto& device : blocked_looks_.takeDue(now_.mono)) {
    if (!engine_.blocked().contains(device)) {
      blocked_looks_.forget(device);
      continue;
    }
    kapi::Call call = kapi::getObject(Kind::Lease, leaseKey(device.first, device.second));
    call.token = nextToken();
    block_calls_.emplace(call.token, device);
    out_.emplace_back(std::move(call));
  }
}

void Scheduler::blockedLookedAt(const std::pair<model::NodeName, int>& device, const kapi::Outcome& outcome) {
  if (outcome.notFound()) {
    engine_.unblockDevice(device);
    blocked_looks_.forget(device);
    return;
  }
  const auto* lease = std::get_if<model::Ptr<model::Lease>>(&outcome.object);
  if (lease != nullptr && (*lease)->managed) { engine_.learn(outcome.object, now_.mono); }
  if (engine_.blocked().contains(device)) {
    blocked_looks_.tried(device, now_.mono, outcome.retry_after);
  } else {
    blocked_looks_.forget(device);
  }
}

/// Pods ended without a word on their containers: what agents see counts from now on only.
void Scheduler::askStatusRevision() {
  const auto number = engine_.wantsStatusRevision();
  if (!number || status_call_ != 0 || now_.mono < status_call_not_before_) { return; }
  kapi::Call call = kapi::listObjects(Kind::GpuNodeStatus, "", 1);
  call.token = status_call_ = nextToken();
  status_number_ = *number;
  out_.emplace_back(std::move(call));
}

void Scheduler::statusRevisionTold(const kapi::Outcome& outcome) {
  status_call_ = 0;
  if (outcome.fate == kapi::Fate::Applied) {
    status_call_failures_ = 0;
    engine_.tellStatusRevision(status_number_, outcome.list_revision);
  } else {
    const kapi::RetryTerms terms{std::chrono::seconds{1}, std::chrono::seconds{5}};  // GPUs wait for it
    status_call_not_before_ =
        now_.mono + kapi::retryWait(++status_call_failures_, outcome.retry_after, terms);
  }
}

void Scheduler::tick() {
  feed_.tick(now_, out_);
  fed();
  engine_.tick(now_.mono);
  if (phase_ == Phase::Standby) { return; }
  barrier_.tick(now_.mono, out_);
  record_.tick(now_.mono, out_);
  events_.tick(now_.mono, out_);
  if (phase_ != Phase::Leading) { return; }
  while (!review_later_.empty() && review_later_.begin()->first <= now_.mono) {
    review_.insert(review_later_.extract(review_later_.begin()).mapped());
  }
  for (auto& uid : attempts_.takeDue(now_.mono)) { review_.insert(std::move(uid)); }
  for (auto& uid : proofs_.takeDue(now_.mono)) { review_.insert(std::move(uid)); }
  for (auto& [uid, lease] : lease_repairs_.takeDue(now_.mono)) { review_.insert(std::move(uid)); }
  if (refresh_at_ && *refresh_at_ <= now_.mono) { refreshParked(false); }
  if (!taking_) { return; }
  if (next_census_ <= now_.mono && !barrier_.censusRunning()) {
    next_census_ = now_.mono + kCensusEvery;
    barrier_.startCensus(out_);
  }
  if (next_record_ <= now_.mono) {
    next_record_ = now_.mono + kRecordEvery;
    record_.recheck(now_.mono);
  }
  if (next_sweep_ <= now_.mono && sweep_.empty()) {
    beginSweep();
    refreshParked(true);
    retireClasses();
  }
}

/// Everybody is to be reviewed, some at each event, so that no event takes long.
void Scheduler::beginSweep() {
  next_sweep_ = now_.mono + kSweepEvery;
  std::map<model::Uid, std::string> unreadable;
  const auto is_ours = [this](const model::Pod& pod) { return ours(pod) && !pod.finished(); };
  for (const auto& [uid, pod] : engine_.cache().pods()) {
    if (is_ours(*pod)) { sweep_.push_back(uid); }
  }
  for (const auto& [uid, leases] : engine_.cache().leasesByHolder()) {
    const model::Pod* pod = engine_.cache().pod(uid);
    if (pod == nullptr || !is_ours(*pod)) { sweep_.push_back(uid); }  // each once, though it may have many
  }
  for (const auto& key : engine_.cache().malformedLeases()) {
    const model::Lease* lease = engine_.cache().lease(key);
    const auto said = unreadable_.find(lease->uid);
    unreadable.emplace(lease->uid, lease->malformed);
    if (said == unreadable_.end() || said->second != lease->malformed) {
      log(kapi::Level::Warn, "a managed lease cannot be read; delete it by hand once no pod runs on its GPU",
          {{"lease", key.text()}, {"why", lease->malformed}});
    }
  }
  unreadable_ = std::move(unreadable);
}

void Scheduler::sweepSome() {
  for (int i = 0; i < kSweepStep && !sweep_.empty(); ++i) {
    const model::Uid uid = std::move(sweep_.back());
    sweep_.pop_back();
    review(uid);
    Grant* grant = grantOf(uid);
    if (grant != nullptr && grant->stage == Stage::Bound && grant->call == 0 &&
        now_.mono - grant->not_before > kBoundUnseen) {
      call(kapi::getObject(model::Kind::Pod, grant->pod), Purpose::ReadBound, uid);  // its event is overdue
    }
  }
  if (sweep_.empty()) { adopted_ = true; }
}

/// One event may concern very many pods, all of a claim say: the others have their turn at the next, in a circle, so that who is
/// touched all the time keeps nobody from it.
void Scheduler::reviewSome(int& left) {
  if (review_.empty()) {
    review_ = engine_.takeTouched();
  } else {
    review_.merge(engine_.takeTouched());
  }
  while (left > 0 && !review_.empty()) {
    const auto next = review_.upper_bound(last_reviewed_);
    last_reviewed_ = review_.extract(next == review_.end() ? review_.begin() : next).value();
    --left;
    review(last_reviewed_);
    if (review_.empty()) { review_.merge(engine_.takeTouched()); }
  }
}

/// Carries on until nothing is left to do now.
void Scheduler::settle() {
  askStatusRevision();
  if (auto census = barrier_.takeCensus()) { takeCensus(*census); }
  for (const auto& want : barrier_.takeCatchUps()) {
    feed_.catchUp(want.kind, want.revision, now_, out_);
    fed();
  }
  if (phase_ != Phase::Standby) {
    record_.tick(now_.mono, out_);
    sayTrouble(record_.trouble().empty() ? barrier_.error() : record_.trouble());
  }
  had_record_ = had_record_ && record_.ours();
  const bool came = record_.ours() && !had_record_;
  if (phase_ == Phase::Leading && (came || !record_.settled())) {
    // The CRD came: before the first lease, all leases are read again. Or the record names another namespace: nothing more
    // is decided until it is ours.
    dropUnderWay();
    phase_ = Phase::Recovering;
    barrier_open_ = false;
  }
  if (phase_ == Phase::Recovering && record_.settled() && !std::exchange(barrier_open_, true)) {
    barrier_.start(out_);
  }
  if (phase_ == Phase::Recovering && barrier_open_ && (barrier_.done() || GS_PLANTED(NoBarrier)) &&
      record_.settled()) {
    recover();
  }
  if (phase_ != Phase::Leading) {
    engine_.forgetTouched();
    return;
  }
  sweepSome();
  followQuotas();
  for (int left = kReviewsPerTurn;;) {
    reviewSome(left);
    scheduleSome();
    desk_.pump(now_.mono, out_);
    const auto notices = desk_.takeNotices();
    for (const auto& notice : notices) { noticed(notice); }
    if (notices.empty() && (review_.empty() || left == 0)) { break; }
  }
  tellSome();
  lookAtBlocked();
  for (const auto& claim : engine_.takeTouchedClaims()) { claims_.touched(claim); }
  if (taking_) {
    reporter_.pump(
        now_.mono, now_, [this](const model::Uid& uid) { return podWriteOpen(uid); }, out_);
  }
  claims_.pump(now_.mono, out_);
  queue_sizes_ = engine_.queue().sizes();
  queue_sizes_.ready += held_back_.size();
}

void Scheduler::wakeAtNextDue() {
  std::optional<Mono> due;
  const auto sooner = [&](std::optional<Mono> at) {
    if (at) { due = due ? std::min(*due, *at) : *at; }
  };
  sooner(engine_.nextDue());
  if (engine_.wantsStatusRevision() && status_call_ == 0) { sooner(status_call_not_before_); }
  if (phase_ != Phase::Standby) {
    sooner(barrier_.nextDue());
    sooner(record_.nextDue());
  }
  if (phase_ == Phase::Leading) {
    sooner(desk_.nextDue());
    sooner(events_.nextDue());
    sooner(claims_.nextDue());
    if (const auto ns = engine_.queue().nextDueNs()) { sooner(Mono{Duration{*ns}}); }
    sooner(attempts_.nextDue());
    sooner(proofs_.nextDue());
    sooner(lease_repairs_.nextDue());
    sooner(blocked_looks_.nextDue());
    sooner(refresh_at_);
    if (!review_later_.empty()) { sooner(review_later_.begin()->first); }
    if (taking_) {
      sooner(reporter_.nextDue());
      sooner(next_sweep_);  // equivalent: next_record_ wakes it as often
      sooner(next_census_);
      sooner(next_record_);
    }
    const bool more =
        !sweep_.empty() || !review_.empty() || !untold_.empty() ||
        (taking_ && (unchecked_ > 0 || brought_back_ || (engine_.queue().ready() && slots_.any())));
    if (more) { sooner(now_.mono); }
  }
  if (due) { out_.emplace_back(kapi::Wake{std::max(*due, now_.mono)}); }
}

/// Why we do not decide yet: logged when it changes.
void Scheduler::sayTrouble(const std::string& trouble) {
  if (trouble != trouble_ && !trouble.empty()) { log(kapi::Level::Warn, trouble, {}); }
  trouble_ = trouble;
}

bool Scheduler::underWay() const {
  return !calls_.empty() || events_.waiting() ||
         std::any_of(grants_.begin(), grants_.end(),
                     [](const auto& grant) { return grant.second.stage != Stage::Bound; });
}

std::size_t Scheduler::rememberedForTest() const {
  return grants_.size() + bound_perhaps_.size() + repairs_.size() + queued_.size() + waiting_text_.size() +
         first_seen_.size() + warned_.size() + proving_.size() + probes_.size() + held_back_.size() +
         attempts_.size() + in_vain_.size() + failing_.size();
}

Readiness Scheduler::readiness() const {
  Readiness r;
  r.leading = phase_ == Phase::Leading;
  bool ok = feed_.check(r.checks);
  const char* role = phase_ == Phase::Standby   ? "standby"
                     : phase_ == Phase::Leading ? "leader"
                                                : "leader, recovering";
  r.checks.emplace_back("role", role);
  if (phase_ != Phase::Standby && !record_.settled()) {
    ok = false;
    r.checks.emplace_back("lease-namespace", record_.trouble());
  }
  if (config_.quota.on()) { r.checks.emplace_back("quota", engine_.quota().state()); }
  if (!failing_.empty()) {  // others are placed all the same
    r.checks.emplace_back("lease-repairs", fmt::format("{} leases of running pods cannot be written: {}",
                                                       failing_.size(), failing_.begin()->second));
  }
  if (phase_ == Phase::Recovering) {
    if (const auto text = barrier_.trouble(); !text.empty()) { r.checks.emplace_back("barrier", text); }
  }
  r.ready = ok;
  return r;
}

void Scheduler::log(kapi::Level level, std::string message,
                    std::vector<std::pair<std::string, std::string>> fields) {
  out_.emplace_back(kapi::Log{level, std::move(message), std::move(fields)});
}

void Scheduler::count(const char* metric, std::vector<std::pair<std::string, std::string>> labels,
                      double by) {
  out_.emplace_back(kapi::Metric{kapi::MetricOp::Add, metric, std::move(labels), by});
}

}  // namespace gs::scheduler
