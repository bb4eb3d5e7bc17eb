// The agent's calls to the API: at most one of each sort is under way. What fails is tried again with
// backoff, whatever the answer, each wait longer by up to a fifth, as it is drawn, so that the agents of a
// big cluster do not call in one second. Its trouble is said once, and again when its words change.
// `rng` must live as long. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "controller/keyed_calls.h"
#include "kapi/call.h"
#include "model/ids.h"

namespace gs::agent {

class Calls {
 public:
  enum class What : std::uint8_t {
    Node,     // reads the Node
    Own,      // reads the GpuNodeStatus
    Spec,     // applies the object itself
    Status,   // applies its status
    Devices,  // takes GPUs of others out of its status
  };

  /// `owner`: of their tokens.
  Calls(std::uint8_t owner, model::NodeName node, Rng& rng)
      : calls_{owner}, node_{std::move(node)}, rng_{rng} {}

  [[nodiscard]] bool open(What what) const { return calls_.open(what); }
  /// None is under way, and none that failed waits.
  [[nodiscard]] bool due(What what, Mono now) const { return calls_.due(what, now); }
  /// Mono{}: at once.
  [[nodiscard]] Mono notBefore(What what) const { return calls_.notBefore(what); }
  void send(What what, kapi::Call call, kapi::Effects& out);
  /// Which one it answers; nullopt: none of these. Then one of the next four is told of it.
  [[nodiscard]] std::optional<What> answered(const kapi::Outcome& outcome);

  void worked(What what);
  void failed(What what, const kapi::Outcome& outcome, Mono now, kapi::Effects& out);
  /// It came to nothing, which is no trouble: tried again as what failed, and nothing is said.
  void putOff(What what, const kapi::Outcome& outcome, Mono now);
  /// It came to nothing, and what was wrong is over; the wait after it stays as it is.
  void noTrouble(What what) { trouble_.erase(what); }

  /// At each event.
  void tick(Mono now) { (void)calls_.takeDue(now); }
  [[nodiscard]] std::optional<Mono> nextDue() const { return calls_.nextDue(); }
  /// What went wrong last, of the first sort that is in trouble; "" nothing.
  [[nodiscard]] std::string trouble() const;

 private:
  [[nodiscard]] std::string words(What what, const kapi::Outcome& outcome) const;

  controller::KeyedCalls<What> calls_;
  model::NodeName node_;
  Rng& rng_;
  std::map<What, std::string> trouble_;  // none is ""
};

}  // namespace gs::agent
