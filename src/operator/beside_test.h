// Whatever runs beside a machine by its Parts (PodWatch, PolicyWatch), with the API server that is the test.
#pragma once

#include <gtest/gtest.h>

#include "base/clock.h"
#include "controller/parts.h"
#include "operator/server_test.h"

namespace gs::gkm {

class BesideTest : public ::testing::Test {
 protected:
  Server server;

  /// What changed is heard, and what follows is done.
  void settle() {
    for (auto& event : server.takeNews()) { give(event); }
  }
  void pass(Duration time) {
    clock_.advance(time);
    kapi::Effects out;
    parts_.tick(clock_.now(), out);
    carry(std::move(out));
    settle();
  }
  template <class Of>
  void start(Of& watch) {
    kapi::Effects out;
    watch.start(clock_.now(), out);
    carry(std::move(out));
  }
  /// What the API server says to a call.
  virtual kapi::Outcome answerTo(const kapi::Call& call) { return server.carryOut(call); }
  virtual void logged(const kapi::Log& /*log*/) {}

  controller::Parts parts_;

 private:
  void give(const kapi::MachineEvent& event) {
    kapi::Effects out;
    EXPECT_TRUE(parts_.handle(event, clock_.now(), out));
    carry(std::move(out));
  }
  void carry(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) {
        kapi::Outcome answer = answerTo(*call);
        answer.token = call->token;
        give(answer);
      } else if (const auto* open = std::get_if<kapi::OpenWatch>(&effect)) {
        server.open(*open);
      } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
        logged(*log);
      }
    }
  }

  ManualClock clock_;
};

}  // namespace gs::gkm
