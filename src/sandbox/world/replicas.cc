#include "sandbox/world/replicas.h"

#include <fmt/format.h>

#include <utility>

#include "sandbox/world/replica.h"

namespace gs::sandbox {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds{2};

}  // namespace

Replicas::Replicas(EventQueue& queue, Transport& transport, Options options, Rng schedulers, Rng extenders)
    : queue_{queue},
      transport_{transport},
      options_{std::move(options)},
      schedulers_{schedulers},
      extenders_{extenders} {}

Replicas::~Replicas() = default;

ReplicaId Replicas::startScheduler(scheduler::Config config, MakeCompanion companion) {
  auto r = std::make_unique<Replica>();
  config.instance = fmt::format("{}-{}", config.scheduler_name, replicas_.size());
  r->config = std::move(config);
  r->make_companion = std::move(companion);
  return add(std::move(r));
}

ReplicaId Replicas::startExtender(extender::Config config) {
  auto r = std::make_unique<Replica>();
  config.instance = fmt::format("gpu-admission-{}", replicas_.size());
  r->config = std::move(config);
  return add(std::move(r));
}

ReplicaId Replicas::add(std::unique_ptr<Replica> r) {
  const auto id = static_cast<ReplicaId>(replicas_.size());
  r->address.id = id;
  replicas_.push_back(std::move(r));
  begin(replica(id));
  return id;
}

void Replicas::begin(Replica& r) {
  ++r.address.life;
  r.alive = true;
  r.frozen = false;
  r.gate = {};
  r.make(schedulers_, extenders_);
  controller::Election::Config election = r.electionConfig();
  election.lease_duration = options_.lease_duration;
  election.renew_deadline = options_.renew_deadline;
  election.retry_period = options_.retry_period;
  if (options_.pods != nullptr) {
    election.container =
        controller::printHolderContainer(options_.pods->began(r.address.id, clockOf(r).wall));
  }
  Rng& rng = r.machine ? schedulers_ : extenders_;
  r.election = std::make_unique<controller::Election>(std::move(election), Rng{rng.next()});
  carry(r, r.start(clockOf(r)));
  elected(r, r.election->start(clockOf(r)));
}

void Replicas::crash(ReplicaId id) {
  Replica& r = replica(id);
  if (r.alive && options_.pods != nullptr) { options_.pods->ended(id, clockOf(r).wall); }
  r.alive = false;
  transport_.cutOff(id);
  r.ordering_keys.clear();
  r.wakes.clear();
  r.while_frozen.clear();
}

void Replicas::restart(ReplicaId id) {
  if (!replica(id).alive) { begin(replica(id)); }
}

void Replicas::freeze(ReplicaId id, bool frozen) {
  Replica& r = replica(id);
  r.frozen = frozen;
  if (frozen) { return; }
  for (auto& action : std::exchange(r.while_frozen, {})) {
    if (r.alive) { action(r); }
  }
}

void Replicas::stop(ReplicaId id) {
  replica(id).stopTaking();
  stopWhenDone(id, queue_.now().mono + kStopLimit);
}

void Replicas::stopWhenDone(ReplicaId id, Mono end) {
  Replica& r = replica(id);
  if (!r.underWay() || queue_.now().mono >= end) {
    elected(r, r.election->stop(clockOf(r)));
    return;
  }
  const auto again = [this, id, end](Replica&) { stopWhenDone(id, end); };
  queue_.after(std::chrono::milliseconds{10}, [this, who = r.address, again] { in(who, again); });
}

bool Replicas::alive(ReplicaId id) const { return replica(id).alive; }
bool Replicas::frozen(ReplicaId id) const { return replica(id).frozen; }
const scheduler::Scheduler& Replicas::scheduler(ReplicaId id) const { return *replica(id).machine; }
const extender::Standalone& Replicas::extender(ReplicaId id) const { return *replica(id).extender; }

std::optional<ReplicaId> Replicas::leader() const {
  for (const auto& r : replicas_) {
    if (r->alive && r->machine && r->machine->leading()) { return r->address.id; }
  }
  return std::nullopt;
}

const extender::Extender* Replicas::extenderOfCompanion(ReplicaId id) const {
  const auto& companion = replica(id).companion;
  return companion ? &companion->extender() : nullptr;
}

std::optional<ReplicaId> Replicas::leadingExtender() const {
  for (const auto& r : replicas_) {
    if (r->alive && r->leadsExtender()) { return r->address.id; }
  }
  return std::nullopt;
}

void Replicas::ask(ReplicaId id, extender::RequestId request_id, extender::Request request,
                   std::vector<std::string> nodes) {
  queue_.after(transport_.latency(), [this, who = replica(id).address, request_id,
                                      request = std::move(request), nodes = std::move(nodes)]() mutable {
    request.asked = clockOf(replica(who.id)).mono;
    in(who, [this, request_id, request = std::move(request), nodes](Replica& r) mutable {
      carry(r, r.ask(request_id, std::move(request), nodes, clockOf(r)));
      tellAnswers(r);
    });
  });
}

/// A process that died or froze since it answered has answered.
void Replicas::tellAnswers(Replica& r) {
  if (!r.isAsked()) { return; }
  for (auto& [request_id, answer] : r.takeAnswers()) {
    if (!listener_) { continue; }
    queue_.after(transport_.latency(), [this, id = r.address.id, request_id = request_id,
                                        answer = std::move(answer)] { listener_(id, request_id, answer); });
  }
}

bool Replicas::isAlive(Address who) const {
  const Replica& r = replica(who.id);
  return r.alive && r.address.life == who.life;
}

void Replicas::in(Address who, std::function<void(Replica&)> action) {
  if (!isAlive(who)) { return; }
  Replica& r = replica(who.id);
  if (r.frozen) {
    r.while_frozen.push_back(std::move(action));
    return;
  }
  action(r);
}

/// A process's own clock.
Now Replicas::clockOf(Replica& r) const { return r.clock(queue_.now()); }

void Replicas::post(Replica& r, const scheduler::Event& event) {
  carry(r, r.handle(event, clockOf(r)));
  tellAnswers(r);
}

void Replicas::carry(Replica& r, kapi::Effects effects) {
  const Address who = r.address;
  for (auto& effect : effects) {
    if (!isAlive(who)) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      submit(r, std::move(*call));
    } else if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
      transport_.open(who, *watch);
    } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
      transport_.close(who.id, close->stream);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      if (r.wakes.insert(wake->at).second) { wakeAt(r, wake->at); }
    } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
      line(r, *log);
    } else if (const auto* metric = std::get_if<kapi::Metric>(&effect)) {
      if (metric->op == kapi::MetricOp::Add) { counted_[metric->name] += metric->value; }
    }
  }
}

double Replicas::counted(const std::string& metric) const {
  const auto it = counted_.find(metric);
  return it == counted_.end() ? 0 : it->second;
}

/// At `when` by its own clock, which may stand still meanwhile.
void Replicas::wakeAt(Replica& r, Mono when) {
  const Mono shown = clockOf(r).mono;
  queue_.at(queue_.now().mono + (when - shown), [this, who = r.address, when] {
    in(who, [this, when](Replica& woken) {
      const Now now = clockOf(woken);
      if (now.mono < when) {
        wakeAt(woken, when);
        return;
      }
      woken.wakes.erase(when);
      elected(woken, woken.election->tick(now));
      if (woken.alive) { post(woken, kapi::TimerDue{}); }
    });
  });
}

void Replicas::line(const Replica& r, const kapi::Log& log) {
  if (options_.on_log) { options_.on_log(r.address.id, log); }
  if (!options_.records) { return; }
  std::string text = fmt::format("{} {} {}", r.address.id, static_cast<int>(log.level), log.message);
  for (const auto& [key, value] : log.fields) { text += fmt::format(" {}={}", key, value); }
  log_.push_back(std::move(text));
}

void Replicas::elected(Replica& r, controller::Election::Output output) {
  if (output.ping) { r.election->pong(clockOf(r)); }
  carry(r, std::move(output.effects));
  if (output.leadership) {
    r.gate = *output.leadership;
    post(r, *output.leadership);
  }
  if (output.released) { crash(r.address.id); }
}

void Replicas::submit(Replica& r, kapi::Call call) {
  if (call.ordering_key.empty()) {
    send(r, std::move(call));
    return;
  }
  const auto [it, idle] = r.ordering_keys.try_emplace(call.ordering_key);
  if (idle) {
    send(r, std::move(call));
  } else {
    it->second.push_back(std::move(call));
  }
}

void Replicas::send(Replica& r, kapi::Call call) {
  const bool leads = r.gate.leading && clockOf(r).mono < r.gate.until;
  if (!call.leader_only || leads) {
    transport_.send(r.address, std::move(call));
    return;
  }
  auto o = failed(call, kapi::CallResult::NotSent, "not leading");
  queue_.after({}, [this, who = r.address, ordering_key = call.ordering_key, o = std::move(o)]() mutable {
    answered(who, ordering_key, std::move(o));
  });
}

// ---------------------------------------------------------------- what the transport says

void Replicas::answered(Address who, const std::string& its_key, kapi::Outcome o) {
  in(who, [this, ordering_key = its_key, o = std::move(o)](Replica& r) {
    if (!ordering_key.empty()) {
      const auto it = r.ordering_keys.find(ordering_key);
      if (it != r.ordering_keys.end() && !it->second.empty()) {
        kapi::Call next = std::move(it->second.front());
        it->second.pop_front();
        send(r, std::move(next));
      } else if (it != r.ordering_keys.end()) {
        r.ordering_keys.erase(it);
      }
    }
    if (r.alive) { outcome(r, o); }
  });
}

void Replicas::streamed(Address who, ApiPort::StreamEvent event) {
  in(who,
     [this, e = std::move(event)](Replica& r) { std::visit([&](const auto& each) { post(r, each); }, e); });
}

void Replicas::die(Address who) {
  if (replica(who.id).address.life == who.life) { crash(who.id); }
}

void Replicas::outcome(Replica& r, const kapi::Outcome& o) {
  if (kapi::tokenOwner(o.token) == kElectionOwner) {
    elected(r, r.election->handle(o, clockOf(r)));
  } else {
    post(r, o);
  }
}

void Replicas::stallClock(ReplicaId id, Duration by) {
  Replica& r = replica(id);
  (void)clockOf(r);
  if (r.stalled_from) { return; }
  r.stalled_from = queue_.now().mono;
  r.stalled_until = queue_.now().mono + by;
}

}  // namespace gs::sandbox
