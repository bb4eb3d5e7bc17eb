#include "scheduler/term/initial_sync.h"

#include <fmt/format.h>
#include <algorithm>

#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::scheduler {

void InitialSync::reset() {
  kinds_.reset();
  census_call_ = 0;  // tokens of an earlier term are never used again
  page_size_ = kPage;
  census_open_ = census_done_ = false;
  complete_census_.reset();
  census_due_.reset();
  census_error_.clear();
}

void InitialSync::askCensus(const std::string& continue_token, kapi::Effects& out) {
  kapi::Call call = kapi::listObjects(kapi::kLease, "", page_size_, continue_token,
                                      {fmt::format("{}=true", model::kManagedLabel), ""});
  call.token = kapi::makeToken(owner_, next_++);
  census_call_ = call.token;
  census_page_ = continue_token;
  out.emplace_back(std::move(call));
}

void InitialSync::start(kapi::Effects& out) {
  reset();
  kinds_.start(out);
  startCensus(out);
}

void InitialSync::startCensus(kapi::Effects& out) {
  census_ = {};
  census_open_ = true;
  census_due_.reset();
  askCensus("", out);
}

void InitialSync::censusPage(const kapi::Outcome& outcome, Mono now, kapi::Effects& out) {
  census_call_ = 0;
  if (outcome.too_large && page_size_ > 1) {
    page_size_ /= 2;
    askCensus(census_page_, out);
    return;
  }
  if (outcome.result != kapi::CallResult::Applied) {
    census_error_ = fmt::format("cannot list leases: {} {}", outcome.http, outcome.message);
    census_due_ = now + std::max(engine::CacheSync::kRetry, outcome.retry_after);
    return;
  }
  census_error_.clear();
  if (census_.revision == 0) { census_.revision = outcome.list_revision; }
  for (const auto& item : outcome.items) {
    if (const auto lease = item.as<model::Lease>()) { census_.leases.push_back(lease); }
  }
  if (!outcome.continue_token.empty()) {
    askCensus(outcome.continue_token, out);
    return;
  }
  census_open_ = false;
  census_done_ = true;
  complete_census_ = std::exchange(census_, {});
}

void InitialSync::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (outcome.token == census_call_) {
    censusPage(outcome, now.mono, out);
  } else {
    kinds_.handle(outcome, now.mono);
  }
}

void InitialSync::tick(Now now, kapi::Effects& out) {
  kinds_.tick(now.mono, out);
  if (census_due_ && *census_due_ <= now.mono) { startCensus(out); }
}

std::string InitialSync::error() const {
  auto failed = kinds_.error();
  return failed.empty() ? census_error_ : failed;
}

std::optional<Mono> InitialSync::nextDue() const {
  const auto kinds = kinds_.nextDue();
  return kinds && census_due_ ? std::min(*kinds, *census_due_) : kinds ? kinds : census_due_;
}

std::string InitialSync::trouble() const {
  if (done()) { return ""; }
  if (auto failed = error(); !failed.empty()) { return failed; }
  const auto behind = kinds_.trouble();
  return behind.empty() ? "leases were not listed yet" : behind;
}

}  // namespace gs::scheduler
