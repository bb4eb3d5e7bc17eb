// The shape of one field of an object: what decoding, defaulting, pruning,
// validation and the merging patches need.
//
// Built-in kinds get theirs from the table in builtin_types.cc (Go's view: pointers, omitempty), custom
// resources from their CRD (crd_schema.h: OpenAPI's view). A null SchemaPtr or type Any means "anything, kept
// as it is".
// Immutable once built; shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "pattern/pattern.h"

namespace gs::apiserver {

/// The go_name of bytes, which JSON holds as base64.
inline constexpr const char* kGoBytes = "[]uint8";

struct Schema;
using SchemaPtr = std::shared_ptr<const Schema>;

enum class ListKind : std::uint8_t { Atomic, Set, Map };

/// A named member. `pointer`: kept as given (Go pointer); else zero values are dropped unless `always`.
struct Field {
  std::string name;
  SchemaPtr schema;
  bool pointer = false;
  bool always = false;
};

/// OpenAPI's limits on one value.
struct Limits {
  std::optional<double> minimum;
  std::optional<double> maximum;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::optional<double> multiple_of;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  std::string pattern;
  std::optional<Pattern> compiled;  // nothing: no pattern, or one that cannot be read
  std::string format;
  std::vector<json::Value> one_of_values;  // enum
  std::vector<std::string> required;
  std::vector<SchemaPtr> all_of, any_of, one_of;
  SchemaPtr none_of;  // not
};

struct Schema {
  enum class Type : std::uint8_t {
    Any,
    Object,
    Map,
    List,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
    Quantity,
    Time,
    MicroTime,
  };
  Type type = Type::Any;
  std::string go_name;  // as Go names the type in decode errors: "v1.PodSpec", "[]v1.Container", "int32"
  std::vector<Field> fields;  // sorted by name
  SchemaPtr element;          // of Map and List
  ListKind list = ListKind::Atomic;
  std::vector<std::string> keys;  // of ListKind::Map
  bool atomic_map = false;
  bool preserve_unknown = false;
  bool embedded = false;  // x-kubernetes-embedded-resource
  bool nullable = false;
  std::optional<json::Value> default_value;
  std::shared_ptr<const Limits> limits;

  [[nodiscard]] const Field* field(std::string_view name) const;
  /// The schema of member `name`: a field's, a map's element's, or nullptr (anything).
  [[nodiscard]] const Schema* child(std::string_view name) const;
};

/// The list kind of a possibly absent schema.
[[nodiscard]] ListKind listKindOf(const Schema* schema);
[[nodiscard]] const Schema* childOf(const Schema* schema, std::string_view name);
[[nodiscard]] const Schema* elementOf(const Schema* schema);

}  // namespace gs::apiserver
