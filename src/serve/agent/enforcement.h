// Enforcement: what answers this node's container runtime (enforce/enforcer.h), put together: the plugin on
// the connection of NRI, the newest record of the agent, the CDI files, and what the agent's machine is
// told of it.
//
// The thread of NRI answers, by what is there: it asks no machine, no cluster and no other process, since the
// runtime stands still meanwhile. A second thread compares what containers have with the record, and posts
// Reports: whenever something happened or another record came, `least` after the one before at the soonest,
// and each `most`. Both work under one mutex, which nobody holds over a call of the network; what the second
// does under it takes as long as the node has containers, milliseconds. A report that is not taken comes
// again, with what came since.
//
// CDI files are looked at (a stat for each) before each answer that may depend on them, and at each
// comparison. So nothing is answered by a file that was another one when the runtime asked: neither refused
// because a file is not known that was put there just before, nor given a device by a name that means
// another one by now. The runtime resolves the names after us and anew; one that went meanwhile fails that
// container, and the kubelet tries again. Of a container that has nothing to do with GPUs the answer does
// not depend on them, and it waits for no look.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "enforce/report.h"
#include "noderim/nri_connection.h"
#include "serve/agent/node_cdi.h"
#include "serve/agent/record_slot.h"

namespace gs::serve {

class Enforcement final : public rpc::nri::Plugin {
 public:
  struct Options {
    std::string node{};
    NodeCdi::Options cdi{};         // of at least one directory: our own file goes into the last one
    enforce::RuntimeFacts facts{};  // what flags say; the rest is found out
    noderim::NriConnection::Options connection{};  // but its session
    Duration least = std::chrono::milliseconds{100};
    Duration most = std::chrono::seconds{5};
  };
  /// From the second thread. False: not taken.
  using Post = std::function<bool(const enforce::Report& report)>;

  /// `slot`, `metrics` and `clock` must outlive it.
  Enforcement(Options options, RecordSlot& slot, Metrics& metrics, const Clock& clock, Post post);
  Enforcement(const Enforcement&) = delete;
  Enforcement& operator=(const Enforcement&) = delete;
  ~Enforcement() override { stop(); }

  /// `changed`: mayStart() may say something else than before. From any thread; it must not wait. Before
  /// start().
  void onChange(std::function<void()> changed) { changed_ = std::move(changed); }
  /// Call once.
  void start();
  /// From then on no pod may start, and nothing is posted. A second call does nothing.
  void stop();

  /// Whether a pod's containers may be made: its devices are its own by the leases, and each container of
  /// it will be asked about; or a DRA driver sees to that. Any thread. Error Unavailable: not yet, or not
  /// while NRI is away; Conflict: the leases say otherwise. Names the pod.
  [[nodiscard]] Status mayStart(const model::Uid& pod, const std::string& ns, const std::string& name) const;

  // ---- Plugin, from the thread of the connection
  void configured(const rpc::nri::Runtime& runtime) override;
  void synchronized(std::vector<rpc::nri::PodSandbox> pods,
                    std::vector<rpc::nri::Container> containers) override;
  [[nodiscard]] Result<rpc::nri::Adjustment> createContainer(const rpc::nri::PodSandbox& pod,
                                                             const rpc::nri::Container& container) override;
  void containerStopped(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) override;
  void containerRemoved(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) override;
  void podStarted(const rpc::nri::PodSandbox& /*pod*/) override {}
  void podStopped(const rpc::nri::PodSandbox& /*pod*/) override {}
  void podRemoved(const rpc::nri::PodSandbox& /*pod*/) override {}

 private:
  void connected(const noderim::NriConnection::State& state);
  Result<rpc::nri::Adjustment> answer(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container)
      GS_EXCLUDES(mutex_);
  /// It stopped, was removed, or never came to be: the runtime says the first two also after we refused one.
  void forget(const std::string& container) GS_EXCLUDES(mutex_);
  void say(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container,
           std::variant<enforce::Reason, enforce::Remark> what, const std::string& text) GS_REQUIRES(mutex_);
  void keep(enforce::Said said) GS_REQUIRES(mutex_);
  void takeRecord() GS_REQUIRES(mutex_);
  void lookAtCdi() GS_REQUIRES(mutex_);

  // ---- The second thread
  void ring() { (void)bell_.tryPush({}); }
  /// The same, where mayStart() may say something else.
  void ringForAll();
  void run();
  void compare();
  [[nodiscard]] enforce::Report reportOfNow() GS_EXCLUDES(mutex_);
  void sayLeftOut(const enforce::Report& report) const;
  void notTaken(enforce::Report report) GS_EXCLUDES(mutex_);
  void keepToldFile() GS_EXCLUDES(mutex_);

  struct Ring {};

  const Options options_;
  RecordSlot& slot_;
  const Clock& clock_;
  const Post post_;
  std::function<void()> changed_;
  Histogram seconds_;

  mutable Mutex mutex_;
  enforce::Enforcer enforcer_ GS_GUARDED_BY(mutex_);
  NodeCdi cdi_ GS_GUARDED_BY(mutex_);
  enforce::RuntimeFacts facts_ GS_GUARDED_BY(mutex_);  // as the Enforcer has them
  enforce::IndexPtr index_ GS_GUARDED_BY(mutex_);
  enforce::NodeRecordPtr record_ GS_GUARDED_BY(mutex_);
  rpc::nri::Runtime runtime_ GS_GUARDED_BY(mutex_);
  noderim::NriConnection::State connection_state_ GS_GUARDED_BY(mutex_);
  bool is_stopping_ GS_GUARDED_BY(mutex_) = false;
  std::vector<enforce::Said> said_ GS_GUARDED_BY(mutex_);  // and not posted yet
  std::uint64_t unsaid_ GS_GUARDED_BY(mutex_) = 0;

  // The second thread's own:
  std::optional<enforce::Report> posted_;  // the last one, without what is said once
  std::string told_file_fails_;            // "" it does not

  Mailbox<Ring> bell_{1};  // something happened
  noderim::NriConnection connection_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace gs::serve
