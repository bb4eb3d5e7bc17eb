#include "sandbox/world/agents.h"

#include <utility>
#include <variant>

namespace gs::sandbox {

Agents::Agents(EventQueue& queue, Transport& transport, const Machines& machines, Rng rng, bool told_uuids)
    : queue_{queue}, transport_{transport}, machines_{machines}, rng_{rng}, told_uuids_{told_uuids} {}

Agents::~Agents() = default;

// ---- who runs

Agents::Process& Agents::processOf(const std::string& node) {
  const auto [it, is_new] = of_node_.try_emplace(node, processes_.size());
  if (is_new) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->address.id = -static_cast<ReplicaId>(processes_.size());
    processes_.back()->node = node;
  }
  return *processes_[it->second];
}

void Agents::follow() {
  if (followed_ == machines_.changes()) { return; }
  followed_ = machines_.changes();
  for (const auto& p : processes_) {
    if (!machines_.has(p->node) && std::exchange(p->wanted, 0) != 0) { end(*p); }
  }
  for (const auto& [node, machine] : machines_.all()) {
    Process& p = processOf(node);
    if (std::exchange(p.wanted, machine.agent) == machine.agent) { continue; }
    end(p);
    if (p.wanted != 0) { start(p); }
  }
}

void Agents::start(Process& p) {
  const auto on = machines_.all().find(p.node);
  if (on == machines_.all().end()) { return; }  // it has just gone
  ++p.address.life;
  p.seen = 0;
  const model::Enforcement enforcement = on->second.sim.enforcement;
  p.machine = std::make_unique<agent::Agent>(agent::Agent::Config{.node = model::NodeName{p.node},
                                                                  .enforcement = enforcement,
                                                                  .boot_id = on->second.boot,
                                                                  .told_uuids = told_uuids_},
                                             Rng{rng_.next()});
  carry(p, p.machine->start(queue_.now()));
  if (p.machine == nullptr) { return; }
  lookIn(p, Duration{1} * static_cast<std::int64_t>(rng_.below(std::uint64_t{kLookEvery.count()})));
  look(p);
}

void Agents::end(Process& p) {
  if (p.machine == nullptr) { return; }
  p.machine.reset();
  p.wakes.clear();
  transport_.cutOff(p.address.id);
}

void Agents::startSoon(Process& p) {
  queue_.after(kStartAgain, [this, id = p.address.id, wanted = p.wanted] {
    Process& again = at(id);
    if (again.wanted == wanted && wanted != 0 && again.machine == nullptr) { start(again); }
  });
}

void Agents::crash(const std::string& node) {
  Process& p = processOf(node);
  end(p);
  startSoon(p);
}

void Agents::lookNow(const std::string& node) {
  later(processOf(node), queue_.now().mono, [this](Process& alive) { look(alive); });
}

std::uint64_t Agents::starts(const std::string& node) const {
  const auto it = of_node_.find(node);
  return it == of_node_.end() ? 0 : processes_[it->second]->address.life;
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

void Agents::later(const Process& p, Mono when, std::function<void(Process&)> action) {
  queue_.at(when, [this, who = p.address, action = std::move(action)] {
    if (isAlive(who)) { action(at(who.id)); }
  });
}

void Agents::lookIn(Process& p, Duration wait) {
  later(p, queue_.now().mono + wait, [this](Process& alive) {
    lookIn(alive, kLookEvery);
    look(alive);
  });
}

void Agents::look(Process& p) {
  const Address who = p.address;
  const auto on = machines_.all().find(p.node);
  if (on == machines_.all().end()) { return; }  // it has just gone
  const Machines::Machine& machine = on->second;
  if (std::exchange(p.seen, machine.hardware) != machine.hardware) { p.look = Machines::look(machine); }
  carry(p, p.machine->looked(p.look, queue_.now()));
  if (isAlive(who)) { carry(p, p.machine->containersSeen(machines_.containers(machine), queue_.now())); }
}

// ---- what it wants

void Agents::post(Process& p, const kapi::MachineEvent& event) {
  const Address who = p.address;
  carry(p, p.machine->handle(event, queue_.now()));
  if (isAlive(who) && !p.machine->failure().empty()) { die(who); }
}

void Agents::carry(Process& p, kapi::Effects effects) {
  const Address who = p.address;
  for (auto& effect : effects) {
    if (!isAlive(who)) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      transport_.send(who, std::move(*call));
    } else if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
      transport_.open(who, *watch);
    } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
      transport_.close(who.id, close->stream);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      if (p.wakes.insert(wake->at).second) { wakeAt(p, wake->at); }
    }
  }
}

void Agents::wakeAt(Process& p, Mono when) {
  later(p, when, [this, when](Process& woken) {
    woken.wakes.erase(when);
    post(woken, kapi::TimerDue{});
  });
}

// ---- what the transport says

bool Agents::isAlive(Address who) const {
  const Process& p = at(who.id);
  return p.machine != nullptr && p.address.life == who.life;
}

void Agents::answered(Address who, const std::string& /*ordering_key*/, kapi::Outcome outcome) {
  if (isAlive(who)) { post(at(who.id), outcome); }
}

void Agents::streamed(Address who, ApiPort::StreamEvent event) {
  if (!isAlive(who)) { return; }
  std::visit([&](const auto& each) { post(at(who.id), each); }, event);
}

void Agents::die(Address who) {
  if (!isAlive(who)) { return; }
  end(at(who.id));
  startSoon(at(who.id));
}

}  // namespace gs::sandbox
