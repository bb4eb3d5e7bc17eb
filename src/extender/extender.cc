// Requests: who is asked for what, and which node it gets. What comes of it is in grants.cc.
#include "extender/extender.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <tuple>

#include "extender/protocol/reasons.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "sched/doors/vcuda.h"
#include "sched/placement/what_if.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr std::size_t kMostGangs = 4096;
constexpr std::size_t kMostObjects = 1000;  // of one request: each costs a look at a node of its own
constexpr const char* kStopping = "this replica is stopping";
constexpr const char* kNotConfirmed = "its Binding was not confirmed; ask again";
constexpr const char* kBindsAlready = "a Binding of this pod is under way";

std::string nameOf(const model::Pod& pod) { return fmt::format("pod {}", pod.key.text()); }

/// Where the caller asks about this node; nullopt: it does not.
std::optional<std::size_t> positionOf(const Candidates& c, const model::NodeName& node) {
  const NodeTable::Index wanted = c.table->find(node.text);
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    if (c.nodes[i] == wanted && wanted != NodeTable::kUnknown) { return i; }
  }
  for (const auto& [i, object] : c.objects) {
    if (object->name == node) { return i; }
  }
  return std::nullopt;
}

/// Empty: nothing is known of it, and its object was not given.
model::NodeName nodeAt(const Candidates& c, std::size_t i) {
  const auto object = c.objects.find(i);
  if (object != c.objects.end()) { return object->second->name; }
  return c.nodes[i] == NodeTable::kUnknown ? model::NodeName{} : model::NodeName{c.table->name(c.nodes[i])};
}

/// The tightest that fits, but for those of `left_out` (sorted).
std::optional<std::size_t> bestOf(const Answer& a, const Candidates& c,
                                  const std::vector<model::NodeName>& left_out = {}) {
  std::optional<std::size_t> best;
  const auto isBefore = [&](std::size_t i, std::size_t j) {
    const auto free = [&](std::size_t k) {
      const sched::NodeStanding& s = *standingAt(a, c, k);
      return std::tuple{s.free_milli, s.free_mib};
    };
    return free(i) != free(j) ? free(i) < free(j) : nodeAt(c, i) < nodeAt(c, j);
  };
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(a, c, i);
    if (standing == nullptr || standing->refused || (best && !isBefore(i, *best))) { continue; }
    if (!std::binary_search(left_out.begin(), left_out.end(), nodeAt(c, i))) { best = i; }
  }
  return best;
}

bool fitsShares(const sched::NodeState& node, const sched::PodRequest& request, const model::Uid& self,
                sched::Meter* /*meter*/) {
  return sched::fitShares(node, request, self).has_value();
}

/// A Binding that came to nothing, perhaps for its node: not for the pod's version, nor since it is gone, nor
/// since the API server is busy.
bool isOfTheNode(const kapi::Outcome& outcome) {
  return outcome.result != kapi::CallResult::Applied && outcome.result != kapi::CallResult::NotSent &&
         outcome.http != 404 && outcome.http != 409 && outcome.http != 429;
}

}  // namespace

const sched::NodeStanding* standingAt(const Answer& a, const Candidates& c, std::size_t i) {
  const auto object = a.of_objects.find(i);
  if (object != a.of_objects.end()) { return &object->second; }
  const bool known = a.standings != nullptr && c.nodes[i] < a.standings->size();
  return known ? &(*a.standings)[c.nodes[i]] : nullptr;
}

Extender::Extender(engine::Engine& engine, Config config, Rng rng)
    : engine_{engine},
      config_{std::move(config)},
      rng_{rng},
      board_{engine.ledger()},
      preemption_{engine, fitsShares} {
  engine_.noteShares();
}

void Extender::lead(Now now) {
  now_ = now;
  leading_ = true;
  quotas_unread_ = engine_.quota().awaited();
  std::vector<const model::Pod*> claimants;
  for (const auto& [uid, pod] : engine_.cache().pods()) {
    if (grantOf(uid) == nullptr && claims(*pod)) { claimants.push_back(pod.get()); }
  }
  adoptAll(claimants);
  for (const model::Pod* pod : claimants) { plan(pod->uid); }
}

void Extender::stopTaking() {
  taking_ = false;
  why_not_ = kStopping;
}

void Extender::giveUp() {
  stopTaking();
  standBy(kStopping);
}

void Extender::standBy(std::string why) {
  leading_ = false;
  why_not_ = std::move(why);
  const auto refuse = [&](const std::vector<Caller>& waiting) {
    for (const Caller& w : waiting) { answer(w, Kind::Unavailable, why_not_); }
  };
  for (auto& [uid, grant] : grants_) { refuse(grant.callers.takeAll()); }
  refuse(binding_.takeAll());
  grants_.clear();
  due_.clear();
  calls_.clear();
  troubles_.reset();
  log_.reset();
  gangs_.clear();
  slots_.clear();
  refusals_.reset();
  (void)preemption_.drop();
  for (const auto& [id, w] : std::exchange(preempting_, {})) { answer(w, Kind::Unavailable, why_not_); }
  in_vain_.reset();
  taken_back_.clear();
}

const NodeTablePtr& Extender::table() {
  if (table_ == nullptr || table_->version() != engine_.ledger().comings().end()) {
    table_ = std::make_shared<const NodeTable>(engine_.ledger());
  }
  return table_;
}

void Extender::answer(const Caller& w, Kind kind, std::string text) {
  Answer a;
  a.kind = kind;
  a.text = std::move(text);
  answer(w, std::move(a));
}

void Extender::answer(const Caller& w, Answer a) {
  if (auto line = log_.lineOf(w.request, a, now_.mono)) { out_.emplace_back(*std::move(line)); }
  replies_.give(w.request_id, std::move(a), now_.mono);
}

bool Extender::usesThisTable(const Caller& w) {
  if (w.request.candidates.table == table()) { return true; }
  Answer a;
  a.kind = Kind::NewTable;
  a.table = table();
  answer(w, std::move(a));
  return false;
}

void Extender::ask(RequestId request_id, Request request, Now now) {
  now_ = now;
  const Mono asked = request.asked == Mono{} ? now.mono : std::min(request.asked, now.mono);
  Caller w{request_id, std::move(request), asked + config_.answer_within};
  if (!leading_ || !taking_) { return answer(w, Kind::Unavailable, why_not_); }
  const Verb verb = w.request.verb;
  // Its caller may have asked somebody else since, and a late decision would undo that one.
  if (now.mono >= w.until) { return answer(w, Kind::Unavailable, "this was asked too long ago"); }
  if (verb == Verb::Deallocate) { return deallocate(w); }
  if (!usesThisTable(w) || needsObjects(w)) { return; }
  const model::Uid uid = verb == Verb::Rank ? model::Uid{} : w.request.pod->uid;
  switch (verb) {
    case Verb::Filter:
    case Verb::Predicate:
    case Verb::Allocate: place(std::move(w)); break;
    case Verb::Look: look(w); break;
    case Verb::Rank: rank(w); break;
    case Verb::Preempt: preempt(std::move(w)); break;
    case Verb::Bind: bind(std::move(w)); break;
    case Verb::Deallocate: break;
  }
  plan(uid);
}

/// Some node in the body is newer than what is known of it: the caller is to read it. Where there are very
/// many, what is known counts of the others.
bool Extender::needsObjects(const Caller& w) {
  const Candidates& c = w.request.candidates;
  Answer a;
  a.kind = Kind::SendObjects;
  for (std::size_t i = 0; i < c.revisions.size(); ++i) {
    if (c.revisions[i] == Candidates::kNoObject) { continue; }
    if (c.revisions[i] == 0 && c.nodes[i] != NodeTable::kUnknown) { continue; }
    const bool older = c.nodes[i] == NodeTable::kUnknown || !engine_.ledger().at(c.nodes[i]).exists ||
                       engine_.ledger().at(c.nodes[i]).node.revision < c.revisions[i];
    if (!older || c.objects.contains(i)) { continue; }
    if (c.objects.size() + a.kept.size() >= kMostObjects) { break; }
    a.kept.push_back(i);
  }
  if (a.kept.empty()) { return false; }
  answer(w, std::move(a));
  return true;
}

/// What the caller knows better, of a pod that it says no other things of than it can: who places it and what
/// it asks for never change.
model::PodPtr Extender::newest(const model::PodPtr& pod) const {
  const auto it = engine_.cache().pods().find(pod->uid);
  if (it == engine_.cache().pods().end()) { return pod; }
  const model::Pod& known = *it->second;
  const bool same = known.key == pod->key && known.scheduler_name == pod->scheduler_name &&
                    known.share_limits == pod->share_limits &&
                    known.init_share_limits == pod->init_share_limits;
  return known.revision >= pod->revision || !same ? it->second : pod;
}

bool Extender::wants(const model::Pod& pod) const { return sched::wantsVcuda(pod, config_.strict); }

sched::DoorResult Extender::readDoor(const model::Pod& pod) const {
  auto door = sched::vcudaDoor(pod, config_.strict);
  if (auto* request = std::get_if<sched::PodRequest>(&door)) {
    request->only_certain = !config_.strict;
    if (!config_.strict) { request->gang = gangOf(pod); }
    request->quota = engine_.quotaBound(pod.key.ns, sched::vcudaMilli(pod));
  }
  return door;
}

std::string Extender::ownSchedulersText(const model::Pod& pod) const {
  return fmt::format("{} is scheduled by {}", nameOf(pod), config_.own_scheduler);
}

bool Extender::isAnswered(const Caller& w, const model::Pod& pod) {
  const auto fail = [&](std::string why) {
    answer(w, Kind::Failed, std::move(why));
    return true;
  };
  if (!wants(pod)) {
    answer(w, Kind::Untouched);
    return true;
  }
  if (isOwnSchedulers(pod)) { return fail(ownSchedulersText(pod)); }
  if (engine_.quota().awaited()) { return fail(kQuotaAwaited); }
  if (config_.strict && w.request.verb != Verb::Bind && model::wasPredicated(pod.annotations)) {
    return fail(fmt::format("pod {} had been predicated!", pod.key.name));
  }
  if (engine_.cache().knownGone(pod.uid) || pod.deleting || pod.finished()) {
    return fail(fmt::format("{} has ended or is being deleted", nameOf(pod)));
  }
  if (!pod.bound()) { return false; }
  const auto position = positionOf(w.request.candidates, pod.node);
  if (!position) { return fail(fmt::format("{} is bound to {}", nameOf(pod), pod.node.text)); }
  Answer a;
  a.kind = w.request.verb == Verb::Bind ? Kind::Done : Kind::Chosen;
  a.chosen = *position;
  answer(w, std::move(a));
  return true;
}

void Extender::place(Caller w) {
  if (!usesThisTable(w)) { return; }  // it waited, and its numbers may mean other nodes by now
  w.request.pod = newest(w.request.pod);
  const model::PodPtr pod = w.request.pod;
  refusals_.asked(pod->uid);
  if (isAnswered(w, *pod)) { return; }
  Grant* grant = grantOf(pod->uid);
  if (grant == nullptr) { return choose(std::move(w), *pod); }
  grant->asked = now_.mono;
  grant->given_up.reset();
  if (grant->callers.awaitDecision()) {
    grant->callers.awaitDecision(std::move(w));  // in order: who asked last decides
    return;
  }
  const auto position = positionOf(w.request.candidates, grant->note.node);
  const bool stands = !grant->write.isRemoving();
  if (stands && w.request.verb == Verb::Predicate && !isTold(*grant, w, position.has_value())) { return; }
  if (position && stands && holdsUp(*grant, *pod) && !isTriedElsewhere(*grant, w, *pod)) {
    if (grant->adopted) { write(*grant); }
    return join(*grant, std::move(w), *position);
  }
  if (grant->write.isUnderWay() && !isShowing(*grant)) {
    grant->callers.awaitDecision(std::move(w));  // one write of a pod at a time
    return;
  }
  choose(std::move(w), *pod);
}

/// Of a pod that has a node, asked about one node after the other, in any order: false where this one was
/// told not to fit.
bool Extender::isTold(Grant& g, const Caller& w, bool its_node) {
  const auto refuse = [&](const char* why) {
    Answer a;
    a.kind = Kind::Nowhere;
    a.text = fmt::format("pod {} {}", g.uid.text, why);
    answer(w, std::move(a));
    return false;
  };
  constexpr const char* kInVain = "was not bound to this node; another one is tried";
  if (its_node) { return g.turns.ownFits(g.note.node, now_.mono) || refuse(kInVain); }
  switch (g.turns.otherFits(nodeAt(w.request.candidates, 0), now_.mono)) {
    case NodeTurns::Other::Fits: return true;
    case NodeTurns::Other::Held: return refuse("has already been matched to another node");
    case NodeTurns::Other::InVain: return refuse(kInVain);
  }
  return true;
}

/// Its scheduler was told the node that it has, and says that the pod is not scheduled, or asks again and
/// again. Not of a gang: there the others may be what is waited for.
void Extender::noteIfInVain(Grant& g, const model::Pod& pod) {
  if (!gangOf(pod).empty() || !g.promises.inVain(pod.scheduled)) { return; }
  (void)in_vain_.tried(g.uid, g.note.node, false, now_.mono);
  g.promises = {};
}

/// Whether another candidate is to be tried, since nothing came of the node that it has, by that or by a
/// Binding that was refused there.
bool Extender::isTriedElsewhere(Grant& g, const Caller& w, const model::Pod& pod) {
  if (w.request.verb != Verb::Filter || !g.write.isWritten()) { return false; }
  noteIfInVain(g, pod);
  const auto left_out = in_vain_.leftOut(g.uid, false, now_.mono);
  if (!std::binary_search(left_out.begin(), left_out.end(), g.note.node)) { return false; }
  const auto door = readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return false; }
  const Candidates& c = w.request.candidates;
  const Aside own = setOwnAside(pod);
  const auto best = bestInTurn(standingsFor(c, *request), c, g.uid);
  return best && nodeAt(c, *best) != g.note.node;
}

/// Nodes where it was tried in vain are left out while another one will do, and else while their time lasts.
std::optional<std::size_t> Extender::bestInTurn(const Answer& a, const Candidates& c, const model::Uid& uid) {
  const auto best = bestOf(a, c, in_vain_.leftOut(uid, false, now_.mono));
  if (best || !in_vain_.contains(uid)) { return best; }
  (void)in_vain_.nowhereElse(uid);
  return bestOf(a, c, in_vain_.leftOut(uid, false, now_.mono));
}

sched::NodeState Extender::stateOf(const Candidates& c, std::size_t i) const {
  const sched::NodeState* known = engine_.ledger().find(nodeAt(c, i));
  const auto object = c.objects.find(i);
  sched::NodeState state = known != nullptr ? *known : sched::NodeState{};
  return object != c.objects.end() ? sched::withFacts(std::move(state), *object->second, engine_.doors())
                                   : state;
}

Answer Extender::standingsFor(const Candidates& c, const sched::PodRequest& request) {
  Answer a;
  const bool one = c.nodes.size() == 1 && c.nodes[0] != NodeTable::kUnknown;
  if (one) {  // as Volcano asks, of very many gangs: a table of all nodes for each would be too much
    a.of_objects[0] = sched::standingOf(engine_.ledger().at(c.nodes[0]), request);
  } else {
    a.standings = board_.standings(request);
  }
  for (const auto& [i, object] : c.objects) { a.of_objects[i] = sched::standingOf(stateOf(c, i), request); }
  a.asked = request.shares;
  if (request.quota) { a.quota = quotaRefusals(engine_, c, a, *request.quota); }
  return a;
}

/// An orphan that shows whether its pod can be written: who asks about that is not kept waiting.
bool Extender::isShowing(const Grant& g) const {
  return g.write.isOrphan() && (g.write.failures() > 0 || troubles_.stuckIn(g.pod.ns) != nullptr);
}

/// Whether a write of the pod is to go through before it is given anything, which others could have
/// meanwhile: where none of its namespace does, or its own came to nothing. Of what its scheduler was told
/// that write is its removal, so that it does not hold two places.
bool Extender::mustShow(const Grant* before, const model::Pod& pod) const {
  if (troubles_.stuckIn(pod.key.ns) != nullptr && !troubles_.hasShown(pod.uid)) { return true; }
  if (before == nullptr || before->write.failures() == 0) { return false; }
  return before->write.isOrphan() || (wasTold(*before) && before->write.isRemoving());
}

void Extender::showFirst(const Caller& w, const model::Pod& pod) {
  const bool others_follow = w.request.verb == Verb::Predicate;
  answer(w, Kind::Failed, notWrittenText(pod.key));
  Grant& g = grants_[pod.uid];
  g.uid = pod.uid;
  g.pod = pod.key;
  g.asked = now_.mono;
  if (wasTold(g)) {
    reserve(g, pod);
    if (!others_follow) { remove(g, true); }
  } else if (!g.write.isOrphan()) {
    g.seen = w.request.pod;
    failAll(g.callers.takeForWrite(), notWrittenText(pod.key));
    letGo(g);
  }
  g.write.hurry();
  advance(g);
}

/// A decision. What the pod holds of an earlier one does not stand in its own way.
void Extender::choose(Caller w, const model::Pod& pod) {
  const Candidates& c = w.request.candidates;
  Grant* before = grantOf(pod.uid);
  if (before != nullptr) { before->holds.clear(); }
  const auto door = readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  Answer a;
  std::optional<std::size_t> best;
  if (request != nullptr) {
    a = standingsFor(c, *request);
    best = bestInTurn(a, c, pod.uid);
    if (!best) { best = bestOf(a, c); }  // its scheduler waits by itself
  } else {
    a.text = std::get<sched::Blocked>(door).text;
    a.never = true;
  }
  if (best && engine_.ledger().isReserved(nodeAt(c, *best), pod.uid)) {
    if (before != nullptr) { reserve(*before, pod); }
    return answer(w, Kind::Failed, fmt::format("{} is being placed by gpu-scheduler", nameOf(pod)));
  }
  if (const std::string* why = best ? troubles_.rejectionOf(pod.uid, now_.mono) : nullptr) {
    if (before != nullptr) { reserve(*before, pod); }
    return answer(w, Kind::Failed, *why);
  }
  if (best && mustShow(before, pod)) { return showFirst(w, pod); }
  if (best) {
    a.kind = Kind::Chosen;
    a.chosen = *best;
    a.chosen_standing = *standingAt(a, c, *best);
    return grant(std::move(w), pod, *request, a);
  }
  a.kind = Kind::Nowhere;
  if (request != nullptr && w.request.verb == Verb::Filter) {  // Volcano asks again by itself
    refusals_.refused(pod, *request, c, a, now_.mono);
  }
  const bool others_follow = w.request.verb == Verb::Predicate;  // this node was one of many
  answer(w, std::move(a));
  if (before == nullptr) { return; }
  reserve(*before, pod);
  if (!others_follow) { remove(*before); }  // the node that it had is none of those that it may have now
  if (before->write.isOrphan() && before->write.hasFailed()) {  // each time that it was asked for, perhaps
    before->write.hurry();
    advance(*before);
  }
}

Extender::Aside Extender::setOwnAside(const model::Pod& pod) {
  Grant* own = grantOf(pod.uid);
  if (own != nullptr) { own->holds.clear(); }
  return {*this, own, pod};
}

Extender::Aside::~Aside() {
  if (own != nullptr) { extender.reserve(*own, pod); }
}

void Extender::look(const Caller& w) {
  const model::PodPtr pod = newest(w.request.pod);
  if (isAnswered(w, *pod)) { return; }
  const Aside own = setOwnAside(*pod);
  const auto door = readDoor(*pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  Answer a;
  if (request != nullptr) {
    a = standingsFor(w.request.candidates, *request);
  } else {
    a.text = std::get<sched::Blocked>(door).text;
    a.never = true;
  }
  const auto best = request != nullptr ? bestOf(a, w.request.candidates) : std::nullopt;
  a.kind = best ? Kind::Chosen : Kind::Nowhere;
  a.chosen = best.value_or(0);
  answer(w, std::move(a));
}

void Extender::rank(const Caller& w) {
  sched::PodRequest nothing;
  nothing.door = &sched::kVcudaDoor;
  Answer a = standingsFor(w.request.candidates, nothing);
  a.kind = Kind::Ranked;
  answer(w, std::move(a));
}

/// Volcano had no place for all of the group that this one is of.
void Extender::noteGang(const model::Uid& uid) {
  const model::Pod* pod = engine_.cache().pod(uid);
  if (pod == nullptr || pod->bound() || pod->gang.empty()) { return; }
  if (gangs_.size() >= kMostGangs) { gangs_.clear(); }
  gangs_.insert(fmt::format("{}/{}", pod->key.ns, pod->gang));
}

void Extender::deallocate(const Caller& w) {
  const model::Uid uid = w.request.pod->uid;
  if (Grant* grant = grantOf(uid)) {
    noteGang(uid);
    remove(*grant);
  }
  answer(w, Kind::Done);
  plan(uid);
}

// ---- Bindings

/// Its annotations are written first, when it has none of that node.
void Extender::bind(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  const model::NodeName node = w.request.node;
  const model::Pod* pod = engine_.cache().pod(uid);
  if (binding_.underWay(uid)) { return answer(w, Kind::Failed, kBindsAlready); }
  if (pod == nullptr) { return readForBind(std::move(w)); }
  if (isOwnSchedulers(*pod)) { return answer(w, Kind::Failed, ownSchedulersText(*pod)); }
  if (config_.is_bound_by_others && config_.is_bound_by_others(*pod)) {
    handed_back_.push_back(std::move(w));
    return;
  }
  if (pod->bound()) {
    const bool there = pod->node == node;
    return answer(w, there ? Kind::Done : Kind::Failed,
                  there ? "" : fmt::format("{} is bound to {}", nameOf(*pod), pod->node.text));
  }
  const Grant* grant = grantOf(uid);
  const bool has_it =
      grant != nullptr && grant->write.isWritten() && !grant->adopted && grant->note.node == node;
  if (wants(*pod) && !has_it) {
    w.request.pod = std::make_shared<const model::Pod>(*pod);
    return place(std::move(w));  // comes back once it has
  }
  sendBinding(std::move(w), *pod);
}

void Extender::readForBind(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  if (now_.mono >= w.until) { return answer(w, Kind::Failed, kNotConfirmed); }
  if (binding_.underWay(uid)) { return answer(w, Kind::Failed, kBindsAlready); }
  call(kapi::getObject(kapi::kPod, w.request.pod->key), Purpose::ReadForBind, uid);
  binding_.await(uid, std::move(w));
}

void Extender::sendBinding(Caller w, const model::Pod& pod) {
  const Grant* grant = grantOf(pod.uid);
  const auto annotations = grant != nullptr ? model::printVcudaNote(grant->note) : model::Annotations{};
  call(kapi::bindPod(pod, w.request.node, annotations), Purpose::Bind, pod.uid);
  binding_.await(pod.uid, std::move(w));
}

std::string Extender::whyNotBound(const Pending& pending, const kapi::Outcome& outcome) const {
  if (pending.purpose == Purpose::Bind) {
    return fmt::format("its Binding was not confirmed: {} {}", outcome.http, outcome.message);
  }
  const auto pod = outcome.object.as<model::Pod>();
  if (pod != nullptr && pod->uid != pending.uid) {
    return fmt::format("it is gone; the pod of that name has the uid {} and not {}", pod->uid.text,
                       pending.uid.text);
  }
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr) {
    return kNotConfirmed;
  }  // it came too late
  if (outcome.http >= 200 && outcome.http < 300) {
    return fmt::format(
        "it cannot be read: the API server answered {} with a body that is no pod: {}; ask again",
        outcome.http, outcome.message.empty() ? "it holds none" : outcome.message);
  }
  return fmt::format("it cannot be read: {} {}", outcome.http, outcome.message);
}

void Extender::bindAnswered(const Pending& pending, const kapi::Outcome& outcome) {
  if (Grant* grant = grantOf(pending.uid)) { (void)grant->write.answered(outcome.token); }
  auto w = binding_.take(pending.uid);
  if (!w) { return; }
  const bool done = outcome.result == kapi::CallResult::Applied;
  const bool is_there = engine_.cache().pod(pending.uid) != nullptr;  // else nobody would have it forgotten
  if (pending.purpose == Purpose::Bind && is_there && isOfTheNode(outcome)) {
    (void)in_vain_.tried(pending.uid, w->request.node, true, now_.mono);
  }
  if (done) { engine_.learn(outcome.object, now_.mono); }
  const bool waits = now_.mono < w->until;  // else its caller may have asked for another node since
  const bool read =
      done && waits && pending.purpose == Purpose::ReadForBind && engine_.cache().pod(pending.uid) != nullptr;
  // The pod is bound already and the watch has not said so, or another version of it: what there is decides.
  const bool conflict = waits && pending.purpose == Purpose::Bind && outcome.http == 409;
  if (read) {
    bind(*std::move(w));
  } else if (conflict) {
    const Mono at = std::min(w->until, now_.mono + kapi::retryWait(++w->conflicts, {}));
    binding_.tryLater(at, *std::move(w));
  } else if (done && pending.purpose == Purpose::Bind) {
    answer(*w, Kind::Done);
  } else {
    answer(*w, Kind::Failed,
           fmt::format("pod {}: {}", w->request.pod->key.text(), whyNotBound(pending, outcome)));
  }
}

}  // namespace gs::extender
