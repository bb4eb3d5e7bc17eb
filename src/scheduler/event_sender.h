// Sends Kubernetes events that must not be missed (Scheduled, warnings): one that was refused for being busy, or whose
// outcome is unknown, is sent again, at most kTries times in all. Its name is fixed, so a second copy is answered AlreadyExists.
// A pure machine; one thread; tokens carry kOwner.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "kapi/call.h"
#include "kapi/event.h"

namespace gs::scheduler {

class EventSender {
 public:
  static constexpr std::uint8_t kOwner = 23;
  static constexpr int kTries = 4;

  explicit EventSender(kapi::EventRecorder& recorder) : recorder_{recorder} {}

  void send(const kapi::EventNote& note, Now now, kapi::Effects& out);
  bool handle(const kapi::Outcome& outcome, Mono now);
  void tick(Mono now, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const;
  void reset();

 private:
  struct Sent {
    kapi::Call call;
    int tries = 0;
  };
  void post(Sent sent, kapi::Effects& out);

  kapi::EventRecorder& recorder_;
  std::unordered_map<kapi::Token, Sent> in_flight_;
  std::multimap<Mono, Sent> later_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::scheduler
