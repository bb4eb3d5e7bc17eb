// The operator's webhooks by HTTP: paths as the ancestor's configurations have them; any query.
//
//   POST /mutate-gkm-io-v1alpha1-gkmcache      /mutate-gkm-io-v1alpha1-clustergkmcache
//   POST /validate-gkm-io-v1alpha1-gkmcache    /validate-gkm-io-v1alpha1-clustergkmcache
//
// Other paths are answered 404; the rest is admission/endpoint.h. An object of another kind than the path's
// is allowed, untouched. Any thread may call it, many at a time, as far as the rules' functions may be.
#pragma once

#include <utility>

#include "admission/endpoint.h"
#include "operator/admission/decide.h"

namespace gs::gkm {

class WebhookHandler {
 public:
  explicit WebhookHandler(Rules rules) : rules_{std::move(rules)} {}

  [[nodiscard]] admission::Served answer(const net::Request& request) const;

 private:
  Rules rules_;
};

}  // namespace gs::gkm
