#include "extender/share_chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "extender/protocol/reasons.h"
#include "sched/placement/what_if.h"

namespace gs::extender {
namespace {

constexpr std::size_t kMostGangs = 4096;
constexpr std::size_t kMostObjects = 1000;  // of one request: each costs a look at a node of its own
constexpr std::string_view kGroupOfAnOwner = "podgroup-";

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

Answer neverAnswer(const sched::Blocked& blocked) {
  Answer a;
  a.text = blocked.text;
  a.never = true;
  return a;
}

}  // namespace

const NodeTablePtr& ShareChooser::table() {
  if (table_ == nullptr || table_->version() != engine_.ledger().comings().end()) {
    table_ = std::make_shared<const NodeTable>(engine_.ledger());
  }
  return table_;
}

sched::DoorResult ShareChooser::requestOf(const model::Pod& pod) const {
  auto door = sched::vcudaDoor(pod, strict_);
  if (auto* request = std::get_if<sched::PodRequest>(&door)) {
    request->only_certain = !strict_;
    if (!strict_) { request->gang = gangOf(pod); }
    request->quota = engine_.quotaBound(pod.key.ns, sched::vcudaMilli(pod));
  }
  return door;
}

ShareChooser::Choice ShareChooser::choose(const Candidates& c, const model::Pod& pod, Mono now) {
  auto door = requestOf(pod);
  Choice out;
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    out.answer = neverAnswer(*blocked);
    return out;
  }
  out.request = std::move(std::get<sched::PodRequest>(door));
  out.answer = standingsFor(c, *out.request);
  out.best = bestInTurn(out.answer, c, pod.uid, now);
  if (!out.best) { out.best = bestOf(out.answer, c); }
  return out;
}

std::optional<std::size_t> ShareChooser::bestInTurn(const Candidates& c, const sched::PodRequest& request,
                                                    const model::Uid& uid, Mono now) {
  return bestInTurn(standingsFor(c, request), c, uid, now);
}

std::optional<std::size_t> ShareChooser::bestInTurn(const Answer& a, const Candidates& c,
                                                    const model::Uid& uid, Mono now) {
  const auto best = bestOf(a, c, in_vain_.leftOut(uid, false, now));
  if (best || !in_vain_.contains(uid)) { return best; }
  (void)in_vain_.nowhereElse(uid);
  return bestOf(a, c, in_vain_.leftOut(uid, false, now));
}

Answer ShareChooser::look(const Candidates& c, const model::Pod& pod) {
  const auto door = requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  Answer a = request != nullptr ? standingsFor(c, *request) : neverAnswer(std::get<sched::Blocked>(door));
  const auto best = request != nullptr ? bestOf(a, c) : std::nullopt;
  a.kind = best ? Answer::Kind::Chosen : Answer::Kind::Nowhere;
  a.chosen = best.value_or(0);
  return a;
}

Answer ShareChooser::rank(const Candidates& c) {
  sched::PodRequest nothing;
  nothing.door = &sched::kVcudaDoor;
  Answer a = standingsFor(c, nothing);
  a.kind = Answer::Kind::Ranked;
  return a;
}

sched::NodeState ShareChooser::stateOf(const Candidates& c, std::size_t i) const {
  const sched::NodeState* known = engine_.ledger().find(nodeAt(c, i));
  const auto object = c.objects.find(i);
  sched::NodeState state = known != nullptr ? *known : sched::NodeState{};
  return object != c.objects.end() ? sched::withFacts(std::move(state), *object->second, engine_.doors())
                                   : state;
}

Answer ShareChooser::standingsFor(const Candidates& c, const sched::PodRequest& request) {
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

std::vector<std::size_t> ShareChooser::lackingObjects(const Candidates& c) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < c.revisions.size(); ++i) {
    if (c.revisions[i] == Candidates::kNoObject) { continue; }
    if (c.revisions[i] == 0 && c.nodes[i] != NodeTable::kUnknown) { continue; }
    const bool older = c.nodes[i] == NodeTable::kUnknown || !engine_.ledger().at(c.nodes[i]).exists ||
                       engine_.ledger().at(c.nodes[i]).node.revision < c.revisions[i];
    if (!older || c.objects.contains(i)) { continue; }
    if (c.objects.size() + out.size() >= kMostObjects) { break; }
    out.push_back(i);
  }
  return out;
}

/// Of the groups that Volcano makes of an owner's pods one pod is enough to begin with, unless the owner says
/// more, which nobody tells us: but then Volcano takes back what a pod was given while others find no place.
std::string ShareChooser::gangOf(const model::Pod& pod) const {
  if (pod.gang.empty()) { return {}; }
  const std::string gang = fmt::format("{}/{}", pod.key.ns, *pod.gang);
  return !pod.gang->starts_with(kGroupOfAnOwner) || gangs_.contains(gang) ? gang : std::string{};
}

void ShareChooser::givenBack(const model::Pod& pod) {
  if (pod.bound() || pod.gang.empty()) { return; }
  if (gangs_.size() >= kMostGangs) { gangs_.clear(); }
  gangs_.insert(fmt::format("{}/{}", pod.key.ns, *pod.gang));
}

void ShareChooser::triedInVain(const model::Uid& uid, const model::NodeName& node, bool refused, Mono now) {
  (void)in_vain_.tried(uid, node, refused, now);
}

bool ShareChooser::isLeftOut(const model::Uid& uid, const model::NodeName& node, Mono now) const {
  const auto left_out = in_vain_.leftOut(uid, false, now);
  return std::binary_search(left_out.begin(), left_out.end(), node);
}

void ShareChooser::reset() {
  gangs_.clear();
  in_vain_.reset();
}

}  // namespace gs::extender
