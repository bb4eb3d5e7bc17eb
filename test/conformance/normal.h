// Answers without what differs from run to run, so that those of two servers can be compared.
//
// Uids become u1, u2 .. and resourceVersions r1, r2 .. in order of their first appearance within a case: that
// two are the same, or are not, is still seen. Times become <time>, ages (also that of a restart) <age>;
// managedFields, columns' descriptions and a list's own resourceVersion are left out, and so is the service
// account of pods (an admission plugin's), and the hashes of storage versions; causes and the resources of a
// group are sorted, and none stands twice; what a message quotes of a whole object, of a Go value or of a
// revision is cut.
#pragma once

#include <map>
#include <string>

#include "json/value.h"

namespace gs::conformance {

/// Of one case on one server.
class Normal {
 public:
  /// `generated` "" or a prefix: names that the server made from it lose their suffix.
  [[nodiscard]] json::Value value(const json::Value& answer, const std::string& generated = {});

 private:
  [[nodiscard]] json::Value walk(const json::Value& v, const std::string& key);
  [[nodiscard]] json::Value object(const json::Value& v);
  [[nodiscard]] std::string text(const std::string& s);

  std::string generated_;
  json::Value columns_;
  std::map<std::string, std::string> uids_;
  std::map<std::string, std::string> revisions_;
};

/// Where two values first differ, with both: "spec.size: 1 | 2"; "" when they are equal.
[[nodiscard]] std::string difference(const json::Value& a, const json::Value& b);

}  // namespace gs::conformance
