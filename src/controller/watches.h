// Watches: the kinds that a machine lists and watches (controller/reflector.h), as one. Each has a number of
// its own among the machine's parts, in the given order, by which an answer and what a stream brings find it.
//
// Whoever has them takes what comes with the function that he gave, one kind at a time, in the order in which
// it came; the effects are in `out` by then. Once the history of any kind went back failure() says so, for
// good.
// The function must live as long as they do. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/parts.h"
#include "controller/reflector.h"
#include "kapi/call.h"

namespace gs::controller {

class Watches final : public Part {
 public:
  /// What came of one event or of one tick; its effects are in `out`, to which more may be added.
  using Take =
      std::function<void(const Reflector& of, const Reflector::Output& came, Now now, kapi::Effects& out)>;

  /// It adds itself to `parts`, with a number for each of `kinds`; who has the parts passes on what is its.
  Watches(Parts& parts, std::vector<Reflector::Config> kinds, Rng& rng, Take take);

  void start(Now now, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void watched(const kapi::MachineEvent& event, Now now, kapi::Effects& out) override;
  /// At every TimerDue.
  void tick(Now now, kapi::Effects& out) override;

  /// As Reflector. A kind that is not watched has nothing to catch up with.
  void catchUp(kapi::Kind kind, model::Revision revision, Now now, kapi::Effects& out);
  void expectCatchUp(kapi::Kind kind, Now now, kapi::Effects& out);

  [[nodiscard]] const std::vector<Reflector>& all() const { return all_; }
  /// nullptr: it is not watched.
  [[nodiscard]] const Reflector* find(kapi::Kind kind) const;
  /// Why nothing that is known can be trusted any more; "" it can.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// Somebody else saw it: an election, or an answer to a call.
  void historyWentBack(std::string_view of_what);

 private:
  [[nodiscard]] Reflector* reflectorOf(kapi::Kind kind);
  [[nodiscard]] Reflector& of(std::uint8_t owner) { return all_.at(std::size_t{owner} - first_); }
  void took(const Reflector& reflector, Reflector::Output output, Now now, kapi::Effects& out);

  const std::uint8_t first_;  // the number of the first kind
  std::vector<Reflector> all_;
  const Take take_;
  std::string failure_;
};

/// The kind is there and listed.
[[nodiscard]] inline bool isListed(const Reflector& one) { return one.synced() && !one.absent(); }
/// What /readyz says of a kind: "" is well. `absent`: of one that is not served, or may not be listed.
[[nodiscard]] std::string stateOf(const Reflector& one, const char* absent);

}  // namespace gs::controller
