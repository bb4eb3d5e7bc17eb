#include "test/sim/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "sandbox/world/world.h"
#include "test/sim/agent_side.h"
#include "test/sim/busy.h"
#include "test/sim/cache_side.h"
#include "test/sim/call_rates.h"
#include "test/sim/cluster.h"
#include "test/sim/extras.h"
#include "test/sim/judge.h"
#include "test/sim/kube_side.h"
#include "test/sim/ledger_check.h"
#include "test/sim/mutators.h"
#include "test/sim/share_side.h"
#include "test/sim/transcript.h"
#include "test/world/objects.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;

constexpr Duration kCalm = 240s;    // after the last step, until everything must be settled
constexpr Duration kTakeover = 3s;  // after a fault
constexpr Duration kHeld = 4s;      // what watches bring may come so long after they were slow
constexpr Duration kLastFreeze = 8s;
constexpr Duration kLook = 5s;  // between two looks whether it is
constexpr Duration kSidecarTakes = 12s;
constexpr std::size_t kLargePods = 600;    // with GPUs
constexpr const char* kPoison = "poison";  // its Bindings are always refused

class Play {
 public:
  Play(const Plan& plan, bool tell)
      : plan_{plan},
        rng_{plan.seed ^ 0x5eed},
        world_{optionsOf(plan)},
        judge_{world_, plan},
        ledgers_{world_, plan.has(Feature::Standby)},
        extras_{world_, judge_, ledgers_, plan} {
    if (plan.hasShares()) { shares_ = std::make_unique<ShareSide>(world_, plan); }
    if (plan.agents) { agents_ = std::make_unique<AgentSide>(world_, plan); }
    if (plan.has(Feature::Caches)) { caches_ = std::make_unique<CacheSide>(world_, plan); }
    if (plan.has(Feature::KubeScheduler)) { kube_ = std::make_unique<KubeSide>(world_, plan); }
    world_.setListener([this](auto, extender::RequestId id, const extender::Answer& answer) {
      const bool is_kubes = kube_ && kube_->answered(id, answer);
      if (!is_kubes && shares_) { shares_->answered(id, answer); }
    });
    world_.setJudge([this](sandbox::ReplicaId id, const kapi::Call& call) { return resultOf(id, call); });
    putIn(world_, plan.mutators);
    world_.setStreamJudge([this](sandbox::ReplicaId id, kapi::Token) { return lateness(id); });
    sandbox::Kubelet::Config kubelet;
    kubelet.linger = extras_.linger();
    kubelet.sidecar_takes = kSidecarTakes;
    world_.kubelet().setConfig(kubelet);
    if (plan.has(Feature::Rates)) {
      world_.setWitness([this](sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome) {
        rates_.answered(id, call, outcome, world_.now().mono);
      });
    }
    judge_.neverPlaced(kPoison);
    if (tell) { transcript_.emplace(world_); }
  }

  Outcome run() {
    begin();
    for (const Step& step : plan_.steps) {
      if (!upTo(step.at)) { break; }
      if (transcript_) { transcript_->add(text(step)); }
      carryOut(step);
      if (!watch()) { break; }
    }
    if (out_.problem.empty()) { calmDown(); }
    if (const auto leader = world_.leader(); transcript_ && leader && !out_.problem.empty()) {
      transcript_->add(world_.scheduler(*leader).engine().ledger().dump(plan_.has(Feature::Combined)));
    }
    out_.writes = world_.writes().size();
    out_.quiet_points = ledgers_.compared();
    out_.after_trouble = ledgers_.afterTrouble();
    if (shares_) {
      out_.share_bindings = shares_->bindings(true);
      out_.late_bindings = shares_->bindings(false);
      out_.gangs_bound = shares_->gangsBound();
      out_.refused_members = shares_->refusedMembers();
    }
    if (caches_) {
      out_.cache_mounts = caches_->mounts();
      out_.outdated_mounts = caches_->outdated();
    }
    out_.log = transcript_ ? transcript_->take() : world_.log();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Duration since() const { return world_.now().mono - began_; }

  /// False when something is wrong.
  bool watch() {
    if (transcript_) { transcript_->copyChanges(); }
    const std::string& of_ours = judge_.watch(world_.now().mono);
    const auto leader = world_.leader();
    const bool asks_who_waits = plan_.has(Feature::Stuck) || plan_.has(Feature::KubeScheduler);
    const bool is_led = leader && leader == leader_;
    if (is_led) { judge_.isLed(); }
    if (leader && !is_led) { judge_.newLeader(); }
    if (asks_who_waits && !is_led) { judge_.ledAnew(kTakeover); }
    leader_ = leader;
    extras_.look();
    if (kube_) { kube_->look(); }
    if (agents_) { agents_->look(); }
    if (caches_) { caches_->look(); }
    if (shares_) { shares_->look(judge_.isDisturbed()); }
    const std::string& more = of_ours.empty() && shares_ ? shares_->watch() : of_ours;
    const std::string& of_kube = more.empty() && kube_ ? kube_->problem() : more;
    const std::string& of_agents = of_kube.empty() && agents_ ? agents_->problem() : of_kube;
    const std::string& of_caches = of_agents.empty() && caches_ ? caches_->problem() : of_agents;
    const std::string& problem = of_caches.empty() ? rates_.problem() : of_caches;
    if (problem.empty()) { return true; }
    if (out_.problem.empty()) {
      out_.problem = problem;
      out_.at = since();
    }
    return false;
  }
  /// Stops at each moment at which everything became quiet.
  bool upTo(Duration at) {
    const Mono end = began_ + at;
    do {
      compareLedgers();
      const auto due = dueToCompare();
      const Duration left = std::min(end, due.value_or(end)) - world_.now().mono;
      if (!out_.problem.empty() || left <= Duration::zero()) { break; }
      (void)world_.runUntil([&] { return !watch() || (!due && dueToCompare()); }, left);
      if (transcript_) { transcript_->copyLog(); }
    } while (out_.problem.empty());
    return out_.problem.empty();
  }
  [[nodiscard]] std::optional<Mono> dueToCompare() const {
    return anyReads(plan_.mutators) ? std::nullopt : ledgers_.due(judge_.lastChange());
  }
  void compareLedgers() {
    if (!out_.problem.empty() || judge_.hasOthersLeases() || anyReads(plan_.mutators)) { return; }
    ledgers_.leaveOut(judge_.knownToSome());
    out_.problem = ledgers_.look(judge_.lastChange());
    out_.at = since();
  }

  void begin() {
    began_ = world_.now().mono;
    for (const char* ns : kNamespaces) {
      world_.create(Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Object{{"name", ns}}}});
      for (int c = 0; c < 4; ++c) { world_.create(claimObject(c, ns)); }
    }
    for (int i = 0; i < kReplicas; ++i) {
      processes_[world_.startReplica(extras_.config(), extras_.companion())] = {++last_process_, began_};
    }
    world_.create(test::pod(kPoison, "one", 0, "a"));
    if (shares_) { shares_->begin(); }
  }

  // ---- what becomes of calls and streams

  static bool isWord(const kapi::Call& call, int which) {
    using kapi::Verb;
    const bool lease = call.kind == kapi::kLease && call.leader_only;
    switch (which) {
      case 0: return call.subresource == "binding";
      case 1: return lease && call.verb == Verb::Create;
      case 2: return lease && call.verb == Verb::Update;
      case 3: return lease && call.verb == Verb::Delete;
      default: return call.kind == kapi::kPod && call.subresource == "status";
    }
  }
  void land(const kapi::Call& call) {
    (void)world_.request(kapi::httpMethod(call.verb), kapi::target(call), call.body,
                         kapi::contentType(call.verb));
  }
  /// Calls on their way land between the writes of others, not only at some time.
  void countWrite() {
    for (auto it = under_way_.begin(); it != under_way_.end();) {
      if (--it->writes > 0) {
        ++it;
        continue;
      }
      later({}, [this, call = std::move(it->call)] { land(call); });
      it = under_way_.erase(it);
    }
  }
  /// The next such call of this replica leaves, and nothing else for a while.
  bool isLastWord(sandbox::ReplicaId id, const kapi::Call& call) {
    const auto it = std::find_if(last_words_.begin(), last_words_.end(),
                                 [&](const Step& s) { return s.x == id && isWord(call, s.y % 5); });
    if (it == last_words_.end()) { return false; }
    under_way_.push_back({call, it->z});
    ledgers_.trouble(kTakeover + kLastFreeze);
    judge_.disturbed(kTakeover + kLastFreeze);
    if (it->y >= 5) {
      world_.freeze(id, true);
      extras_.hindered(kLastFreeze);
      later(kLastFreeze, [this, id] { world_.freeze(id, false); });
    } else {
      later({}, [this, id] { world_.crash(id); });
    }
    last_words_.erase(it);
    return true;
  }

  bool isUnlucky(const kapi::Call& call) {
    const auto it = unlucky_.find(fmt::format("/api/v1/namespaces/{}/pods/{}", call.key.ns, call.key.name));
    if (it == unlucky_.end()) { return false; }
    under_way_.push_back({call, it->second.z});
    judge_.disturbed(kTakeover);
    if (--it->second.y == 0) { unlucky_.erase(it); }
    return true;
  }
  CallFault resultOf(sandbox::ReplicaId id, const kapi::Call& call) {
    if (extras_.isAnother(id)) { return {}; }
    if (transcript_) { transcript_->add(call); }
    if (call.subresource == "binding") {
      judge_.bindingSent(call, world_.now().mono, processes_[id]);
      if (call.key.name == kPoison) { return {How::Refused, 403, {}, false, false}; }
    }
    if (call.subresource == "binding" && isUnlucky(call)) { return {How::LostBefore, 0, {}, false, false}; }
    if (call.leader_only && call.kind == kapi::kLease) { judge_.leaseSent(call, world_.now().mono); }
    if (call.leader_only) {
      if (call.kind == kapi::kPod || call.kind == kapi::kLease) { countWrite(); }
      if (isLastWord(id, call)) { return {How::LostBefore, 0, {}, false, false}; }
    }
    if (const auto stuck = extras_.resultOf(id, call)) { return *stuck; }
    Rng& rng = drawsFor(id);
    if (world_.now().mono >= faults_until_ || rng.below(1000) >= fault_permille_) { return {}; }
    switch (rng.below(7)) {
      case 0: return busy(call, rng);
      case 1: return {How::Refused, 500, {}, false, false};
      case 2: return {How::Refused, call.verb == kapi::Verb::Get ? 500 : 409, {}, false, false};
      case 3: return {How::LostBefore, 0, {}, false, false};
      case 4: return {How::LostAfter, 0, {}, false, false};
      case 5:
        if (rng.chance(50)) { return {How::Late, 0, Duration{50ms} * (1 + rng.below(200)), false, false}; }
        if (call.leader_only) { under_way_.push_back({call, static_cast<int>(1 + rng.below(12))}); }
        return {How::LostBefore, 0, {}, false, false};
      default:
        return {How::Normal, 0, {}, call.leader_only && rng.chance(30), call.leader_only && rng.chance(30)};
    }
  }
  /// What is drawn for an extender shifts nothing of what is drawn for the others.
  Rng& drawsFor(sandbox::ReplicaId id) { return ShareSide::isExtender(id) ? shares_->rng() : rng_; }
  Duration lateness(sandbox::ReplicaId id) {
    if (extras_.isAnother(id)) { return {}; }
    Rng& rng = drawsFor(id);
    if (world_.now().mono >= slow_until_ || rng.chance(40)) { return {}; }
    return Duration{1ms} * static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(slow_ms_)));
  }

  // ---- steps

  void request(std::string method, std::string target, Value body = Object{}) {
    (void)world_.request(std::move(method), std::move(target), std::move(body));
  }
  void later(Duration by, std::function<void()> action) { world_.after(by, std::move(action)); }

  void carryOut(const Step& s) {
    if (const auto how_long = troubleOf(s)) {
      ledgers_.trouble(*how_long);
      judge_.disturbed(*how_long);
      extras_.hindered(*how_long);
    }
    if (hindersAgents(s.op)) { judge_.agentsHindered(); }
    if (isAboutCaches(s.op)) { return caches_->carryOut(s); }
    switch (s.op) {
      case Op::AddPod: return addPod(s);
      case Op::MapPod: return addMapped(s);
      case Op::NameNode:
        (void)world_.request(
            "PATCH", "/api/v1/nodes/" + nodeName(s.x),
            Object{{"metadata", Object{{"labels", Object{{"gpu-node-name", nameLabel(s.y)}}}}}},
            "application/merge-patch+json");
        return;
      case Op::EndPod:
        world_.kubelet().finish(kNamespaces[s.x % 2], podName(s.x));
        world_.touch();
        return;
      case Op::DeletePod: request("DELETE", podPath(s.x)); return;
      case Op::KillPod: request("DELETE", podPath(s.x), Object{{"gracePeriodSeconds", 0}}); return;
      case Op::MakeClaim:
      case Op::DropClaim:
      case Op::AlterClaim: changeClaim(s); return;
      case Op::GpuHealth:
      case Op::Resize:
      case Op::NodeReady:
      case Op::NodeGone:
      case Op::NodeBack:
      case Op::AgentDown: changeNode(s); return;
      case Op::Crash:
      case Op::Start:
      case Op::Stop:
      case Op::Freeze:
      case Op::Stall:
      case Op::Break: changeReplica(s); return;
      case Op::ApiAway:
        world_.setApiAway(true);
        if (caches_) { caches_->apiIsAway(std::chrono::seconds{s.y}); }
        later(std::chrono::seconds{s.y}, [this] { world_.setApiAway(false); });
        return;
      case Op::Forget:
        (void)watch();
        world_.compact();
        return;
      case Op::DropLease: extras_.dropLease(s.x); return;
      case Op::Foreign:
        extras_.byHand("POST", podPath(s.x) + "/binding",
                       Object{{"apiVersion", "v1"},
                              {"kind", "Binding"},
                              {"metadata", Object{{"name", fmt::format("p{}", s.x / 2)}}},
                              {"target", Object{{"kind", "Node"}, {"name", nodeName(s.y)}}}});
        return;
      case Op::Faults:
        faults_until_ = world_.now().mono + std::chrono::seconds{s.y};
        fault_permille_ = static_cast<std::uint64_t>(s.z);
        return;
      case Op::ShareComes:
      case Op::ShareEnds:
      case Op::ShareGoes:
      case Op::ShareAsked:
      case Op::ShareElsewhere:
      case Op::ShareDropped:
      case Op::GangComes:
      case Op::GangGoes:
      case Op::GangEnds:
      case Op::OddShareComes: shares_->carryOut(s); return;
      case Op::LastWord: last_words_.push_back(s); return;
      case Op::Unlucky: unlucky_[podPath(s.x)] = s; return;
      case Op::Slow:
        slow_until_ = world_.now().mono + std::chrono::seconds{s.y};
        slow_ms_ = s.z;
        return;
      case Op::AgentFaults:
      case Op::AgentSlow:
      case Op::AgentDies:
      case Op::Plug:
      case Op::DriverFails:
      case Op::RuntimeSilent:
      case Op::Lose:
        if (agents_) { agents_->carryOut(s); }
        return;
      case Op::KubeRestart: return kube_->restart();
      case Op::KubeCalms: return kube_->calmDown();
      case Op::KubeHangs: {
        const Mono until = world_.now().mono + std::chrono::seconds{s.y};
        kube_->hang(kNamespaces[s.x], until);
        judge_.kubeHangs(until);
        return;
      }
      case Op::Restore:
        extras_.carryOut(s);
        if (kube_) { kube_->restart(); }  // as all that watch are to be (docs/reference/promises.md)
        return;
      case Op::Stick:
        if (shares_) { shares_->writesStick(s); }
        return extras_.carryOut(s);
      default: extras_.carryOut(s); return;
    }
  }

  void addPod(const Step& s) {
    Value pod = podObject(s.x, s.y);
    const bool is_kubes = kube_ && KubeSide::takes(s.x, s.y);
    if (plan_.has(Feature::Webhook) && !is_kubes) { pod = withOwnVariables(std::move(pod), s.x + s.y); }
    if (is_kubes) { KubeSide::takeOver(pod, s.x); }
    request("POST", fmt::format("/api/v1/namespaces/{}/pods", kNamespaces[s.x % 2]), std::move(pod));
    if (is_kubes) { kube_->comes(kNamespaces[s.x % 2], podName(s.x)); }
  }

  /// Every third is one of its kube-scheduler, where there is one.
  void addMapped(const Step& s) {
    Value pod = mappedPodObject(s.x, s.y, s.z);
    const bool is_kubes = kube_ && s.x / 2 % 3 == 0;
    if (is_kubes) { KubeSide::takeOver(pod, s.x); }
    request("POST", fmt::format("/api/v1/namespaces/{}/pods", kNamespaces[s.x % 2]), std::move(pod));
    if (is_kubes) { kube_->comes(kNamespaces[s.x % 2], podName(s.x)); }
  }
  static Value nameLabel(int which) { return which < 5 ? Value{logicalName(which)} : Value{nullptr}; }

  /// From seeing and saying what is so.
  static bool hindersAgents(Op op) {
    switch (op) {
      case Op::AgentDown:
      case Op::AgentDies:
      case Op::AgentFaults:
      case Op::AgentSlow:
      case Op::Plug:
      case Op::DriverFails:
      case Op::RuntimeSilent:
      case Op::NodeGone:
      case Op::NodeBack:
      case Op::NodeReady:
      case Op::ApiAway:
      case Op::Restore: return true;
      default: return false;
    }
  }

  /// How long the live ledger may be behind because of it.
  static std::optional<Duration> troubleOf(const Step& s) {
    switch (s.op) {
      case Op::Crash:
      case Op::Start:
      case Op::Stop:
      case Op::Break:
      case Op::Forget: return kTakeover;
      case Op::Freeze:
      case Op::Stall:
      case Op::ApiAway:
      case Op::Faults: return kTakeover + std::chrono::seconds{s.y};
      case Op::Slow: return kHeld + std::chrono::seconds{s.y};
      default: return std::nullopt;
    }
  }
  void restart(sandbox::ReplicaId id) {
    if (!world_.alive(id)) { processes_[id] = {++last_process_, world_.now().mono}; }
    world_.restart(id);
  }

  void changeClaim(const Step& s) {
    const std::string all = fmt::format("/apis/gpu.scheduling/v1/namespaces/{}/gpuclaims", kNamespaces[s.y]);
    const std::string one = fmt::format("{}/{}", all, kClaimNames[s.x]);
    if (s.op == Op::MakeClaim) {
      request("POST", all, claimObject(s.x, kNamespaces[s.y]));
    } else if (s.op == Op::DropClaim) {
      request("DELETE", one);
    } else {
      (void)world_.request("PATCH", one, Object{{"spec", Object{{"devices", Object{{"count", s.z}}}}}},
                           "application/merge-patch+json");
    }
  }

  void changeNode(const Step& s) {
    auto& machines = world_.machines();
    const std::string node = nodeName(s.x);
    const bool there = !gone_.contains(s.x);
    if (s.op == Op::NodeBack) {
      if (gone_.erase(s.x) > 0) { machines.addNode(simNode(s.x, !plan_.has(Feature::Unenforced))); }
    } else if (there && s.op == Op::NodeGone) {
      gone_.insert(s.x);
      machines.removeNode(node);
    } else if (there && s.op == Op::GpuHealth) {
      constexpr model::Health kHealth[] = {model::Health::Healthy, model::Health::Unhealthy,
                                           model::Health::Unknown};
      machines.setHealth(node, s.y, kHealth[s.z]);
    } else if (there && s.op == Op::Resize) {
      machines.setDevices(node, gpus(s.x, s.y));
    } else if (there && s.op == Op::NodeReady) {
      machines.setNodeReady(node, s.y != 0);
    } else if (there && s.op == Op::AgentDown) {
      machines.setAgentDown(node, s.y != 0);
    }
    world_.touch();
  }

  void changeReplica(const Step& s) {
    if (s.op == Op::Start) {
      restart(s.x);
      return;
    }
    if (!world_.alive(s.x)) { return; }
    switch (s.op) {
      case Op::Crash: world_.crash(s.x); return;
      case Op::Stop: world_.stop(s.x); return;
      case Op::Freeze:
        world_.freeze(s.x, true);
        later(std::chrono::seconds{s.y}, [this, id = s.x] { world_.freeze(id, false); });
        return;
      case Op::Stall: world_.stallClock(s.x, std::chrono::seconds{s.y}); return;
      default: {
        constexpr int kHow[] = {0, 410, 500};
        world_.endStreams(s.x, kHow[s.y]);
      }
    }
  }

  // ---- the end

  /// All faults stop; then everything must come right.
  void calmDown() {
    faults_until_ = slow_until_ = Mono{};
    last_words_.clear();
    unlucky_.clear();
    for (const auto& one : std::exchange(under_way_, {})) { land(one.call); }
    world_.setApiAway(false);
    extras_.calmDown();
    if (shares_) { shares_->calmDown(); }
    if (kube_) { kube_->calmDown(); }
    if (agents_) { agents_->calmDown(); }
    if (caches_) { caches_->calmDown(); }
    for (int i = 0; i < kReplicas + plan_.extenders; ++i) {
      if (world_.alive(i)) { world_.freeze(i, false); }
      restart(i);
    }
    for (int n = 0; n < kNodes; ++n) {
      if (gone_.contains(n)) { world_.machines().addNode(simNode(n, !plan_.has(Feature::Unenforced))); }
      world_.machines().setAgentDown(nodeName(n), false);
      world_.machines().setNodeReady(nodeName(n), true);
    }
    gone_.clear();
    world_.touch();
    const Duration end = since() + kCalm;
    std::string wrong;
    do {
      if (!upTo(since() + kLook)) { return; }
      for (int i = 0; i < kReplicas + plan_.extenders; ++i) { restart(i); }  // who was stopping has ended
      wrong = notSettled();
    } while (!wrong.empty() && since() < end);
    if (!wrong.empty()) {
      out_.problem = wrong;
      out_.at = since();
    }
  }

  std::string notSettled() {
    const auto leader = world_.leader();
    if (!leader) { return "nobody leads"; }
    if (std::string wrong = judge_.settled(); !wrong.empty()) { return wrong; }
    if (std::string wrong = shares_ ? shares_->settled() : ""; !wrong.empty()) { return wrong; }
    if (std::string wrong = agents_ ? agents_->settled() : ""; !wrong.empty()) { return wrong; }
    if (std::string wrong = caches_ ? caches_->settled() : ""; !wrong.empty()) { return wrong; }
    ledgers_.leaveOut(judge_.knownToSome());
    return judge_.hasOthersLeases() || anyReads(plan_.mutators)
               ? ""
               : ledgers_.atEnd(*leader, shares_ && shares_->arePromisesBelieved());
  }

  const Plan& plan_;
  Rng rng_;
  sandbox::World world_;
  Judge judge_;
  LedgerCheck ledgers_;
  Extras extras_;
  CallRates rates_{plan_.has(Feature::Large) ? kLargePods : std::size_t{kSlots}};
  std::unique_ptr<ShareSide> shares_;  // null: the plan has no extender
  std::unique_ptr<AgentSide> agents_;  // null: statuses are made by hand
  std::unique_ptr<KubeSide> kube_;     // null: nor a kube-scheduler
  std::unique_ptr<CacheSide> caches_;  // null: nor kernel caches
  Outcome out_;
  Mono began_{};
  std::optional<sandbox::ReplicaId> leader_;
  std::optional<Transcript> transcript_;  // for whoever wants to be told
  struct UnderWay {
    kapi::Call call;
    int writes;  // lands when so many other calls have left
  };
  std::vector<UnderWay> under_way_;
  std::vector<Step> last_words_;
  std::map<std::string, Step> unlucky_;  // by the pod's path
  std::set<int> gone_;                   // nodes
  std::map<sandbox::ReplicaId, Process> processes_;
  int last_process_ = 0;
  Mono faults_until_{};
  std::uint64_t fault_permille_ = 0;
  Mono slow_until_{};
  int slow_ms_ = 1;
};

}  // namespace

Outcome play(const Plan& plan, bool tell) { return Play{plan, tell}.run(); }

}  // namespace gs::sim
