#include "k8s/call_pool.h"

#include <algorithm>
#include <utility>

#include "runner/send_rule.h"

namespace gs::k8s {

CallPool::CallPool(Options options, Connect connect, Sink sink, const Clock& clock, const LeaderGate* gate)
    : options_{std::move(options)},
      connect_{std::move(connect)},
      sink_{std::move(sink)},
      clock_{clock},
      gate_{gate} {}

CallPool::~CallPool() {
  std::vector<std::unique_ptr<Worker>> workers;
  {
    MutexLock lock{mutex_};
    ending_ = true;
    draining_ = true;
    for (Client* client : clients_) { client->cancel(); }
    changed_.notifyAll();
    workers.swap(workers_);
  }
  workers.clear();  // joins
}

void CallPool::submit(kapi::Call call, std::uint64_t term) {
  runner::QueuedCall queued;
  queued.call = std::move(call);
  queued.term = term;
  MutexLock lock{mutex_};
  if (ending_) { return; }
  queue_.submit(std::move(queued));
  if (resting_ < queue_.size() && workers_.size() < options_.connections) {
    workers_.push_back(std::make_unique<Worker>(options_.name, [this](const std::stop_token&) { work(); }));
  }
  changed_.notifyOne();
}

void CallPool::drain(Duration limit) {
  const Mono deadline = clock_.now().mono + limit;
  MutexLock lock{mutex_};
  draining_ = true;
  changed_.notifyAll();
  while (out_ + queue_.size() > 0 && settled_.waitUntil(mutex_, deadline)) {}
  if (out_ + queue_.size() == 0) { return; }
  cancelled_ = true;
  for (Client* client : clients_) { client->cancel(); }
  while (out_ + queue_.size() > 0) { settled_.wait(mutex_); }
}

std::size_t CallPool::open() const {
  MutexLock lock{mutex_};
  return out_ + queue_.size();
}

void CallPool::work() {
  const std::unique_ptr<Client> client = connect_();
  {
    MutexLock lock{mutex_};
    clients_.push_back(client.get());
    if (cancelled_ || ending_) { client->cancel(); }
  }
  while (const auto queued = take()) { finish(*queued, carryOut(*client, *queued)); }
  MutexLock lock{mutex_};
  std::erase(clients_, client.get());
}

/// nullopt: the pool ends.
std::optional<runner::QueuedCall> CallPool::take() {
  MutexLock lock{mutex_};
  for (;;) {
    if (ending_) { return std::nullopt; }
    if (auto queued = queue_.next(draining_ ? Mono::max() : clock_.now().mono)) {
      ++out_;
      // This thread may be the one that watched over the end of a hold.
      if (queue_.nextChange() != Mono::max()) { changed_.notifyOne(); }
      return queued;
    }
    ++resting_;
    const Mono until = queue_.nextChange();
    if (until == Mono::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.waitUntil(mutex_, until);
    }
    --resting_;
  }
}

kapi::Outcome CallPool::carryOut(Client& client, const runner::QueuedCall& queued) {
  const kapi::Call& call = queued.call;
  const auto leads = [&] { return gate_ != nullptr && gate_->open(queued.term, clock_.now().mono); };
  if (auto refused = runner::whyNotSent(queued, draining(), call.leader_only && leads())) {
    return *std::move(refused);
  }
  return client.run(call, call.leader_only ? std::function<bool()>{leads} : nullptr);
}

/// The hold begins before the machine hears of it; the ordering key goes on only when the machine's mailbox
/// has the outcome.
void CallPool::finish(const runner::QueuedCall& queued, kapi::Outcome outcome) {
  {
    MutexLock lock{mutex_};
    queue_.answered(queued.call, outcome, clock_.now().mono);
  }
  sink_(std::move(outcome));
  MutexLock lock{mutex_};
  queue_.finished(queued.call);
  --out_;
  if (out_ + queue_.size() == 0) { settled_.notifyAll(); }
  if (queue_.size() > 0) { changed_.notifyOne(); }
}

bool CallPool::draining() const {
  MutexLock lock{mutex_};
  return draining_;
}

}  // namespace gs::k8s
