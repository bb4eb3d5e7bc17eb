// The replicas of a World: processes (process.h) of the scheduler and of the extender, each with what runs in
// it.
//
// Each start is another life. What extenders draw at random does not shift what schedulers draw. `queue` and
// `transport` must outlive it. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "controller/election.h"
#include "extender/standalone.h"
#include "sandbox/world/companion.h"
#include "sandbox/world/event_queue.h"
#include "sandbox/world/own_pods.h"
#include "sandbox/world/transport.h"
#include "scheduler/scheduler.h"

namespace gs::sandbox {

struct Replica;

class Replicas final : public Transport::Clients {
 public:
  struct Options {
    Duration lease_duration{};
    Duration renew_deadline{};
    Duration retry_period{};
    bool records = true;  // log() is kept
    std::function<void(ReplicaId, const kapi::Log&)> on_log{};
    OwnPods* pods = nullptr;  // they run in, if any; must outlive it
  };
  using Listener = std::function<void(ReplicaId, extender::RequestId, const extender::Answer&)>;

  /// Schedulers draw from the first, extenders from the second.
  Replicas(EventQueue& queue, Transport& transport, Options options, Rng schedulers, Rng extenders);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // As world.h says of each.
  ReplicaId startScheduler(scheduler::Config config, MakeCompanion companion);
  ReplicaId startExtender(extender::Config config);
  void crash(ReplicaId id);
  void restart(ReplicaId id);
  void freeze(ReplicaId id, bool frozen);
  void stop(ReplicaId id);
  void stallClock(ReplicaId id, Duration by);
  void ask(ReplicaId id, extender::RequestId request_id, extender::Request request,
           std::vector<std::string> nodes);
  void setListener(Listener listener) { listener_ = std::move(listener); }

  [[nodiscard]] bool alive(ReplicaId id) const;
  [[nodiscard]] bool frozen(ReplicaId id) const;
  [[nodiscard]] const scheduler::Scheduler& scheduler(ReplicaId id) const;
  [[nodiscard]] std::optional<ReplicaId> leader() const;
  [[nodiscard]] const extender::Standalone& extender(ReplicaId id) const;
  [[nodiscard]] const extender::Extender* extenderOfCompanion(ReplicaId id) const;
  [[nodiscard]] std::optional<ReplicaId> leadingExtender() const;

  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }
  [[nodiscard]] double counted(const std::string& metric) const;

  // What the transport says.
  [[nodiscard]] bool isAlive(Transport::Address who) const override;
  void answered(Transport::Address who, kapi::Outcome outcome) override;
  void streamed(Transport::Address who, ApiPort::StreamEvent event) override;
  void die(Transport::Address who) override;

 private:
  using Address = Transport::Address;
  [[nodiscard]] Replica& replica(ReplicaId id) { return *replicas_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] const Replica& replica(ReplicaId id) const {
    return *replicas_.at(static_cast<std::size_t>(id));
  }
  Replica& add();
  void begin(Replica& r);
  void tellAnswers(Replica& r);
  void stopWhenDone(ReplicaId id, Mono end);
  void line(ReplicaId id, const kapi::Log& log);

  EventQueue& queue_;
  Transport& transport_;
  Options options_;
  Rng schedulers_;
  Rng extenders_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Listener listener_;
  std::vector<std::string> log_;
  std::map<std::string, double> counted_;
};

}  // namespace gs::sandbox
