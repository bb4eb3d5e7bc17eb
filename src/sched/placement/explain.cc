#include "sched/placement/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/annotations.h"
#include "model/dra.h"
#include "model/map.h"
#include "sched/filters/filter.h"
#include "sched/filters/new_node.h"

namespace gs::sched {

std::string wordsOf(const Misfit& misfit) {
  std::string text = rowOf(misfit.reason).words(misfit);
  std::replace(text.begin(), text.end(), ',', ';');  // a comma parts reasons
  return text;
}

namespace {

/// All nodes that say the same.
struct ReasonGroup {
  std::int64_t nodes = 0;
  std::int64_t need = 0;
  std::int64_t have = 0;

  void add(std::int64_t node_need, std::int64_t node_have) {
    ++nodes;
    need = std::max(need, node_need);
    have = std::max(have, node_have);
  }
  void add(const ReasonGroup& o) {
    nodes += o.nodes;
    need = std::max(need, o.need);
    have = std::max(have, o.have);
  }
};

using ReasonGroups = std::map<std::pair<Reason, std::string>, ReasonGroup>;

/// A reason with the number of nodes that have it.
std::string partOf(const Misfit& m, std::int64_t count, std::size_t nodes) {
  if (m.reason == Reason::OtherName && static_cast<std::size_t>(count) == nodes) {
    Misfit none = m;
    std::replace(none.detail.begin(), none.detail.end(), ',', ';');
    if (!model::isLabelValue(m.detail)) { return fmt::format("no node is named {}", none.detail); }
    return fmt::format("no node carries the name {}: set the label {}={} on the one that is meant",
                       none.detail, model::kNodeNameLabel, none.detail);
  }
  return fmt::format("{} {}", count, wordsOf(m));
}

std::string textOf(const ReasonGroups& groups, std::size_t nodes) {
  if (nodes == 0) { return "no nodes available to schedule pods"; }
  std::vector<std::pair<std::int64_t, std::string>> parts;  // negative count, text
  for (const auto& [key, g] : groups) {
    parts.emplace_back(-g.nodes, partOf(Misfit{key.first, key.second, g.need, g.have}, g.nodes, nodes));
  }
  std::sort(parts.begin(), parts.end());
  std::string out = fmt::format("0/{} nodes are available", nodes);
  const char* separator = ": ";
  for (const auto& [count, text] : parts) {
    fmt::format_to(std::back_inserter(out), "{}{}", separator, text);
    separator = ", ";
  }
  return out + ".";
}

std::string kindOf(const ReasonGroups& groups) {
  if (groups.empty()) { return "NoNodes"; }
  std::string out;
  Reason last{};
  for (const auto& [key, group] : groups) {  // in the order of reasons
    if (!out.empty() && key.first == last) { continue; }
    out += (out.empty() ? "" : ",") + std::string{rowOf(key.first).kind};
    last = key.first;
  }
  return out;
}

std::vector<Reason> reasonsOf(const ReasonGroups& groups) {
  std::vector<Reason> out;
  for (const auto& [key, group] : groups) { out.push_back(key.first); }
  return out;
}

ReasonGroups grouped(const std::vector<Misfit>& misfits) {
  ReasonGroups groups;
  for (const auto& m : misfits) { groups[{m.reason, m.detail}].add(m.need, m.have); }
  return groups;
}

/// Said besides, where no node comes to say it: they refuse for something else, or there is none.
std::string moreOf(const std::vector<Reason>& said, PodReason reason) {
  const bool is_said = reason != PodReason::QuotaExceeded ||
                       std::find(said.begin(), said.end(), Reason::ExceedsQuota) != said.end();
  return is_said ? "" : " The quota of its namespace leaves it no GPU.";
}

/// What nodes, of so many, say of a request, and who holds what is not free.
Rejection rejectionOf(const ReasonGroups& groups, std::size_t nodes, const PodRequest& request,
                      std::vector<model::Uid> holders) {
  const std::vector<Reason> said = reasonsOf(groups);
  const PodReason reason = podReasonOf(said, request);
  std::string text = textOf(groups, nodes);
  if (const std::string more = moreOf(said, reason); !more.empty()) {
    text += (text.ends_with('.') ? "" : ".") + more;
  }
  return {kindOf(groups), std::move(text), std::move(holders), reason};
}

/// Those who hold devices of nodes that are added, while they are few and all known; of a request that names
/// its devices those who hold these.
class Holders {
 public:
  /// False: more nodes would not change anything.
  bool add(const NodeState& node, const PodRequest& request) {
    const bool names_them = request.devices && !request.devices->exact.empty();
    if (names_them) {
      for (const DeviceState* device : inItsWay(node, *request.devices)) { add(*device); }
      return few_;
    }
    few_ = few_ && node.has_status && node.anonymous == 0;
    for (const auto& device : node.devices) {
      if (!add(device)) { return false; }
    }
    return few_;
  }
  [[nodiscard]] std::vector<model::Uid> get() const {
    return few_ ? std::vector<model::Uid>{uids_.begin(), uids_.end()} : std::vector<model::Uid>{};
  }

 private:
  bool add(const DeviceState& device) {
    for (const auto& holder : device.holders) {
      uids_.insert(holder.uid);
      few_ = few_ && uids_.size() <= kMostNamed;
      if (!few_) { return false; }
    }
    return few_;
  }

  std::set<model::Uid> uids_;
  bool few_ = true;
};

}  // namespace

Rejection explainMisfits(const std::vector<Misfit>& misfits, std::size_t nodes) {
  const ReasonGroups groups = grouped(misfits);
  return {kindOf(groups), textOf(groups, nodes), {}, podReasonOf(reasonsOf(groups))};
}

Rejection explainRejection(const Ledger& ledger, const PodRequest& request) {
  std::vector<Misfit> all;
  Holders holders;
  bool are_few = true;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    const NodeState& node = ledger.at(i);
    const auto misfit = node.exists ? misfitOn(node, request) : std::nullopt;
    if (!misfit) { continue; }
    if (are_few && rowOf(misfit->reason).is_held) { are_few = holders.add(node, request); }
    const std::vector<Misfit> also = alsoShort(node, request, *misfit);
    all.push_back(*misfit);
    all.insert(all.end(), also.begin(), also.end());
  }
  return rejectionOf(grouped(all), ledger.existing(), request, holders.get());
}

Rejection explainNamed(const Ledger& ledger, const PodRequest& request) {
  const auto i = ledger.named(request.on_node);
  ReasonGroups groups;
  Holders holders;
  const auto others = static_cast<std::int64_t>(ledger.existing()) - (i ? 1 : 0);
  if (others > 0) { groups[{Reason::OtherName, request.on_node}].nodes = others; }
  if (const auto misfit = i ? misfitOn(ledger.at(*i), request) : std::nullopt) {
    groups[{misfit->reason, misfit->detail}].add(misfit->need, misfit->have);
    for (const Misfit& also : alsoShort(ledger.at(*i), request, *misfit)) {
      groups[{also.reason, also.detail}].add(also.need, also.have);
    }
    if (rowOf(misfit->reason).is_held) { holders.add(ledger.at(*i), request); }
  }
  return rejectionOf(groups, ledger.existing(), request, holders.get());
}

std::string rejectionText(const Ledger& ledger, const PodRequest& request) {
  return explainRejection(ledger, request).text;
}
std::string rejectionKind(const Ledger& ledger, const PodRequest& request) {
  return explainRejection(ledger, request).kind;
}

void RejectionBoard::look(const NodeState& node, const PodRequest& request, Entry& entry) {
  ++looked_at_;
  entry = {node.versionFor(request), 0, 0, 0};
  auto misfit = node.exists ? misfitOn(node, request, {}, nullptr, &meter_) : std::nullopt;
  if (!misfit) { return; }
  GroupKey key;
  const auto add = [&](Misfit said) {
    entry.need = std::max(entry.need, said.need);
    entry.have = std::max(entry.have, said.have);
    key.emplace_back(said.reason, std::move(said.detail));
  };
  std::vector<Misfit> also = alsoShort(node, request, *misfit);
  add(*std::move(misfit));
  for (Misfit& one : also) { add(std::move(one)); }
  const auto next = static_cast<std::uint32_t>(groups_.size() + 1);
  entry.group = groups_.try_emplace(std::move(key), next).first->second;
}

/// Volumes changed that are not of single nodes: what is known of any may not be true any more.
void RejectionBoard::followVolumes(const PodRequest& request) {
  const std::uint64_t moment = request.volumes == nullptr ? 0 : request.volumes->moment();
  if (std::exchange(volumes_moment_, moment) == moment) { return; }
  for (Entry& entry : entries_) { entry.seen = 0; }
}

bool RejectionBoard::catchUp(const Ledger& ledger, const PodRequest& request, std::uint64_t most_looks) {
  constexpr std::size_t kMostGroups = 1024;  // details that no node has any more add up: all is read anew
  if (!halfway_ && groups_.size() > kMostGroups) {  // equivalent: one more or less
    groups_.clear();
    entries_.clear();
  }
  followVolumes(request);
  entries_.resize(ledger.size());
  const std::uint64_t steps = meter_.steps;
  const std::uint64_t nodes = looked_at_;
  halfway_ = false;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    if (entries_[i].seen == ledger.at(i).versionFor(request)) { continue; }
    halfway_ = (meter_.steps - steps) / kStepsPerLook + (looked_at_ - nodes) / 2 >= most_looks;
    if (halfway_) { break; }
    look(ledger.at(i), request, entries_[i]);
  }
  return !halfway_;
}

Rejection RejectionBoard::explain(const Ledger& ledger, const PodRequest& request) {
  (void)catchUp(ledger, request, ~std::uint64_t{0});
  return said(ledger, request);
}

Rejection RejectionBoard::said(const Ledger& ledger, const PodRequest& request) const {
  std::vector<ReasonGroup> counted(groups_.size() + 1);
  for (const auto& e : entries_) {
    if (e.group != 0) { counted[e.group].add(e.need, e.have); }
  }
  ReasonGroups groups;
  for (const auto& [key, group] : groups_) {
    if (counted[group].nodes == 0) { continue; }
    for (const auto& reason : key) { groups[reason].add(counted[group]); }
  }
  return rejectionOf(groups, ledger.existing(), request, holders(ledger, request));
}

std::vector<model::Uid> RejectionBoard::holders(const Ledger& ledger, const PodRequest& request) const {
  std::vector<bool> is_held(groups_.size() + 1);
  for (const auto& [key, group] : groups_) { is_held[group] = rowOf(key.front().first).is_held; }
  Holders holders;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    if (is_held[entries_[i].group] && !holders.add(ledger.at(i), request)) { break; }
  }
  return holders.get();
}

}  // namespace gs::sched
