// For tests only: caches under review, as the API server sends them, and what their patches make of them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/document.h"
#include "json/value.h"

namespace gs::gkm {

inline const std::string kFirstDigest = "sha256:" + std::string(64, 'a');
inline const std::string kSecondDigest = "sha256:" + std::string(64, 'b');

using Strings = std::map<std::string, std::string>;

/// What of a cache counts here.
struct CacheText {
  std::string image{};
  std::optional<Strings> annotations{};  // nullopt: the member is absent
  std::string deletion{};
  std::string name = "c";
  std::vector<std::string> secrets{};  // in spec.imagePullSecrets

  [[nodiscard]] json::Value value() const {
    json::Value metadata = json::Object{{"name", name}};
    if (annotations) { metadata.set("annotations", json::fromStrings(*annotations)); }
    if (!deletion.empty()) { metadata.set("deletionTimestamp", deletion); }
    json::Value spec = json::Object{};
    if (!image.empty()) { spec.set("image", image); }
    json::Array pulls;
    for (const std::string& secret : secrets) { pulls.push_back(json::Object{{"name", secret}}); }
    if (!pulls.empty()) { spec.set("imagePullSecrets", std::move(pulls)); }
    return json::Object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
  }
};

struct ReviewText {
  std::string operation = "CREATE";
  CacheText object{};
  std::optional<CacheText> old{};
  std::string ns = "ns";  // "": of a ClusterGKMCache
  std::string kind{};     // "": that of the namespace
  std::string subresource{};

  [[nodiscard]] std::string text() const {
    const std::string is = !kind.empty() ? kind : ns.empty() ? "ClusterGKMCache" : "GKMCache";
    json::Value request = json::Object{{"uid", "r-1"},
                                       {"kind", json::Object{{"group", "gkm.io"}, {"kind", is}}},
                                       {"operation", operation},
                                       {"namespace", ns},
                                       {"subResource", subresource},
                                       {"userInfo", json::Object{{"username", "alice"}}},
                                       {"object", object.value()}};
    if (old) { request.set("oldObject", old->value()); }
    return json::print(json::Object{
        {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", std::move(request)}});
  }
};

/// Of the patches that the webhook makes: annotations are added, all at once or each.
inline CacheText patched(CacheText cache, const std::string& patch) {
  if (patch.empty()) { return cache; }
  const auto operations = json::parse(patch);
  EXPECT_TRUE(operations.has_value()) << patch;
  for (const json::Value& one : operations->items()) {
    EXPECT_EQ(one["op"].str(), "add") << patch;
    const std::string path{one["path"].str()};
    const std::string all = "/metadata/annotations";
    if (path == all) {
      EXPECT_FALSE(cache.annotations) << patch << ": it would take away what is there";
      cache.annotations.emplace();
      for (const auto& [key, value] : one["value"].members()) { (*cache.annotations)[key] = value.str(); }
      continue;
    }
    EXPECT_TRUE(path.starts_with(all + "/gkm.io~1")) << patch;
    EXPECT_TRUE(cache.annotations.has_value()) << patch << ": there is no place for it";
    (*cache.annotations)["gkm.io/" + path.substr(all.size() + 9)] = one["value"].str();
  }
  return cache;
}

}  // namespace gs::gkm
