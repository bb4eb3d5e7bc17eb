#include "sched/policy/policy.h"

#include <array>

#include "sched/policy/contiguous.h"
#include "sched/policy/first_set.h"
#include "sched/policy/prefer_ids.h"
#include "sched/policy/spread.h"

namespace gs::sched {
namespace {

using Order = std::vector<int>;

constexpr DevicePolicy kContiguous{[](const Topology& t, Mask free, const DeviceRequest&,
                                      const Terms& terms) { return contiguous(t, free, terms); },
                                   // Neighbours do not matter to those who share.
                                   [](const Topology& t, const Order& order, const DeviceRequest&,
                                      const Terms& terms) { return firstSet(t, order, terms); }};

constexpr DevicePolicy kSpread{[](const Topology& t, Mask free, const DeviceRequest&, const Terms& terms) {
                                 return spread(t, ascending(free), terms);
                               },
                               [](const Topology& t, const Order& order, const DeviceRequest&,
                                  const Terms& terms) { return spread(t, order, terms); },
                               true};

constexpr DevicePolicy kPreferIds{
    [](const Topology& t, Mask free, const DeviceRequest& r, const Terms& terms) {
      return preferIds(t, free, r.prefer_ids, terms);
    },
    [](const Topology& t, const Order& order, const DeviceRequest& r, const Terms& terms) {
      return preferIdsShared(t, order, r.prefer_ids, terms);
    }};

/// By model::Policy.
constexpr std::array<const DevicePolicy*, model::kPolicyNames.size()> kPolicies{&kContiguous, &kSpread,
                                                                                &kPreferIds};

}  // namespace

const DevicePolicy& policyOf(model::Policy policy) { return *kPolicies.at(static_cast<std::size_t>(policy)); }

}  // namespace gs::sched
