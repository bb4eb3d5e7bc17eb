#include "engine/preemption.h"

#include <algorithm>
#include <set>

#include "base/mutant.h"
#include "sched/ledger/quota.h"

namespace gs::engine {
namespace {

using When = sched::Room::When;

constexpr std::uint64_t kCostPerTurn = 20'000;
constexpr std::uint64_t kCostOfNode = 16;  // whatever it has
constexpr Duration kForgotten = std::chrono::minutes{2};
constexpr std::size_t kMostAwaits = 4'096;

bool goesByItself(const Engine& engine, const model::Uid& uid, bool ended) {
  const model::Pod* pod = engine.cache().pod(uid);
  if (pod == nullptr) { return ended || engine.cache().knownGone(uid); }
  return pod->deleting || pod->finished();
}

/// The only term of a quota that matters on this node.
void applyQuota(sched::PodRequest& request, const std::optional<sched::QuotaRoom>& room,
                const model::Node& node, std::int64_t milli) {
  if (!room) { return; }
  request.quota->terms.models.clear();
  const auto label = node.labels.find(room->model_label);
  const auto left = label == node.labels.end() ? room->models.end() : room->models.find(label->second);
  if (left != room->models.end() && milli <= left->second) {
    request.quota->terms.models.push_back(left->first);
  }
}

/// In links that are as much to copy as a device.
std::size_t linksOf(const sched::NodeState& node) {
  std::size_t all = 0;
  for (const auto& device : node.devices) { all += device.facts.links.size(); }
  return all / sched::kStepsPerDevice;
}

/// How many times somebody is said to have something of it.
std::size_t holdersOf(const sched::NodeState& node) {
  std::size_t all = node.counted.size() + node.in_flight.size();
  for (const auto& device : node.devices) { all += device.holders.size(); }
  return all;
}

}  // namespace

void Preemption::ask(Question question) {
  questions_.push_back({std::move(question), engine_.ledger().comings().end()});
}

std::vector<std::uint64_t> Preemption::drop() {
  std::vector<std::uint64_t> out;
  for (const Open& open : questions_) { out.push_back(open.question.id); }
  questions_.clear();
  awaits_.clear();
  return out;
}

void Preemption::work(Mono now) {
  if (questions_.empty()) { return; }
  Open& open = questions_.front();
  Question& q = open.question;
  const bool changed = open.comings != engine_.ledger().comings().end();
  if (changed || now >= q.until) {
    answers_.push_back({q.id, changed ? Answer::Kind::NodesChanged : Answer::Kind::TooLate});
    questions_.pop_front();
    return;
  }
  open.seen.resize(engine_.ledger().size());
  if (!open.look) { readQuota(open); }
  for (const std::uint64_t until = cost_ + kCostPerTurn; open.at < q.nodes.size();) {
    if (cost_ >= until) { return; }
    if (open.look ? goOn(open) : !begin(open, now)) {
      open.look.reset();
      ++open.at;
    }
  }
  conclude(open, now);
  questions_.pop_front();
}

void Preemption::readQuota(Open& open) const {
  Question& q = open.question;
  open.room = q.milli > 0 ? engine_.quotaRoom(q.pod->key.ns) : std::nullopt;
  q.request.quota.reset();
  if (!open.room) { return; }
  q.request.quota = {
      q.pod->key.ns, q.milli, {open.room->model_label, {}, open.room->pool_label, open.room->pools}};
}

const Preemption::Uids& Preemption::givenOn(const Question& q, std::size_t position) {
  static const Uids kNone;
  return q.given != nullptr && position < q.given->size() ? (*q.given)[position] : kNone;
}

bool Preemption::begin(Open& open, Mono now) {
  const Question& q = open.question;
  ++cost_;
  const auto index = q.nodes[open.at];
  if (!index || *index >= open.seen.size() || open.seen[*index]) { return false; }
  open.seen[*index] = true;
  const sched::NodeState& node = engine_.ledger().at(*index);
  const std::size_t holders = holdersOf(node);
  if (!node.exists || holders > kMostHolders) { return false; }
  const std::size_t cost = kCostOfNode + node.devices.size() + static_cast<std::size_t>(node.share_devices);
  cost_ += cost + holders + node.node.labels.size() + linksOf(node);
  sched::NodeWithout without{node};
  Pods pods = podsOf(q, open.at, without, mayAwait(q.pod->uid, now));
  if (open.room) { pods.of.charges = engine_.ledger().gpuUsesOf(*index, q.pod->key.ns); }
  std::vector<const model::Pod*> given = pods.of.given;
  open.look.emplace(
      Look{{std::move(without), std::move(pods.of)}, std::move(given), std::move(pods.alive), cost});
  return true;
}

bool Preemption::goOn(Open& open) {
  Question& q = open.question;
  sched::Meter meter;
  const auto fits = [&](const sched::NodeState& state, std::int64_t given_back) {
    applyQuota(q.request, open.room, state.node, q.milli - given_back);
    return fits_(state, q.request, q.pod->uid, &meter);
  };
  const auto room = open.look->search.look(fits);
  cost_ += open.look->cost + meter.steps / sched::kStepsPerDevice + open.look->search.takeCost();
  if (!room) { return false; }
  if (room->when == When::Never) { return true; }
  Kept& kept = open.found.emplace_back(Kept{open.at, {}});
  if (!room->victims.empty()) {
    kept.victims = allVictims(givenOn(q, open.at), open.look->given, room->victims);
  }
  return true;
}

/// Those that nobody here knows come first: kube-scheduler looks at the first one's priority.
Preemption::Uids Preemption::allVictims(const Uids& given, std::vector<const model::Pod*> known,
                                        const std::vector<const model::Pod*>& named) {
  Uids out;
  std::set<model::Uid> listed;
  for (const model::Pod* pod : known) { listed.insert(pod->uid); }
  for (const auto& uid : given) {
    if (listed.insert(uid).second) { out.push_back(uid); }
  }
  known.insert(known.end(), named.begin(), named.end());
  std::sort(known.begin(), known.end(),
            [](const auto* a, const auto* b) { return sched::isMoreImportant(*a, *b); });
  for (const model::Pod* pod : known) { out.push_back(pod->uid); }
  return out;
}

model::PodPtr Preemption::podAt(const model::Uid& uid, const model::NodeName& node) const {
  const auto it = engine_.cache().pods().find(uid);
  return it != engine_.cache().pods().end() && it->second->node == node ? it->second : nullptr;
}

/// Of the pods that kube-scheduler names, those that are there make room.
Preemption::Pods Preemption::podsOf(const Question& q, std::size_t position, const sched::NodeWithout& node,
                                    bool leave) {
  Pods out;
  const model::NodeName& name = engine_.ledger().at(*q.nodes[position]).node.name;
  std::set<model::Uid> given;
  for (const auto& uid : givenOn(q, position)) {
    ++cost_;
    model::PodPtr pod = podAt(uid, name);
    if (pod == nullptr || pod->finished() || !given.insert(uid).second) { continue; }
    out.of.given.push_back(pod.get());
    out.alive.push_back(std::move(pod));
  }
  for (const auto& [uid, holding] : node.holdings()) {
    if (uid == q.pod->uid || given.contains(uid)) { continue; }
    if (goesByItself(engine_, uid, holding.ended) || makes_room_(uid, name)) {
      if (leave) { out.of.leaving.push_back(uid); }
      continue;
    }
    model::PodPtr pod = q.pod->preempts ? podAt(uid, name) : nullptr;
    if (pod == nullptr || (pod->priority >= q.pod->priority && !GS_MUTANT(EvictsEquals))) { continue; }
    out.of.lower.push_back(pod.get());
    out.alive.push_back(std::move(pod));
  }
  return out;
}

bool Preemption::mayAwait(const model::Uid& uid, Mono now) const {
  const auto it = awaits_.find(uid);
  return it == awaits_.end() || now < it->second.since + kAwaited || now >= it->second.last + kForgotten;
}

void Preemption::await(const model::Uid& uid, Mono now) {
  if (awaits_.size() >= kMostAwaits) {
    std::erase_if(awaits_, [&](const auto& one) { return now >= one.second.last + kForgotten; });
    if (awaits_.size() >= kMostAwaits) { awaits_.clear(); }
  }
  const auto [it, fresh] = awaits_.try_emplace(uid, Awaits{now, now});
  if (!fresh && now >= it->second.last + kForgotten) { it->second.since = now; }
  it->second.last = now;
}

void Preemption::conclude(Open& open, Mono now) {
  const Question& q = open.question;
  const auto needs_nobody = [&](const Kept& kept) {
    return kept.victims.empty() && givenOn(q, kept.position).empty();
  };
  if (mayAwait(q.pod->uid, now) && std::any_of(open.found.begin(), open.found.end(), needs_nobody)) {
    await(q.pod->uid, now);
    std::erase_if(open.found, [&](const Kept& kept) { return !needs_nobody(kept); });
  }
  answers_.push_back({q.id, Answer::Kind::Found, std::move(open.found)});
}

}  // namespace gs::engine
