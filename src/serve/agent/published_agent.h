// PublishedAgent: the agent's machine, whose record lies in a slot after whatever the machine was told,
// where other threads read it. A Machine (controller/machine.h). The machine and the slot must outlive it.
// One thread, the machine's.
#pragma once

#include <string>
#include <utility>

#include "agent/agent.h"
#include "serve/agent/record_slot.h"

namespace gs::serve {

class PublishedAgent {
 public:
  PublishedAgent(agent::Agent& machine, RecordSlot& slot) : machine_{machine}, slot_{slot} {}

  [[nodiscard]] kapi::Effects start(Now now) { return published(machine_.start(now)); }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    return published(machine_.handle(event, now));
  }
  [[nodiscard]] kapi::Effects looked(const agent::LookPtr& look, Now now) {
    return published(machine_.looked(look, now));
  }
  [[nodiscard]] kapi::Effects containersSeen(const agent::ContainersLook& look, Now now) {
    return published(machine_.containersSeen(look, now));
  }
  [[nodiscard]] kapi::Effects enforced(const enforce::Report& report, Now now) {
    return published(machine_.enforced(report, now));
  }

  void stopTaking() { machine_.stopTaking(); }
  [[nodiscard]] bool underWay() const { return machine_.underWay(); }
  [[nodiscard]] const std::string& failure() const { return machine_.failure(); }
  [[nodiscard]] Readiness readiness() const { return machine_.readiness(); }

 private:
  kapi::Effects published(kapi::Effects effects) {
    slot_.put(machine_.record());
    return effects;
  }

  agent::Agent& machine_;
  RecordSlot& slot_;
};

}  // namespace gs::serve
