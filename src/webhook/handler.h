// The webhook's HTTP: a review in, its answer out.
//
//   POST /mutate     pods (pod_mutation.h); any query
//   POST /validate   GpuClaims (claim_check.h); any query
//
// What is no review is answered 400, with `allowed: false` and the reason in a review's form; other paths
// 404, other methods 405. An object of another kind is allowed, untouched; on /mutate one of no kind is a
// pod.
// Keeps nothing between requests: any thread may call it, many at a time. Pure.
#pragma once

#include "admission/endpoint.h"
#include "webhook/pod_mutation.h"

namespace gs::webhook {

class Handler {
 public:
  /// `limit_of` is called by whoever calls answer().
  explicit Handler(PodRules rules, LimitOf limit_of = {})
      : rules_{std::move(rules)}, limit_of_{std::move(limit_of)} {}

  [[nodiscard]] admission::Served answer(const net::Request& request) const;

 private:
  [[nodiscard]] admission::Verdict decidePod(const admission::Review& review) const;
  [[nodiscard]] admission::Verdict decide(bool mutates, const admission::Review& review) const;

  PodRules rules_;
  LimitOf limit_of_;
};

}  // namespace gs::webhook
