// What the API server serves: built-in resources from one table, custom ones as soon as their CRD is there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "sandbox/answer.h"
#include "sandbox/schema.h"

namespace gs::sandbox {

struct Resource {
  std::string group;  // "" core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  bool custom = false;
  bool has_status = false;  // a status subresource
  bool upsert = false;      // PUT creates what is missing (leases, events)
  SchemaPtr schema;
  json::Value columns;  // additionalPrinterColumns of a CRD's version

  [[nodiscard]] std::string id() const { return group + "/" + plural; }  // key of the store
  [[nodiscard]] std::string apiVersion() const { return group.empty() ? version : group + "/" + version; }
  [[nodiscard]] Subject subject() const { return {group, plural, kind}; }
};

/// Where a request points. `name` "" : the collection.
struct Route {
  const Resource* resource = nullptr;
  std::string ns;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;  // decoded
};

class Resources {
 public:
  Resources();
  /// "/apis/g/v/namespaces/ns/plural/name/sub?query". Error 404 for what is not served, 400 for a bad query.
  [[nodiscard]] Answer<Route> route(std::string_view target) const;
  [[nodiscard]] const Resource* find(std::string_view group, std::string_view plural) const;
  [[nodiscard]] const Resource* ofKind(std::string_view api_version, std::string_view kind) const;
  /// Serves the storage version of a CRD object; again: replaces it.
  void serve(const json::Value& crd);
  void forget(const json::Value& crd);

 private:
  void builtin(std::string group, std::string version, std::string plural, std::string kind, bool namespaced,
               bool status, bool upsert);
  std::map<std::pair<std::string, std::string>, Resource, std::less<>> all_;  // (group, plural)
};

/// Percent-decoding; '+' is a space in queries.
[[nodiscard]] std::string percentDecode(std::string_view text, bool plus_is_space);

}  // namespace gs::sandbox
