#include "serve/agent/enforcement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "enforce/matters.h"
#include "serve/agent/runtime_facts.h"

namespace gs::serve {
namespace {

constexpr const char* kAnswerSeconds = "gpu_agent_nri_answer_seconds";
const std::vector<double> kBuckets{0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1, 2};

noderim::NriConnection::Options connectionOf(const Enforcement::Options& options) {
  noderim::NriConnection::Options out = options.connection;
  out.session.plugin_name = "gpu-scheduler";
  out.session.plugin_idx = "10";
  out.session.keep = {.annotation = enforce::readsAnnotation,
                      .label = [](std::string_view) { return false; },
                      .variable = enforce::readsVariable,
                      .mount = enforce::readsMount};
  return out;
}

/// How many were too many.
template <class T>
std::uint64_t cutTo(std::size_t most, std::vector<T>& all) {
  const std::size_t too_many = all.size() - std::min(all.size(), most);
  all.resize(all.size() - too_many);
  return too_many;
}

}  // namespace

Enforcement::Enforcement(Options options, RecordSlot& slot, Metrics& metrics, const Clock& clock, Post post)
    : options_{std::move(options)},
      slot_{slot},
      clock_{clock},
      post_{std::move(post)},
      seconds_{metrics.histogram(
          kAnswerSeconds, "Seconds to answer the container runtime on a container that it is about to make.",
          kBuckets)},
      enforcer_{options_.facts},
      cdi_{options_.cdi},
      facts_{options_.facts},
      connection_{connectionOf(options_), *this,
                  [this](const noderim::NriConnection::State& state) { connected(state); }} {}

void Enforcement::start() {
  keepToldFile();
  slot_.onChange([this] { ringForAll(); });
  worker_ = std::make_unique<Worker>("enforcement", [this](const std::stop_token&) { run(); });
  connection_.start();
}

void Enforcement::stop() {
  slot_.onChange({});
  {
    const MutexLock lock{mutex_};
    is_stopping_ = true;
  }
  connection_.stop();
  bell_.close();
  if (worker_ != nullptr) { worker_->join(); }
}

void Enforcement::ringForAll() {
  ring();
  if (changed_) { changed_(); }
}

// ---- whether a pod may start

Status Enforcement::mayStart(const model::Uid& pod, const std::string& ns, const std::string& name) const {
  const auto later = [&](std::string_view why) {
    return fail(Code::Unavailable, fmt::format("pod {}/{}: {}", ns, name, why));
  };
  const enforce::NodeRecordPtr record = slot_.get();
  if (record->by_driver) { return {}; }
  {
    const MutexLock lock{mutex_};
    if (is_stopping_) { return later(fmt::format("the agent of node {} is being stopped", options_.node)); }
    if (!connection_state_.is_registered) {
      const std::string& why = connection_state_.why;
      return later(fmt::format("the agent of node {} is not connected to the container runtime's NRI: {}",
                               options_.node, why.empty() ? "it has just begun to dial" : why));
    }
  }
  if (!record->knows_pods) {
    return later(fmt::format("the agent of node {} does not know the node's pods yet", options_.node));
  }
  const auto it = record->holdings.find(pod);
  if (it == record->holdings.end()) {
    return later(
        fmt::format("the agent of node {} does not know yet which GPUs it was given; the kubelet tries "
                    "again (where it asks for none of gpu-scheduler, it needs no volume of this driver)",
                    options_.node));
  }
  switch (it->second.hold) {
    case enforce::Hold::Verified: return {};
    case enforce::Hold::Refuted:
      return fail(Code::Conflict, fmt::format("pod {}/{}: {}", ns, name, it->second.why));
    case enforce::Hold::Unverified: break;
  }
  return later(it->second.why);
}

// ---- what the runtime says

void Enforcement::connected(const noderim::NriConnection::State& state) {
  if (state.is_registered) {
    log::info("the container runtime asks about each container that it makes", {});
  } else {
    log::warn("no connection to the container runtime's NRI", {{"why", state.why}});
  }
  {
    const MutexLock lock{mutex_};
    connection_state_ = state;
  }
  ringForAll();
}

void Enforcement::configured(const rpc::nri::Runtime& runtime) {
  const MutexLock lock{mutex_};
  runtime_ = runtime;
  facts_.injects_cdi = injectsCdi(runtime);
  enforcer_.setFacts(facts_);
}

void Enforcement::synchronized(std::vector<rpc::nri::PodSandbox> pods,
                               std::vector<rpc::nri::Container> containers) {
  {
    const MutexLock lock{mutex_};
    takeRecord();
    lookAtCdi();
    enforcer_.synchronize(pods, containers);
  }
  ring();
}

Result<rpc::nri::Adjustment> Enforcement::createContainer(const rpc::nri::PodSandbox& pod,
                                                          const rpc::nri::Container& container) {
  const Mono since = clock_.now().mono;
  auto out = answer(pod, container);
  seconds_.observe(std::chrono::duration<double>{clock_.now().mono - since}.count());
  return out;
}

Result<rpc::nri::Adjustment> Enforcement::answer(const rpc::nri::PodSandbox& pod,
                                                 const rpc::nri::Container& container) {
  const MutexLock lock{mutex_};
  takeRecord();
  if (enforcer_.needsIndex(pod, container)) { lookAtCdi(); }
  enforce::Planned planned = enforcer_.createContainer(pod, container);
  if (!planned) {
    say(pod, container, planned.error().reason, planned.error().text);
    ring();
    return fail(Code::Conflict, planned.error().text);
  }
  for (const enforce::Note& note : planned->notes) { say(pod, container, note.remark, note.text); }
  if (!planned->devices.empty() || !planned->notes.empty()) { ring(); }
  return std::move(planned->adjustment);
}

void Enforcement::containerStopped(const rpc::nri::PodSandbox& /*pod*/,
                                   const rpc::nri::Container& container) {
  forget(container.id);
}

void Enforcement::containerRemoved(const rpc::nri::PodSandbox& /*pod*/,
                                   const rpc::nri::Container& container) {
  forget(container.id);
}

void Enforcement::forget(const std::string& container) {
  const MutexLock lock{mutex_};
  const bool had_devices = enforcer_.containers().all().contains(container);
  enforcer_.removeContainer(container);
  if (had_devices) { ring(); }
}

void Enforcement::say(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container,
                      std::variant<enforce::Reason, enforce::Remark> what, const std::string& text) {
  keep({.pod = {pod.ns, pod.name},
        .uid = model::Uid{pod.uid},
        .container = container.name,
        .what = what,
        .text = text});
}

/// A container that is refused again and again is said once in a report.
void Enforcement::keep(enforce::Said said) {
  if (std::find(said_.begin(), said_.end(), said) != said_.end()) { return; }
  if (said_.size() < enforce::Report::kMostSaid) {
    said_.push_back(std::move(said));
  } else {
    ++unsaid_;
  }
}

void Enforcement::takeRecord() {
  enforce::NodeRecordPtr record = slot_.get();
  if (record == record_) { return; }
  record_ = std::move(record);
  enforcer_.setRecord(record_);
}

void Enforcement::lookAtCdi() {
  cdi_.look();
  if (cdi_.index() != index_) {
    index_ = cdi_.index();
    enforcer_.setIndex(index_);
  }
  enforce::cdi::Stats stats = cdi_.statNodes(*record_, facts_.injects_cdi);
  if (stats != facts_.stats) {
    facts_.stats = std::move(stats);
    enforcer_.setFacts(facts_);
  }
}

// ---- the second thread

void Enforcement::run() {
  const auto now = [this] { return clock_.now().mono; };
  for (Mono last = now(); !bell_.drained(); last = now()) {
    (void)bell_.pop(last + options_.most);
    while (!bell_.drained() && now() < last + options_.least) { (void)bell_.pop(last + options_.least); }
    if (!bell_.drained()) { compare(); }
  }
}

void Enforcement::compare() {
  enforce::Report report = reportOfNow();
  keepToldFile();
  if (posted_ && report == *posted_) { return; }
  if (!post_(report)) { return notTaken(std::move(report)); }
  sayLeftOut(report);
  report.said.clear();
  report.unsaid = 0;
  posted_ = std::move(report);
}

/// Nobody else says it.
void Enforcement::sayLeftOut(const enforce::Report& report) const {
  if (report.unsaid > 0) {
    log::warn("more came to pass with containers than is said of them one by one", {{"more", report.unsaid}});
  }
  const bool is_new = !posted_ || posted_->more_mismatches == 0;
  if (report.more_mismatches > 0 && is_new) {
    log::warn("more containers have other GPUs than they are to have than are named",
              {{"named", report.mismatches.size()}, {"more", report.more_mismatches}});
  }
}

enforce::Report Enforcement::reportOfNow() {
  const MutexLock lock{mutex_};
  takeRecord();
  lookAtCdi();
  enforce::Report out;
  out.is_connected = connection_state_.is_registered;
  out.why = connection_state_.why;
  out.runtime = runtime_;
  out.said = std::exchange(said_, {});
  out.unsaid = std::exchange(unsaid_, 0);
  // Before that every container with GPUs is one that nobody can judge; the record says so itself.
  if (record_->knows_pods) {
    out.mismatches = enforcer_.audit();
    out.more_mismatches = cutTo(enforce::Report::kMostMismatches, out.mismatches);
  }
  out.counts = enforcer_.counts();
  for (const auto& [id, has] : enforcer_.containers().all()) {
    const auto it = enforcer_.known().find(id);
    if (it == enforcer_.known().end()) { continue; }
    const auto& known = it->second;
    out.containers.push_back({{known.pod.ns, known.pod.name}, has.pod, known.container.name, has.devices});
  }
  return out;
}

/// What was to be said comes again, before what came since.
void Enforcement::notTaken(enforce::Report report) {
  const MutexLock lock{mutex_};
  std::vector<enforce::Said> since = std::exchange(said_, std::move(report.said));
  unsaid_ += report.unsaid;
  for (enforce::Said& said : since) { keep(std::move(said)); }
}

void Enforcement::keepToldFile() {
  {
    const MutexLock lock{mutex_};
    if (cdi_.hasToldFile()) { return; }
  }
  const Status put = putToldFile(options_.cdi.directories.back());
  const std::string why = put ? "" : put.error().message;
  if (why != told_file_fails_ && !why.empty()) {
    log::warn("our own CDI file is missing: a container whose variables image and pod both set is refused",
              {{"error", why}});
  }
  told_file_fails_ = why;
}

}  // namespace gs::serve
