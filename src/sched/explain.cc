#include "sched/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace gs::sched {
namespace {

const char* kindOf(Reason r) {
  switch (r) {
    case Reason::Unschedulable: return "Unschedulable";
    case Reason::NotReady: return "NotReady";
    case Reason::SelectorMismatch: return "SelectorMismatch";
    case Reason::ClaimSelectorMismatch: return "ClaimSelectorMismatch";
    case Reason::UntoleratedTaint: return "UntoleratedTaint";
    case Reason::ManagedByOther: return "ManagedByOther";
    case Reason::TooManyPods: return "TooManyPods";
    case Reason::InsufficientResource: return "InsufficientResource";
    case Reason::NoGpuStatus: return "NoGpuStatus";
    case Reason::NoGpu: return "NoGpu";
    case Reason::TooFewGpus: return "TooFewGpus";
    case Reason::TooFewHealthy: return "TooFewHealthy";
    case Reason::TooFewFree: return "TooFewFree";
    case Reason::TopologyUnmet: return "TopologyUnmet";
  }
  return "?";
}

/// What stands after the number of nodes.
std::string textOf(const Misfit& m) {
  switch (m.reason) {
    case Reason::Unschedulable: return "node(s) were unschedulable";
    case Reason::NotReady: return "node(s) were not ready";
    case Reason::SelectorMismatch: return "node(s) didn't match Pod's node affinity/selector";
    case Reason::ClaimSelectorMismatch: return "node(s) didn't match the claim's selector";
    case Reason::UntoleratedTaint: return fmt::format("node(s) had untolerated taint {{{}}}", m.detail);
    case Reason::ManagedByOther: return fmt::format("node(s) were managed by {}", m.detail);
    case Reason::TooManyPods: return "Too many pods";
    case Reason::InsufficientResource: return fmt::format("Insufficient {}", m.detail);
    case Reason::NoGpuStatus: return "node(s) had no GpuNodeStatus";
    case Reason::NoGpu: return "node(s) had no GPU";
    case Reason::TooFewGpus:
      return fmt::format("node(s) had too few GPUs: need {} and the largest has {}", m.need, m.have);
    case Reason::TooFewHealthy:
      return fmt::format("node(s) had too few healthy GPUs: need {} and most healthy is {}", m.need, m.have);
    case Reason::TooFewFree:
      return fmt::format("node(s) had too few free GPUs: need {} and most free is {}", m.need, m.have);
    case Reason::TopologyUnmet:
      return m.detail.empty()
                 ? fmt::format("node(s) had too few free GPUs in one island: need {} and most free is {}",
                               m.need, m.have)
                 : fmt::format(
                       "node(s) had no island with enough bandwidth: need {} GPUs with {} GB/s per pair and "
                       "best is {}",
                       m.detail, m.need, m.have);
  }
  return "?";
}

struct Group {
  std::int64_t nodes = 0;
  std::int64_t need = 0;
  std::int64_t have = 0;
};

}  // namespace

std::string refusalText(const std::vector<Misfit>& misfits, std::size_t nodes) {
  if (nodes == 0) { return "no nodes available to schedule pods"; }
  std::map<std::pair<Reason, std::string>, Group> groups;
  for (const auto& m : misfits) {
    Group& g = groups[{m.reason, m.detail}];
    ++g.nodes;
    g.need = std::max(g.need, m.need);
    g.have = std::max(g.have, m.have);
  }
  std::vector<std::pair<std::int64_t, std::string>> parts;  // negative count, text
  for (const auto& [key, g] : groups) {
    std::string text = textOf({key.first, key.second, g.need, g.have});
    std::replace(text.begin(), text.end(), ',', ';');  // a comma parts reasons
    parts.emplace_back(-g.nodes, std::move(text));
  }
  std::sort(parts.begin(), parts.end());
  std::string out = fmt::format("0/{} nodes are available", nodes);
  const char* separator = ": ";
  for (const auto& [count, text] : parts) {
    fmt::format_to(std::back_inserter(out), "{}{} {}", separator, -count, text);
    separator = ", ";
  }
  return out + ".";
}

std::string refusalKind(const std::vector<Misfit>& misfits) {
  std::set<Reason> kinds;
  for (const auto& m : misfits) { kinds.insert(m.reason); }
  if (kinds.empty()) { return "NoNodes"; }
  std::string out;
  for (const Reason r : kinds) {
    if (!out.empty()) { out += ','; }
    out += kindOf(r);
  }
  return out;
}

std::string refusalText(const Ledger& ledger, const PodRequest& request) {
  return refusalText(misfits(ledger, request), ledger.existing());
}

std::string refusalKind(const Ledger& ledger, const PodRequest& request) {
  return refusalKind(misfits(ledger, request));
}

}  // namespace gs::sched
