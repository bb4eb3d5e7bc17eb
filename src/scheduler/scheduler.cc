// Events in, effects out; leadership. The work on one pod is in reconcile.cc and in the parts.
#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/due.h"
#include "kapi/kinds.h"
#include "model/annotations.h"

namespace gs::scheduler {
namespace {

using kapi::Kind;

constexpr Duration kSweepEvery = std::chrono::seconds{30};
constexpr int kSweepStep = 128;          // pods reconciled per event
constexpr std::size_t kComplaints = 20;  // lines of a sweep about leases
constexpr int kReconcilesPerTurn = 128;  // of those that something changed for
constexpr int kDecisionsPerTurn = 96;    // one is a lease to be written, and more

std::vector<engine::Informers::Source> watched(const Config& config) {
  std::vector<engine::Informers::Source> sources{
      {.kind = kapi::kPod},
      {.kind = kapi::kNode},
      {.kind = kapi::kGpuClaim},
      {.kind = kapi::kGpuNodeStatus},
      {.kind = kapi::kNamespace, .optional = true},  // only a namespaceSelector asks
      // Who may not read them takes pods for unprotected when others have to go.
      {.kind = kapi::kDisruptionBudget, .optional = true},
      // Who may not read them has no nodes with DRA drivers, as far as we are concerned.
      {.kind = kapi::kResourceSlice, .optional = true},
      {.kind = kapi::kDeviceTaintRule, .optional = true},
      {.kind = kapi::kResourceClaim, .optional = true},
      {.kind = kapi::kDeviceClass, .optional = true},
      // And who may not read these places no pod that names a claim of a volume.
      {.kind = kapi::kPersistentVolume, .optional = true},
      {.kind = kapi::kPersistentVolumeClaim, .optional = true},
      {.kind = kapi::kStorageClass, .optional = true},
      {.kind = kapi::kCsiNode, .optional = true},
      {.kind = kapi::kCsiDriver, .optional = true},
      {.kind = kapi::kCsiStorageCapacity, .optional = true},
      {.kind = kapi::kVolumeAttachment, .optional = true},
      {.kind = kapi::kLease,
       .ns = config.lease_namespace,
       .selectors = {std::string{model::kManagedLabel} + "=true", ""}}};
  if (config.default_spread.on()) {
    for (const Kind kind :
         {kapi::kService, kapi::kReplicationController, kapi::kReplicaSet, kapi::kStatefulSet}) {
      sources.push_back({.kind = kind});
    }
  }
  if (config.quota.on()) { sources.push_back(engine::Informers::quotaSource(config.quota)); }
  return sources;
}

}  // namespace

Scheduler::Scheduler(Config config, Rng rng)
    : c_{std::move(config), rng},
      informers_{c_.engine, watched(c_.config), c_.rng, c_.owners, c_.config.listed_to_catch_up},
      node_caches_{c_.config.cache_weight, c_.rng, c_.owners},
      term_{c_.config, c_.owners},
      slots_{c_.config.max_binding_cycles},
      status_revision_{c_},
      desk_{c_.engine, c_.config.max_sharers, c_.parts},
      allocations_{c_.engine, c_.rng, c_.parts},
      volumes_{c_.engine, c_.parts},
      proofs_{c_},
      pending_{c_},
      fetch_first_{c_, node_caches_},
      unschedulable_{c_, pending_, node_caches_, fetch_first_},
      probes_{c_, slots_, pending_},
      binder_{c_, {desk_, allocations_, volumes_, slots_, pending_, proofs_, node_caches_}},
      bound_leases_{c_, desk_, term_.record()},
      leftovers_{c_, desk_, allocations_, term_.record(), pending_, binder_, proofs_},
      nudges_{c_},
      blocked_{c_},
      device_health_{c_},
      slice_statuses_{c_},
      contradictions_{c_},
      claim_warnings_{c_},
      holds_{c_},
      nominator_{c_, holds_},
      asked_binds_{c_, {term_.record(), slots_, pending_, probes_, binder_, leftovers_, holds_}},
      extender_pods_{c_, {pending_, binder_, nominator_, holds_, asked_binds_, node_caches_}},
      extender_preemption_{c_, pending_, holds_},
      preemptor_{c_, besidePreemptor()},
      placer_{c_,
              {term_.record(), slots_, pending_, unschedulable_, probes_, binder_, leftovers_, nominator_,
               preemptor_}} {
  pending_.reservedBy([this](const model::Uid& uid) { return binder_.reserved(uid); });
  pending_.alsoSaid([this](const model::Uid& uid) {
    return AlsoSaid{preemptor_.saidOf(uid), preemptor_.nominatedTo(uid) ? "Nominated" : ""};
  });
  pending_.alsoWrites([this](const model::Uid& uid) { return preemptor_.writes(uid); });
  unschedulable_.alsoHears([this](const model::Pod& pod) {
    if (c_.places(pod)) { preemptor_.wanted(pod); }
  });
  if (node_caches_.on()) {
    c_.engine.decider().setBonus(
        [this](const auto& caches, const auto& node) { return node_caches_.bonus(caches, node); });
  }
}

kapi::Effects Scheduler::start(Now now) {
  c_.now = now;
  if (c_.config.asks_server) { informers_.asksServer(); }
  informers_.start(now, c_.out);
  node_caches_.start(now, c_.out);
  changesApplied();
  wakeAtNextDue();
  informers_.sent(c_.out);
  return std::exchange(c_.out, {});
}

/// What the feed has to say besides the changes that it brought.
void Scheduler::changesApplied() {
  for (const Kind kind : informers_.takeCaughtUp()) { term_.initialSync().caughtUp(kind); }
  if (failure().empty() || term_.stopped()) { return; }
  c_.log(kapi::Level::Error, failure());
  if (!term_.isStandby()) { lose(); }
  term_.stop();
}

void Scheduler::cachesChanged() {
  for (const auto& [ns, node] : node_caches_.takeChanged()) {
    c_.engine.decider().bonusChanged(model::NodeName{node});
    unschedulable_.cachesChanged(ns);
  }
}

kapi::Effects Scheduler::handle(const Event& event, Now now) {
  take(event, now);
  return decide(now);
}

void Scheduler::take(const Event& event, Now now) {
  c_.now = now;
  if (informers_.handle(event, now, c_.out)) {
    // the engine knows
  } else if (node_caches_.handle(event, now, c_.out)) {
    cachesChanged();
  } else if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    if (!term_.handle(*outcome, now, c_.out)) { (void)c_.parts.handle(*outcome, now, c_.out); }
  } else if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    tick();
  }
  changesApplied();
  catchUp();
}

kapi::Effects Scheduler::decide(Now now) {
  c_.now = now;
  if (term_.leads()) {
    work();
  } else {
    c_.engine.forgetTouched();
  }
  wakeAtNextDue();
  informers_.sent(c_.out);
  return std::exchange(c_.out, {});
}

// ---- leadership

void Scheduler::led(const kapi::Leadership& leadership) {
  if (leadership.went_back) {
    informers_.historyWentBack("the leader lease");
    changesApplied();
    return;
  }
  if (!leadership.leading) {
    if (!term_.isStandby()) { lose(); }
    if (leadership.soon && !term_.stopped()) { expectSync(); }
  } else if (term_.mayBegin(leadership.term)) {
    if (!term_.isStandby()) { lose(); }
    expectSync();
    if (term_.stopped()) { return; }  // history went back
    c_.log(kapi::Level::Info, "leading; catching up before deciding",
           {{"term", std::to_string(leadership.term)}});
    term_.begin(leadership.term, c_.rng.uuid(), c_.out);
  }
}

/// What the initial sync will wait for longest is begun: a second watch of each kind.
void Scheduler::expectSync() {
  informers_.expectCatchUp(term_.initialSync().caughtUpKinds(), c_.now, c_.out);
  changesApplied();
}

void Scheduler::lose() {
  c_.log(kapi::Level::Warn, "no longer leading; what was under way is dropped",
         {{"binding_cycles", std::to_string(binder_.cycles())}});
  term_.lose();
  dropUnderWay();
}

void Scheduler::dropUnderWay() {
  c_.parts.reset();
  extender_preemption_.reset();
  slots_.reset();
  c_.engine.blocks().unblockAll();  // whoever decides next finds them anew
  c_.warnings.reset();
  c_.reconciles.reset();
  unreadable_.clear();
}

void Scheduler::followLeadership() {
  for (auto step = term_.advance(c_.now, c_.out); step != LeaderTerm::Step::None;
       step = term_.advance(c_.now, c_.out)) {
    if (step == LeaderTerm::Step::BeganAnew) { dropUnderWay(); }
    if (step == LeaderTerm::Step::Synced) { recover(); }
  }
  if (!term_.isStandby()) { sayTrouble(term_.trouble()); }
}

/// Everybody is reconciled, which adopts or fences what an earlier leader left; then pods are placed.
void Scheduler::recover() {
  c_.engine.synced(
      c_.now.mono);  // the census has the leases, though the reflector may not have listed them yet
  c_.log(kapi::Level::Info, "deciding", {{"pods", std::to_string(c_.cache().pods().size())}});
  binder_.settleBoundPerhaps();
  beginSweep();
  for (const auto& [key, claim] : c_.cache().claims()) { claimTouched(key); }
  for (const auto& [uid, pod] : c_.cache().pods()) {  // before anybody is placed
    if (!pod->bound() && !pod->nominated.empty()) { seeNominations(*pod); }
  }
  slice_statuses_.begin();
}

/// Every managed lease of every namespace, as one consistent list: what is not in it and not newer is gone.
void Scheduler::takeCensus(const InitialSync::Census& census) {
  c_.engine.blocks().unblockAll();
  std::set<model::ObjectKey> listed;
  for (const auto& lease : census.leases) {
    listed.insert(lease->key);
    c_.engine.learn(model::Object{lease}, c_.now.mono);
  }
  std::vector<std::pair<model::ObjectKey, model::Uid>> gone;
  for (const auto& [key, lease] : c_.cache().leases()) {
    if (lease->revision <= census.revision && !listed.contains(key)) { gone.emplace_back(key, lease->uid); }
  }
  for (const auto& [key, uid] : gone) { c_.engine.leaseGone(key, uid, census.revision); }
}

/// Why we do not decide yet: logged when it changes.
void Scheduler::sayTrouble(const std::string& trouble) {
  if (trouble != trouble_ && !trouble.empty()) { c_.log(kapi::Level::Warn, trouble); }
  trouble_ = trouble;
}

// ---- time

void Scheduler::tick() {
  informers_.tick(c_.now, c_.out);
  node_caches_.tick(c_.now, c_.out);
  changesApplied();
  c_.engine.tick(c_.now.mono);
  if (term_.isStandby()) { return; }
  term_.tick(c_.now, c_.out);
  if (!term_.leads()) { return; }
  c_.reconciles.moveDue(c_.now.mono);
  c_.parts.tick(c_.now, c_.out);
  extender_preemption_.tick();
  if (term_.taking() && next_sweep_ <= c_.now.mono && !c_.reconciles.sweeping()) {
    beginSweep();
    unschedulable_.refresh(true);
    unschedulable_.lookAgainAtSome();
    unschedulable_.retireClasses();
    device_health_.forgetGoneNodes();
  }
}

/// Everybody is to be reconciled, some at each event, so that no event takes long.
void Scheduler::beginSweep() {
  next_sweep_ = c_.now.mono + kSweepEvery;
  std::vector<model::Uid> everybody;
  const auto is_ours = [this](const model::Pod& pod) { return c_.ours(pod) && !pod.finished(); };
  for (const auto& [uid, pod] : c_.cache().pods()) {
    if (is_ours(*pod)) { everybody.push_back(uid); }
  }
  for (const auto& [uid, leases] : c_.cache().leasesByHolder()) {
    const model::Pod* pod = c_.cache().pod(uid);
    if (pod == nullptr || !is_ours(*pod)) { everybody.push_back(uid); }  // each once, though it may have many
  }
  c_.reconciles.sweep(std::move(everybody));
  complainOfMalformedLeases();
}

/// Each lease once. While versions change, all of them may be of another format: they share a line.
void Scheduler::complainOfMalformedLeases() {
  const auto& malformed = c_.cache().malformedLeases();
  using Reason = std::pair<bool, std::string_view>;  // whether it goes by itself, and why it cannot be read
  std::map<Reason, std::pair<const model::Lease*, std::size_t>> news;  // one of them, and how many
  for (const auto& key : malformed) {
    const model::Lease* lease = c_.cache().lease(key);
    const Reason reason{lease->other_format && !lease->uids().empty(), lease->malformed};
    const auto said = unreadable_.find(key);
    if (said != unreadable_.end() && said->second == lease->malformed) { continue; }
    if (news.size() == kComplaints && !news.contains(reason)) { continue; }
    unreadable_[key] = lease->malformed;
    ++news.try_emplace(reason, lease, 0).first->second.second;
  }
  std::erase_if(unreadable_, [&](const auto& said) { return !malformed.contains(said.first); });
  for (const auto& [reason, which] : news) {
    const auto& [lease, count] = which;
    c_.log(kapi::Level::Warn,
           reason.first ? "GPU leases are of another version's format; nothing has to be done"
                        : "a managed lease cannot be read; delete it by hand once no pod runs on its GPU",
           {{"lease", lease->key.text()}, {"leases", std::to_string(count)}, {"why", lease->malformed}});
  }
}

void Scheduler::sweepSome() {
  for (int i = 0; i < kSweepStep; ++i) {
    const auto uid = c_.reconciles.takeOfSweep();
    if (!uid) { break; }
    reconcile(*uid);
    binder_.readOverdue(*uid);
  }
  if (!c_.reconciles.sweeping()) { term_.adopted(); }
}

/// What came of what the parts asked for, and whether we lead from now on.
void Scheduler::catchUp() {
  status_revision_.pump();
  if (auto census = term_.initialSync().takeCensus()) { takeCensus(*census); }
  for (const auto& want : term_.initialSync().takeCatchUps()) {
    informers_.catchUp(want.kind, want.revision, c_.now, c_.out);
    changesApplied();
  }
  followLeadership();
  for (auto& [uid, object] : pending_.takeTold()) {
    c_.engine.learn(object, c_.now.mono);
    c_.reconciles.add(std::move(uid));
  }
}

void Scheduler::claimTouched(const model::ObjectKey& claim) {
  pending_.claimTouched(claim);
  claim_warnings_.touched(claim);
}

/// What binding cycles wish for is written as far as it can be now. True: some of it came to something.
bool Scheduler::pumpDesks() {
  bool is_news = false;
  const auto pump = [&](auto& desk) {
    desk.pump(c_.now.mono, c_.out);
    for (const auto& notice : desk.takeNotices()) {
      noticed(notice);
      is_news = true;
    }
  };
  pump(desk_);
  pump(volumes_);
  pump(allocations_);
  return is_news;
}

/// Carries on until nothing is left to do now.
void Scheduler::work() {
  nudges_.look(c_.engine.touchedNodes());
  sweepSome();
  placer_.followQuotas();
  int decisions = kDecisionsPerTurn;  // some come to nothing at once, and others follow them
  for (int left = kReconcilesPerTurn;;) {
    reconcileSome(left);
    if (term_.deciding()) { placer_.placeSome(decisions); }
    const bool is_news = pumpDesks();
    if (!is_news && (c_.reconciles.empty() || left == 0)) { break; }
  }
  if (term_.deciding()) { preempt(); }
  for (const auto pod_class : fetch_first_.takeAsked()) { unschedulable_.readSoon(pod_class); }
  asked_binds_.settle();
  extender_pods_.settle();
  unschedulable_.tellSome();
  blocked_.pump();
  for (const auto& claim : c_.engine.takeTouchedClaims()) { claimTouched(claim); }
  pending_.pump([this](const model::Uid& uid) { return podWriteOpen(uid); });
  claim_warnings_.pump();
  contradictions_.pump();
  slice_statuses_.pump(term_.taking() && informers_.knowSlices(), binder_.cycles() > 0);
  queue_sizes_ = c_.engine.queue().sizes();
  queue_sizes_.ready += pending_.heldBack();
  queue_sizes_.unschedulable += pending_.blocked();
}

void Scheduler::wakeAtNextDue() {
  auto due = soonest({c_.engine.nextDue(), status_revision_.nextDue(), term_.nextDue()});
  if (term_.leads()) {
    due = soonest({due, c_.parts.nextDue(), extender_preemption_.nextDue(), c_.reconciles.nextDue()});
    if (term_.taking()) {
      due = soonest(
          {due, placer_.nextDue(), std::optional{next_sweep_}});  // equivalent: the record wakes it too
    }
    const bool more = c_.reconciles.sweeping() || !c_.reconciles.empty() || unschedulable_.hasUntold() ||
                      contradictions_.hasMore() || (term_.taking() && placer_.hasMore()) ||
                      (term_.deciding() && preemptor_.hasMore());
    if (more) { due = c_.now.mono; }
  }
  if (due) { c_.out.emplace_back(kapi::Wake{std::max(*due, c_.now.mono)}); }
}

// ---- what others are told

bool Scheduler::underWay() const {
  return binder_.underWay() || leftovers_.callsUnderWay() > 0 || probes_.callsUnderWay() > 0 ||
         proofs_.underWay() > 0 || volumes_.callsUnderWay() > 0 || c_.events.waiting();
}

std::size_t Scheduler::rememberedForTest() const {
  return c_.parts.size() + c_.warnings.size() + holds_.size() + extender_preemption_.size();
}

std::string Scheduler::answersNobodyBecause() const {
  if (term_.deciding()) { return ""; }
  return leading() ? "this replica leads and is catching up with the cluster; ask again"
                   : "this replica does not lead";
}

Readiness Scheduler::readiness() const {
  Readiness out = informers_.readiness();
  node_caches_.note(out);
  out.note("role", term_.isStandby() ? "standby" : term_.leads() ? "leader" : "leader, recovering");
  const LeaseRecord& record = term_.record();
  if (!term_.isStandby() && !record.settled()) { out.need("lease-namespace", false, record.trouble()); }
  if (c_.config.quota.on()) { out.note("quota", c_.engine.quota().state()); }
  if (bound_leases_.failing() > 0) {  // others are placed all the same
    out.note("lease-repairs", fmt::format("{} leases of running pods cannot be written: {}",
                                          bound_leases_.failing(), bound_leases_.oneFailure()));
  }
  if (const auto example = contradictions_.example(); !example.empty()) {  // nor does this keep others
    out.note("contradictions",
             fmt::format("{} facts about GPUs contradict others: {}", contradictions_.size(), example));
  }
  if (term_.recovering()) {
    if (const auto text = term_.initialSync().trouble(); !text.empty()) { out.note("initial-sync", text); }
  }
  return out;
}

}  // namespace gs::scheduler
