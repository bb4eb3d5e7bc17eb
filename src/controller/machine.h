// Machine: what every program of ours runs, and what whoever runs one may count on: k8s/ and process/ over
// HTTP, sandbox/world/process.h in virtual time. A machine is told what happens, with the time, and says what
// it wants as effects; it reads no clock and opens no socket. One thread.
//
//   start       once, first.
//   handle      each event, in its order. Answers to its own calls come exactly once each.
//   stopTaking  SIGTERM: from now on it decides nothing new, and what was decided comes to its end.
//   underWay    something that was decided has not come to its end.
//   failure     why it can do nothing more and must be started anew; "" it can.
//   readiness   for /readyz.
#pragma once

#include <concepts>
#include <string>

#include "base/clock.h"
#include "base/readiness.h"
#include "kapi/call.h"

namespace gs::controller {

template <class Of>
concept Machine = requires(Of& machine, const Of& as_it_is, const kapi::MachineEvent& event, Now now) {
  { machine.start(now) } -> std::same_as<kapi::Effects>;
  { machine.handle(event, now) } -> std::same_as<kapi::Effects>;
  machine.stopTaking();
  { as_it_is.underWay() } -> std::same_as<bool>;
  { as_it_is.failure() } -> std::convertible_to<std::string>;
  { as_it_is.readiness() } -> std::same_as<Readiness>;
};

}  // namespace gs::controller
