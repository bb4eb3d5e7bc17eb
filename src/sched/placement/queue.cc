#include "sched/placement/queue.h"

namespace gs::sched {

bool Queue::Before::operator()(const Item* a, const Item* b) const {
  if (a->priority != b->priority) { return a->priority > b->priority; }
  if (a->created_us != b->created_us) { return a->created_us < b->created_us; }
  return a->uid < b->uid;
}

/// fronts_ holds the first item of each class that is not unschedulable. So every change of a class's
/// `waiting` stands between hideFront() and showFront().
void Queue::hideFront(const Class& c) {
  if (!c.unschedulable && !c.waiting.empty()) { fronts_.erase(*c.waiting.begin()); }
}

void Queue::showFront(Class& c) {
  if (!c.unschedulable && !c.waiting.empty()) { fronts_.insert(*c.waiting.begin()); }
}

void Queue::noteUnschedulable(EquivalenceClass id, const Class& c) {
  const bool is = c.unschedulable && !c.waiting.empty();
  if (is != unschedulable_.contains(id)) {
    if (is) {
      unschedulable_.insert(id);
      (c.on_node.empty() ? anywhere_ : by_node_[c.on_node]).insert(id);
    } else {
      unschedulable_.erase(id);
      anywhere_.erase(id);
      const auto named = by_node_.find(c.on_node);
      if (named != by_node_.end() && named->second.erase(id) > 0 && named->second.empty()) {
        by_node_.erase(named);
      }
    }
  }
}

void Queue::forgetIfEmpty(EquivalenceClass id) {
  const auto it = classes_.find(id);
  if (it != classes_.end() && it->second.waiting.empty()) { classes_.erase(it); }
}

void Queue::enter(Entry& entry) {
  Class& c = classes_[entry.item.pod_class];
  hideFront(c);
  c.waiting.insert(&entry.item);
  c.untold.insert(&entry.item);
  showFront(c);
  ++(c.unschedulable ? sizes_.unschedulable : sizes_.ready);
  noteUnschedulable(entry.item.pod_class, c);
}

/// Takes it out of its place; its entry stays. Returns the class whose `waiting` it left.
std::optional<EquivalenceClass> Queue::leave(const model::Uid& uid) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) { return std::nullopt; }
  const Entry& entry = it->second;
  if (entry.until_ns) {
    backing_off_.erase({*entry.until_ns, uid});
    --sizes_.backoff;
    return std::nullopt;
  }
  Class& c = classes_.at(entry.item.pod_class);
  hideFront(c);
  c.waiting.erase(&entry.item);
  c.untold.erase(&entry.item);
  showFront(c);
  --(c.unschedulable ? sizes_.unschedulable : sizes_.ready);
  noteUnschedulable(entry.item.pod_class, c);
  return entry.item.pod_class;
}

/// The entry of this uid as it is to be, in no place yet.
Queue::Entry& Queue::put(const Item& item) {
  const std::optional<EquivalenceClass> left = leave(item.uid);
  Entry& entry = entries_[item.uid];
  entry = Entry{item, std::nullopt};
  if (left && *left != item.pod_class) { forgetIfEmpty(*left); }
  return entry;
}

bool Queue::add(const Item& item) {
  enter(put(item));
  return classes_.at(item.pod_class).unschedulable;
}

void Queue::remove(const model::Uid& uid) {
  const std::optional<EquivalenceClass> left = leave(uid);
  entries_.erase(uid);
  if (left) { forgetIfEmpty(*left); }
}

std::optional<Queue::Item> Queue::pop() {
  if (fronts_.empty()) { return std::nullopt; }
  Item item = **fronts_.begin();
  remove(item.uid);
  return item;
}

void Queue::backOff(const Item& item, std::int64_t until_ns) {
  put(item).until_ns = until_ns;
  backing_off_.insert({until_ns, item.uid});
  ++sizes_.backoff;
}

std::vector<model::Uid> Queue::markUnschedulable(EquivalenceClass pod_class, const std::string& on_node) {
  Class& c = classes_[pod_class];
  if (!c.unschedulable) {
    hideFront(c);
    c.unschedulable = true;
    c.on_node = on_node;
    sizes_.ready -= c.waiting.size();
    sizes_.unschedulable += c.waiting.size();
    noteUnschedulable(pod_class, c);
  }
  std::vector<model::Uid> told;
  for (const Item* item : c.untold) { told.push_back(item->uid); }
  c.untold.clear();
  return told;
}

void Queue::activate(EquivalenceClass pod_class) {
  const auto it = classes_.find(pod_class);
  if (it == classes_.end() || !it->second.unschedulable) { return; }
  Class& c = it->second;
  c.unschedulable = false;
  showFront(c);
  sizes_.unschedulable -= c.waiting.size();
  sizes_.ready += c.waiting.size();
  noteUnschedulable(pod_class, c);
  forgetIfEmpty(pod_class);
}

std::optional<EquivalenceClass> Queue::nextOf(const std::set<EquivalenceClass>& classes,
                                              EquivalenceClass id) {
  if (classes.empty()) { return std::nullopt; }
  const auto next = classes.upper_bound(id);
  return next == classes.end() ? *classes.begin() : *next;
}

const std::set<EquivalenceClass>& Queue::unschedulableOn(const std::string& name) const {
  static const std::set<EquivalenceClass> kNone;
  const auto named = by_node_.find(name);
  return named == by_node_.end() ? kNone : named->second;
}

std::vector<model::Uid> Queue::unschedulablePods(EquivalenceClass pod_class) const {
  std::vector<model::Uid> out;
  const auto it = classes_.find(pod_class);
  if (it == classes_.end() || !it->second.unschedulable) { return out; }
  for (const Item* item : it->second.waiting) { out.push_back(item->uid); }
  return out;
}

std::vector<EquivalenceClass> Queue::tick(std::int64_t now_ns) {
  std::vector<EquivalenceClass> joined;
  while (!backing_off_.empty() && backing_off_.begin()->first <= now_ns) {
    Entry& entry = entries_.at(backing_off_.begin()->second);
    backing_off_.erase(backing_off_.begin());
    --sizes_.backoff;
    entry.until_ns.reset();
    enter(entry);
    if (classes_.at(entry.item.pod_class).unschedulable) { joined.push_back(entry.item.pod_class); }
  }
  return joined;
}

std::optional<std::int64_t> Queue::nextDueNs() const {
  return backing_off_.empty() ? std::nullopt : std::optional{backing_off_.begin()->first};
}

}  // namespace gs::sched
