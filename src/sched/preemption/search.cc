#include "sched/preemption/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sched/placement/offers.h"

namespace gs::sched {

using NodeIndex = Ledger::NodeIndex;

namespace {

constexpr std::uint64_t kCostOfNode = 16;  // whatever it has

/// Whoever goes, what is wrong with the node itself stays.
bool mayHelp(const NodeState& n, const PodRequest& request) {
  const auto misfit = refuseFacts(n, request);
  return !misfit || !isNever(misfit->reason);
}

std::size_t countHolders(const NodeState& n) {
  std::size_t all = n.counted.size() + n.in_flight.size();
  for (const auto& device : n.devices) { all += device.holders.size(); }
  return all;
}

/// What is left of the quota when so much was given back, beside those that come before.
void boundByQuota(PodRequest& request, const PreemptionSearch::Question& q, std::int64_t given_back,
                  const std::vector<const Nomination*>& before) {
  if (!q.quota) { return; }
  std::int64_t milli = q.milli - given_back;
  for (const Nomination* other : before) {
    const bool same = other->request.quota && other->request.quota->ns == q.pod->key.ns;
    milli += same ? other->milli : 0;
  }
  request.quota = {q.pod->key.ns, q.milli, termsOf(*q.quota, milli)};
}

}  // namespace

void PreemptionSearch::begin(Question question) {
  question_ = std::move(question);
  question_.request.quota.reset();
  look_.reset();
  best_.reset();
  found_ = 0;
  next_.clear();
  noteChanges();
  comings_ = w_.ledger.comings().end();
  stage_ = Stage::Reading;
}

bool PreemptionSearch::work(std::uint64_t most_cost) {
  const std::uint64_t until = cost_ + most_cost;
  if (stage_ != Stage::Done && comings_ != w_.ledger.comings().end()) { begin(std::move(question_)); }
  if (stage_ == Stage::Reading) {
    if (!readProfiles(until)) { return false; }
    listNext();
    stage_ = Stage::Looking;
  }
  while (stage_ == Stage::Looking) {
    if (!look_) {
      if (isOver()) {
        stage_ = Stage::Done;
        break;
      }
      std::pop_heap(next_.begin(), next_.end(), isAfter);
      look_ = lookFor(question_, next_.back().node);
      next_.pop_back();
    }
    if (look_) {
      const auto room = goOn(*look_, question_);
      auto candidate = room ? found(*look_, *room) : std::nullopt;
      if (room) { look_.reset(); }
      if (candidate) { keep(*std::move(candidate)); }
    }
    if (cost_ >= until && !isOver()) { return false; }
  }
  return true;
}

std::optional<Candidate> PreemptionSearch::lookAt(const Question& question, NodeIndex node) {
  Question q = question;
  q.request.quota.reset();
  auto look = lookFor(q, node);
  while (look) {
    if (const auto room = goOn(*look, q)) { return found(*look, *room); }
  }
  return std::nullopt;
}

std::string PreemptionSearch::whyNobody() {
  std::size_t nodes = 0;
  std::size_t helpless = 0;
  for (NodeIndex i = 0; i < w_.ledger.size(); ++i) {
    const NodeState& n = w_.ledger.at(i);
    if (!n.exists) { continue; }
    ++nodes;
    helpless += mayHelp(n, question_.request) ? 0 : 1;
  }
  cost_ += nodes / 4;
  std::string out = fmt::format("preemption: 0/{} nodes are available", nodes);
  const char* separator = ": ";
  for (const auto& [count, words] :
       {std::pair{nodes - helpless, "No preemption victims found for incoming pod"},
        {helpless, "Preemption is not helpful for scheduling"}}) {
    if (count == 0) { continue; }
    out += fmt::format("{}{} {}", separator, count, words);
    separator = ", ";
  }
  return out + ".";
}

void PreemptionSearch::note(NodeIndex node) {
  if (is_unread_[node]) { return; }
  is_unread_[node] = true;
  unread_.push_back(node);
}

void PreemptionSearch::noteChanges() {
  const std::size_t size = w_.ledger.size();
  profiles_.resize(size);
  is_unread_.resize(size);
  const auto& changes = w_.ledger.changes();
  const auto& residents = w_.residents.changes();
  if (ledger_position_ < changes.begin() || residents_position_ < residents.begin()) {
    for (NodeIndex i = 0; i < size; ++i) { note(i); }
  } else {
    for (auto at = ledger_position_; at < changes.end(); ++at) { note(changes.at(at)); }
    for (auto at = residents_position_; at < residents.end(); ++at) {
      if (const auto node = w_.ledger.indexOf(residents.at(at))) { note(*node); }
    }
  }
  ledger_position_ = changes.end();
  residents_position_ = residents.end();
}

bool PreemptionSearch::readProfiles(std::uint64_t until) {
  for (; !unread_.empty(); unread_.pop_back()) {
    if (cost_ >= until) { return false; }
    const NodeIndex i = unread_.back();
    const auto& residents = w_.residents.on(w_.ledger.at(i).node.name);
    profiles_[i] = profileOf(w_.ledger, i, residents);
    is_unread_[i] = false;
    cost_ += 1 + w_.ledger.at(i).devices.size() + residents.size();
  }
  return true;
}

std::uint32_t PreemptionSearch::rankOf(NodeIndex node) const {
  const bool is_nominated = w_.ledger.at(node).node.name == question_.pod->nominated;
  return is_nominated ? 0 : 1 + names_.ranks()[node];
}

void PreemptionSearch::listNext() {
  names_.catchUp(w_.ledger);
  const Amounts needs = needsOf(question_.request);
  const std::int32_t priority = question_.pod->priority;
  for (NodeIndex i = 0; i < profiles_.size(); ++i) {
    const auto bound = leastCost(profiles_[i], needs, priority);
    if (bound) { next_.push_back({*bound, rankOf(i), i}); }
  }
  std::make_heap(next_.begin(), next_.end(), isAfter);
  cost_ += profiles_.size() / kCostOfNode;
}

bool PreemptionSearch::isAfter(const Next& a, const Next& b) {
  return a.bound != b.bound ? a.bound > b.bound : a.rank > b.rank;
}

/// None that is left can be better, or enough was found.
bool PreemptionSearch::isOver() const {
  if (look_) { return false; }
  if (next_.empty()) { return true; }
  if (!best_) { return false; }
  if (found_ >= kEnough && best_cost_.broken == 0) { return true; }
  return isAfter(next_.front(), {best_cost_, rankOf(best_->node), best_->node});
}

std::optional<PreemptionSearch::Look> PreemptionSearch::lookFor(const Question& q, NodeIndex node) {
  const NodeState& n = w_.ledger.at(node);
  cost_ += kCostOfNode;
  const std::size_t holders = countHolders(n);
  if (!n.exists || holders > kMostHolders || !mayHelp(n, q.request)) { return std::nullopt; }
  const auto& residents = w_.residents.on(n.node.name);
  const std::size_t each = n.devices.size() + static_cast<std::size_t>(n.share_devices) + 1;
  cost_ += each + holders + n.node.labels.size() + residents.size();
  auto asked = std::make_shared<RequestIf>(q.request, n, w_.others);
  for (const Nomination* other :
       awaitedBefore(w_.nominations, w_.ledger, n.node.name, q.pod->uid, q.pod->priority)) {
    if (other->pod != nullptr) { asked->come(*other->pod, *q.pod); }
  }
  if (asked->isKeptAway()) { return std::nullopt; }
  NodeWithout without{n};
  NodePods of;
  of.tell = [asked](const model::Pod& pod, bool goes) { goes ? asked->go(pod) : asked->comeBack(pod); };
  std::vector<model::PodPtr> leaving;
  std::vector<model::PodPtr> lower;
  const auto stays = [&](const model::Uid& uid) { return w_.stays && w_.stays(uid); };
  for (const auto& pod : residents) {
    if (pod->uid == q.pod->uid || (pod->deleting && stays(pod->uid))) { continue; }
    if (pod->deleting && q.awaits) {
      leaving.push_back(pod);
      of.given.push_back(pod.get());
    } else if (pod->priority < q.pod->priority) {
      lower.push_back(pod);
    }
  }
  for (const auto& [uid, holding] : without.holdings()) {
    const bool is_left = !residents.contains(uid) && isLeftOver(w_.ledger, n.node.name, uid, holding.ended);
    if (q.awaits && is_left && !stays(uid)) { of.leaving.push_back(uid); }
  }
  if (q.quota) { of.charges = w_.ledger.gpuUsesOf(node, q.pod->key.ns); }
  Lower goes = listed(std::move(lower));
  for (const auto& pod : goes.pods) { of.lower.push_back(pod.get()); }
  of.as_listed = true;
  RoomSearch search{std::move(without), std::move(of)};
  return Look{std::move(asked), std::move(search), std::move(leaving), std::move(goes), node, each};
}

/// Those whose going breaks a budget come back first.
PreemptionSearch::Lower PreemptionSearch::listed(std::vector<model::PodPtr> lower) {
  std::sort(lower.begin(), lower.end(), [](const auto& a, const auto& b) { return staysRather(*a, *b); });
  if (lower.size() > kMostLowerPods) {
    lower.erase(lower.begin(), lower.end() - static_cast<std::ptrdiff_t>(kMostLowerPods));
  }
  std::vector<const model::Pod*> pods;
  pods.reserve(lower.size());
  for (const auto& pod : lower) { pods.push_back(pod.get()); }
  const std::vector<bool> broken = w_.budgets.broken(pods);
  cost_ += w_.budgets.takeCost();
  Lower out;
  for (const bool breaks : {true, false}) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (broken[i] != breaks) { continue; }
      out.pods.push_back(lower[i]);
      out.broken.push_back(breaks);
    }
  }
  return out;
}

std::optional<Room> PreemptionSearch::goOn(Look& look, const Question& q) {
  Meter meter;
  PodRequest& request = look.asked->request();
  const auto fits = [&](const NodeState& state, std::int64_t given_back) {
    const auto before =
        awaitedBefore(w_.nominations, w_.ledger, state.node.name, q.pod->uid, q.pod->priority);
    boundByQuota(request, q, given_back, before);
    if (before.empty()) { return fits_(state, request, q.pod->uid, &meter); }
    return fits_(withNominated(state, before), request, q.pod->uid, &meter);
  };
  auto room = look.search.look(fits);
  cost_ += look.cost + meter.steps / kStepsPerDevice + look.search.takeCost() + look.asked->takeCost();
  return room;
}

std::optional<Candidate> PreemptionSearch::found(const Look& look, const Room& room) {
  if (room.when == Room::When::Never) { return std::nullopt; }
  Candidate out;
  out.node = look.node;
  std::size_t at = 0;  // the search names them in the order in which they would have come back
  for (const model::Pod* victim : room.victims) {
    while (look.lower.pods[at].get() != victim) { ++at; }
    out.victims.push_back(look.lower.pods[at]);
    out.broken += look.lower.broken[at] ? 1 : 0;
  }
  std::sort(out.victims.begin(), out.victims.end(),
            [](const auto& a, const auto& b) { return staysRather(*a, *b); });
  return out;
}

void PreemptionSearch::keep(Candidate candidate) {
  const PreemptionCost cost = costOf(candidate);
  found_ += candidate.victims.empty() ? 0 : 1;
  const auto key = [&](const PreemptionCost& c, NodeIndex node) { return std::pair{c, rankOf(node)}; };
  if (best_ && key(best_cost_, best_->node) <= key(cost, candidate.node)) { return; }
  best_cost_ = cost;
  best_ = std::move(candidate);
}

}  // namespace gs::sched
