// Random plays: pods and nodes come, change and go, and Namespaces too. After every event each node's verdict
// is what a slow model says, which looks at all pods and all nodes, written from what the API says of the
// fields; and each node whose verdict changed was told of.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "model/taints.h"
#include "sched/near/near.h"
#include "testing/builders.h"

namespace gs::sched {
namespace {

using Op = model::LabelRequirement::Op;

struct SlowPod {
  std::string ns;
  model::Labels labels;
  std::string node;
  bool leaving = false;
};

/// All that is there.
struct SlowCluster {
  std::map<std::string, model::Node> nodes;
  std::vector<SlowPod> pods;
  std::map<std::string, model::Labels> namespaces;

  [[nodiscard]] const std::string* label(const std::string& node, const std::string& key) const {
    const auto at = nodes.find(node);
    if (at == nodes.end()) { return nullptr; }
    const auto it = at->second.labels.find(key);
    return it == at->second.labels.end() ? nullptr : &it->second;
  }
  [[nodiscard]] bool meansNamespace(const model::PodTerm& term, const std::string& ns) const {
    if (std::count(term.namespaces.begin(), term.namespaces.end(), ns) > 0) { return true; }
    if (!term.namespace_selector) { return false; }
    if (term.namespace_selector->requirements.empty()) { return true; }
    const auto known = namespaces.find(ns);
    return known != namespaces.end() && term.namespace_selector->matches(known->second);
  }
  [[nodiscard]] bool means(const model::PodTerm& term, const std::string& ns,
                           const model::Labels& labels) const {
    return term.pods && meansNamespace(term, ns) && term.pods->matches(labels);
  }
  [[nodiscard]] bool meansAll(const model::Pod& pod, const std::string& ns,
                              const model::Labels& labels) const {
    return std::all_of(pod.affinity->near.begin(), pod.affinity->near.end(),
                       [&](const auto& term) { return means(term, ns, labels); });
  }
  [[nodiscard]] bool shares(const std::string& a, const std::string& b, const std::string& key) const {
    const std::string* value = label(a, key);
    const std::string* other = label(b, key);
    return value != nullptr && other != nullptr && *value == *other;
  }

  /// Some pod that all terms mean is on a node with one of their labels.
  [[nodiscard]] bool anyNear(const model::Pod& pod) const {
    return std::any_of(pods.begin(), pods.end(), [&](const SlowPod& other) {
      return meansAll(pod, other.ns, other.labels) &&
             std::any_of(pod.affinity->near.begin(), pod.affinity->near.end(),
                         [&](const auto& term) { return label(other.node, term.topology_key) != nullptr; });
    });
  }
  [[nodiscard]] std::optional<Reason> near(const model::Pod& pod, const std::string& node) const {
    bool all = true;
    for (const auto& term : pod.affinity->near) {
      if (label(node, term.topology_key) == nullptr) { return Reason::PodAffinity; }
      all = all && std::any_of(pods.begin(), pods.end(), [&](const SlowPod& other) {
              return meansAll(pod, other.ns, other.labels) && shares(node, other.node, term.topology_key);
            });
    }
    const bool is_first = !anyNear(pod) && meansAll(pod, pod.key.ns, pod.labels.all());
    if (!all && !is_first) { return Reason::PodAffinity; }
    for (const auto& term : pod.affinity->apart) {
      for (const SlowPod& other : pods) {
        if (means(term, other.ns, other.labels) && shares(node, other.node, term.topology_key)) {
          return Reason::PodAntiAffinity;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool isEligible(const model::Pod& pod, const model::SpreadConstraint& constraint,
                                const model::Node& node) const {
    for (const auto& other : pod.spread) {
      if (other.is_required && !node.labels.contains(other.topology_key)) { return false; }
    }
    bool selected = true;
    for (const auto& [key, value] : pod.node_selector) {
      const std::string* have = label(node.name.text, key);
      selected = selected && have != nullptr && *have == value;
    }
    if (pod.node_affinity->is_required) {
      selected = selected && model::matchesAny(pod.node_affinity->required, node.labels, node.name.text);
    }
    const bool tolerated = model::untoleratedOf(node.taints, pod.tolerations) == nullptr;
    return (selected || !constraint.honors_affinity) && (tolerated || !constraint.honors_taints);
  }
  [[nodiscard]] static model::LabelSelector selectorOf(const model::Pod& pod,
                                                       const model::SpreadConstraint& c) {
    model::LabelSelector selector = *c.pods;
    for (const auto& key : c.match_label_keys) {
      if (const auto value = pod.labels.find(key)) {
        selector.requirements.push_back({key, Op::In, {std::string{*value}}});
      }
    }
    return selector;
  }
  [[nodiscard]] int matchingOn(const model::Pod& pod, const model::LabelSelector& selector,
                               const std::string& node) const {
    if (selector.requirements.empty()) { return 0; }
    return static_cast<int>(std::count_if(pods.begin(), pods.end(), [&](const SlowPod& other) {
      return other.node == node && other.ns == pod.key.ns && !other.leaving && selector.matches(other.labels);
    }));
  }
  [[nodiscard]] std::optional<Reason> spread(const model::Pod& pod, const std::string& node) const {
    for (const auto& c : pod.spread) {
      if (!c.is_required) { continue; }
      const std::string* value = label(node, c.topology_key);
      if (value == nullptr) { return Reason::SpreadNoLabel; }
      if (!c.pods) { continue; }  // it counts nobody, not even itself
      const model::LabelSelector selector = selectorOf(pod, c);
      std::map<std::string, int> counts;
      for (const auto& [name, one] : nodes) {
        if (!isEligible(pod, c, one)) { continue; }
        counts[*label(name, c.topology_key)] += matchingOn(pod, selector, name);
      }
      int least = 0;
      if (!counts.empty() && static_cast<int>(counts.size()) >= c.min_domains.value_or(1)) {
        least = std::min_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->second;
      }
      const int itself = selector.matches(pod.labels.all()) ? 1 : 0;
      if (counts[*value] + itself - least > c.max_skew) { return Reason::SpreadUnmet; }
    }
    return std::nullopt;
  }
};

class Play {
 public:
  Play(std::uint64_t seed, std::size_t nodes_of_wide) : rng_{seed}, near_{ledger_, nodes_of_wide} {}

  void run() {
    const auto classes = 1 + rng_.below(3);
    const auto events = 10 + rng_.below(25);
    for (std::uint64_t i = 0; i < events; ++i) {
      if (waiting_.size() < classes && rng_.chance(30)) { waits(); }
      event();
      check();
      if (::testing::Test::HasFailure()) { return; }
    }
    waiting_.clear();
    EXPECT_EQ(near_.standings(), 0U);
  }

 private:
  using Verdict = std::pair<std::optional<Reason>, std::optional<Reason>>;
  struct Waiting {
    model::Pod pod;
    NearAsked asked;
    std::map<std::string, Verdict> verdicts;
    std::map<std::string, std::uint64_t> versions;  // of each node, when it was last asked
    NearCellSet open = 0;
    std::uint64_t epoch = 0;
    std::map<std::string, bool> fine;
  };

  std::string draw(std::initializer_list<const char*> of) { return *(of.begin() + rng_.below(of.size())); }
  std::string drawNode() { return "n" + std::to_string(rng_.below(7)); }
  std::string drawNamespace() { return draw({"a", "b", "c"}); }
  model::Labels drawLabels() {
    model::Labels labels;
    if (rng_.chance(80)) { labels["app"] = draw({"x", "y"}); }
    if (rng_.chance(40)) { labels["tier"] = draw({"1", "2"}); }
    return labels;
  }
  std::optional<model::LabelSelector> drawSelector() {
    if (rng_.chance(5)) { return std::nullopt; }
    model::LabelSelector out;
    if (rng_.chance(70)) { out.requirements.push_back({"app", Op::In, {draw({"x", "y"})}}); }
    if (rng_.chance(15)) { out.requirements.push_back({"app", Op::In, {"x", "y"}}); }
    if (rng_.chance(20)) {
      out.requirements.push_back({"tier", rng_.chance(50) ? Op::Exists : Op::DoesNotExist, {}});
    }
    if (rng_.chance(15)) { out.requirements.push_back({"tier", Op::NotIn, {"1"}}); }
    std::sort(out.requirements.begin(), out.requirements.end());
    return out;
  }
  model::PodTerm drawTerm(const std::string& own) {
    model::PodTerm term;
    term.topology_key = draw({"zone", "host", "rack"});
    if (rng_.chance(30)) { term.namespaces = {"a", "b"}; }
    if (rng_.chance(20)) {
      term.namespace_selector = model::LabelSelector{};
      if (rng_.chance(70)) { term.namespace_selector->requirements.push_back({"team", Op::In, {"t"}}); }
    }
    if (term.namespaces.empty() && !term.namespace_selector) { term.namespaces = {own}; }
    term.pods = drawSelector();
    return term;
  }
  model::SpreadConstraint drawSpread() {
    model::SpreadConstraint c;
    c.topology_key = draw({"zone", "host", "rack"});
    c.max_skew = static_cast<std::int32_t>(1 + rng_.below(2));
    c.is_required = !rng_.chance(10);
    if (rng_.chance(30)) { c.min_domains = static_cast<std::int32_t>(1 + rng_.below(4)); }
    c.honors_affinity = !rng_.chance(40);
    c.honors_taints = rng_.chance(40);
    c.pods = drawSelector();
    if (rng_.chance(20)) { c.match_label_keys = {"tier"}; }
    return c;
  }

  void waits() {
    Waiting w;
    w.pod.key = {drawNamespace(), "waits"};
    w.pod.labels = drawLabels();
    for (std::uint64_t i = rng_.below(3); i > 0; --i) {
      w.pod.affinity.change().near.push_back(drawTerm(w.pod.key.ns));
    }
    for (std::uint64_t i = rng_.below(3); i > 0; --i) {
      w.pod.affinity.change().apart.push_back(drawTerm(w.pod.key.ns));
    }
    for (std::uint64_t i = rng_.below(3); i > 0; --i) { w.pod.spread.push_back(drawSpread()); }
    if (rng_.chance(30)) { w.pod.node_selector = {{"disk", "ssd"}}; }
    if (rng_.chance(20)) {
      w.pod.node_affinity.change().is_required = true;
      w.pod.node_affinity.change().required = {{{{"zone", model::NodeRequirement::Op::In, {"1", "2"}}}, {}}};
    }
    if (rng_.chance(30)) { w.pod.tolerations = {{.key = "t", .value = "", .effect = "", .exists = true}}; }
    w.asked.rules = nearRulesOf(w.pod);
    ASSERT_TRUE(near_.bind(w.asked));
    waiting_.push_back(std::move(w));
  }

  void event() {
    switch (rng_.below(9)) {
      case 0:
      case 1: return putNode();
      case 2: return rng_.chance(30) ? dropNode() : putNode();
      case 3: return putNamespace();
      case 4:
      case 5:
      case 6: return putPod();
      default: return dropPod();
    }
  }
  void putNode() {
    model::Node n = testing::makeNode(drawNode());
    n.labels["host"] = n.name.text;
    if (rng_.chance(80)) { n.labels["zone"] = draw({"1", "2", "3"}); }
    if (rng_.chance(60)) { n.labels["rack"] = draw({"1", "2"}); }
    if (rng_.chance(50)) { n.labels["disk"] = "ssd"; }
    if (rng_.chance(10)) { n.labels.erase("host"); }
    if (rng_.chance(25)) { n.taints.push_back({"t", "", "NoSchedule"}); }
    slow_.nodes[n.name.text] = n;
    ledger_.upsertNode(n);
    near_.nodeChanged(n.name);
  }
  void dropNode() {
    const model::NodeName name{drawNode()};
    slow_.nodes.erase(name.text);
    ledger_.removeNode(name);
    near_.nodeChanged(name);
  }
  void putNamespace() {
    const std::string ns = drawNamespace();
    if (rng_.chance(25)) {
      slow_.namespaces.erase(ns);
      return near_.namespaceChanged(ns, nullptr);
    }
    const model::Labels labels = rng_.chance(50) ? model::Labels{{"team", "t"}} : model::Labels{};
    slow_.namespaces[ns] = labels;
    near_.namespaceChanged(ns, &labels);
  }
  void putPod() {
    SlowPod pod{drawNamespace(), drawLabels(), drawNode(), rng_.chance(10)};
    near_.put({pod.ns, pod.labels, model::NodeName{pod.node}, pod.leaving});
    slow_.pods.push_back(std::move(pod));
  }
  void dropPod() {
    if (slow_.pods.empty()) { return; }
    const auto at = slow_.pods.begin() + static_cast<std::ptrdiff_t>(rng_.below(slow_.pods.size()));
    near_.take({at->ns, at->labels, model::NodeName{at->node}, at->leaving});
    slow_.pods.erase(at);
  }

  [[nodiscard]] static std::string told(const Verdict& v) {
    const auto number = [](const std::optional<Reason>& r) { return r ? static_cast<int>(*r) : -1; };
    return std::to_string(number(v.first)) + "/" + std::to_string(number(v.second));
  }

  void check() {
    std::set<Ledger::NodeIndex> logged;
    for (auto at = std::max(closings_, ledger_.closings().begin()); at < ledger_.closings().end(); ++at) {
      logged.insert(ledger_.closings().at(at));
    }
    closings_ = ledger_.closings().end();
    for (auto at = std::max(changes_, ledger_.changesBegin()); at < ledger_.changesEnd(); ++at) {
      logged.insert(ledger_.changedAt(at));
    }
    changes_ = ledger_.changesEnd();
    const bool is_wide = std::exchange(wide_, ledger_.wideChanges()) != ledger_.wideChanges();
    for (Waiting& w : waiting_) {
      if (w.asked) { checkOne(w, logged, is_wide); }
    }
  }

  void checkOne(Waiting& w, const std::set<Ledger::NodeIndex>& logged, bool is_wide) {
    const NearStanding& standing = *w.asked.standing;
    PodRequest request;
    request.near = w.asked;
    const NearCellSet open = standing.openCells();
    const bool same_epoch = std::exchange(w.epoch, standing.epoch()) == standing.epoch();
    std::map<std::string, Verdict> verdicts;
    std::map<std::string, bool> fine;
    for (const auto& [name, node] : slow_.nodes) {
      const NodeState& state = *ledger_.find(node.name);
      const Verdict now{standing.spreadAt(state.index, NearPart::All),
                        standing.nearAt(state.index, NearPart::All)};
      const Verdict slow{slow_.spread(w.pod, name), slow_.near(w.pod, name)};
      EXPECT_EQ(told(now), told(slow)) << name;
      const bool takes = !now.first && !now.second;
      const bool is_fine =
          !standing.spreadAt(state.index, NearPart::Fine) && !standing.nearAt(state.index, NearPart::Fine);
      const bool is_open = (open >> standing.cells().at(state.index) & 1U) != 0;
      EXPECT_EQ(takes, is_fine && is_open) << name << ": both parts together";
      verdicts[name] = now;
      fine[name] = is_fine;
      const auto before = w.verdicts.find(name);
      const std::uint64_t version = state.versionFor(request);
      if (before != w.verdicts.end() && told(before->second) != told(now)) {
        EXPECT_NE(version, w.versions.at(name)) << name << ": who asks by versions asks again";
        EXPECT_TRUE(logged.contains(state.index) || is_wide) << name << ": somebody is told";
        EXPECT_GT(version, w.versions.at(name)) << name;
      }
      if (before != w.verdicts.end() && w.fine.at(name) != is_fine) {
        EXPECT_TRUE(logged.contains(state.index) || !same_epoch) << name << ": of its own part";
      }
      w.versions[name] = version;
    }
    w.verdicts = std::move(verdicts);
    w.fine = std::move(fine);
  }

  Rng rng_;
  Ledger ledger_;
  Near near_;
  SlowCluster slow_;
  std::vector<Waiting> waiting_;
  std::uint64_t closings_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t wide_ = 0;
};

TEST(NearProperty, SaysWhatALookAtAllPodsAndNodesSays) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    Play{seed, seed % 3 == 0 ? TopologyKey::kNodesOfWide : seed % 3}.run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gs::sched
