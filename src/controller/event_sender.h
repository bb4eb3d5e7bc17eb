// Sends Kubernetes events that must not be missed (Scheduled, warnings): one that was refused for being busy,
// or whose outcome is unknown, is sent again, at most kTries times in all. Its name is fixed, so a second
// copy is answered AlreadyExists.
// Of one namespace at most kInFlight are in flight, so that one that cannot be written to takes no connection
// from others; the rest waits for tick(), at most kWaiting (the oldest go).
// A part of its machine's; one thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/event.h"
#include "controller/parts.h"
#include "kapi/call.h"

namespace gs::controller {

class EventSender : public Part {
 public:
  static constexpr int kTries = 4;
  static constexpr int kInFlight = 8;
  /// Thousands of pods of one namespace may be bound before the events of half of them were taken.
  static constexpr std::size_t kWaiting = 5000;

  EventSender(controller::EventRecorder& recorder, Parts& parts)
      : recorder_{recorder}, owner_{parts.add(*this)} {}

  void send(const controller::EventNote& note, Now now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  /// Some have not been sent yet, or wait to be sent again.
  [[nodiscard]] bool waiting() const { return !later_.empty() || !waiting_.empty(); }
  void reset() override;

 private:
  struct Sent {
    kapi::Call call;
    int tries = 0;
  };
  void post(Sent sent, kapi::Effects& out);

  controller::EventRecorder& recorder_;
  std::uint8_t owner_;
  std::unordered_map<kapi::Token, Sent> in_flight_;
  std::multimap<Mono, Sent> later_;
  std::map<std::string, int> busy_;                  // in flight, by namespace; none is 0
  std::map<std::string, std::deque<Sent>> waiting_;  // for others of their namespace; none is empty
  bool room_ = false;                                // one that waits may go
  std::uint64_t next_ = 1;
};

}  // namespace gs::controller
