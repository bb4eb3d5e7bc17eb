// The names of things, as types of their own: a pod's name cannot be passed where a node's is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace gs::model {

/// A string with a meaning. Ordered and hashed by its bytes. "" means "none".
template <class Tag>
struct Name {
  std::string text;

  Name() = default;
  explicit Name(std::string t) : text{std::move(t)} {}
  explicit Name(std::string_view t) : text{t} {}
  explicit Name(const char* t) : text{t} {}
  [[nodiscard]] bool empty() const { return text.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;
};

using NodeName = Name<struct NodeNameTag>;
using Uid = Name<struct UidTag>;                    // metadata.uid
using ReservationId = Name<struct ReservationTag>;  // a random UUID; one decision of ours for one pod

/// namespace/name of a namespaced object; ns is "" for cluster-scoped ones.
struct ObjectKey {
  std::string ns;
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
  [[nodiscard]] std::string text() const { return ns.empty() ? name : ns + "/" + name; }
};

/// A device by the name that its driver gave it: what DRA's allocations speak of. "" three times: none.
struct DeviceName {
  std::string driver;
  std::string pool;
  std::string device;
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

/// The highest id of a GPU on its node.
inline constexpr int kMaxDeviceId = 1023;

/// metadata.resourceVersion. The API server's are decimal numbers of one counter (Kubernetes >= 1.35
/// guarantees that they compare; every etcd-backed server before does so too). 0: none.
using Revision = std::uint64_t;

}  // namespace gs::model

template <class Tag>
struct std::hash<gs::model::Name<Tag>> {
  std::size_t operator()(const gs::model::Name<Tag>& n) const noexcept {
    return std::hash<std::string>{}(n.text);
  }
};
template <>
struct std::hash<gs::model::ObjectKey> {
  std::size_t operator()(const gs::model::ObjectKey& k) const noexcept {
    return std::hash<std::string>{}(k.ns) * 1000003U ^ std::hash<std::string>{}(k.name);
  }
};
