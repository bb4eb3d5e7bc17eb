// What the parts of the extender share: its settings, the engine, and of the event that is being handled the
// time, the effects and the answers to callers.
// Nothing here decides anything. The engine must outlive it. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "extender/grants/config.h"
#include "extender/protocol/replies.h"
#include "extender/protocol/request_log.h"
#include "kapi/call.h"

namespace gs::extender {

/// As the ancestor says it.
inline constexpr const char* kQuotaAwaited = "GPU quota has not been synced, please retry later";

class Context {
 public:
  Context(engine::Engine& feeds, Config settings, Rng random)
      : engine{feeds}, config{std::move(settings)}, rng{random} {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  engine::Engine& engine;
  const Config config;
  Rng rng;
  Replies replies;
  RequestLog log;
  Now now{};
  kapi::Effects out;

  void answer(const Caller& w, Answer answer);
  void answer(const Caller& w, Answer::Kind kind, std::string text = {});
  void failAll(const std::vector<Caller>& waiting, const std::string& why);

  /// It asks for shares.
  [[nodiscard]] bool wants(const model::Pod& pod) const;
  /// The scheduler in the same process places it.
  [[nodiscard]] bool isOwnSchedulers(const model::Pod& pod) const {
    return !config.own_scheduler.empty() && pod.scheduler_name == config.own_scheduler;
  }
  [[nodiscard]] std::string ownSchedulersText(const model::Pod& pod) const;
  /// What the caller knows better, of a pod that it says no other things of than it can: who places it and
  /// what it asks for never change.
  [[nodiscard]] model::PodPtr newest(const model::PodPtr& pod) const;
};

/// As answers call it.
[[nodiscard]] std::string nameOf(const model::Pod& pod);

}  // namespace gs::extender
