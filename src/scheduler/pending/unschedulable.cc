#include "scheduler/pending/unschedulable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "model/annotations.h"

namespace gs::scheduler {
namespace {

constexpr Duration kRefreshGap = std::chrono::seconds{1};  // between two rounds through what pods are told
constexpr Duration kRefreshTurn = std::chrono::milliseconds{50};  // between two parts of a round
constexpr std::size_t kMaxClasses = 4096;   // over it, or with many rules, those without a pod are forgotten
constexpr std::size_t kMostRetired = 8192;  // at once
constexpr std::size_t kFewNodes = 512;      // looking at all of them is cheap
constexpr std::size_t kClassesPerTurn = 4'096;
constexpr std::size_t kActivatedPerTurn = 256;
constexpr std::size_t kToldPerTurn = 512;
constexpr std::uint64_t kLooksPerRejection = Unschedulable::kLooksPerTurn / 2;

}  // namespace

/// Where classes are being looked at in turn, this one has its turn too, and so have all others.
std::vector<model::Uid> Unschedulable::markUnschedulable(sched::EquivalenceClass pod_class) {
  sched::Queue& queue = c_.engine.queue();
  const std::size_t before = queue.unschedulableAnywhere().size();
  auto untold = queue.markUnschedulable(pod_class, c_.engine.decider().request(pod_class).on_node);
  if (unchecked_ > 0) { unchecked_ += queue.unschedulableAnywhere().size() - before; }
  return untold;
}

void Unschedulable::refreshSoon() {
  if (!refresh_at_) { refresh_at_ = c_.now.mono + kRefreshGap; }
}

/// Where it takes a look at many nodes to find new words, the old ones do until refresh() comes to them.
/// Where it takes too long to find the first ones they are told then.
void Unschedulable::reject(sched::EquivalenceClass pod_class) {
  sched::Decider& decider = c_.engine.decider();
  const bool cheap = decider.remembersRejection(pod_class) || c_.engine.ledger().size() <= kFewNodes;
  if (cheap || !words_.contains(pod_class)) {
    sched::RejectionBoard once;
    auto now = decider.rejection(pod_class, kLooksPerRejection, once);
    if (now) { return reject(pod_class, *std::move(now)); }
  }
  tellSoon(pod_class, markUnschedulable(pod_class));
  stale_.insert(pod_class);
  refreshSoon();
}

bool Unschedulable::knowsHolders(const sched::Rejection& rejection) const {
  return std::all_of(rejection.holders.begin(), rejection.holders.end(),
                     [this](const model::Uid& uid) { return c_.cache().pod(uid) != nullptr; });
}

/// As the nodes say it, who holds what is not free where that is only a few pods, and where its kernel caches
/// are.
std::string Unschedulable::textOf(sched::EquivalenceClass pod_class, sched::Rejection rejection) const {
  std::string text = std::move(rejection.text);
  if (!rejection.holders.empty() && knowsHolders(rejection)) {
    std::vector<std::string> names;
    for (const auto& uid : rejection.holders) { names.push_back(c_.cache().pod(uid)->key.text()); }
    std::sort(names.begin(), names.end());
    text += fmt::format(" Held by {}.", fmt::join(names, ", "));
  }
  for (const std::string& more : {node_caches_.saidOf(c_.engine.decider().request(pod_class).better_with),
                                  fetch_first_.saidOf(pod_class)}) {
    if (!more.empty()) { text += " " + more; }
  }
  return text;
}

/// Who was told already is told again only when the words changed.
void Unschedulable::reject(sched::EquivalenceClass pod_class, sched::Rejection now) {
  auto untold = markUnschedulable(pod_class);
  fetch_first_.waits(pod_class);
  Rejection& words = words_[pod_class];
  other_numbers_.erase(pod_class);
  if (!knowsHolders(now)) { other_numbers_.insert(pod_class); }  // nothing says when they come to be known
  std::string kind = now.kind;
  const sched::PodReason reason = now.pod_reason;
  std::string text = textOf(pod_class, std::move(now));
  if (words.text == nullptr || *words.text != text || words.pod_reason != reason) {
    words = {std::move(kind), std::make_shared<const std::string>(std::move(text)), reason};
    untold_.erase(pod_class);  // equivalent: some would be told twice
    untold = c_.engine.queue().unschedulablePods(pod_class);
  }
  tellSoon(pod_class, std::move(untold));
}

void Unschedulable::joined(const model::Pod& pod, sched::EquivalenceClass pod_class) {
  const auto words = words_.find(pod_class);
  if (words == words_.end()) { return; }
  pending_.nowhereElse(pod.uid);
  pending_.tell(pod, words->second);
  if (hears_) { hears_(pod); }
}

void Unschedulable::rejoined(const std::vector<sched::EquivalenceClass>& classes) {
  for (const auto pod_class : classes) { tellSoon(pod_class, markUnschedulable(pod_class)); }
  lookAt(classes);
}

void Unschedulable::lookAt(const std::vector<sched::EquivalenceClass>& classes) {
  const auto& unschedulable = c_.engine.queue().unschedulableClasses();
  for (const auto pod_class : classes) {
    if (unschedulable.contains(pod_class)) { woken_.insert(pod_class); }
  }
}

void Unschedulable::lookAgainAtSome() {
  const auto& classes = c_.engine.queue().unschedulableClasses();
  const std::size_t of_all = (classes.size() + kSweepsForAll - 1) / kSweepsForAll;
  const std::size_t most = 1 + kMostLooksAgain / (1 + c_.engine.ledger().size());
  auto it = classes.upper_bound(last_again_);
  for (std::size_t left = std::min(of_all, most); left > 0; --left, ++it) {
    if (it == classes.end()) { it = classes.begin(); }
    last_again_ = *it;
    c_.engine.decider().lookAnew(*it);
    woken_.insert(*it);
  }
}

void Unschedulable::lookAtAll() {
  const sched::Queue& queue = c_.engine.queue();
  unchecked_ = queue.unschedulableAnywhere().size();
  std::set_difference(queue.unschedulableClasses().begin(), queue.unschedulableClasses().end(),
                      queue.unschedulableAnywhere().begin(), queue.unschedulableAnywhere().end(),
                      std::inserter(woken_, woken_.end()));
}

/// Those that wait for it by a name that it has now. (Of a name that it gave away another one has changed.)
void Unschedulable::wake(const sched::NodeState& node) {
  const auto wake_named = [&](const std::string& name) {
    const auto& classes = c_.engine.queue().unschedulableOn(name);
    woken_.insert(classes.begin(), classes.end());
  };
  if (node.by_own_name) { wake_named(node.node.name.text); }
  const auto label = node.by_label ? node.node.labels.find(model::kNodeNameLabel) : node.node.labels.end();
  if (label != node.node.labels.end()) { wake_named(label->second); }
}

void Unschedulable::noteChanges() {
  const sched::Ledger& ledger = c_.engine.ledger();
  bool changed = false;
  const auto follow = [&](const auto& log, std::uint64_t& from) {
    changed = changed || from != log.end();
    if (from < log.begin()) { lookAtAll(); }
    for (std::uint64_t at = std::max(from, log.begin()); at < log.end(); ++at) {
      wake(ledger.at(log.at(at)));
    }
    from = log.end();
  };
  follow(ledger.changes(), checked_changes_);
  follow(ledger.closings(), checked_closings_);
  const std::uint64_t wide = ledger.wideChanges();
  if (std::exchange(checked_wide_, wide) != wide) { lookAtAll(); }
  if (changed) { unchecked_ = c_.engine.queue().unschedulableAnywhere().size(); }
  if (std::exchange(checked_comings_, ledger.comings().end()) != checked_comings_) {
    all_stale_ = true;  // they say how many nodes there are
  }
}

/// False: it is not done, and goes on in the next turn.
bool Unschedulable::look(sched::EquivalenceClass pod_class, std::uint64_t until) {
  sched::Decider& decider = c_.engine.decider();
  const auto standing = decider.look(pod_class, until - decider.looks());
  if (standing == sched::Decider::Standing::Unknown) { return false; }
  if (standing == sched::Decider::Standing::Fits) {
    c_.engine.queue().activate(pod_class);
    ++activated_;
  } else {
    stale_.insert(pod_class);
  }
  return true;
}

/// In turn, as some may be woken again and again.
void Unschedulable::lookAtWoken(std::uint64_t until) {
  while (!woken_.empty() && c_.engine.decider().looks() < until && activated_ < kActivatedPerTurn) {
    auto next = woken_.upper_bound(last_woken_);
    if (next == woken_.end()) { next = woken_.begin(); }
    last_woken_ = *next;
    woken_.erase(next);
    const bool waits = c_.engine.queue().unschedulableClasses().contains(last_woken_);
    if (waits && !look(last_woken_, until)) { woken_.insert(last_woken_); }
  }
}

void Unschedulable::activateFitting() {
  noteChanges();
  sched::Decider& decider = c_.engine.decider();
  const std::uint64_t until = decider.looks() + kLooksPerTurn;
  activated_ = 0;
  // Half of the turn at most, for whoever names one node busily would keep all others waiting.
  lookAtWoken(unchecked_ == 0 ? until : until - kLooksPerTurn / 2);
  for (std::size_t i = 0; i < kClassesPerTurn && activated_ < kActivatedPerTurn && unchecked_ > 0; ++i) {
    if (decider.looks() >= until) { return; }
    const auto next = c_.engine.queue().nextAnywhere(last_checked_);
    if (!next) {
      unchecked_ = 0;
      break;
    }
    if (!look(*next, until)) { return; }  // it goes on there
    last_checked_ = *next;
    --unchecked_;
  }
  if (all_stale_ || !stale_.empty()) { refreshSoon(); }
}

void Unschedulable::readSoon(sched::EquivalenceClass pod_class) {
  stale_.insert(pod_class);
  refreshSoon();
}

/// One round, and another one if something changed meanwhile.
void Unschedulable::refresh(bool numbers_too) {
  refresh_at_.reset();
  if (round_.empty() || numbers_too) { beginRound(numbers_too); }
  const sched::Decider& decider = c_.engine.decider();
  const std::uint64_t until = decider.looks() + kLooksPerTurn;
  while (!round_.empty() && decider.looks() < until) {
    const sched::EquivalenceClass next = *round_.begin();
    if (!readAnew(next)) { break; }
    round_.erase(next);
  }
  if (!round_.empty()) {
    refresh_at_ = c_.now.mono + kRefreshTurn;
  } else if (all_stale_ || !stale_.empty()) {
    refresh_at_ = c_.now.mono + kRefreshGap;
  }
}

void Unschedulable::beginRound(bool numbers_too) {
  round_.merge(std::exchange(stale_, {}));
  if (std::exchange(all_stale_, false)) { round_ = c_.engine.queue().unschedulableClasses(); }
  if (numbers_too) {
    round_.merge(std::exchange(other_numbers_, {}));
    addThoseWithCaches();
  }
  round_tells_numbers_ = numbers_too;
}

/// A cache that comes or goes lets nobody in: nobody is looked at for it, only told.
void Unschedulable::addThoseWithCaches() {
  const auto changed = std::exchange(caches_changed_, {});
  if (changed.empty()) { return; }
  for (const auto pod_class : c_.engine.queue().unschedulableClasses()) {
    const auto& caches = c_.engine.decider().request(pod_class).better_with;
    const bool is_one = std::any_of(caches.begin(), caches.end(),
                                    [&](const auto& cache) { return changed.contains(cache.ns); });
    if (is_one) { round_.insert(pod_class); }
  }
}

/// False: it is not done, and goes on in the next turn.
bool Unschedulable::readAnew(sched::EquivalenceClass pod_class) {
  if (!c_.engine.queue().unschedulableClasses().contains(pod_class)) { return true; }
  if (half_read_.first != pod_class) { half_read_ = {pod_class, {}}; }
  auto now = c_.engine.decider().rejection(pod_class, kLooksPerRejection, half_read_.second);
  if (!now) { return false; }
  half_read_ = {};
  readAnew(pod_class, *std::move(now));
  return true;
}

void Unschedulable::readAnew(sched::EquivalenceClass pod_class, sched::Rejection now) {
  const auto words = words_.find(pod_class);
  const bool same =
      words != words_.end() && words->second.kind == now.kind && words->second.pod_reason == now.pod_reason;
  if (!same || round_tells_numbers_) { return reject(pod_class, std::move(now)); }
  const bool complete = knowsHolders(now);
  if (complete && textOf(pod_class, std::move(now)) == *words->second.text) {
    other_numbers_.erase(pod_class);
  } else {
    other_numbers_.insert(pod_class);
  }
}

void Unschedulable::tellSoon(sched::EquivalenceClass pod_class, std::vector<model::Uid> pods) {
  if (pods.empty()) { return; }
  auto& untold = untold_[pod_class];
  untold.insert(untold.end(), std::make_move_iterator(pods.begin()), std::make_move_iterator(pods.end()));
}

/// Very many may have been unschedulable at once.
void Unschedulable::tellSome() {
  for (std::size_t left = kToldPerTurn; left > 0 && !untold_.empty(); --left) {
    const auto first = untold_.begin();
    const sched::EquivalenceClass pod_class = first->first;
    const model::Uid uid = std::move(first->second.back());
    first->second.pop_back();
    if (first->second.empty()) { untold_.erase(first); }
    const auto words = words_.find(pod_class);
    const model::Pod* pod = c_.cache().pod(uid);
    if (pod == nullptr || words == words_.end() || !pending_.waitsAs(uid, pod_class)) { continue; }
    pending_.nowhereElse(uid);
    if (!pending_.knowsMore(uid, pod_class)) { pending_.tell(*pod, words->second); }
    if (hears_) { hears_(*pod); }
  }
}

void Unschedulable::retireClasses() {
  if (c_.engine.decider().classes() <= kMaxClasses && !c_.engine.hasManyRules()) { return; }
  const std::unordered_set<sched::EquivalenceClass> used = pending_.classes();
  const auto is_used = [&](sched::EquivalenceClass id) { return used.contains(id); };
  c_.engine.decider().retireAllBut(is_used, kMostRetired);
  std::erase_if(words_, [&](const auto& words) { return !is_used(words.first); });
}

void Unschedulable::tick(Now now, kapi::Effects& /*out*/) {
  if (refresh_at_ && *refresh_at_ <= now.mono) { refresh(false); }
}

void Unschedulable::reset() {
  const std::set<sched::EquivalenceClass> unschedulable = c_.engine.queue().unschedulableClasses();
  for (const auto pod_class : unschedulable) { c_.engine.queue().activate(pod_class); }
  words_.clear();
  untold_.clear();  // equivalent: who is not unschedulable is not told
  stale_.clear();
  all_stale_ = false;
  round_.clear();
  half_read_ = {};
  other_numbers_.clear();
  caches_changed_.clear();
  refresh_at_.reset();
  unchecked_ = 0;
  woken_.clear();
}

}  // namespace gs::scheduler
