#include "sandbox/world/agents.h"

#include <utility>

namespace gs::sandbox {
namespace {

constexpr std::size_t kConnections = 4;  // as --connections by default

}  // namespace

Agents::Agents(EventQueue& queue, Transport& transport, const Machines& machines, Rng rng, bool told_uuids,
               bool enforces_devices)
    : queue_{queue},
      transport_{transport},
      machines_{machines},
      rng_{rng},
      told_uuids_{told_uuids},
      enforces_devices_{enforces_devices} {}

Agents::~Agents() = default;

// ---- who runs

Agents::OfNode& Agents::processOf(const std::string& node) {
  const auto [it, is_new] = of_node_.try_emplace(node, processes_.size());
  if (is_new) {
    const ReplicaId id = -static_cast<ReplicaId>(processes_.size() + 1);
    processes_.push_back(
        std::unique_ptr<OfNode>{new OfNode{node, {queue_, transport_, id, kConnections, programOf(id)}}});
  }
  return *processes_[it->second];
}

Process::Program Agents::programOf(ReplicaId id) {
  Process::Program out;
  out.handle = [this, id](const kapi::MachineEvent& event, Now now) {
    return at(id).machine->handle(event, now);
  };
  out.handled = [this, id] {
    OfNode& p = at(id);
    if (!p.machine->failure().empty()) { die(p.process.address()); }
  };
  return out;
}

void Agents::follow() {
  if (followed_ == machines_.changes()) { return; }
  followed_ = machines_.changes();
  for (const auto& p : processes_) {
    if (!machines_.has(p->node) && std::exchange(p->wanted, 0) != 0) { end(*p); }
  }
  for (const auto& [node, machine] : machines_.all()) {
    OfNode& p = processOf(node);
    if (std::exchange(p.wanted, machine.agent) == machine.agent) { continue; }
    end(p);
    if (p.wanted != 0) { start(p); }
  }
}

void Agents::start(OfNode& p) {
  const auto on = machines_.all().find(p.node);
  if (on == machines_.all().end()) { return; }  // it has just gone
  p.process.begin();
  p.seen = 0;
  const bool by_driver = on->second.sim.enforcement == model::Enforcement::Dra;
  const model::Enforcement enforcement = by_driver ? model::Enforcement::Off : on->second.sim.enforcement;
  p.machine = std::make_unique<agent::Agent>(
      agent::Agent::Config{.node = model::NodeName{p.node},
                           .enforcement = enforcement,
                           .boot_id = on->second.boot,
                           .told_uuids = told_uuids_,
                           .enforces_devices = enforces_devices_ && !by_driver},
      Rng{rng_.next()});
  p.process.carry(p.machine->start(queue_.now()));
  if (p.machine == nullptr) { return; }
  lookIn(p, Duration{1} * static_cast<std::int64_t>(rng_.below(std::uint64_t{kLookEvery.count()})));
  look(p);
}

void Agents::end(OfNode& p) {
  if (p.machine == nullptr) { return; }
  p.machine.reset();
  p.process.end();
}

void Agents::startSoon(OfNode& p) {
  queue_.after(kStartAgain, [this, id = p.process.address().id, wanted = p.wanted] {
    OfNode& again = at(id);
    if (again.wanted == wanted && wanted != 0 && again.machine == nullptr) { start(again); }
  });
}

void Agents::crash(const std::string& node) {
  OfNode& p = processOf(node);
  end(p);
  startSoon(p);
}

void Agents::lookNow(const std::string& node) {
  OfNode& p = processOf(node);
  p.process.at(queue_.now().mono, [this, &p] { look(p); });
}

void Agents::enforced(const std::string& node, const enforce::Report& report) {
  OfNode& p = processOf(node);
  if (p.machine != nullptr) { p.process.carry(p.machine->enforced(report, queue_.now())); }
}

std::uint64_t Agents::starts(const std::string& node) const {
  const auto it = of_node_.find(node);
  return it == of_node_.end() ? 0 : processes_[it->second]->process.address().life;
}

const agent::Agent* Agents::of(const std::string& node) const {
  const auto it = of_node_.find(node);
  return it == of_node_.end() ? nullptr : processes_[it->second]->machine.get();
}

const std::string& Agents::nodeOf(ReplicaId id) const {
  static const std::string kNobody;
  return id < 0 && static_cast<std::size_t>(-id) <= processes_.size() ? at(id).node : kNobody;
}

// ---- what it sees

void Agents::lookIn(OfNode& p, Duration wait) {
  p.process.at(queue_.now().mono + wait, [this, &p] {
    lookIn(p, kLookEvery);
    look(p);
  });
}

void Agents::look(OfNode& p) {
  const Address who = p.process.address();
  const auto on = machines_.all().find(p.node);
  if (on == machines_.all().end()) { return; }  // it has just gone
  const Machines::Machine& machine = on->second;
  if (std::exchange(p.seen, machine.hardware) != machine.hardware) { p.look = Machines::look(machine); }
  p.process.carry(p.machine->looked(p.look, queue_.now()));
  if (isAlive(who)) {
    p.process.carry(p.machine->containersSeen(machines_.containers(machine), queue_.now()));
  }
}

// ---- what the transport says

bool Agents::isAlive(Address who) const { return at(who.id).process.isAlive(who); }

void Agents::answered(Address who, kapi::Outcome outcome) {
  at(who.id).process.answered(who, std::move(outcome));
}

void Agents::streamed(Address who, ApiPort::StreamEvent event) {
  at(who.id).process.streamed(who, std::move(event));
}

void Agents::die(Address who) {
  if (!isAlive(who)) { return; }
  end(at(who.id));
  startSoon(at(who.id));
}

}  // namespace gs::sandbox
