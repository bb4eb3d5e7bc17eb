#include "test/sim/share_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using json::Value;

constexpr int kWhole = 100;
constexpr std::size_t kNotesKept = 64;
/// What became known so long before a choice was known to whom made it, however late its watches are.
constexpr Duration kHeard = std::chrono::seconds{20};

std::string textOf(const Value& v) { return std::string{v.str()}; }

int numberOf(std::string_view text) {
  int n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() ? n : -1;
}

std::vector<int> numbersOf(std::string_view text) {
  std::vector<int> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    out.push_back(numberOf(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

}  // namespace

void ShareJudge::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

const std::string& ShareJudge::watch(Mono now) {
  now_ = now;
  const apiserver::Store& store = api_.store();
  for (; position_ < store.historyEnd(); ++position_) {
    const apiserver::HistoryEntry* entry = store.entry(position_);
    if (entry == nullptr) { continue; }
    if (entry->key.resource == kPodsId) {
      podChanged(*entry);
    } else if (entry->key.resource == kNodesId) {
      nodeChanged(*entry);
    }
  }
  return problem_;
}

ShareJudge::Pod ShareJudge::podOf(const Value& object) {
  const Value& notes = object["metadata"]["annotations"];
  Pod pod;
  pod.name = textOf(object["metadata"]["name"]);
  pod.node = textOf(object["spec"]["nodeName"]);
  pod.named = textOf(notes["tencent.com/predicate-node"]);
  pod.time = textOf(notes["tencent.com/predicate-time"]);
  pod.assigned = notes["tencent.com/gpu-assigned"].str() == "true";
  const auto phase = object["status"]["phase"].str();
  pod.finished = phase == "Succeeded" || phase == "Failed";
  pod.leaves = pod.finished || object["metadata"].find("deletionTimestamp") != nullptr;
  pod.refused = phase == "Failed" &&
                object["status"]["message"].str().find("Nvidia node mismatch") != std::string_view::npos;
  for (const Value& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == "PodScheduled" && c["status"].str() == "False") {
      pod.told = textOf(c["message"]);
    }
  }
  for (const char* key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
    if (pod.gang.empty()) { pod.gang = textOf(notes[key]); }
  }
  pod.odd = oddityOf(object["spec"]);
  pod.note = pod.named;
  for (const Value& c : object["spec"]["containers"].items()) {
    const Value& limits = c["resources"]["limits"];
    const auto ids = notes[fmt::format("tencent.com/predicate-gpu-idx-{}", pod.containers.size())].str();
    if (!ids.empty()) { pod.note += fmt::format(" {}:{}", pod.containers.size(), ids); }
    pod.containers.push_back({std::max(0, numberOf(limits["tencent.com/vcuda-core"].str())),
                              std::max(0, numberOf(limits["tencent.com/vcuda-memory"].str())),
                              numbersOf(ids)});
  }
  return pod;
}

/// By what its allocator does (sandbox/node/gpu_manager.h).
std::string ShareJudge::oddityOf(const Value& spec) {
  const auto limitsOf = [](const Value& container) {
    const Value& limits = container["resources"]["limits"];
    return std::pair{std::max(0, numberOf(limits["tencent.com/vcuda-core"].str())),
                     std::max(0, numberOf(limits["tencent.com/vcuda-memory"].str()))};
  };
  for (const Value& c : spec["initContainers"].items()) {
    if (limitsOf(c) != std::pair{0, 0}) { return "initContainers"; }
  }
  for (const Value& c : spec["containers"].items()) {
    const auto [cores, memory] = limitsOf(c);
    if (cores > kWhole && cores % kWhole != 0) { return "multiple of 100"; }
    if (cores < kWhole && (cores == 0) != (memory == 0)) { return "without tencent.com/vcuda-"; }
  }
  return "";
}

void ShareJudge::nodeChanged(const apiserver::HistoryEntry& entry) {
  if (entry.after == nullptr) { return; }
  const Value& capacity = (*entry.after)["status"]["capacity"];
  const int cores = numberOf(capacity["tencent.com/vcuda-core"].str());
  if (cores < kWhole) { return; }
  nodes_[entry.key.name] = {cores / kWhole,
                            numberOf(capacity["tencent.com/vcuda-memory"].str()) / (cores / kWhole)};
}

void ShareJudge::podChanged(const apiserver::HistoryEntry& entry) {
  if (entry.after == nullptr) {
    const auto gone = pods_.extract(textOf((*entry.before)["metadata"]["uid"]));
    if (!gone.empty() && !gone.mapped().leaves) { left_[gone.mapped().node] = now_; }
    return;
  }
  Pod pod = podOf(*entry.after);
  const bool ours = !pod.odd.empty() || std::any_of(pod.containers.begin(), pod.containers.end(),
                                                    [](const Container& c) { return c.wantsGpu(); });
  if (!ours) { return; }
  const std::string uid = textOf((*entry.after)["metadata"]["uid"]);
  const auto known = pods_.find(uid);
  const bool is_new = known == pods_.end();
  const bool bound_now = !pod.node.empty() && (is_new || known->second.node.empty());
  // Where a late one took what it was promised, a new leader does not believe the promise, and gives others
  // what is left.
  // One that leads takes the promise back, which may come after the answer.
  const bool taken_back = !is_new && pod.node.empty() && pod.named.empty() && !known->second.named.empty();
  if (taken_back && !isLeftFor(known->second, true)) { taken_back_.insert(uid); }
  if (pod.node.empty() && !pod.named.empty()) { taken_back_.erase(uid); }  // it has another
  const bool overtaken =
      bound_now && !is_new && (taken_back_.contains(uid) || !isLeftFor(known->second, true));
  pod.fair = bound_now ? bindings_[uid] && !overtaken : !is_new && known->second.fair;
  if (pod.fair && bound_now && pod.named != pod.node) {
    wrong(fmt::format("pod {} was bound to {} as it was told, its annotations say {}", pod.name, pod.node,
                      pod.named));
  }
  if (bound_now && !pod.fair) { late_.insert(uid); }
  const bool same_note = !is_new && known->second.note == pod.note;
  pod.came_at = is_new ? now_ : known->second.came_at;
  pod.noted_at = same_note ? known->second.noted_at : now_;
  pod.written_at = same_note && known->second.time == pod.time ? known->second.written_at : now_;
  const bool assigned_before = !is_new && known->second.assigned;
  pod.assigned_at = assigned_before ? known->second.assigned_at : now_;
  if (!same_note) {
    auto& notes = notes_[uid];
    notes.push_back({now_, pod.note, pod.named});
    if (notes.size() > kNotesKept) { notes.pop_front(); }
  }
  if (pod.refused && !is_new && !known->second.refused) { checkRefusal(pod); }
  if (pod.leaves && !is_new && !known->second.leaves) { left_[pod.node] = now_; }
  const bool counts = pod.fair && pod.live() && (bound_now || pod.assigned != assigned_before || !same_note);
  const std::string node = pod.node;
  const std::string name = pod.name;
  pods_[uid] = std::move(pod);
  if (counts) { check(node, name); }
}

std::string ShareJudge::noteOf(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? "" : pod->second.note;
}

void ShareJudge::binding(const std::string& uid, bool fair) { bindings_[uid] = fair; }

void ShareJudge::answered(const std::string& uid, bool is_taken, const std::string& text) {
  const auto at = pods_.find(uid);
  if (at == pods_.end() || at->second.odd.empty() || !at->second.node.empty()) { return; }
  const Pod& pod = at->second;
  if (is_taken) {
    wrong(fmt::format("pod {} was given a node, which refuses it: {}", pod.name, pod.odd));
  } else if (text.find("spec.") != std::string::npos && text.find(pod.odd) == std::string::npos) {
    wrong(fmt::format("pod {} is told '{}', and not: {}", pod.name, text, pod.odd));
  }
}

void ShareJudge::chosen(const std::string& uid, const std::string& node, Mono since) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || pod->second.node == node) { return; }
  const auto& notes = notes_[uid];
  for (auto it = notes.rbegin(); it != notes.rend(); ++it) {
    if (it->node == node) { return; }
    if (it->since < since) { break; }  // older ones were gone by then
  }
  wrong(
      fmt::format("pod {} was told {}, its annotations say '{}'", pod->second.name, node, pod->second.note));
}

void ShareJudge::add(Use& use, const Pod& pod) {
  for (const Container& c : pod.containers) {
    if (!c.wantsGpu()) { continue; }
    if (c.whole() && !pod.assigned) { use.unknown += c.cores / kWhole; }
    for (const int id : c.ids) {
      if (c.whole()) {
        if (pod.assigned) { use.whole[id] = pod.assigned_at; }
        continue;
      }
      use.shares[id].first += c.cores;
      use.shares[id].second += c.memory;
      if (pod.assigned) {
        use.settled.insert(id);
      } else {
        use.last_share[id] = std::max(use.last_share[id], pod.noted_at);
      }
    }
  }
}

ShareJudge::Use ShareJudge::useOf(const std::string& node, bool waiting_too) const {
  Use use;
  for (const auto& [uid, pod] : pods_) {
    const bool bound = pod.live() && pod.fair && pod.node == node;
    const bool is_to_come = waiting_too && pod.waits() && pod.named == node;
    if (bound || is_to_come) { add(use, pod); }
  }
  return use;
}

void ShareJudge::check(const std::string& name, const std::string& who) {
  const Node node = nodes_[name];
  const Use use = useOf(name, false);
  std::set<int> used;
  for (const auto& [id, since] : use.whole) { used.insert(id); }
  for (const auto& [id, sum] : use.shares) {
    used.insert(id);
    if (sum.first > kWhole || sum.second > node.memory_each || id < 0 || id >= node.devices) {
      wrong(fmt::format(
          "{}:{} has {} cores and {} memory in use, of {} and {} on each of {}, the last for pod {}", name,
          id, sum.first, sum.second, kWhole, node.memory_each, node.devices, who));
    }
    const auto whole = use.whole.find(id);
    const auto chosen = use.last_share.find(id);
    const bool was_known =
        chosen != use.last_share.end() &&
        chosen->second > (whole == use.whole.end() ? Mono::max() - kHeard : whole->second) + kHeard;
    if (whole != use.whole.end() && (was_known || use.settled.contains(id))) {
      wrong(fmt::format("{}:{} is shared and whole, the last for pod {}", name, id, who));
    }
  }
  if (static_cast<int>(used.size()) + use.unknown > node.devices) {
    wrong(fmt::format("{} has {} devices in use and owes {} more, the last to pod {}", name, used.size(),
                      use.unknown, who));
  }
}

/// A choice may be as old as its pod: what writes it may land late, and the next leader believes it.
void ShareJudge::checkRefusal(const Pod& pod) {
  if (!pod.fair || !pod.gang.empty()) { return; }
  const auto left = left_.find(pod.node);
  const bool somebody_left = left != left_.end() && left->second + kHeard >= pod.came_at;
  const bool is_late_there = std::any_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
    return entry.second.live() && entry.second.node == pod.node && !entry.second.fair;
  });
  if (somebody_left || is_late_there) { return; }
  wrong(fmt::format("pod {} was refused by gpu-manager of {}, which picked another device than '{}'",
                    pod.name, pod.node, pod.note));
}

bool ShareJudge::isPromiseOvertaken() const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
    const Pod& pod = entry.second;
    return pod.waits() && !isLeftFor(pod, false);
  });
}

/// What its annotations say has room beside pods that are bound there: the late ones, or all.
bool ShareJudge::isLeftFor(const Pod& pod, bool beside_late) const {
  const auto node = nodes_.find(pod.named);
  if (node == nodes_.end()) { return true; }
  Use use;
  for (const auto& [uid, other] : pods_) {
    if (other.live() && other.node == pod.named && !(beside_late && other.fair)) { add(use, other); }
  }
  for (const Container& c : pod.containers) {
    for (const int id : c.ids) {
      if (use.whole.contains(id) || (c.whole() && use.shares.contains(id))) { return false; }
      if (c.whole()) { continue; }
      auto& [cores, memory] = use.shares[id];
      cores += c.cores;
      memory += c.memory;
      if (cores > kWhole || memory > node->second.memory_each) { return false; }
    }
  }
  return true;
}

/// Beside a pod that is on its way a choice may not be certain, and what late ones hold is not looked at
/// here. What unbound members of that gang were given does not count.
bool ShareJudge::isUnclear(const std::string& node, const std::string& but_gang) const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
    const Pod& pod = entry.second;
    const bool is_left_out = !but_gang.empty() && pod.gang == but_gang;
    return (pod.live() && pod.node == node && (!pod.fair || !pod.assigned)) ||
           (pod.waits() && pod.named == node && !is_left_out);
  });
}

/// How many pods of one such container.
int ShareJudge::roomFor(const Container& wants, const Node& node, const Use& use) {
  int untouched = 0;
  int shares = 0;
  for (int id = 0; id < node.devices; ++id) {
    if (use.whole.contains(id)) { continue; }
    const auto share = use.shares.find(id);
    const auto [cores, memory] = share == use.shares.end() ? std::pair{0, 0} : share->second;
    untouched += share == use.shares.end() ? 1 : 0;
    if (!wants.whole()) {
      shares += std::min((kWhole - cores) / wants.cores, (node.memory_each - memory) / wants.memory);
    }
  }
  return wants.whole() ? untouched / (wants.cores / kWhole) : shares;
}

bool ShareJudge::hasRoom(const Pod& pod) const {
  if (!pod.odd.empty() || pod.containers.size() != 1) { return false; }  // more is more than counting
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const auto& [name, node] = entry;
    return !isUnclear(name, "") && roomFor(pod.containers[0], node, useOf(name, true)) > 0;
  });
}

bool ShareJudge::hasRoomForGang(const std::string& gang) const {
  std::vector<const Pod*> members;
  for (const auto& [uid, pod] : pods_) {
    if (pod.gang == gang && pod.waits()) { members.push_back(&pod); }
  }
  if (members.empty()) { return false; }
  const Pod& first = *members.front();
  const bool are_equal = std::all_of(members.begin(), members.end(), [&](const Pod* pod) {
    return pod->containers.size() == 1 && pod->containers[0].cores == first.containers[0].cores &&
           pod->containers[0].memory == first.containers[0].memory;
  });
  if (!are_equal) { return false; }  // then it depends on who is given which
  int room = 0;
  for (const auto& [name, node] : nodes_) {
    if (!isUnclear(name, gang)) { room += roomFor(first.containers[0], node, useOf(name, false)); }
  }
  return room >= static_cast<int>(members.size());
}

}  // namespace gs::sim
