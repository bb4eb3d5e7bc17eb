#include "scheduler/caches/fetch_first.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "json/value.h"
#include "kcache/kinds/first.h"
#include "sched/placement/fit.h"
#include "sched/placement/offers.h"
#include "scheduler/caches/extracted.h"

namespace gs::scheduler {
namespace {

/// Whose turn it is when it is that of pods with some caches: their namespace's, where one of these is in it.
std::string namespaceOf(const sched::PodRequest& request) {
  return request.better_with.back().ns;  // sorted: the cluster's come first
}

}  // namespace

FetchFirst::FetchFirst(Context& context, const NodeCaches& node_caches)
    : c_{context}, node_caches_{node_caches} {
  if (node_caches_.on()) { owner_ = c_.parts.add(*this); }
}

void FetchFirst::waits(sched::EquivalenceClass pod_class) {
  const sched::PodRequest& request = c_.engine.decider().request(pod_class);
  if (!node_caches_.on() || request.better_with.empty()) { return; }
  const auto asked = asked_.find(pod_class);
  if (asked != asked_.end() && c_.now.mono < asked->second.at + kAgain) { return; }
  const std::string ns = namespaceOf(request);
  const auto of = waiting_.find(ns);
  if (of == waiting_.end() || of->second.size() < kMostOfOne) { waiting_[ns].insert(pod_class); }
}

std::string FetchFirst::saidOf(sched::EquivalenceClass pod_class) const {
  const auto asked = asked_.find(pod_class);
  if (asked == asked_.end() || asked->second.nodes.empty()) { return ""; }
  return fmt::format("Asked for first on {}.", fmt::join(asked->second.nodes, " and "));
}

std::optional<sched::EquivalenceClass> FetchFirst::takeNext() {
  while (!waiting_.empty()) {
    auto of = waiting_.upper_bound(last_);
    if (of == waiting_.end()) { of = waiting_.begin(); }
    last_ = of->first;
    const sched::EquivalenceClass next = of->second.extract(of->second.begin()).value();
    if (of->second.empty()) { waiting_.erase(of); }
    if (c_.engine.queue().unschedulableClasses().contains(next)) { return next; }
  }
  return std::nullopt;
}

std::vector<const sched::NodeState*> FetchFirst::nodesFor(const sched::PodRequest& request) const {
  using Rank = std::tuple<std::int64_t, std::int32_t, std::string>;  // the best first
  std::map<Rank, const sched::NodeState*> best;
  const sched::Ledger& ledger = c_.engine.ledger();
  for (sched::Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    const sched::NodeState& node = ledger.at(i);
    const auto misfit = node.exists ? sched::misfitOn(node, request) : std::nullopt;
    if (!misfit || sched::isNever(misfit->reason)) { continue; }
    const std::int32_t bonus = node_caches_.bonus(request.better_with, node.node.name);
    best.emplace(Rank{-node.free_devices, -bonus, node.node.name.text}, &node);
    if (best.size() > kNodes) { best.erase(std::prev(best.end())); }
  }
  std::vector<const sched::NodeState*> out;
  out.reserve(best.size());
  for (const auto& [rank, node] : best) { out.push_back(node); }
  return out;
}

void FetchFirst::askFor(sched::EquivalenceClass pod_class) {
  asked_.insert_or_assign(pod_class, Asked{c_.now.mono, {}});
  news_.push_back(pod_class);
  for (const auto* node : nodesFor(c_.engine.decider().request(pod_class))) {
    askOn(node->node.name, pod_class);
  }
}

void FetchFirst::askOn(const model::NodeName& node, sched::EquivalenceClass pod_class) {
  std::map<std::string, std::vector<std::string>> missing;  // by namespace
  for (const auto& cache : c_.engine.decider().request(pod_class).better_with) {
    if (!node_caches_.index().has(node, cache)) { missing[cache.ns].push_back(cache.name); }
  }
  for (const auto& [ns, caches] : missing) { ask({ns, node.text}, caches, pod_class); }
}

/// What was asked for before stays asked for, behind it.
void FetchFirst::ask(const model::ObjectKey& object, const std::vector<std::string>& caches,
                     sched::EquivalenceClass pod_class) {
  std::vector<Name>& names = on_[object];
  std::erase_if(names, [&](const Name& name) {
    return std::find(caches.begin(), caches.end(), name.cache) != caches.end();
  });
  std::vector<Name> all;
  all.reserve(caches.size() + names.size());
  for (const auto& cache : caches) { all.push_back({c_.now.mono, cache}); }
  all.insert(all.end(), names.begin(), names.end());
  if (all.size() > kcache::kMostFirst) { all.resize(kcache::kMostFirst); }
  names = std::move(all);
  kcache::FetchFirst first{c_.now.wall, {}};
  for (const Name& name : names) { first.caches.push_back(name.cache); }
  kapi::Call call;
  call.token = kapi::makeToken(owner_, next_token_++);
  open_.emplace(call.token, Open{pod_class, object.name});
  call.verb = kapi::Verb::MergePatch;
  call.kind = object.ns.empty() ? kClusterExtracted : kExtracted;
  call.key = object;
  call.body = json::Object{
      {"metadata",
       json::Object{{"annotations", json::Object{{kcache::kFirstKey, kcache::printFirst(first)}}}}}};
  call.ordering_key = "first/" + object.text();
  call.leader_only = true;
  c_.out.emplace_back(std::move(call));
}

void FetchFirst::forgetOld() {
  std::erase_if(asked_, [this](const auto& one) { return one.second.at + kAgain <= c_.now.mono; });
  for (auto& [object, names] : on_) {
    std::erase_if(names, [this](const Name& name) { return name.at + kcache::kFirstFor <= c_.now.mono; });
  }
  std::erase_if(on_, [](const auto& one) { return one.second.empty(); });
}

/// A node without such an object has not begun with that namespace: it fetches in its order.
void FetchFirst::handle(const kapi::Outcome& outcome, Now /*now*/, kapi::Effects& /*out*/) {
  if (auto call = open_.extract(outcome.token); !call.empty()) {
    const auto asked = asked_.find(call.mapped().pod_class);
    if (outcome.result == kapi::CallResult::Applied && asked != asked_.end()) {
      asked->second.nodes.insert(std::move(call.mapped().node));
      news_.push_back(asked->first);
    }
  }
  const bool is_refused = outcome.http == 401 || outcome.http == 403;
  if (!is_refused || std::exchange(is_refusal_said_, true)) { return; }
  c_.log(kapi::Level::Warn,
         "agents cannot be asked to fetch kernel caches first; apply deploy/rbac/kernel-caches.yaml",
         {{"why", fmt::format("{} {}", outcome.http, outcome.message)}});
}

void FetchFirst::tick(Now now, kapi::Effects& /*out*/) {
  if (waiting_.empty() || now.mono < next_look_) { return; }
  next_look_ = now.mono + kGap;
  forgetOld();
  if (const auto next = takeNext()) { askFor(*next); }
}

std::optional<Mono> FetchFirst::nextDue() const {
  return waiting_.empty() ? std::nullopt : std::optional{next_look_};
}

void FetchFirst::reset() {
  waiting_.clear();
  open_.clear();
  asked_.clear();
  on_.clear();
  news_.clear();
  is_refusal_said_ = false;
}

}  // namespace gs::scheduler
