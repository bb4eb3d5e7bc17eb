#include "operator/node/news.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace gs::gkm {
namespace {

using controller::EventNote;
using kcache::CacheNode;
using kcache::Entries;

EventNote noteOn(const CacheNode& object, bool warning, std::string reason, std::string text) {
  EventNote out;
  out.kind = kcache::nodeKindOf(object.key);
  out.object = object.key;
  out.uid = object.uid;
  out.revision = object.revision;
  out.warning = warning;
  out.reason = std::move(reason);
  out.action = "Reconciling";
  out.note = std::move(text);
  return out;
}

const Entries& entriesOf(const CacheNode& node, const std::string& cache) {
  static const Entries kNone;
  const auto it = node.caches.find(cache);
  return it == node.caches.end() ? kNone : it->second;
}

std::set<kcache::PodUse> podsOf(const Entries& entries) {
  std::set<kcache::PodUse> out;
  for (const auto& [digest, entry] : entries) { out.insert(entry.pods.begin(), entry.pods.end()); }
  return out;
}

/// "" it is well.
std::string errorIn(const Entries& entries, const std::string& digest) {
  const auto it = entries.find(digest);
  const bool is_error =
      it != entries.end() && it->second.condition && it->second.condition->state == kcache::State::Error;
  return is_error ? it->second.condition->message : "";
}

/// The image that the pod has was compiled for other GPUs than the node's.
bool isForNone(const Entries& entries, const kcache::PodUse& pod) {
  return std::any_of(entries.begin(), entries.end(), [&](const auto& one) {
    const kcache::CacheEntry& entry = one.second;
    return entry.compatible_gpus.empty() && !entry.incompatible_gpus.empty() &&
           std::find(entry.pods.begin(), entry.pods.end(), pod) != entry.pods.end();
  });
}

void tellUse(const CacheNode& on, const std::string& cache, const Entries& before, const Entries& after,
             std::vector<EventNote>& out) {
  const auto was = podsOf(before);
  const auto is = podsOf(after);
  const auto tell = [&](const char* reason, const char* how, const kcache::PodUse& pod) {
    out.push_back(noteOn(on, false, reason,
                         fmt::format("cache \"{}\" {} by pod \"{}/{}\", use count {}", cache, how, pod.ns,
                                     pod.name, is.size())));
  };
  for (const auto& pod : is) {
    if (was.contains(pod)) { continue; }
    tell("CacheUsed", "used", pod);
    if (isForNone(after, pod)) {
      out.push_back(
          noteOn(on, true, "Incompatible",
                 fmt::format("cache \"{}\" is for none of the GPUs of this node, and pod \"{}/{}\" uses it",
                             cache, pod.ns, pod.name)));
    }
  }
  for (const auto& pod : was) {
    if (!is.contains(pod)) { tell("CacheRelease", "no longer used", pod); }
  }
}

}  // namespace

EventNote createdNote(const CacheNode& object) {
  return noteOn(object, false, "Created",
                fmt::format("{} for node {}", kcache::nodeKindOf(object.key)->name, object.key.name));
}

std::vector<EventNote> newsIn(const CacheNode& before, const CacheNode& after) {
  std::set<std::string> names;
  for (const auto& [name, entries] : before.caches) { names.insert(name); }
  for (const auto& [name, entries] : after.caches) { names.insert(name); }
  std::vector<EventNote> out;
  for (const std::string& name : names) {
    const Entries& was = entriesOf(before, name);
    const Entries& is = entriesOf(after, name);
    tellUse(after, name, was, is, out);
    for (const auto& [digest, entry] : is) {
      const std::string error = errorIn(is, digest);
      if (error.empty() || error == errorIn(was, digest)) { continue; }
      out.push_back(noteOn(after, true, "Error", fmt::format("cache \"{}\": {}", name, error)));
    }
    if (out.size() >= kMostNews) { break; }
  }
  if (out.size() > kMostNews) { out.resize(kMostNews); }
  return out;
}

}  // namespace gs::gkm
