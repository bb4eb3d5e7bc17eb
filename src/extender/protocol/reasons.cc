#include "extender/protocol/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "model/vcuda.h"
#include "sched/policy/tightest.h"

namespace gs::extender {
namespace {

using sched::Reason;

constexpr std::size_t kLongestLabel = 63;  // as Kubernetes has it; a body may say more
constexpr std::size_t kShownPools = 3;
constexpr std::size_t kShownReasons = 5;

std::string amountText(std::int64_t milli, std::int64_t mib) {
  return fmt::format("{} cores with {} MiB", milli / model::kMilliPerVcudaCore, mib);
}

std::string gpusText(std::int64_t milli) {
  return fmt::format("{}", static_cast<double>(milli) / sched::kWholeMilli);
}

/// What all containers ask for together.
struct Need {
  std::int64_t whole = 0;
  std::int64_t shares = 0;
  std::int64_t milli = 0;  // of the shares
  std::int64_t mib = 0;
  std::pair<std::int64_t, std::int64_t> largest{};
};

Need needOf(const std::vector<sched::ContainerShare>& asked) {
  Need need;
  for (const auto& one : asked) {
    need.whole += one.whole;
    if (one.milli == 0) { continue; }
    ++need.shares;
    need.milli += one.milli;
    need.mib += one.mib;
    need.largest = std::max(need.largest, std::pair{one.milli, one.mib});
  }
  return need;
}

std::string shareText(const Need& need) {
  if (need.shares == 1) { return amountText(need.milli, need.mib) + " on one GPU"; }
  return fmt::format("{} shares of {} (the largest {})", need.shares, amountText(need.milli, need.mib),
                     amountText(need.largest.first, need.largest.second));
}

std::string cut(std::string_view label) { return std::string{label.substr(0, kLongestLabel)}; }

const model::Node& nodeAt(const engine::Engine& engine, const Candidates& c, std::size_t i) {
  const auto object = c.objects.find(i);
  return object != c.objects.end() ? *object->second : engine.ledger().at(c.nodes[i]).node;
}

/// Why the quota of a namespace does not let its pod have GPUs of one model.
std::string modelText(const engine::Engine& engine, const sched::QuotaBound& bound,
                      const std::string& model) {
  const model::Quotas* quotas = engine.quota().quotas();
  const auto quota = quotas == nullptr ? model::Quotas::const_iterator{} : quotas->find(bound.ns);
  if (quotas == nullptr || quota == quotas->end()) {
    return fmt::format("the quota of {} has changed", bound.ns);
  }
  const auto limit = quota->second.gpus.find(model);
  if (limit == quota->second.gpus.end()) {
    return fmt::format("{} is not in the quota of {}", cut(model), bound.ns);
  }
  return fmt::format("{} used {}, limit {}, asks {}", cut(model),
                     gpusText(engine.ledger().gpuUse(bound.ns, model)), limit->second, gpusText(bound.milli));
}

std::string poolText(const sched::QuotaBound& bound) {
  std::string pools;
  for (std::size_t i = 0; i < std::min(bound.terms.pools.size(), kShownPools); ++i) {
    pools += (i > 0 ? ", " : "") + cut(bound.terms.pools[i]);
  }
  if (bound.terms.pools.size() > kShownPools) { pools += ", ..."; }
  return fmt::format("the quota of {} is for {}={}", bound.ns, bound.terms.pool_label, pools);
}

}  // namespace

std::string lackText(const std::vector<sched::ContainerShare>& asked, const sched::NodeStanding& standing) {
  const Need need = needOf(asked);
  std::string needs;
  std::string free;
  if (need.whole > 0) {
    needs = fmt::format("{} whole GPU{}", need.whole, need.whole == 1 ? "" : "s");
    free = fmt::format("{} of {} whole", standing.whole, standing.devices);
  }
  if (need.shares > 0) {
    const char* and_more = needs.empty() ? "" : " and ";
    needs += and_more + shareText(need);
    free += and_more + amountText(standing.most_milli, standing.most_mib) + " on the freest";
  }
  return fmt::format("needs {}; free: {}", needs, free);
}

Misfit misfitAt(const Answer& a, const Candidates& c, std::size_t i, std::string_view uid) {
  const sched::NodeStanding* standing = standingAt(a, c, i);
  if (standing == nullptr) { return {MisfitCode::Unschedulable, "node is not known to this extender yet"}; }
  switch (standing->refused.value_or(Reason::TooFewFree)) {
    case Reason::NoGpu: return {MisfitCode::Unresolvable, "no GPU device"};
    case Reason::ManagedByOther:
      return {MisfitCode::Unresolvable, "GPUs of this node are not given by gpu-manager"};
    case Reason::ExceedsQuota: {
      const std::string* why = a.quota.at(i);
      return {MisfitCode::Unresolvable,
              why == nullptr ? "ExceedsGPUQuota" : fmt::format("ExceedsGPUQuota: {}", *why)};
    }
    case Reason::NotTakenYet:
      return {MisfitCode::Unschedulable,
              "gpu-manager of this node has not taken the pods before this one yet"};
    default:
      return {MisfitCode::Unschedulable,
              fmt::format("pod {} does not match with this node: {}", uid, lackText(a.asked, *standing))};
  }
}

QuotaRefusals quotaRefusals(const engine::Engine& engine, const Candidates& c, const Answer& a,
                            const sched::QuotaBound& bound) {
  QuotaRefusals out;
  const sched::QuotaTerms& terms = bound.terms;
  std::map<std::optional<std::string>, std::uint32_t> texts;  // by model; none: the pool is another one
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(a, c, i);
    if (standing == nullptr || standing->refused != Reason::ExceedsQuota) { continue; }
    const auto& labels = nodeAt(engine, c, i).labels;
    const auto label = labels.find(terms.model_label);
    const std::string model = label == labels.end() ? std::string{} : label->second;
    const bool allowed = std::binary_search(terms.models.begin(), terms.models.end(), model);
    const auto key = allowed ? std::nullopt : std::optional{model};
    const auto [text, fresh] = texts.try_emplace(key, static_cast<std::uint32_t>(out.texts.size()));
    if (fresh) {
      out.texts.push_back(allowed         ? poolText(bound)
                          : model.empty() ? fmt::format("the node has no label {}", terms.model_label)
                                          : modelText(engine, bound, model));
    }
    if (out.of.empty()) { out.of.resize(c.nodes.size()); }
    out.of[i] = text->second;
  }
  return out;
}

std::string summaryOf(const Answer& a, const Candidates& c, std::string_view uid) {
  if (!a.text.empty()) { return a.text; }
  std::map<std::string, std::size_t> counts;
  std::optional<std::size_t> unknown;  // one of very many, perhaps
  std::size_t unknowns = 0;
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    if (standingAt(a, c, i) == nullptr) {
      unknown = i;
      ++unknowns;
    } else {
      ++counts[misfitAt(a, c, i, uid).text];
    }
  }
  if (unknown) { counts[misfitAt(a, c, *unknown, uid).text] += unknowns; }
  std::vector<std::pair<std::size_t, std::string>> parts;
  parts.reserve(counts.size());
  for (const auto& [text, count] : counts) { parts.emplace_back(count, text); }
  std::sort(parts.rbegin(), parts.rend());
  std::string out = fmt::format("0/{} nodes fit", c.nodes.size());
  for (std::size_t i = 0; i < std::min(parts.size(), kShownReasons); ++i) {
    out += fmt::format("{} {} {}", i == 0 ? ":" : ";", parts[i].first, parts[i].second);
  }
  std::size_t others = 0;
  for (std::size_t i = kShownReasons; i < parts.size(); ++i) { others += parts[i].first; }
  if (others > 0) { out += fmt::format("; {} others", others); }
  return out;
}

}  // namespace gs::extender
