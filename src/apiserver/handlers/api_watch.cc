// Watches: initial state, then history, seen through selectors.
#include <fmt/format.h>

#include "apiserver/handlers/api.h"
#include "apiserver/handlers/list_options.h"

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

Answer<WatchId> Api::watch(std::string_view target) {
  auto route = resources_.route(target);
  if (!route) { return tl::unexpected(route.error()); }
  Watch w;
  w.resource = route->resource;
  w.store_id = w.resource->storeId();
  w.ns = route->ns;
  auto labels = Selector::labels(valueOf(route->query, "labelSelector"));
  if (!labels) { return tl::unexpected(labels.error()); }
  auto fields = Selector::fields(valueOf(route->query, "fieldSelector"), route->resource->id());
  if (!fields) { return tl::unexpected(fields.error()); }
  w.labels = *std::move(labels);
  w.fields = *std::move(fields);
  const auto from = readWatchOptions(route->query);
  if (!from) { return tl::unexpected(from.error()); }
  w.from = *from;
  if (w.from == 0) {
    const auto [begin, end] = store_.range(w.store_id);
    for (auto it = begin; it != end; ++it) {
      const auto& object = *it->second.object;
      if ((w.ns.empty() || it->first.ns == w.ns) && w.labels.matches(object) && w.fields.matches(object)) {
        w.first.push_back(event("ADDED", shown(*w.resource, object)));
      }
    }
    w.from = store_.revision();
  }
  w.too_old = w.from < store_.oldest();
  w.position = store_.positionAfter(w.from);
  const WatchId id = next_watch_++;
  watches_.emplace(id, std::move(w));
  return id;
}

std::optional<json::Value> Api::eventOf(const Watch& w, const HistoryEntry& e) const {
  if (e.revision <= w.from || e.key.resource != w.store_id || (!w.ns.empty() && e.key.ns != w.ns)) {
    return std::nullopt;
  }
  const auto sees = [&](const ObjectPtr& o) {
    return o != nullptr && w.labels.matches(*o) && w.fields.matches(*o);
  };
  const bool before = sees(e.before);
  if (e.after == nullptr) {
    return before ? std::optional{event("DELETED", shown(*w.resource, *e.last))} : std::nullopt;
  }
  const bool after = sees(e.after);
  if (after) { return event(before ? "MODIFIED" : "ADDED", shown(*w.resource, *e.after)); }
  if (!before) { return std::nullopt; }
  return event("DELETED", shown(*w.resource, asLeft(*e.before, e.revision)));
}

std::optional<json::Value> Api::read(Watch& w) const {
  if (w.ended) { return std::nullopt; }
  if (w.too_old || (w.position < store_.historyEnd() && store_.entry(w.position) == nullptr)) {
    ApiError error{
        410, "Expired", fmt::format("too old resource version: {} ({})", w.from, store_.revision()),
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

void Api::endWatches(const Resource& gone) {
  for (auto& [id, w] : watches_) {
    if (w.resource != &gone) { continue; }
    while (auto event = read(w)) { w.first.push_back(*std::move(event)); }
    w.ended = true;
  }
}

std::optional<json::Value> Api::poll(WatchId id) {
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
  if (store_.revision() < w.from) {
    return std::nullopt;
  }  // it began in the future, which no bookmark takes back
  return event(
      "BOOKMARK",
      json::Object{{"kind", w.resource->kind},
                   {"apiVersion", w.resource->apiVersion()},
                   {"metadata", json::Object{{"resourceVersion", std::to_string(store_.revision())}}}});
}

void Api::bookmark(WatchId id) {
  if (const auto it = watches_.find(id); it != watches_.end()) { it->second.bookmark_due = true; }
}

}  // namespace gs::apiserver
