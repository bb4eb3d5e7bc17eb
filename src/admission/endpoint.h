// One path of a webhook by HTTP: a review in, its answer out.
//
// Other methods than POST are answered 405. What is no review is answered 400, with `allowed: false` and the
// reason in a review's form. Keeps nothing: any thread may call it, many at a time. Pure, as far as `decide`
// is.
#pragma once

#include <functional>
#include <string_view>

#include "admission/review.h"
#include "net/http_types.h"

namespace gs::admission {

/// `path` is "" for what is none of the webhook's; `result` is one of: allowed, patched, denied, invalid.
struct Served {
  net::Response response;
  std::string_view path{};
  std::string_view result = "invalid";
};
using Decide = std::function<Verdict(const Review&)>;

/// `path`: as it is counted; what it looks into must outlive what is returned. The query counts for nothing.
[[nodiscard]] Served serveReview(const net::Request& request, std::string_view path, const Decide& decide);

}  // namespace gs::admission
