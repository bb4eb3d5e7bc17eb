// The agent of one node as a machine: what the driver and the container runtime say -> this node's
// GpuNodeStatus in the API (docs/use/agent.md).
//
// Who tells it: looked() brings each look at the GPUs, containersSeen() each look at the containers, whenever
// the rim made one; pods of this node and answers come as events. The machine starts with a read of its own
// GpuNodeStatus and of the Node that shall own it, and writes nothing before it knows both and has had a
// look. The Node is read again every five times `calm`: it may offer nvidia.com/gpu by now, or no more.
//
// Written by server-side apply with force, the object itself as `gpu-agent`, its status as
// `gpu-agent-status`: at once when something changed, else every `draining` while a pod's GPUs wait to be
// free, else every `calm`. One write at a time; what changes meanwhile goes with the next. What fails is
// tried again with backoff, whatever the answer, and said once. `calm` and the waits are drawn within a tenth
// and a fifth, so that the agents of a big cluster do not write in one second.
// A status carries the resourceVersion of the object that it was decided on, which the answer to the write
// before it told: one that lands after another is refused (409). What stands there is read then, and what is
// so now is written on that.
//
// What schedulers conclude from it, and therefore holds:
//   - A GPU that was published stays listed until the machine is booted (known_gpus.h), or, once the driver
//     lists it no more, until kQuiet after that was published no pod there has a number above it. Ids move
//     then, and when a GPU appears before others on the bus; pods are known by the GPUs that their containers
//     have (users.h).
//   - inUseBy goes on over a restart: who was listed is, until a look at the containers says otherwise.
//   - Never is a good list replaced by none because nobody answers.
//   - observedTime is the last look at the *containers*, since schedulers free the GPUs of a pod without an
//     end when two new looks do not show it. Of two that come to stand there the later look was made when the
//     earlier one stood there already: a look that comes while a status is under way, or before it is known
//     what stands there, does not count. Without a runtime it stays as it was (or the time of the first
//     write): such GPUs then stay Draining.
//   - The list holds this agent's GPUs only: what others wrote into it is taken out when an answer shows it.
// One thread; time is an argument.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/conditions.h"
#include "agent/hardware.h"
#include "agent/kinds.h"
#include "agent/known_gpus.h"
#include "agent/status.h"
#include "agent/users.h"
#include "base/random.h"
#include "base/readiness.h"
#include "controller/keyed_calls.h"
#include "controller/watches.h"
#include "kapi/call.h"

namespace gs::agent {

class Agent {
 public:
  /// A Binding that was decided before others could know that GPUs vanished has landed by then.
  static constexpr Duration kQuiet = std::chrono::seconds{60};

  struct Config {
    model::NodeName node;
    model::Enforcement enforcement = model::Enforcement::Off;
    Duration calm = std::chrono::seconds{60};
    Duration draining = std::chrono::seconds{10};
    /// Of the machine; "" not known: XIDs, and GPUs that are not listed, of before a restart are forgotten.
    std::string boot_id{};
    bool told_uuids = false;  // containers are told GPUs by UUID
  };
  Agent(Config config, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  /// A look at the GPUs came to its end, or is overdue.
  [[nodiscard]] kapi::Effects looked(const LookPtr& look, Now now);
  [[nodiscard]] kapi::Effects containersSeen(const ContainersLook& look, Now now);

  void stopTaking() {}
  [[nodiscard]] bool underWay() const { return false; }
  /// Why it can do nothing more; "" it can.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// Ready once this process has written the status, and while its last write is not older than three times
  /// `calm`.
  [[nodiscard]] Readiness readiness() const;

 private:
  enum class What : std::uint8_t { Node, Own, Spec, Status, Devices };

  void take(const controller::Reflector::Output& output);
  void answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void nodeRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void sayWhoPicks(const model::Node& node, Now now);
  void ownRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void isGone();
  /// What stands in the API, as an answer shows it that is not the one to our last write.
  void learn(const OwnStatus& own);
  void specWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void statusWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  /// The answer to a write shows GPUs that were not in it.
  void compare(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void devicesWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void say(What what, std::string trouble, kapi::Effects& out);
  void send(What what, kapi::Call call, kapi::Effects& out);
  /// All that is to be done now, and when to look again.
  void go(Now now, kapi::Effects& out);
  void advance(Now now, kapi::Effects& out);
  /// Those that went are forgotten once no number means them, or one above them, any more.
  void forgetVanished(Now now, kapi::Effects& out);
  void publish(Now now, kapi::Effects& out);
  [[nodiscard]] Duration pace();
  [[nodiscard]] Duration drawCalm();
  void wake(Now now, kapi::Effects& out) const;

  [[nodiscard]] bool knowsDevices() const { return gpus_.lastLook() != nullptr && own_known_; }
  [[nodiscard]] NodeView wanted() const;
  void count(kapi::Effects& out);

  Config config_;
  controller::Watches watches_;  // of the pods of its node
  Rng rng_;
  controller::KeyedCalls<What> calls_;
  Users users_;
  std::map<What, std::string> trouble_;

  KnownGpus gpus_;
  std::optional<Mono> quiet_since_;  // nobody has a number of one that vanished, or above
  Conditions conditions_;

  model::Uid node_uid_;
  std::optional<Mono> read_node_at_;  // again; nullopt: not read yet
  bool own_known_ = false;            // what stood in the API at the start was read
  std::string boot_before_;       // of that status: once our own spec is written, the object names this boot
  bool is_behind_ = false;        // somebody wrote it since: it is to be read again
  int conflicts_ = 0;             // of writes of the status, in a row
  bool spec_done_ = false;        // the object is there, owned by the Node
  model::Revision revision_ = 0;  // of the object, as it was told last; 0: not told
  std::string observed_;          // the last look at containers that counts
  bool owes_look_ = false;        // the one that stands there is of before what we know of it
  NodeView sending_;              // of the write under way
  std::string sending_time_;      // its observedTime
  std::optional<NodeView> written_;
  std::string written_time_;
  Duration calm_;  // as it was drawn for the present wait
  Mono next_{};    // when to write though nothing changed
  Mono written_at_{};
  bool out_of_date_ = false;               // the last write is too old
  model::Revision foreign_ = 0;            // of the status that shows GPUs of others; 0: none does
  std::uint64_t ends_ = 0;                 // of pods, that are counted in:
  int owed_ = 0;                           // new observedTimes, to schedulers that wait for two since an end
  std::map<std::string, double> counted_;  // gauges as they were told
};

}  // namespace gs::agent
