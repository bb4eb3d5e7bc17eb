#include "sched/filters/new_node.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/node_affinity.h"
#include "sched/filters/each_reason_test.h"
#include "sched/filters/filter.h"
#include "sched/ledger/test_nodes.h"
#include "sched/policy/tightest.h"

namespace gs::sched {
namespace {

using Said = std::vector<Reason>;

Said draw(Rng& rng) {
  Said said;
  for (auto left = 1 + rng.below(4); left > 0; --left) {
    said.push_back(static_cast<Reason>(rng.below(kReasons)));
  }
  return said;
}

TEST(NewNode, MayHelpWhereThereIsNone) {
  EXPECT_EQ(podReasonOf(Said{}), PodReason::Unschedulable);
  EXPECT_EQ(podReasonOf(Said{}, testClaim(1)), PodReason::Unschedulable);
}

/// The two say the same of each row: Unschedulable, and what cures it.
TEST(NewNode, HelpsWhereAnotherNodeIsACure) {
  eachReason([](Reason reason) {
    const bool helps = isCuredBy(reason, Cure::OtherNode);
    EXPECT_EQ(podReasonOf(Said{reason}) == PodReason::Unschedulable, helps) << rowOf(reason).kind;
    EXPECT_EQ(podReasonOf(Said{reason}, testClaim(1)) == PodReason::Unschedulable, helps)
        << rowOf(reason).kind;
  });
}

RC_GTEST_PROP(NewNodeProperty, HelpsWhereItDoesInsteadOfOneOfTheNodes, (std::uint64_t seed)) {
  Rng rng{seed};
  const Said said = draw(rng);
  bool helps = false;
  for (const Reason reason : said) { helps = helps || isCuredBy(reason, Cure::OtherNode); }
  const PodReason told = podReasonOf(said);
  RC_ASSERT((told == PodReason::Unschedulable) == helps);
  RC_ASSERT(podReasonOf(said, testClaim(1)) == told);
  bool is_of_a_node = false;
  for (const Reason reason : said) { is_of_a_node = is_of_a_node || rowOf(reason).pod_reason == told; }
  RC_ASSERT(is_of_a_node);
}

TEST(NewNode, OfSeveralReasonsThatItDoesNotCureTheOrderDecides) {
  EXPECT_EQ(podReasonOf(Said{Reason::AwaitsStatus, Reason::ExceedsQuota}), PodReason::QuotaExceeded);
  EXPECT_EQ(podReasonOf(Said{Reason::ExceedsQuota, Reason::AwaitsStatus}), PodReason::QuotaExceeded);
  EXPECT_EQ(podReasonOf(Said{Reason::TriedInVain, Reason::AwaitsLook}), PodReason::WaitsForAgent);
}

// ---- Who is kept from any node that may come

struct KeptCase {
  const char* name;
  PodRequest request;
  PodReason told;
};

PodRequest withQuota(std::vector<std::string> models) {
  PodRequest r = testClaim(1);
  r.quota = QuotaBound{"default", kWholeMilli, {"model", std::move(models), "pool", {}}};
  return r;
}

PodRequest onHosts(model::NodeRequirement::Op op) {
  PodRequest r = testClaim(1);
  r.node_affinity.is_required = true;
  r.node_affinity.required = {{{{model::kHostnameLabel, op, {"a"}}}, {}}};
  return r;
}

PodRequest withLabel(const char* key) {
  PodRequest r = testClaim(1);
  r.node_selector[key] = "a";
  return r;
}

PodRequest ofClaimFor(const char* key) {
  PodRequest r = testClaim(1);
  r.match_labels[key] = "a";
  return r;
}

PodRequest beside(const char* topology_key, bool means_itself) {
  NearRules rules;
  rules.near.push_back({topology_key, {"default"}, {}, model::LabelSelector{}});
  rules.means_itself = means_itself;
  PodRequest r = testClaim(1);
  r.near.rules = std::make_shared<const NearRules>(std::move(rules));
  return r;
}

/// Of one whose affinity asks for pods that there are none of, or some.
class Company final : public NearStanding {
 public:
  explicit Company(bool lacks) : lacks_{lacks} {}
  [[nodiscard]] bool lacksCompany() const override { return lacks_; }
  [[nodiscard]] std::optional<Reason> spreadAt(Node /*node*/, NearPart /*part*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Reason> nearAt(Node /*node*/, NearPart /*part*/) const override {
    return Reason::PodAffinity;
  }
  [[nodiscard]] std::uint64_t versionAt(Node /*node*/) const override { return 0; }
  [[nodiscard]] std::uint64_t epoch() const override { return 0; }
  [[nodiscard]] const NearCells& cells() const override { return cells_; }
  [[nodiscard]] NearCellSet openCells() const override { return 0; }
  [[nodiscard]] bool hasWishes() const override { return false; }
  [[nodiscard]] std::uint64_t wishesVersion() const override { return 0; }
  [[nodiscard]] std::vector<NearWish> wishes(const std::vector<Node>& nodes) const override {
    return std::vector<NearWish>(nodes.size());
  }

 private:
  bool lacks_;
  NearCells cells_;
};

PodRequest inAZoneWith(bool somebody) {
  PodRequest r = beside("topology.kubernetes.io/zone", false);
  r.near.standing = std::make_shared<const Company>(!somebody);
  return r;
}

class Kept final : public VolumeSelection {
 public:
  explicit Kept(PodReason reason) : reason_{reason} {}
  [[nodiscard]] std::optional<Misfit> refuse(Filter /*filter*/, const model::Node& /*node*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t moment() const override { return 0; }
  [[nodiscard]] std::optional<PodReason> keptFromNewNodes() const override { return reason_; }

 private:
  PodReason reason_;
};

PodRequest mounting(PodReason kept) {
  PodRequest r = testClaim(1);
  r.volumes = std::make_shared<const Kept>(kept);
  return r;
}

std::vector<KeptCase> keptCases() {
  using Op = model::NodeRequirement::Op;
  return {
      {"more than any node gives", testClaim(kMaxDevices + 1), PodReason::InvalidRequest},
      {"a quota that is used up", withQuota({}), PodReason::QuotaExceeded},
      {"a map", testMapped("a", {0}), PodReason::WaitsForNode},
      {"a map without GPUs", testMapped("a", {}), PodReason::WaitsForNode},
      {"a host name", withLabel(model::kHostnameLabel), PodReason::WaitsForNode},
      {"a host name of its claim", ofClaimFor(model::kHostnameLabel), PodReason::WaitsForNode},
      {"host names of its affinity", onHosts(Op::In), PodReason::WaitsForNode},
      {"a volume of one pod", mounting(PodReason::WaitsForPod), PodReason::WaitsForPod},
      {"a volume of one node", mounting(PodReason::WaitsForNode), PodReason::WaitsForNode},
      {"a volume that is gone", mounting(PodReason::VolumeNotReady), PodReason::VolumeNotReady},
      {"on one node with others", beside(model::kHostnameLabel, false), PodReason::WaitsForPod},
      {"in a zone with others that are nowhere", inAZoneWith(false), PodReason::WaitsForPod},
  };
}

/// Nodes that other pods could use, and that a new node would do instead of, are no matter to these.
RC_GTEST_PROP(NewNodeProperty, HelpsNobodyWhoIsKeptFromItWhateverNodesSay, (std::uint64_t seed)) {
  Rng rng{seed};
  const Said said = draw(rng);
  for (const auto& c : keptCases()) { RC_ASSERT(podReasonOf(said, c.request) == c.told); }
}

TEST(NewNode, MayHelpThoseWhoAreAlmostKept) {
  using Op = model::NodeRequirement::Op;
  const std::vector<std::pair<const char*, PodRequest>> cases{
      {"all that a node gives", testClaim(kMaxDevices)},
      {"very many that are counted", testPlain(kMaxDevices + 1)},
      {"a quota with some left", withQuota({"a100"})},
      {"another label", withLabel("zone")},
      {"another label of its claim", ofClaimFor("gpu-type")},
      {"not on that host", onHosts(Op::NotIn)},
      {"in a zone with others", inAZoneWith(true)},
      {"on one node with its like", beside(model::kHostnameLabel, true)},
  };
  for (const auto& [name, request] : cases) {
    EXPECT_EQ(podReasonOf(Said{Reason::UntoleratedTaint}, request), PodReason::Unschedulable) << name;
  }
}

TEST(NewNode, IsNoneThatPodsOfItsKindAreOn) {
  EXPECT_EQ(podReasonOf(Said{Reason::TooFewFree, Reason::PodAffinity}, beside(model::kHostnameLabel, true)),
            PodReason::WaitsForPod);
  EXPECT_EQ(podReasonOf(Said{Reason::PodAffinity}, beside("topology.kubernetes.io/zone", true)),
            PodReason::Unschedulable);
}

}  // namespace
}  // namespace gs::sched
