// The wire between processes of a World, replicas or agents, and its API server: calls take time and may
// fail, streams bring what changed, and whoever is cut off hears nothing.
//
// A call that was handed to send() is answered exactly once, unless its sender dies; what was carried out is
// not undone by that. A stream's events come in order; different streams may overtake each other when the
// stream judge holds them.
// Judges and witness are asked in the order of virtual time, so that one seed gives one run. Senders are
// known by number and life: an answer to a former life is thrown away (clients). No two senders of one port
// have the same number, on whatever wire. `queue` and `port` must outlive it. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/parts.h"
#include "kapi/call.h"
#include "sandbox/world/api_port.h"
#include "sandbox/world/event_queue.h"

namespace gs::sandbox {

using ReplicaId = int;

/// What becomes of one call on its way.
struct CallFault {
  enum class How : std::uint8_t {
    Normal,      // carried out, answered
    Refused,     // answered with `http`, not carried out
    LostBefore,  // never carried out; the caller hears nothing: Unknown
    LostAfter,   // carried out; the caller hears nothing: Unknown
    Late,        // the caller hears Unknown now; carried out `delay` later
  };
  How how = How::Normal;
  int http = 500;
  Duration delay{};
  bool crash_before = false;  // the sender dies as it sends this (nothing was sent)
  bool crash_after = false;   // the sender dies when the server has decided (the answer is never read)
  Duration retry_after{};     // Refused: what the answer asks for
  Duration hangs{};           // the caller hears of it so much later
  bool is_status = false;     // Refused: by a Status, which a webhook or a limit of the namespace gives
};

/// What changes on its way as if its sender or its reader had a bug. Judges see what is sent; the witness
/// what was answered.
struct Tampering {
  std::function<void(ReplicaId, kapi::Call&)> sent{};
  std::function<void(ReplicaId, const kapi::Call&, kapi::Outcome&)> answered{};
  std::function<bool(ReplicaId, kapi::WatchEvent&)> heard{};  // false: it never comes
};

/// Owner of the tokens of an election's calls, which writes() leaves out.
using controller::kElectionOwner;

/// A call that was not carried out as far as its sender knows.
[[nodiscard]] kapi::Outcome failed(const kapi::Call& call, kapi::CallResult result, std::string why);

class Transport {
 public:
  /// One life of one replica.
  struct Address {
    ReplicaId id = 0;
    std::uint64_t life = 0;
  };
  /// Who sends and hears.
  class Clients {
   public:
    [[nodiscard]] virtual bool isAlive(Address who) const = 0;
    virtual void answered(Address who, kapi::Outcome outcome) = 0;
    virtual void streamed(Address who, ApiPort::StreamEvent event) = 0;
    /// Its process dies now.
    virtual void die(Address who) = 0;

   protected:
    ~Clients() = default;
  };
  using Judge = std::function<CallFault(ReplicaId, const kapi::Call&)>;
  /// How long what a watch has to bring waits; asked when it has something.
  using StreamJudge = std::function<Duration(ReplicaId, kapi::Token)>;
  /// Told of each call of a replica that was answered, lost or refused on its way,
  /// as its sender will hear of it.
  using Witness = std::function<void(ReplicaId, const kapi::Call&, const kapi::Outcome&)>;
  struct Options {
    Duration latency = std::chrono::milliseconds{1};
    bool records = true;              // writes() is kept
    std::function<void()> changed{};  // the server was asked for something; it leads to changed() here
  };

  Transport(EventQueue& queue, ApiPort& port, Options options);
  /// Before anything is sent. They must outlive it.
  void connect(Clients& clients) { clients_ = &clients; }

  void setJudge(Judge judge) { judge_ = std::move(judge); }
  void setStreamJudge(StreamJudge judge) { stream_judge_ = std::move(judge); }
  void setWitness(Witness witness) { witness_ = std::move(witness); }
  void setTampering(Tampering tampering) { tampering_ = std::move(tampering); }
  [[nodiscard]] Duration latency() const { return options_.latency; }

  void send(Address from, kapi::Call call);
  void open(Address who, const kapi::OpenWatch& watch);
  void close(ReplicaId who, kapi::Token stream);
  /// Closes its streams; nobody hears of it.
  void cutOff(ReplicaId who);
  /// All its streams end with that answer (0: a lost connection; 410: relist).
  void endStreams(ReplicaId who, int http);
  /// Of everybody.
  void endAllStreams(int http);
  /// Every request fails to connect while true; streams end.
  void setApiAway(bool away);

  /// What the store has is brought to the streams soon.
  void changed();

  /// Writes that left a replica: "verb kind/sub ns/name", in order of arrival at the server.
  [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }

 private:
  using StreamKey = std::pair<ReplicaId, kapi::Token>;

  void arrive(Address from, const kapi::Call& call, CallFault result);
  void carryOutLate(const kapi::Call& call, Duration delay);
  void streamLives(Address who, kapi::Token stream, Duration bookmark_every, Mono end);
  void drain();
  void drainOf(ReplicaId who);
  [[nodiscard]] bool held(StreamKey stream);
  void bring(Address who, ApiPort::StreamEvent event);
  [[nodiscard]] std::vector<std::pair<kapi::Token, Address>> streamsOf(ReplicaId who) const;
  /// Calls `each`(id) for every replica that has streams, the lowest first; those opened meanwhile count.
  template <class Each>
  void forEachClient(Each each);

  EventQueue& queue_;
  ApiPort& port_;
  Options options_;
  Clients* clients_ = nullptr;
  Judge judge_;
  StreamJudge stream_judge_;
  Witness witness_;
  Tampering tampering_;
  std::map<StreamKey, std::uint64_t> streams_;  // open ones, with their client's life
  std::map<StreamKey, Mono> holds_;             // that wait
  bool api_away_ = false;
  bool drain_due_ = false;
  std::vector<std::string> writes_;
};

}  // namespace gs::sandbox
