#include "apiserver/storage/watch_cache.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/meta/answer.h"

namespace gs::apiserver {
namespace {

json::Value event(const char* type, json::Value object) {
  return json::Object{{"type", type}, {"object", std::move(object)}};
}

/// The object as a watcher sees it when it leaves a selector: the old state with the new revision.
json::Value asLeft(const json::Value& before, std::uint64_t revision) {
  json::Value gone = before;
  gone.child("metadata").set("resourceVersion", std::to_string(revision));
  return gone;
}

}  // namespace

WatchId WatchCache::open(WatchOptions options) {
  Watch w;
  w.of = std::move(options);
  w.store_id = w.of.resource->storeId();
  if (w.of.from == 0) {
    const auto [begin, end] = store_.range(w.store_id);
    for (auto it = begin; it != end; ++it) {
      const auto& object = *it->second.object;
      if ((w.of.ns.empty() || it->first.ns == w.of.ns) && w.of.labels.matches(object) &&
          w.of.fields.matches(object)) {
        w.first.push_back(event("ADDED", shown(*w.of.resource, object)));
      }
    }
    w.of.from = store_.revision();
  }
  w.too_old = w.of.from < store_.oldest();
  w.position = store_.positionAfter(w.of.from);
  const WatchId id = next_++;
  watches_.emplace(id, std::move(w));
  return id;
}

std::optional<json::Value> WatchCache::eventOf(const Watch& w, const HistoryEntry& e) const {
  if (e.revision <= w.of.from || e.key.resource != w.store_id || (!w.of.ns.empty() && e.key.ns != w.of.ns)) {
    return std::nullopt;
  }
  const auto sees = [&](const ObjectPtr& o) {
    return o != nullptr && w.of.labels.matches(*o) && w.of.fields.matches(*o);
  };
  const bool before = sees(e.before);
  if (e.after == nullptr) {
    return before ? std::optional{event("DELETED", shown(*w.of.resource, *e.last))} : std::nullopt;
  }
  const bool after = sees(e.after);
  if (after) { return event(before ? "MODIFIED" : "ADDED", shown(*w.of.resource, *e.after)); }
  if (!before) { return std::nullopt; }
  return event("DELETED", shown(*w.of.resource, asLeft(*e.before, e.revision)));
}

std::optional<json::Value> WatchCache::read(Watch& w) const {
  if (w.ended) { return std::nullopt; }
  if (w.too_old || (w.position < store_.historyEnd() && store_.entry(w.position) == nullptr)) {
    ApiError error{
        410, "Expired", fmt::format("too old resource version: {} ({})", w.of.from, store_.revision()),
        {},  {},        false};
    w.ended = true;
    return event("ERROR", statusBody(error));
  }
  while (const HistoryEntry* entry = store_.entry(w.position)) {
    ++w.position;
    if (auto seen = eventOf(w, *entry)) { return seen; }
  }
  return std::nullopt;
}

void WatchCache::end(const Resource& gone) {
  for (auto& [id, w] : watches_) {
    if (w.of.resource != &gone) { continue; }
    while (auto event = read(w)) { w.first.push_back(*std::move(event)); }
    w.ended = true;
  }
}

std::optional<json::Value> WatchCache::poll(WatchId id) {
  const auto it = watches_.find(id);
  if (it == watches_.end()) { return std::nullopt; }
  Watch& w = it->second;
  if (!w.first.empty()) {
    json::Value next = std::move(w.first.front());
    w.first.pop_front();
    return next;
  }
  auto next = read(w);
  if (w.ended) {
    watches_.erase(it);
    return next;
  }
  if (next) { return next; }
  if (!w.bookmark_due) { return std::nullopt; }
  w.bookmark_due = false;
  const bool from_the_future = store_.revision() < w.of.from;  // no bookmark takes it back
  if (from_the_future) { return std::nullopt; }
  return event(
      "BOOKMARK",
      json::Object{{"kind", w.of.resource->kind},
                   {"apiVersion", w.of.resource->apiVersion()},
                   {"metadata", json::Object{{"resourceVersion", std::to_string(store_.revision())}}}});
}

void WatchCache::bookmark(WatchId id) {
  if (const auto it = watches_.find(id); it != watches_.end()) { it->second.bookmark_due = true; }
}

}  // namespace gs::apiserver
