#include "operator/caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "kcache/kinds/names.h"
#include "operator/metrics.h"

namespace gs::gkm {
namespace {

using kapi::CallResult;
using kcache::Cache;
using kcache::CacheNode;
using kcache::State;

constexpr int kMostWrites = 32;
constexpr std::size_t kMostNodesNamed = 8;

/// What a node object says, by handle; nullptr: by a finalizer alone. Nothing when no agent stands for it.
using Said = std::map<std::string, const kcache::Entries*, std::less<>>;
Said saidBy(const CacheNode& node) {
  Said out;
  for (const std::string& finalizer : node.finalizers.names) {
    if (const auto handle = kcache::handleIn(finalizer); !handle.empty()) { out.emplace(handle, nullptr); }
  }
  if (out.empty() && node.is_deleting) { return out; }
  for (const auto& [name, entries] : node.caches) { out.insert_or_assign(kcache::handleOf(name), &entries); }
  return out;
}

bool isSame(const kcache::Entries* a, const kcache::Entries* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

const char* doingOf(Act act) {
  switch (act) {
    case Act::AddFinalizer: return "adding the finalizer";
    case Act::RemoveFinalizer: return "removing the finalizer";
    default: return "writing the status";
  }
}

const char* metricOf(Act act) { return act == Act::WriteStatus ? "status" : "finalizer"; }

/// What an event is about: the state that is wrong and its first cause; "" nothing.
std::string newsIn(const Cache& cache) {
  if (!cache.status || !cache.status->condition) { return {}; }
  const auto& [state, message, since] = *cache.status->condition;
  const bool is_told = state == State::Error || state == State::UnloadError || state == State::Outdated;
  return is_told ? fmt::format("{} {}", kcache::nameOf(state), firstCause(message)) : "";
}

std::string stateOf(const Cache& cache) {
  return cache.status && cache.status->condition ? kcache::nameOf(cache.status->condition->state) : "None";
}

controller::EventNote noteOn(const Cache& cache, std::string reason, std::string note) {
  controller::EventNote out;
  out.kind = kcache::cacheKindOf(cache.key);
  out.object = cache.key;
  out.uid = cache.uid;
  out.revision = cache.revision;
  out.warning = true;
  out.reason = std::move(reason);
  out.action = "Reconciling";
  out.note = std::move(note);
  return out;
}

}  // namespace

Caches::Caches(controller::Parts& parts) : desk_{parts.add(*this), kMostWrites} {}

model::ObjectKey Caches::placeOf(const model::ObjectKey& cache) {
  return {cache.ns, kcache::handleOf(cache.name)};
}

// ---- what is known

void Caches::count(const Entry& entry, int by) {
  if (entry.cache == nullptr) { return; }
  const auto add = [by](std::size_t& n) { n = by > 0 ? n + 1 : n - 1; };
  add(states_[stateOf(*entry.cache)]);
  if (entry.cache->is_deleting) { add(deleting_); }
}

void Caches::changed(const model::Ptr<Cache>& cache) {
  const model::ObjectKey place = placeOf(cache->key);
  Entry& entry = entries_[place];
  const auto before = entry.cache;
  const bool is_other = before == nullptr || before->uid != cache->uid;
  if (!is_other && cache->revision < before->revision) { return; }
  count(entry, -1);
  if (is_other) {
    entry.has_said_deleting = false;
    entry.told.clear();
    entry.told_at.reset();
  }
  entry.cache = cache;
  count(entry, 1);
  if (is_other || before->digest != cache->digest) {
    for (const std::string& object : entry.tally.objects()) { share(entry, object); }
  }
  touch(place);
}

void Caches::gone(const model::ObjectKey& key, const model::Uid& uid) {
  const auto it = entries_.find(placeOf(key));
  if (it == entries_.end() || it->second.cache == nullptr || it->second.cache->uid != uid) { return; }
  count(it->second, -1);
  it->second.cache = nullptr;
  desk_.forget(it->first);
  it->second.written_at = {};
  it->second.trouble.clear();
  drop(it);
}

/// Of what nobody speaks nothing is kept.
void Caches::drop(Entries::iterator entry) {
  if (entry->second.cache == nullptr && !entry->second.tally.isHeld()) { entries_.erase(entry); }
}

/// What that node object, which says something of it, says: counted anew.
void Caches::share(Entry& entry, const std::string& object) {
  const CacheNode& node = *nodes_.at({entry.cache->key.ns, object});
  const auto it = node.caches.find(entry.cache->key.name);
  const kcache::Entries* entries = it == node.caches.end() ? nullptr : &it->second;
  entry.tally.say(node.node.text, object, shareOf(entries, entry.cache->digest));
}

void Caches::nodeChanged(const model::Ptr<CacheNode>& node) {
  auto& known = nodes_[node->key];
  const auto before = std::exchange(known, node);
  if (before != nullptr && *before == *node) { return; }
  const Said was = before == nullptr ? Said{} : saidBy(*before);
  const Said is = saidBy(*node);
  const bool is_moved = before != nullptr && before->node != node->node;
  for (const auto& [handle, entries] : was) {
    if (is.contains(handle) && !is_moved) { continue; }
    const auto it = entries_.find({node->key.ns, handle});
    it->second.tally.unsay(before->node.text, node->key.name);
    touch(it->first);
    drop(it);
  }
  for (const auto& [handle, entries] : is) {
    const auto old = was.find(handle);
    if (old != was.end() && !is_moved && isSame(old->second, entries)) { continue; }
    const model::ObjectKey place{node->key.ns, handle};
    Entry& entry = entries_[place];
    const std::string present = entry.cache == nullptr ? std::string{} : entry.cache->digest;
    entry.tally.say(node->node.text, node->key.name, shareOf(entries, present));
    touch(place);
  }
}

void Caches::nodeGone(const model::ObjectKey& key) {
  const auto node = nodes_.extract(key);
  if (node.empty()) { return; }
  for (const auto& [handle, entries] : saidBy(*node.mapped())) {
    const auto it = entries_.find({key.ns, handle});
    it->second.tally.unsay(node.mapped()->node.text, key.name);
    touch(it->first);
    drop(it);
  }
}

void Caches::nodesKnown(kapi::Kind kind, model::Revision revision) {
  NodeNews& news = kind == kcache::kCacheNode ? news_ : wide_news_;
  for (const auto& place : news.reached(revision)) { touch(place); }
}

std::optional<model::Revision> Caches::takeNodesWanted(kapi::Kind kind) {
  return (kind == kcache::kCacheNode ? news_ : wide_news_).takeWanted();
}

// ---- what is done

void Caches::lead() {
  is_leading_ = true;
  for (auto& [place, entry] : entries_) {
    if (entry.cache == nullptr) { continue; }
    entry.told = newsIn(*entry.cache);
    desk_.touch(place);
  }
}

void Caches::reset() {
  is_leading_ = false;
  desk_.reset();
  news_.reset();
  wide_news_.reset();
}

void Caches::claimsChanged(const model::ObjectKey& cache) {
  const auto it = entries_.find(placeOf(cache));
  if (it != entries_.end() && it->second.cache != nullptr) { touch(it->first); }
}

std::int64_t Caches::sizeOf(const model::ObjectKey& cache) const {
  const auto it = entries_.find(placeOf(cache));
  if (it == entries_.end() || it->second.cache == nullptr) { return 0; }
  for (const std::string& object : it->second.tally.objects()) {
    const auto& caches = nodes_.at({cache.ns, object})->caches;
    const auto entries = caches.find(it->second.cache->key.name);
    if (entries == caches.end()) { continue; }
    const auto entry = entries->second.find(it->second.cache->digest);
    if (entry != entries->second.end() && entry->second.size > 0) { return entry->second.size; }
  }
  return 0;
}

void Caches::go(Now now, const CacheVolumes& volumes, kapi::Effects& out) {
  while (is_leading_) {
    const auto place = desk_.next(now.mono);
    if (!place) { return; }
    const auto it = entries_.find(*place);
    if (it != entries_.end() && it->second.cache != nullptr) { look(*place, it->second, now, volumes, out); }
  }
}

std::optional<Mono> Caches::nextDue() const { return is_leading_ ? desk_.nextDue() : std::nullopt; }

void Caches::look(const model::ObjectKey& place, Entry& entry, Now now, const CacheVolumes& volumes,
                  kapi::Effects& out) {
  const Cache& cache = *entry.cache;
  if (cache.is_deleting && entry.tally.isHeld()) { sayDeleting(entry); }
  tell(place, entry, now);
  const Plan plan = planOf(cache, entry.tally, now.wall, volumes.standingsOf(cache));
  if (plan.act == Act::Nothing) { return; }
  if (plan.act != Act::WriteStatus && cache.finalizers.are_cut) { return; }
  if (plan.act == Act::RemoveFinalizer && !newsOf(place).covers(cache.revision)) {
    return newsOf(place).await(place, cache.revision);
  }
  if (plan.act == Act::WriteStatus && entry.written_at) {
    const Mono at = *entry.written_at + (plan.is_cause_only ? kCauseGap : kGap);
    if (now.mono < at) { return desk_.touchAt(place, at); }
  }
  write(place, cache, plan, out);
}

void Caches::write(const model::ObjectKey& place, const Cache& cache, const Plan& plan, kapi::Effects& out) {
  const char* finalizer = kcache::finalizerOf(cache.key);
  kapi::Call call;
  if (plan.act == Act::WriteStatus) {
    call = kcache::writeStatus(cache, plan.status);
  } else {
    const auto names = plan.act == Act::AddFinalizer ? cache.finalizers.with(finalizer)
                                                     : cache.finalizers.without(finalizer);
    call =
        kcache::writeFinalizers(kcache::cacheKindOf(cache.key), cache.key, cache.uid, cache.revision, names);
  }
  call.leader_only = true;
  call.token = desk_.begin(place, plan.act);
  out.emplace_back(std::move(call));
}

void Caches::sayDeleting(Entry& entry) {
  if (std::exchange(entry.has_said_deleting, true)) { return; }
  const auto named = entry.tally.nodes(kMostNodesNamed);
  const std::size_t more = entry.tally.nodeCount() - named.size();
  notes_.push_back(noteOn(*entry.cache, "Deleting",
                          fmt::format("waits until these nodes have removed it: {}{}", fmt::join(named, ", "),
                                      more == 0 ? "" : fmt::format(" and {} more", more))));
}

void Caches::tell(const model::ObjectKey& place, Entry& entry, Now now) {
  const Cache& cache = *entry.cache;
  std::string news = newsIn(cache);
  if (news == entry.told) { return; }
  if (!news.empty()) {
    if (entry.told_at && now.mono < *entry.told_at + kTellGap) {
      return desk_.touchAt(place, *entry.told_at + kTellGap);
    }
    const kcache::Condition& is = *cache.status->condition;
    notes_.push_back(noteOn(cache, kcache::nameOf(is.state), is.message));
    notes_.back().warning = is.state != State::Outdated;
    entry.told_at = now.mono;
  }
  entry.told = std::move(news);
}

void Caches::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = desk_.answered(outcome.token);
  if (!answer) { return; }
  const auto& [place, act, is_stale] = *answer;
  const bool is_applied = outcome.result == CallResult::Applied;
  out.emplace_back(countWrite(kWrites, metricOf(act), is_applied));
  if (is_stale) { return; }
  is_applied ? written(place, act, outcome, now) : failed(place, act, outcome, now, out);
}

void Caches::written(const model::ObjectKey& place, Act act, const kapi::Outcome& outcome, Now now) {
  Entry& entry = entries_.at(place);
  desk_.worked(place);
  entry.trouble.clear();
  if (act == Act::WriteStatus) { entry.written_at = now.mono; }
  const auto cache = outcome.object.as<Cache>();
  const bool is_it = cache != nullptr && cache->uid == entry.cache->uid;
  if (is_it && act != Act::RemoveFinalizer) { return changed(cache); }
  // The watch says what became of it: the answer may show it as it was just before it went.
  desk_.failed(place, now.mono, kGap);
}

void Caches::failed(const model::ObjectKey& place, Act act, const kapi::Outcome& outcome, Now now,
                    kapi::Effects& out) {
  Entry& entry = entries_.at(place);
  desk_.failed(place, now.mono, outcome.retry_after);
  const bool is_behind = outcome.http == 409 || outcome.notFound();  // somebody was faster
  std::string trouble =
      is_behind ? "" : fmt::format("{}: {} {}", doingOf(act), outcome.http, outcome.message);
  if (!trouble.empty() && trouble != entry.trouble) {
    out.emplace_back(kapi::Log{
        kapi::Level::Warn,
        trouble,
        {{"kind", std::string{kcache::cacheKindOf(place)->name}}, {"cache", entry.cache->key.text()}}});
  }
  entry.trouble = std::move(trouble);
}

}  // namespace gs::gkm
