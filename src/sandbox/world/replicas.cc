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
  Replica& r = add();
  config.instance = fmt::format("{}-{}", config.scheduler_name, r.process.address().id);
  r.config = std::move(config);
  r.make_companion = std::move(companion);
  begin(r);
  return r.process.address().id;
}

ReplicaId Replicas::startExtender(extender::Config config) {
  Replica& r = add();
  config.instance = fmt::format("gpu-admission-{}", r.process.address().id);
  r.config = std::move(config);
  begin(r);
  return r.process.address().id;
}

Replica& Replicas::add() {
  const auto id = static_cast<ReplicaId>(replicas_.size());
  Process::Program program;
  program.handle = [this, id](const kapi::MachineEvent& event, Now now) {
    Replica& r = replica(id);
    kapi::Effects effects = r.handle(event, now);
    tellAnswers(r);
    return effects;
  };
  program.log = [this, id](const kapi::Log& log) { line(id, log); };
  program.metric = [this](const kapi::Metric& metric) {
    if (metric.op == kapi::MetricOp::Add) { counted_[metric.name] += metric.value; }
  };
  program.released = [this, id] { crash(id); };
  replicas_.push_back(std::make_unique<Replica>(queue_, transport_, id, std::move(program)));
  return replica(id);
}

void Replicas::begin(Replica& r) {
  r.process.begin();
  r.make(schedulers_, extenders_);
  controller::Election::Config election = r.electionConfig();
  election.lease_duration = options_.lease_duration;
  election.renew_deadline = options_.renew_deadline;
  election.retry_period = options_.retry_period;
  const Process::Address who = r.process.address();
  if (options_.pods != nullptr) {
    election.container = controller::printHolderContainer(options_.pods->began(who.id, r.process.now().wall));
  }
  const Rng rng{(r.machine ? schedulers_ : extenders_).next()};
  r.process.carry(r.start(r.process.now()));
  if (r.process.isAlive(who)) { r.process.elect(std::move(election), rng); }
}

void Replicas::crash(ReplicaId id) {
  Process& p = replica(id).process;
  if (p.isAlive() && options_.pods != nullptr) { options_.pods->ended(id, p.now().wall); }
  p.end();
}

void Replicas::restart(ReplicaId id) {
  if (!alive(id)) { begin(replica(id)); }
}

void Replicas::freeze(ReplicaId id, bool frozen) { replica(id).process.freeze(frozen); }

void Replicas::stop(ReplicaId id) {
  replica(id).stopTaking();
  stopWhenDone(id, queue_.now().mono + kStopLimit);
}

void Replicas::stopWhenDone(ReplicaId id, Mono end) {
  Replica& r = replica(id);
  if (!r.underWay() || queue_.now().mono >= end) { return r.process.resign(); }
  r.process.at(queue_.now().mono + std::chrono::milliseconds{10}, [this, id, end] { stopWhenDone(id, end); });
}

bool Replicas::alive(ReplicaId id) const { return replica(id).process.isAlive(); }
bool Replicas::frozen(ReplicaId id) const { return replica(id).process.isFrozen(); }
const scheduler::Scheduler& Replicas::scheduler(ReplicaId id) const { return *replica(id).machine; }
const extender::Standalone& Replicas::extender(ReplicaId id) const { return *replica(id).extender; }

std::optional<ReplicaId> Replicas::leader() const {
  for (const auto& r : replicas_) {
    if (r->process.isAlive() && r->machine && r->machine->leading()) { return r->process.address().id; }
  }
  return std::nullopt;
}

const extender::Extender* Replicas::extenderOfCompanion(ReplicaId id) const {
  const auto& companion = replica(id).companion;
  return companion ? &companion->extender() : nullptr;
}

std::optional<ReplicaId> Replicas::leadingExtender() const {
  for (const auto& r : replicas_) {
    if (r->process.isAlive() && r->leadsExtender()) { return r->process.address().id; }
  }
  return std::nullopt;
}

void Replicas::ask(ReplicaId id, extender::RequestId request_id, extender::Request request,
                   std::vector<std::string> nodes) {
  queue_.after(transport_.latency(), [this, who = replica(id).process.address(), request_id,
                                      request = std::move(request), nodes = std::move(nodes)]() mutable {
    if (!isAlive(who)) { return; }
    Process& process = replica(who.id).process;
    request.asked = process.now().mono;  // also where it is frozen, and reads this later
    process.at(queue_.now().mono,
               [this, who, request_id, request = std::move(request), nodes = std::move(nodes)]() mutable {
                 Replica& r = replica(who.id);
                 kapi::Effects effects = r.ask(request_id, std::move(request), nodes, r.process.now());
                 tellAnswers(r);
                 r.process.carry(std::move(effects));
               });
  });
}

/// A process that died or froze since it answered has answered.
void Replicas::tellAnswers(Replica& r) {
  if (!r.isAsked()) { return; }
  for (auto& [request_id, answer] : r.takeAnswers()) {
    if (!listener_) { continue; }
    queue_.after(transport_.latency(), [this, id = r.process.address().id, request_id = request_id,
                                        answer = std::move(answer)] { listener_(id, request_id, answer); });
  }
}

double Replicas::counted(const std::string& metric) const {
  const auto it = counted_.find(metric);
  return it == counted_.end() ? 0 : it->second;
}

void Replicas::line(ReplicaId id, const kapi::Log& log) {
  if (options_.on_log) { options_.on_log(id, log); }
  if (!options_.records) { return; }
  std::string text = fmt::format("{} {} {}", id, static_cast<int>(log.level), log.message);
  for (const auto& [key, value] : log.fields) { text += fmt::format(" {}={}", key, value); }
  log_.push_back(std::move(text));
}

void Replicas::stallClock(ReplicaId id, Duration by) { replica(id).process.stall(by); }

// ---------------------------------------------------------------- what the transport says

bool Replicas::isAlive(Address who) const { return replica(who.id).process.isAlive(who); }

void Replicas::answered(Address who, kapi::Outcome outcome) {
  replica(who.id).process.answered(who, std::move(outcome));
}

void Replicas::streamed(Address who, ApiPort::StreamEvent event) {
  replica(who.id).process.streamed(who, std::move(event));
}

void Replicas::die(Address who) {
  if (isAlive(who)) { crash(who.id); }
}

}  // namespace gs::sandbox
