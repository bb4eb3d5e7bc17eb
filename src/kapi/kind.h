// A kind of object that we read or write, as one reader sees it: where the API server serves it, and how its
// objects are decoded.
//
// Two readers that want other things of one kind have a KindInfo each: a ConfigMap is quotas to whoever reads
// kQuotaMap. kapi/kinds.h names those that there are; a component may have more of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "model/object.h"

namespace gs::json {
class View;
}

namespace gs::kapi {

struct KindInfo {
  std::string_view group;    // "" for core
  std::string_view version;  // "": its path has nothing before `plural`
  std::string_view plural;   // "pods"
  std::string_view name;     // "Pod"
  bool namespaced = true;
  /// Of what is an object of JSON. Nullptr: its objects are only written.
  model::Object (*decode)(const json::View& object) = nullptr;
  /// Served by a CRD, say, which may not be there.
  bool may_be_absent = false;
};

/// Names a KindInfo, which must outlive it; the same one is the same kind.
class Kind {
 public:
  constexpr Kind() = default;  // none
  constexpr explicit Kind(const KindInfo& info) : info_{&info} {}

  [[nodiscard]] const KindInfo* operator->() const {
    GS_CHECK(info_ != nullptr, "no kind was given");
    return info_;
  }
  friend bool operator==(const Kind&, const Kind&) = default;
  /// By plural and group; readers of one kind by address.
  friend bool operator<(const Kind& a, const Kind& b);

 private:
  const KindInfo* info_ = nullptr;
};

/// KindInfo::decode of a function that reads one type.
template <auto read>
[[nodiscard]] model::Object decodedBy(const json::View& object) {
  using T = std::invoke_result_t<decltype(read), const json::View&>;
  return std::make_shared<const T>(read(object));
}

/// "coordination.k8s.io/v1" or "v1"
[[nodiscard]] std::string apiVersion(Kind kind);

}  // namespace gs::kapi
