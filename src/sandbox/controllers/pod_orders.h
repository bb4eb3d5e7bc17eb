// Pods that controllers asked for and that wait for a webhook: who asked, and what is to be told of it.
//
// Whoever has an order open takes no turn until it is answered: what it asked for would be asked for again.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "apiserver/admission/admission.h"
#include "apiserver/storage/store.h"

namespace gs::sandbox::controllers {

/// Of the Event about a new pod: "Created pod: " and its name, "Error creating: " and why.
struct PodWords {
  std::string made = "Created pod: ";
  bool with_name = true;
  std::string refused = "Error creating: ";
};

class PodOrders {
 public:
  using Key = apiserver::StoreKey;  // of the owner
  static constexpr std::ptrdiff_t kMostOfOne = 8;

  struct Order {
    Key owner;
    PodWords words;
  };
  void add(apiserver::RequestId request_id, Order order) { open_.emplace(request_id, std::move(order)); }
  [[nodiscard]] std::optional<Order> take(apiserver::RequestId request_id) {
    auto order = open_.extract(request_id);
    return order.empty() ? std::nullopt : std::optional{std::move(order.mapped())};
  }
  [[nodiscard]] std::ptrdiff_t of(const Key& owner) const {
    return std::count_if(open_.begin(), open_.end(), [&](const auto& o) { return o.second.owner == owner; });
  }

 private:
  std::map<apiserver::RequestId, Order> open_;
};

}  // namespace gs::sandbox::controllers
