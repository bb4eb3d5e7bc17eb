// The agent of one node as a machine: what the driver and the container runtime say -> this node's
// GpuNodeStatus in the API (rules 8 and 9 of the design).
//
// Who tells it: looked() brings each look at the GPUs, containersSeen() each look at the containers, whenever
// the rim made one; pods of this node and answers come as events. The machine starts with a read of its own
// GpuNodeStatus and of the Node that shall own it, and writes nothing before it knows both and has had a
// look.
//
// Written by server-side apply with force, the object itself as `gpu-agent`, its status as
// `gpu-agent-status`: at once when something changed, else every `draining` while a pod's GPUs wait to be
// free, else every `calm`. One write at a time; what changes meanwhile goes with the next. What fails is
// tried again with backoff, whatever the answer, and said once.
//
// What schedulers conclude from it, and therefore holds:
//   - A GPU that was published stays listed for the life of the process: one that the driver lists no more is
//     Unhealthy. So ids do not move under running pods.
//   - Without a driver the GPUs that were known, from before a restart too, stay, Unknown (or Unhealthy, if
//     they were). Never is a good list replaced by none because nobody answers.
//   - observedTime is the last look at the *containers*, since schedulers free the GPUs of a pod without an
//     end when two new looks do not show it. Without a runtime it stays as it was (or the time of the first
//     write): such GPUs then stay Draining. inUseBy names nobody then.
// One thread; time is an argument.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agent/hardware.h"
#include "agent/kinds.h"
#include "agent/status.h"
#include "agent/users.h"
#include "base/random.h"
#include "controller/keyed_calls.h"
#include "controller/reflector.h"
#include "kapi/call.h"

namespace gs::agent {

inline constexpr const char* kDriverCondition = "DriverAnswers";
inline constexpr const char* kContainersCondition = "ContainersSeen";

class Agent {
 public:
  struct Config {
    model::NodeName node;
    model::Enforcement enforcement = model::Enforcement::Off;
    Duration calm = std::chrono::seconds{60};
    Duration draining = std::chrono::seconds{10};
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
  [[nodiscard]] std::string failure() const { return failure_; }
  /// "1" once this process has written the status, else "0"; then a line for each check.
  [[nodiscard]] std::string readiness() const;

 private:
  enum class What : std::uint8_t { Node, Own, Spec, Status };

  void take(controller::Reflector::Output output, kapi::Effects& out);
  void answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void nodeRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void ownRead(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void specWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void statusWritten(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void failed(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void say(What what, std::string trouble, kapi::Effects& out);
  void send(What what, kapi::Call call, kapi::Effects& out);
  /// All that is to be done now, and when to look again.
  void go(Now now, kapi::Effects& out);
  void advance(Now now, kapi::Effects& out);
  void publish(Now now, kapi::Effects& out);
  [[nodiscard]] Duration pace();
  void wake(Now now, kapi::Effects& out) const;

  void keep(const Hardware& hardware);
  [[nodiscard]] bool knowsDevices() const { return last_look_ != nullptr && own_known_; }
  [[nodiscard]] NodeView wanted() const;
  void setCondition(const char* type, bool holds, std::string reason, std::string message, Now now);
  void count(kapi::Effects& out);

  Config config_;
  controller::Reflector pods_;
  controller::KeyedCalls<What> calls_;
  Users users_;
  std::map<What, std::string> trouble_;
  std::string failure_;

  LookPtr last_look_;
  std::optional<Hardware> known_;  // of the last look that saw some, with those that were there before
  std::vector<Device> devices_;    // what is published, without users
  std::string driver_version_;
  std::map<std::string, Condition> conditions_;  // by type
  std::map<std::string, Condition> before_;      // as the API had them at the start

  model::Uid node_uid_;
  bool own_known_ = false;    // what stood in the API at the start was read
  bool spec_done_ = false;    // the object is there, owned by the Node
  std::string observed_;      // the last look at containers
  NodeView sending_;          // of the write under way
  std::string sending_time_;  // its observedTime
  std::optional<NodeView> written_;
  std::string written_time_;
  Mono next_{};                            // when to write though nothing changed
  std::uint64_t ends_ = 0;                 // of pods, that are counted in:
  int owed_ = 0;                           // new observedTimes, to schedulers that wait for two since an end
  std::map<std::string, double> counted_;  // gauges as they were told
};

}  // namespace gs::agent
