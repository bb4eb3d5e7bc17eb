#include "operator/node/node_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/due.h"
#include "kcache/kinds/names.h"
#include "operator/metrics.h"
#include "operator/node/news.h"

namespace gs::gkm {
namespace {

using kcache::Cache;
using kcache::CacheNode;
using kcache::HasImage;

constexpr int kMostWrites = 8;

/// What it asks of a node is what it asked before.
bool wantsTheSame(const Cache& before, const Cache& now) {
  return before.uid == now.uid && before.image == now.image && before.digest == now.digest &&
         before.is_deleting == now.is_deleting && before.finalizers == now.finalizers;
}

bool isNodeObject(kapi::Kind kind) { return kind == kcache::kCacheNode || kind == kcache::kClusterCacheNode; }

std::vector<controller::Reflector::Config> kindsOn(const model::NodeName& node) {
  std::vector<controller::Reflector::Config> out;
  for (const kapi::Kind kind :
       {kcache::kCache, kcache::kClusterCache, kcache::kCacheNode, kcache::kClusterCacheNode}) {
    controller::Reflector::Config& config = out.emplace_back();
    config.kind = kind;
    if (isNodeObject(kind)) {
      config.selectors.labels = fmt::format("{}={}", kcache::kHostLabel, kcache::nodeLabel(node.text));
    }
  }
  return out;
}

constexpr const char* kWrittenNames[] = {"object", "label", "status", "finalizer", "deletion"};

}  // namespace

NodeAgent::NodeAgent(const Config& config, Rng rng, controller::Owners owners)
    : config_{config},
      rng_{rng},
      parts_{owners},
      watches_{parts_, kindsOn(config.node), rng_,
               [this](const auto&, const auto& output, Now, kapi::Effects&) { take(output); }},
      recorder_{"gkm-agent", config.instance, rng_.split()},
      events_{recorder_, parts_},
      desk_{owners.take(), kMostWrites},
      facts_{config.node, {}} {}

kapi::Effects NodeAgent::start(Now now) {
  kapi::Effects out;
  watches_.start(now, out);
  go(now, out);
  return out;
}

kapi::Effects NodeAgent::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  if (std::holds_alternative<kapi::TimerDue>(event)) {
    watches_.tick(now, out);
  } else if (!parts_.handle(event, now, out) && outcome != nullptr) {
    answered(*outcome, now, out);
  }
  go(now, out);
  return out;
}

// ---- what is known

void NodeAgent::take(const controller::Reflector::Output& output) {
  for (const auto& change : output.changes) { apply(change); }
  if (!isComplete()) { is_wanted_new_ = true; }
}

void NodeAgent::apply(const controller::Change& change) {
  if (isNodeObject(change.kind)) {
    const auto object = change.object.as<CacheNode>();
    const bool is_ours_gone = object == nullptr && change.key.name == config_.node.text;
    if (is_ours_gone) { scopes_[change.key.ns].gone = change.last_uid; }
    applyNodeObject(change.key, object);
  } else {
    applyCache(change);
  }
  touch(change.key.ns);
}

void NodeAgent::applyCache(const controller::Change& change) {
  auto& caches = scopes_[change.key.ns].known.caches;
  const auto known = caches.find(change.key.name);
  const auto cache = change.object.as<Cache>();
  const bool is_same = cache != nullptr && known != caches.end() && wantsTheSame(*known->second, *cache);
  is_wanted_new_ = is_wanted_new_ || !is_same;
  if (cache != nullptr) {
    caches.insert_or_assign(change.key.name, cache);
  } else {
    caches.erase(change.key.name);
  }
}

void NodeAgent::applyNodeObject(const model::ObjectKey& key, const model::Ptr<CacheNode>& object) {
  Scope& scope = scopes_[key.ns];
  if (key.name == config_.node.text) {
    const auto before = scope.known.object;
    const bool is_older = object != nullptr && before != nullptr && object->uid == before->uid &&
                          object->revision < before->revision;
    if (is_older) { return; }
    scope.known.object = object;
    const bool is_same = before != nullptr && object != nullptr && before->finalizers == object->finalizers &&
                         before->is_deleting == object->is_deleting && before->first == object->first;
    is_wanted_new_ = is_wanted_new_ || !is_same;
  } else if (object != nullptr) {
    scope.others.insert_or_assign(key.name, object);
  } else {
    scope.others.erase(key.name);
  }
}

bool NodeAgent::isComplete() const {
  const auto& all = watches_.all();
  return std::all_of(all.begin(), all.end(), controller::isListed);
}

void NodeAgent::touchAll() {
  for (const auto& [ns, scope] : scopes_) { touch(ns); }
}

kapi::Effects NodeAgent::has(const kcache::NodeHasPtr& has, Now now) {
  store_trouble_ = has->trouble;
  if (!has->is_known) { return {}; }  // that nothing is known says nothing
  const kcache::NodeHasPtr before = std::exchange(has_, has);
  for (const auto& [key, images] : has->caches) {
    auto& mine = scopes_[key.ns].known.has[key.name];
    if (mine == images) { continue; }
    mine = images;
    learnAttempts(key, images, now);
    touch(key.ns);
  }
  if (before == nullptr) {
    touchAll();
  } else {
    for (const auto& [key, images] : before->caches) {
      if (has->caches.contains(key)) { continue; }
      scopes_[key.ns].known.has.erase(key.name);
      touch(key.ns);
    }
  }
  kapi::Effects out;
  go(now, out);
  return out;
}

kapi::Effects NodeAgent::gpus(std::vector<kcache::CacheGpu> gpus, Now now) {
  kapi::Effects out;
  if (!knows_gpus_ || gpus != facts_.gpus) {
    facts_.gpus = std::move(gpus);
    knows_gpus_ = is_wanted_new_ = true;
    touchAll();
  }
  go(now, out);
  return out;
}

// ---- what is wanted

void NodeAgent::learnAttempts(const model::ObjectKey& cache, const kcache::HasImages& has, Now now) {
  const auto known = attempts_.find(cache);
  if (known == attempts_.end()) { return; }
  Attempt& attempt = known->second;
  const auto image = has.find(attempt.digest);
  if (image == has.end() || image->second.attempt != attempt.number) { return; }
  if (image->second.what == HasImage::What::Failed && !std::exchange(attempt.has_failed, true)) {
    waits_.tried(cache, now.mono);
  } else if (image->second.what == HasImage::What::Here) {  // also by another cache's attempt
    attempt.has_failed = false;
    waits_.forget(cache);
  }
}

void NodeAgent::takeDueAttempts(Now now) {
  for (const auto& cache : waits_.takeDue(now.mono)) {
    const auto it = attempts_.find(cache);
    if (it == attempts_.end() || !it->second.has_failed) { continue; }
    ++it->second.number;
    it->second.has_failed = false;
    is_wanted_new_ = true;
  }
}

kcache::Wanted NodeAgent::wanted() const {
  kcache::Wanted out;
  out.gpus = facts_.gpus;
  for (const auto& [ns, scope] : scopes_) {
    for (const auto& [name, cache] : scope.known.caches) {
      const model::ObjectKey key{ns, name};
      auto wanted = wantedOf(*cache);
      if (!wanted) {
        if (!cache->is_deleting) { out.undecided.insert(key); }
        continue;
      }
      if (!*wanted || !mayFetch(scope.known, name)) {
        out.undecided.insert(key);
        continue;
      }
      out.images.emplace(key, **std::move(wanted));
    }
    const auto& first = scope.known.object == nullptr ? std::nullopt : scope.known.object->first;
    if (!first || !first->counts(wall_)) { continue; }
    for (const std::string& name : first->caches) {
      if (out.images.contains({ns, name})) { out.first.insert({ns, name}); }
    }
  }
  return out;
}

/// Of an image that was not wanted until now. A cache of that name may have wanted it before, and its failure
/// may stand there still, which is none of this attempt.
NodeAgent::Attempt NodeAgent::firstAttempt(const model::ObjectKey& cache, const std::string& digest) const {
  Attempt attempt{digest};
  const auto scope = scopes_.find(cache.ns);
  if (scope == scopes_.end()) { return attempt; }
  const auto images = scope->second.known.has.find(cache.name);
  if (images == scope->second.known.has.end()) { return attempt; }
  const auto image = images->second.find(digest);
  const bool has_failed = image != images->second.end() && image->second.what == HasImage::What::Failed;
  if (has_failed) { attempt.number = image->second.attempt + 1; }
  return attempt;
}

std::optional<Wall> NodeAgent::firstUntil() const {
  std::optional<Wall> out;
  for (const auto& [ns, scope] : scopes_) {
    const auto* object = scope.known.object.get();
    if (object == nullptr || !object->first || !object->first->counts(wall_)) { continue; }
    out = sooner(out, object->first->until());
  }
  return out;
}

kcache::WantedPtr NodeAgent::takeWanted() {
  if (!isComplete() || !knows_gpus_ || !failure().empty() || !std::exchange(is_wanted_new_, false)) {
    return nullptr;
  }
  kcache::Wanted now = wanted();
  std::map<model::ObjectKey, Attempt> attempts;
  for (auto& [cache, image] : now.images) {
    const std::string digest = image.image.digest->text();
    const auto known = attempts_.find(cache);
    const bool is_same = known != attempts_.end() && known->second.digest == digest;
    if (known != attempts_.end() && !is_same) { waits_.forget(cache); }
    const Attempt attempt = is_same ? known->second : firstAttempt(cache, digest);
    image.attempt = attempt.number;
    attempts.emplace(cache, attempt);
  }
  for (const auto& [cache, attempt] : attempts_) {
    if (now.undecided.contains(cache)) {
      attempts.emplace(cache, attempt);
    } else if (!attempts.contains(cache)) {
      waits_.forget(cache);
    }
  }
  attempts_ = std::move(attempts);
  first_until_ = firstUntil();
  if (told_ != nullptr && *told_ == now) { return nullptr; }
  told_ = std::make_shared<const kcache::Wanted>(std::move(now));
  return told_;
}

// ---- what is done

void NodeAgent::go(Now now, kapi::Effects& out) {
  wall_ = now.wall;
  takeDueAttempts(now);
  if (first_until_ && *first_until_ <= wall_) {
    first_until_.reset();
    is_wanted_new_ = true;
  }
  const bool may_write = isComplete() && knows_gpus_ && has_ != nullptr && failure().empty() && is_taking_;
  if (may_write) {
    while (const auto key = desk_.next(now.mono)) {
      const auto scope = scopes_.find(key->ns);
      if (scope == scopes_.end()) { continue; }
      look(*key, scope->second, now, out);
      if (scope->second.isEmpty() && !desk_.isOpen(*key)) { scopes_.erase(scope); }
    }
    for (const auto& note : std::exchange(notes_, {})) { events_.send(note, now, out); }
    events_.tick(now, out);
  }
  std::optional<Mono> due = waits_.nextDue();
  if (first_until_) { due = sooner(due, now.mono + Duration{*first_until_ - wall_}); }
  if (may_write) { due = soonest({due, desk_.nextDue(), events_.nextDue()}); }
  if (due) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
}

void NodeAgent::look(const model::ObjectKey& key, Scope& scope, Now now, kapi::Effects& out) {
  const ScopePlan plan = planOf(key, scope.known, facts_, now.wall);
  if (!plan.can_wait) { scope.waits_since.reset(); }
  if (plan.act == NodeAct::Nothing) { return lookAtOther(key, scope, out); }
  if (plan.act == NodeAct::WriteStatus) {
    Mono at = scope.written_at ? *scope.written_at + kGap : now.mono;
    if (plan.can_wait) {
      if (!scope.waits_since) { scope.waits_since = now.mono; }
      at = std::max(at, *scope.waits_since + scope.patience);
    }
    if (now.mono < at) { return desk_.touchAt(key, at); }
  }
  carryOut(key, scope, plan, now, out);
}

/// What an older version left of this node: first its finalizers, then the object.
void NodeAgent::lookAtOther(const model::ObjectKey& key, const Scope& scope, kapi::Effects& out) {
  for (const auto& [name, object] : scope.others) {
    std::vector<std::string> kept;
    for (const std::string& finalizer : object->finalizers.names) {
      if (kcache::handleIn(finalizer).empty()) { kept.push_back(finalizer); }
    }
    if (object->finalizers.are_cut) { continue; }
    if (kept.size() != object->finalizers.names.size()) {
      return send(key, Doing::WriteFinalizers,
                  kcache::writeFinalizers(kcache::nodeKindOf(object->key), object->key, object->uid,
                                          object->revision, kept),
                  out);
    }
    if (!object->is_deleting) { return send(key, Doing::Delete, kcache::deleteNode(*object), out); }
  }
}

void NodeAgent::carryOut(const model::ObjectKey& key, Scope& scope, const ScopePlan& plan, Now now,
                         kapi::Effects& out) {
  const CacheNode& object = plan.object;
  switch (plan.act) {
    case NodeAct::Create:
      if (scope.is_unlabelled) { return send(key, Doing::Label, kcache::labelNode(key), out); }
      return send(key, Doing::Create, kcache::createNode(key, plan.finalizers), out);
    case NodeAct::WriteStatus:
      scope.patience = plan.can_wait ? std::min(2 * scope.patience, kMostPatience) : kPatience;
      scope.waits_since.reset();
      scope.written_at = now.mono;
      scope.news = newsIn(*scope.known.object, object);
      return send(key, Doing::WriteStatus, kcache::writeStatus(object), out);
    case NodeAct::WriteFinalizers:
      return send(
          key, Doing::WriteFinalizers,
          kcache::writeFinalizers(kcache::nodeKindOf(key), key, object.uid, object.revision, plan.finalizers),
          out);
    case NodeAct::Delete: return send(key, Doing::Delete, kcache::deleteNode(object), out);
    case NodeAct::Nothing: return;
  }
}

void NodeAgent::send(const model::ObjectKey& key, Doing doing, kapi::Call call, kapi::Effects& out) {
  call.token = desk_.begin(key, doing);
  out.emplace_back(std::move(call));
}

void NodeAgent::answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = desk_.answered(outcome.token);
  if (!answer || answer->stale) { return; }
  const bool is_applied = outcome.result == kapi::CallResult::Applied;
  out.emplace_back(
      countWrite(kNodeWrites, kWrittenNames[static_cast<std::size_t>(answer->what)], is_applied));
  if (!is_applied) { return failed(answer->key, answer->what, outcome, now, out); }
  desk_.worked(answer->key);
  Scope& scope = scopes_[answer->key.ns];
  scope.trouble.clear();
  for (auto& note : std::exchange(scope.news, {})) { notes_.push_back(std::move(note)); }
  const auto object = outcome.object.as<CacheNode>();
  const bool is_there = object != nullptr && object->uid != scope.gone;  // the watch may be faster
  if (is_there && answer->what != Doing::Delete && object->key == answer->key) {
    scope.is_unlabelled = false;
    applyNodeObject(answer->key, object);
    if (answer->what == Doing::Create) { notes_.push_back(createdNote(*object)); }
  } else {
    // The watch says what became of it.
    desk_.failed(answer->key, now.mono, kGap);
  }
}

void NodeAgent::failed(const model::ObjectKey& key, Doing doing, const kapi::Outcome& outcome, Now now,
                       kapi::Effects& out) {
  Scope& scope = scopes_[key.ns];
  scope.written_at.reset();
  scope.news.clear();
  if (outcome.notFound() && doing != Doing::Create) {
    scope.is_unlabelled = false;
    scope.known.object = nullptr;
    is_wanted_new_ = true;
  }
  if (doing == Doing::Create && outcome.reason == "AlreadyExists") {
    scope.is_unlabelled = true;
    out.emplace_back(kapi::Log{kapi::Level::Warn,
                               "there is a node object of our name without our label: it gets the label",
                               {{"object", key.text()}, {"label", kcache::kHostLabel}}});
  }
  desk_.failed(key, now.mono, outcome.retry_after);
  const bool is_behind = outcome.http == 409 || outcome.notFound();  // somebody was faster
  std::string trouble = is_behind ? "" : fmt::format("{} {}", outcome.http, outcome.message);
  if (!trouble.empty() && trouble != scope.trouble) {
    out.emplace_back(kapi::Log{
        kapi::Level::Warn, "a node object cannot be written", {{"object", key.text()}, {"why", trouble}}});
  }
  scope.trouble = std::move(trouble);
}

std::map<kcache::State, std::size_t> NodeAgent::states() const {
  std::map<kcache::State, std::size_t> out;
  for (const auto& [ns, scope] : scopes_) {
    if (scope.known.object == nullptr) { continue; }
    for (const auto& [name, entries] : scope.known.object->caches) {
      for (const auto& [digest, entry] : entries) {
        if (entry.condition) { ++out[entry.condition->state]; }
      }
    }
  }
  return out;
}

Readiness NodeAgent::readiness() const {
  Readiness out;
  for (const auto& one : watches_.all()) {
    out.note(one.kind()->plural, controller::stateOf(one, "not served; apply charts/gkm/crds/crds.yaml"));
  }
  out.need("gpus", knows_gpus_, "", "not looked at yet");
  out.need("store", has_ != nullptr && store_trouble_.empty(), store_trouble_, "not opened yet");
  out.ready = out.ready && isComplete();
  return out;
}

}  // namespace gs::gkm
