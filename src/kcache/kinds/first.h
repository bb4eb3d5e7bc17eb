// Which caches the agent of a node is asked to fetch before others: an annotation on its node object, for
// pods that wait for a node. Written by gpu-scheduler, read by gkm-agent.
//
//   gkm.io/fetch-first: 2026-11-26T14:00:00Z vectors,weights
//
// When it was asked, a blank, and names of caches of the object's own namespace (or of the cluster), at most
// kMostFirst; which of them comes first does not count. It is a hint about order, and says nothing that is
// not wanted anyway: the agent fetches all caches of its scope. Namespaces take turns whatever they ask, so a
// namespace can change the order of its own caches only. What was asked kFirstFor ago counts no more, so
// nobody has to take it back. What cannot be read is no request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace gs::kcache {

/// When it was asked, and the caches to fetch first.
inline constexpr const char* kFirstKey = "gkm.io/fetch-first";
inline constexpr std::size_t kMostFirst = 8;
inline constexpr Duration kFirstFor = std::chrono::minutes{10};

struct FetchFirst {
  Wall asked{};
  std::vector<std::string> caches;
  /// It counts at that time. (Clocks may differ: one of the near future does.)
  [[nodiscard]] bool counts(Wall now) const;
  [[nodiscard]] Wall until() const { return std::chrono::time_point_cast<Wall::duration>(asked + kFirstFor); }
  friend bool operator==(const FetchFirst&, const FetchFirst&) = default;
};

[[nodiscard]] std::optional<FetchFirst> parseFirst(std::string_view text);
[[nodiscard]] std::string printFirst(const FetchFirst& first);

}  // namespace gs::kcache
