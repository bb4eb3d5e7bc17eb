#include "apiserver/storage/store.h"

#include <algorithm>

namespace gs::apiserver {
namespace {

const json::Value kNothing;

using Dependents = std::map<std::string, std::set<StoreKey>, std::less<>>;
void forgetDependent(Dependents& dependents, std::string_view owner, const StoreKey& key) {
  const auto it = dependents.find(owner);
  if (it == dependents.end()) { return; }
  it->second.erase(key);
  if (it->second.empty()) { dependents.erase(it); }
}

/// Copied, so that nothing of it is lent: from then on every copy of what is stored shares its members.
ObjectPtr withRevision(json::Value object, std::uint64_t revision) {
  object.child("metadata").set("resourceVersion", std::to_string(revision));
  return std::make_shared<const json::Value>(std::as_const(object));
}

}  // namespace

std::size_t roughBytes(const json::Value& value) {
  std::size_t bytes = sizeof(json::Value) + value.str().size();
  for (const auto& item : value.items()) { bytes += roughBytes(item); }
  for (const auto& [name, member] : value.members()) {
    bytes += sizeof(std::string) + name.size() + roughBytes(member);
  }
  return bytes;
}

const StoredObject* Store::find(const StoreKey& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : &it->second;
}

ObjectPtr Store::put(const StoreKey& key, json::Value object, OwnersPtr owners) {
  ObjectPtr after = withRevision(std::move(object), ++revision_);
  StoredObject& slot = objects_[key];
  const ObjectPtr before = slot.object;
  remember({revision_, key, before, after, nullptr});
  slot = {after, std::move(owners)};
  index(key, before ? *before : kNothing, *after);
  return after;
}

/// Keeps uids_, dependents_ and orphans_ while `before` becomes `after`; null: it is not there.
void Store::index(const StoreKey& key, const json::Value& before, const json::Value& after) {
  const auto& had = before["metadata"]["ownerReferences"];
  const auto& has = after["metadata"]["ownerReferences"];
  const auto uid = before["metadata"]["uid"].str();
  const auto next = after["metadata"]["uid"].str();
  if (had != has) {
    for (const auto& owner : had.items()) { forgetDependent(dependents_, owner["uid"].str(), key); }
    for (const auto& owner : has.items()) { dependents_[std::string{owner["uid"].str()}].insert(key); }
    lookForOwners(key, has);
  }
  if (uid == next) { return; }
  if (!next.empty()) { ++uids_[std::string{next}]; }
  if (const auto it = uids_.find(uid); it != uids_.end() && --it->second == 0) { uids_.erase(it); }
  for (const auto changed : {uid, next}) {
    const auto it = dependents_.find(changed);
    if (it == dependents_.end()) { continue; }
    for (const StoreKey& dependent : it->second) {
      if (const auto* there = find(dependent)) {
        lookForOwners(dependent, (*there->object)["metadata"]["ownerReferences"]);
      }
    }
  }
}

void Store::lookForOwners(const StoreKey& key, const json::Value& owners) {
  const auto& list = owners.items();
  const bool orphan = !list.empty() && std::none_of(list.begin(), list.end(), [&](const json::Value& o) {
    return uids_.contains(o["uid"].str());
  });
  if (orphan) {
    orphans_.insert(key);
  } else {
    orphans_.erase(key);
  }
}

void Store::remember(HistoryEntry entry) {
  if (max_bytes_ > 0) { entry.bytes = roughBytes(entry.after ? *entry.after : *entry.last); }
  bytes_ += entry.bytes;
  history_.push_back(std::move(entry));
  while (history_.size() > max_history_ || (max_bytes_ > 0 && bytes_ > max_bytes_)) {
    oldest_ = history_.front().revision;
    bytes_ -= history_.front().bytes;
    history_.pop_front();
    ++first_;
  }
}

ObjectPtr Store::remove(const StoreKey& key) {
  const auto it = objects_.find(key);
  if (it == objects_.end()) { return nullptr; }
  ObjectPtr before = it->second.object;
  ObjectPtr last = withRevision(*before, ++revision_);
  objects_.erase(it);
  index(key, *before, kNothing);
  remember({revision_, key, before, nullptr, last});
  return last;
}

std::pair<Store::Map::const_iterator, Store::Map::const_iterator> Store::range(
    const std::string& resource) const {
  return {objects_.lower_bound({resource, "", ""}), objects_.lower_bound({resource + '\x01', "", ""})};
}

std::map<StoreKey, ObjectPtr> Store::asOf(const std::string& resource, std::uint64_t revision) const {
  std::map<StoreKey, ObjectPtr> out;
  const auto [begin, end] = range(resource);
  for (auto it = begin; it != end; ++it) { out.emplace(it->first, it->second.object); }
  for (auto it = history_.rbegin(); it != history_.rend() && it->revision > revision; ++it) {
    if (it->key.resource != resource) { continue; }
    if (it->before == nullptr) {
      out.erase(it->key);
    } else {
      out[it->key] = it->before;
    }
  }
  return out;
}

std::uint64_t Store::positionAfter(std::uint64_t revision) const {
  const auto it = std::upper_bound(history_.begin(), history_.end(), revision,
                                   [](std::uint64_t r, const HistoryEntry& e) { return r < e.revision; });
  return first_ + static_cast<std::uint64_t>(it - history_.begin());
}

const HistoryEntry* Store::entry(std::uint64_t position) const {
  return position < first_ || position >= historyEnd() ? nullptr : &history_[position - first_];
}

void Store::reset(Map objects, std::uint64_t revision, bool goes_back) {
  objects_ = std::move(objects);
  uids_.clear();
  dependents_.clear();
  orphans_.clear();
  for (const auto& [key, stored] : objects_) { index(key, kNothing, *stored.object); }
  revision_ = goes_back ? revision : std::max(revision, revision_) + kLost;
  compact();
  ++first_;  // nobody has read all that happened
}

void Store::compact() {
  first_ = historyEnd();
  history_.clear();
  bytes_ = 0;
  oldest_ = revision_;
}

}  // namespace gs::apiserver
