#include "sandbox/caches/caches.h"

#include <fmt/format.h>

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
    operators_.emplace_back().address.id = i;
    start(operators_.back());
  }
  world_.join(wire_, [this] { follow(); });
}

Caches::~Caches() = default;

// ---- who runs

const Caches::Process& Caches::at(ReplicaId id) const {
  return id < kFirstAgent ? operators_.at(static_cast<std::size_t>(id))
                          : agents_.at(static_cast<std::size_t>(id - kFirstAgent));
}

void Caches::follow() {
  if (followed_ == world_.machines().changes()) { return; }
  followed_ = world_.machines().changes();
  for (Process& p : agents_) {
    if (world_.machines().has(p.node) || !std::exchange(p.is_wanted, false)) { continue; }
    end(p);
    p.rim.reset();
  }
  for (const auto& [node, machine] : world_.machines().all()) {
    const auto [it, is_new] = of_node_.try_emplace(node, agents_.size());
    if (is_new) {
      Process& made = agents_.emplace_back();
      made.address.id = kFirstAgent + static_cast<ReplicaId>(it->second);
      made.node = node;
      made.is_wanted = false;
    }
    Process& p = agents_[it->second];
    if (std::exchange(p.is_wanted, true)) { continue; }
    p.rim = options_.rims(node);
    start(p);
  }
}

void Caches::start(Process& p) {
  ++p.address.life;
  p.is_alive = true;
  if (p.isAgent()) {
    startAgent(p);
  } else {
    startOperator(p);
  }
}

void Caches::startOperator(Process& p) {
  p.gate = {};
  controller::Election::Config election;
  election.lease = {kNamespace, gkm::kLeaderLease};
  election.identity = fmt::format("gkm-operator-{}_{}", p.address.id, p.address.life);
  election.lease_duration = kLeaseDuration;
  election.renew_deadline = kRenewDeadline;
  election.retry_period = kRetryPeriod;
  p.leads.emplace(gkm::Operator::Config{}, rng_.split());
  p.election.emplace(std::move(election), rng_.split());
  const Address who = p.address;
  carry(p, p.leads->start(now()));
  if (isAlive(who)) { elected(p, p.election->start(now())); }
}

void Caches::startAgent(Process& p) {
  p.agent.emplace(gkm::NodeAgent::Config{.node = model::NodeName{p.node}}, rng_.split());
  const Address who = p.address;
  if (options_.watches_pods) {
    const auto told = [this, &p](kcache::MountPathsPtr paths) {
      p.rim->mountPaths(std::move(paths));
      later(p, now().mono, [this](Process& alive) { turn(alive); });
    };
    p.pods.emplace(model::NodeName{p.node}, told, rng_.split());
  }
  p.rim->begin(now());
  if (p.rim->hasDied()) { return crash(p); }
  carry(p, p.agent->start(now()));
  if (isAlive(who) && p.pods) { carry(p, p.pods->start(now())); }
  if (isAlive(who)) { carry(p, p.agent->gpus({}, now())); }
  if (isAlive(who)) { lookIn(p); }
}

void Caches::end(Process& p) {
  if (!std::exchange(p.is_alive, false)) { return; }
  p.leads.reset();
  p.election.reset();
  p.agent.reset();
  p.pods.reset();
  if (p.rim != nullptr) { p.rim->end(); }
  p.wakes.clear();
  wire_.cutOff(p.address.id);
}

void Caches::startSoon(const Process& p) {
  world_.after(kStartAgain, [this, who = p.address] {
    Process& again = at(who.id);
    const bool is_due = again.is_wanted && !again.is_alive && again.address.life == who.life;
    if (is_due) { start(again); }
  });
}

void Caches::crash(Process& p) {
  if (!p.is_alive) { return; }
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

std::optional<int> Caches::leader() const {
  for (const Process& p : operators_) {
    if (p.is_alive && p.election->leading()) { return p.address.id; }
  }
  return std::nullopt;
}

// ---- what an agent's machine has

void Caches::lookNow(const std::string& node) {
  const auto id = agentOf(node);
  if (!id || !at(*id).is_alive) { return; }
  later(at(*id), now().mono, [this](Process& p) { turn(p); });
}

void Caches::lookIn(Process& p) {
  turn(p);
  later(p, now().mono + kLookEvery, [this](Process& alive) { lookIn(alive); });
}

/// What it wants, to the rim; what the rim has, to it.
void Caches::turn(Process& p) {
  const Address who = p.address;
  if (auto wanted = p.agent->takeWanted()) { p.rim->want(std::move(wanted)); }
  const auto has = p.rim->turn(now());
  if (p.rim->hasDied()) { return crash(p); }
  if (has != nullptr) { carry(p, p.agent->has(has, now())); }
  if (!isAlive(who)) { return; }
  if (const auto due = p.rim->nextDue()) {
    later(p, *due, [this](Process& alive) { turn(alive); });
  }
}

// ---- what they want

kapi::Effects Caches::agentsPart(Process& p, const kapi::MachineEvent& event) {
  const bool is_time = std::holds_alternative<kapi::TimerDue>(event);
  const bool is_pods = gkm::PodWatch::isForIt(event);
  kapi::Effects out;
  if (p.pods && (is_time || is_pods)) { out = p.pods->handle(event, now()); }
  if (is_pods) { return out; }
  kapi::Effects more = p.agent->handle(event, now());
  std::move(more.begin(), more.end(), std::back_inserter(out));
  return out;
}

void Caches::post(Process& p, const kapi::MachineEvent& event) {
  const Address who = p.address;
  carry(p, p.isAgent() ? agentsPart(p, event) : p.leads->handle(event, now()));
  if (!isAlive(who)) { return; }
  const std::string& failure = p.isAgent() ? p.agent->failure() : p.leads->failure();
  if (!failure.empty()) { return crash(p); }
  if (!p.isAgent()) { return; }
  if (auto wanted = p.agent->takeWanted()) {
    p.rim->want(std::move(wanted));
    later(p, now().mono, [this](Process& alive) { turn(alive); });
  }
}

void Caches::carry(Process& p, kapi::Effects effects) {
  const Address who = p.address;
  for (auto& effect : effects) {
    if (!isAlive(who)) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      send(p, std::move(*call));
    } else if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
      wire_.open(who, *watch);
    } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
      wire_.close(who.id, close->stream);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      if (p.wakes.insert(wake->at).second) { wakeAt(p, wake->at); }
    }
  }
}

void Caches::send(Process& p, kapi::Call call) {
  GS_CHECK(call.ordering_key.empty(), "no call about caches is bound to an order");
  const bool leads = p.gate.leading && now().mono < p.gate.until;
  if (!call.leader_only || p.isAgent() || leads) {
    wire_.send(p.address, std::move(call));
    return;
  }
  later(p, now().mono, [this, out = failed(call, kapi::CallResult::NotSent, "not leading")](Process& alive) {
    post(alive, out);
  });
}

void Caches::elected(Process& p, controller::Election::Output output) {
  const Address who = p.address;
  if (output.ping) { p.election->pong(now()); }
  carry(p, std::move(output.effects));
  if (output.leadership && isAlive(who)) {
    p.gate = *output.leadership;
    post(p, *output.leadership);
  }
}

void Caches::wakeAt(Process& p, Mono when) {
  later(p, when, [this, when](Process& woken) {
    const Address who = woken.address;
    woken.wakes.erase(when);
    if (!woken.isAgent()) { elected(woken, woken.election->tick(now())); }
    if (isAlive(who)) { post(woken, kapi::TimerDue{}); }
  });
}

void Caches::later(const Process& p, Mono when, std::function<void(Process&)> action) {
  world_.queue().at(when, [this, who = p.address, action = std::move(action)] {
    if (isAlive(who)) { action(at(who.id)); }
  });
}

// ---- what the transport says

bool Caches::isAlive(Address who) const {
  const Process& p = at(who.id);
  return p.is_alive && p.address.life == who.life;
}

void Caches::answered(Address who, const std::string& /*ordering_key*/, kapi::Outcome outcome) {
  if (!isAlive(who)) { return; }
  Process& p = at(who.id);
  if (kapi::tokenOwner(outcome.token) == kElectionOwner && !p.isAgent()) {
    elected(p, p.election->handle(outcome, now()));
  } else {
    post(p, outcome);
  }
}

void Caches::streamed(Address who, ApiPort::StreamEvent event) {
  if (!isAlive(who)) { return; }
  std::visit([&](const auto& each) { post(at(who.id), each); }, event);
}

void Caches::die(Address who) {
  if (isAlive(who)) { crash(at(who.id)); }
}

}  // namespace gs::sandbox
