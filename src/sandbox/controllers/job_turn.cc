#include "sandbox/controllers/job_turn.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/time.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

constexpr const char* kEnough = "Reached expected number of succeeded pods";

const char* messageOf(const std::string& reason) {
  return reason == "DeadlineExceeded" ? "Job was active longer than specified deadline"
                                      : "Job has reached the specified backoff limit";
}

}  // namespace

JobTurn::JobTurn(Client& client, const json::Value& job, Jobs::Record& record)
    : client_{client},
      job_{job},
      spec_{job["spec"]},
      kept_{record},
      record_{record},
      indexed_{job["spec"]["completionMode"].str() == "Indexed"},
      status_{job["status"]},
      completed_{readIndexes(job["status"]["completedIndexes"].str(), job["spec"]["completions"].intOr(0))} {}

Again JobTurn::run() {
  look();
  begin();
  count();
  if (!isDeleting(job_)) {
    decide();
    look();
    count();
  }
  writeStatus();
  return again_;
}

void JobTurn::setCondition(const char* type, const char* is, const std::string& reason, const char* message) {
  const std::string time = kapi::timeText(client_.now().wall);
  Value made = json::Object{{"type", type},          {"status", is},
                            {"lastProbeTime", time}, {"lastTransitionTime", time},
                            {"reason", reason},      {"message", message}};
  auto& all = status_.child("conditions").array();
  const auto there =
      std::find_if(all.begin(), all.end(), [&](const Value& c) { return c["type"].str() == type; });
  if (there == all.end()) {
    all.push_back(std::move(made));
  } else if ((*there)["status"].str() != is) {
    *there = std::move(made);
  }
}

bool JobTurn::isEnough() const {
  if (!spec_["completions"].isNull()) { return succeededSoFar() >= spec_["completions"].intOr(0); }
  // any success is one of all; the others come to their end
  return succeededSoFar() > 0 &&
         std::none_of(pods_.begin(), pods_.end(), [](const auto& pod) { return isActive(*pod); });
}

std::optional<std::string> JobTurn::whyFailed() {
  if (const Value& target = conditionOf(status_, "FailureTarget"); !target.isNull()) {
    return std::string{target["reason"].str()};
  }
  if (status_["failed"].intOr(0) > spec_["backoffLimit"].intOr(6)) { return "BackoffLimitExceeded"; }
  const auto began = status_["startTime"].str();
  if (spec_["activeDeadlineSeconds"].isNull() || began.empty() || spec_["suspend"].boolOr(false)) {
    return std::nullopt;
  }
  const Duration left =
      std::chrono::seconds{spec_["activeDeadlineSeconds"].intOr(0)} - since(began, client_.now());
  if (left <= Duration{}) { return "DeadlineExceeded"; }
  again_.lookAfter(left);
  return std::nullopt;
}

void JobTurn::decide() {
  if (status_["startTime"].isNull() && !spec_["suspend"].boolOr(false)) {
    status_.set("startTime", kapi::timeText(client_.now().wall));
  }
  if (hasCondition(status_, "SuccessCriteriaMet") || isEnough()) { return complete(); }
  if (const auto reason = whyFailed()) { return fail(*reason); }
  if (spec_["suspend"].boolOr(false)) { return suspend(); }
  resume();
  keepPods();
}

/// The pods that still run are deleted, and failed with it. Over once they are gone.
void JobTurn::fail(const std::string& reason) {
  setCondition("FailureTarget", "True", reason, messageOf(reason));
  removeActive(pods_.size(), false);
  look();
  const bool gone = std::all_of(pods_.begin(), pods_.end(), [](const auto& pod) { return hasEnded(*pod); });
  if (!gone) { return; }
  setCondition("Failed", "True", reason, messageOf(reason));
  events_.emplace_back("Warning", reason);
}

void JobTurn::complete() {
  setCondition("SuccessCriteriaMet", "True", "CompletionsReached", kEnough);
  removeActive(pods_.size(), true);
  look();
  const bool gone = std::all_of(pods_.begin(), pods_.end(), [](const auto& pod) { return hasEnded(*pod); });
  if (!gone) { return; }
  setCondition("Complete", "True", "CompletionsReached", kEnough);
  status_.set("completionTime", kapi::timeText(client_.now().wall));
  events_.emplace_back("Normal", "Completed");
}

void JobTurn::suspend() {
  removeActive(pods_.size(), true);
  if (hasCondition(status_, "Suspended")) { return; }
  setCondition("Suspended", "True", "JobSuspended", "Job suspended");
  events_.emplace_back("Normal", "Suspended");
}

/// Its time begins anew.
void JobTurn::resume() {
  if (!hasCondition(status_, "Suspended")) { return; }
  setCondition("Suspended", "False", "JobResumed", "Job resumed");
  status_.set("startTime", kapi::timeText(client_.now().wall));
  events_.emplace_back("Normal", "Resumed");
}

void JobTurn::writeStatus() {
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t going = 0;
  for (const auto& pod : pods_) {
    active += isActive(*pod) ? 1 : 0;
    ready += isActive(*pod) && isReady(*pod) ? 1 : 0;
    going += !hasEnded(*pod) && isDeleting(*pod) ? 1 : 0;
  }
  status_.set("active", active);
  status_.set("ready", ready);
  status_.set("terminating", going);
  status_.set("uncountedTerminatedPods", json::Object{});  // as where there is a finalizer
  if (indexed_) { status_.set("completedIndexes", indexText(completed_)); }
  Value next = job_;
  next.set("status", status_);
  if (!succeeded(client_.replaceStatus(next))) {
    again_.failed = true;  // and all is counted again
    return;
  }
  kept_ = record_;
  for (const auto& [type, reason] : events_) {
    client_.tell(job_, type.c_str(), reason,
                 reason == "Completed"   ? "Job completed"
                 : reason == "Suspended" ? "Job suspended"
                 : reason == "Resumed"   ? "Job resumed"
                                         : messageOf(reason));
  }
}

}  // namespace gs::sandbox::controllers
