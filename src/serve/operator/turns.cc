#include "serve/operator/turns.h"

#include <fmt/format.h>

namespace gs::serve {
namespace {

template <class Counts, class Key>
int countOf(const Counts& counts, const Key& key) {
  const auto it = counts.find(key);
  return it == counts.end() ? 0 : it->second;
}

/// What is 0 is not kept.
template <class Counts, class Key>
void add(Counts& counts, const Key& key, int by) {
  const auto it = counts.try_emplace(key, 0).first;
  it->second += by;
  if (it->second == 0) { counts.erase(it); }
}

}  // namespace

std::string Turns::whoIsBusy(const std::string& ns, const std::string& registry) const {
  std::string whose = ns.empty() ? "cluster-wide caches" : "namespace " + ns;
  if (countOf(pairs_, std::pair{ns, registry}) >= limits_.of_pair) {
    return fmt::format("{} of {}", registry, whose);
  }
  if (countOf(namespaces_, ns) >= limits_.of_namespace) { return whose; }
  if (countOf(registries_, registry) >= limits_.of_registry) { return registry; }
  return all_ >= limits_.all ? "all namespaces" : "";
}

void Turns::change(const std::string& ns, const std::string& registry, int by) {
  add(pairs_, std::pair{ns, registry}, by);
  add(namespaces_, ns, by);
  add(registries_, registry, by);
  all_ += by;
}

Result<Turns::Turn> Turns::take(const std::string& ns, const std::string& registry, Mono until) {
  const MutexLock lock{mutex_};
  std::string who = whoIsBusy(ns, registry);
  if (!who.empty() && waiting_ < limits_.waiting && !is_stopped_) {
    ++waiting_;
    bool is_time_left = true;
    while (!who.empty() && is_time_left && !is_stopped_) {
      is_time_left = given_back_.waitUntil(mutex_, until);
      who = whoIsBusy(ns, registry);
    }
    --waiting_;
  }
  if (!who.empty()) {
    return fail(Code::Unavailable, fmt::format("busy with other images of {}; try again in a moment", who));
  }
  change(ns, registry, 1);
  return Turn{*this, ns, registry};
}

void Turns::giveBack(const std::string& ns, const std::string& registry) {
  const MutexLock lock{mutex_};
  change(ns, registry, -1);
  given_back_.notifyAll();
}

void Turns::stop() {
  const MutexLock lock{mutex_};
  is_stopped_ = true;
  given_back_.notifyAll();
}

int Turns::waiting() const {
  const MutexLock lock{mutex_};
  return waiting_;
}

}  // namespace gs::serve
