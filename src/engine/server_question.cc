#include "engine/server_question.h"

#include <fmt/format.h>

#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "model/server_version.h"

namespace gs::engine {

ServerQuestion::ServerQuestion(controller::Parts& parts, Known known)
    : owner_{parts.add(*this)}, known_{std::move(known)} {}

void ServerQuestion::ask(Now, kapi::Effects& out) {
  open_ = true;
  due_.reset();
  kapi::Call call;
  call.token = kapi::makeToken(owner_, ++asked_);
  call.verb = kapi::Verb::Get;
  call.kind = kapi::kServerVersion;
  out.emplace_back(std::move(call));
}

void ServerQuestion::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (!open_ || outcome.token != kapi::makeToken(owner_, asked_)) { return; }
  const auto version = outcome.object.as<model::ServerVersion>();
  if (version != nullptr && version->minor > 0) {
    answered(version->minor, now, out);
    return;
  }
  trouble_ = fmt::format("GET /version: {} {}", outcome.http, outcome.message);
  if (outcome.result == kapi::CallResult::Applied ||
      (outcome.result == kapi::CallResult::Refused && outcome.http != 429)) {
    out.emplace_back(kapi::Log{
        kapi::Level::Warn, trouble_ + "; filters are as of the newest kube-scheduler that we know", {}});
    answered(std::nullopt, now, out);
    return;
  }
  due_ = now.mono + kapi::retryWait(++failures_, outcome.retry_after);
  out.emplace_back(kapi::Wake{*due_});
}

void ServerQuestion::tick(Now now, kapi::Effects& out) {
  if (open_ && due_ && now.mono >= *due_) { ask(now, out); }
}

void ServerQuestion::answered(std::optional<int> minor, Now now, kapi::Effects& out) {
  open_ = false;
  trouble_.clear();
  known_(minor, now, out);
}

}  // namespace gs::engine
