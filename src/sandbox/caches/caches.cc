#include "sandbox/caches/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"

namespace gs::sandbox {
namespace {

// As serve/operator/ has them by default.
constexpr Duration kLeaseDuration = std::chrono::seconds{15};
constexpr Duration kRenewDeadline = std::chrono::seconds{10};
constexpr Duration kRetryPeriod = std::chrono::seconds{2};
constexpr std::size_t kOperatorConnections = 16;
constexpr std::size_t kAgentConnections = 4;
constexpr const char* kNamespace = "kube-system";

}  // namespace

Caches::Caches(World& world, Options options)
    : world_{world},
      options_{std::move(options)},
      rng_{options_.seed},
      port_{world.api()},
      wire_{world.queue(), port_, {std::chrono::milliseconds{1}, options_.records, [&world] {
                                     world.touch();
                                   }}} {
  wire_.connect(*this);
  for (int i = 0; i < options_.operators; ++i) {
    start(operators_.emplace_back(*this, i, kOperatorConnections));
  }
  world_.join(wire_, [this] { follow(); });
}

Caches::~Caches() = default;

// ---- who runs

const Caches::Member& Caches::at(ReplicaId id) const {
  return id < kFirstAgent ? operators_.at(static_cast<std::size_t>(id))
                          : agents_.at(static_cast<std::size_t>(id - kFirstAgent));
}

void Caches::follow() {
  if (followed_ == world_.machines().changes()) { return; }
  followed_ = world_.machines().changes();
  for (Member& p : agents_) {
    if (world_.machines().has(p.node) || !std::exchange(p.is_wanted, false)) { continue; }
    end(p);
    p.rim.reset();
  }
  for (const auto& [node, machine] : world_.machines().all()) {
    const auto [it, is_new] = of_node_.try_emplace(node, agents_.size());
    if (is_new) {
      const ReplicaId id = kFirstAgent + static_cast<ReplicaId>(it->second);
      Member& made = agents_.emplace_back(*this, id, kAgentConnections);
      made.node = node;
      made.is_wanted = false;
    }
    Member& p = agents_[it->second];
    if (std::exchange(p.is_wanted, true)) { continue; }
    p.rim = options_.rims(node);
    start(p);
  }
}

Process::Program Caches::programOf(ReplicaId id) {
  Process::Program out;
  out.handle = [this, id](const kapi::MachineEvent& event, Now) { return handle(at(id), event); };
  out.handled = [this, id] { handled(at(id)); };
  return out;
}

void Caches::start(Member& p) {
  p.process.begin();
  if (p.isAgent()) {
    startAgent(p);
  } else {
    startOperator(p);
  }
}

void Caches::startOperator(Member& p) {
  controller::Election::Config election;
  election.lease = {kNamespace, gkm::kLeaderLease};
  election.identity = fmt::format("gkm-operator-{}_{}", p.process.address().id, p.process.address().life);
  election.lease_duration = kLeaseDuration;
  election.renew_deadline = kRenewDeadline;
  election.retry_period = kRetryPeriod;
  p.leads.emplace(gkm::Operator::Config{}, rng_.split());
  const Rng rng = rng_.split();
  const Address who = p.process.address();
  p.process.carry(p.leads->start(now()));
  if (p.isAlive(who)) { p.process.elect(std::move(election), rng); }
}

void Caches::startAgent(Member& p) {
  const controller::Owners owners;
  p.agent.emplace(gkm::NodeAgent::Config{.node = model::NodeName{p.node}}, rng_.split(), owners);
  p.beside.emplace(owners);
  const Address who = p.process.address();
  if (options_.watches_pods) {
    const auto told = [this, &p](kcache::MountPathsPtr paths) {
      p.rim->mountPaths(std::move(paths));
      p.process.at(now().mono, [this, &p] { turn(p); });
    };
    p.pods.emplace(*p.beside, model::NodeName{p.node}, told, rng_.split());
  }
  p.rim->begin(now());
  if (p.rim->hasDied()) { return crash(p); }
  p.process.carry(p.agent->start(now()));
  if (p.isAlive(who) && p.pods) {
    kapi::Effects out;
    p.pods->start(now(), out);
    p.process.carry(std::move(out));
  }
  if (p.isAlive(who)) { p.process.carry(p.agent->gpus({}, now())); }
  if (p.isAlive(who)) { lookIn(p); }
}

void Caches::end(Member& p) {
  if (!p.process.isAlive()) { return; }
  p.process.end();
  p.leads.reset();
  p.agent.reset();
  p.pods.reset();
  p.beside.reset();
  if (p.rim != nullptr) { p.rim->end(); }
}

void Caches::startSoon(const Member& p) {
  world_.after(kStartAgain, [this, who = p.process.address()] {
    Member& again = at(who.id);
    const bool is_due =
        again.is_wanted && !again.process.isAlive() && again.process.address().life == who.life;
    if (is_due) { start(again); }
  });
}

void Caches::crash(Member& p) {
  if (!p.process.isAlive()) { return; }
  end(p);
  startSoon(p);
}

void Caches::crashOperator(int which) { crash(at(which)); }

void Caches::crashAgent(const std::string& node) {
  if (const auto id = agentOf(node)) { crash(at(*id)); }
}

std::optional<ReplicaId> Caches::agentOf(const std::string& node) const {
  const auto it = of_node_.find(node);
  return it == of_node_.end() ? std::nullopt
                              : std::optional{kFirstAgent + static_cast<ReplicaId>(it->second)};
}

CacheRim* Caches::rimOf(const std::string& node) {
  const auto id = agentOf(node);
  return id ? at(*id).rim.get() : nullptr;
}

bool Caches::hearOfPods() const {
  return std::all_of(agents_.begin(), agents_.end(), [](const Member& p) {
    return !p.process.isAlive() || !p.pods || p.pods->check().state == "ok";
  });
}

std::optional<int> Caches::leader() const {
  for (const Member& p : operators_) {
    if (p.process.isAlive() && p.process.leads()) { return p.process.address().id; }
  }
  return std::nullopt;
}

// ---- what an agent's machine has

void Caches::lookNow(const std::string& node) {
  const auto id = agentOf(node);
  if (!id || !at(*id).process.isAlive()) { return; }
  Member& p = at(*id);
  p.process.at(now().mono, [this, &p] { turn(p); });
}

void Caches::lookIn(Member& p) {
  turn(p);
  p.process.at(now().mono + kLookEvery, [this, &p] { lookIn(p); });
}

/// What it wants, to the rim; what the rim has, to it.
void Caches::turn(Member& p) {
  const Address who = p.process.address();
  if (auto wanted = p.agent->takeWanted()) { p.rim->want(std::move(wanted)); }
  const auto has = p.rim->turn(now());
  if (p.rim->hasDied()) { return crash(p); }
  if (has != nullptr) { p.process.carry(p.agent->has(has, now())); }
  if (!p.isAlive(who)) { return; }
  if (const auto due = p.rim->nextDue()) {
    p.process.at(*due, [this, &p] { turn(p); });
  }
}

// ---- what they want

kapi::Effects Caches::agentsPart(Member& p, const kapi::MachineEvent& event) {
  kapi::Effects out;
  if (std::holds_alternative<kapi::TimerDue>(event)) { p.beside->tick(now(), out); }
  if (p.beside->handle(event, now(), out)) { return out; }
  kapi::Effects more = p.agent->handle(event, now());
  std::move(more.begin(), more.end(), std::back_inserter(out));
  return out;
}

kapi::Effects Caches::handle(Member& p, const kapi::MachineEvent& event) {
  return p.isAgent() ? agentsPart(p, event) : p.leads->handle(event, now());
}

void Caches::handled(Member& p) {
  const std::string& failure = p.isAgent() ? p.agent->failure() : p.leads->failure();
  if (!failure.empty()) { return crash(p); }
  if (!p.isAgent()) { return; }
  if (auto wanted = p.agent->takeWanted()) {
    p.rim->want(std::move(wanted));
    p.process.at(now().mono, [this, &p] { turn(p); });
  }
}

// ---- what the transport says

bool Caches::isAlive(Address who) const { return at(who.id).isAlive(who); }

void Caches::answered(Address who, kapi::Outcome outcome) {
  at(who.id).process.answered(who, std::move(outcome));
}

void Caches::streamed(Address who, ApiPort::StreamEvent event) {
  at(who.id).process.streamed(who, std::move(event));
}

void Caches::die(Address who) {
  if (isAlive(who)) { crash(at(who.id)); }
}

}  // namespace gs::sandbox
