#include "apiserver/schema/crd_schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "apiserver/schema/builtin_types.h"
#include "pattern/pattern.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Type = Schema::Type;

constexpr int kMaxDepth = 60;  // deeper schemas are "anything" from there on

SchemaPtr compile(const Value& api, int depth);

Type typeOf(const Value& api) {
  if (api["x-kubernetes-int-or-string"].boolOr(false)) { return Type::IntOrString; }
  const std::string_view name = api["type"].str();
  if (name == "object") { return api["additionalProperties"].isObject() ? Type::Map : Type::Object; }
  if (name == "array") { return Type::List; }
  if (name == "string") { return Type::String; }
  if (name == "integer") { return Type::Integer; }
  if (name == "number") { return Type::Number; }
  if (name == "boolean") { return Type::Boolean; }
  return Type::Any;
}

void readNumbers(const Value& api, Limits& limits) {
  limits.minimum = api["minimum"].number();
  limits.maximum = api["maximum"].number();
  limits.exclusive_minimum = api["exclusiveMinimum"].boolOr(false);
  limits.exclusive_maximum = api["exclusiveMaximum"].boolOr(false);
  limits.multiple_of = api["multipleOf"].number();
  limits.min_length = api["minLength"].integer();
  limits.max_length = api["maxLength"].integer();
  limits.min_items = api["minItems"].integer();
  limits.max_items = api["maxItems"].integer();
  limits.min_properties = api["minProperties"].integer();
  limits.max_properties = api["maxProperties"].integer();
}

std::vector<SchemaPtr> compileAll(const Value& list, int depth) {
  std::vector<SchemaPtr> out;
  for (const Value& v : list.items()) { out.push_back(compile(v, depth + 1)); }
  return out;
}

bool hasLimits(const Value& api) {
  constexpr std::array<std::string_view, 20> kNames{
      "minimum",          "maximum",       "multipleOf",    "minLength", "maxLength", "minItems",
      "maxItems",         "minProperties", "maxProperties", "pattern",   "format",    "enum",
      "required",         "allOf",         "anyOf",         "oneOf",     "not",       "exclusiveMinimum",
      "exclusiveMaximum", "uniqueItems"};
  const auto& members = api.members();
  return std::any_of(members.begin(), members.end(), [&](const auto& m) {
    return std::find(kNames.begin(), kNames.end(), m.first) != kNames.end();
  });
}

std::shared_ptr<const Limits> readLimits(const Value& api, int depth) {
  if (!hasLimits(api)) { return nullptr; }
  auto limits = std::make_shared<Limits>();
  readNumbers(api, *limits);
  limits->pattern = api["pattern"].str();
  if (!limits->pattern.empty()) { limits->compiled = Pattern::compile(limits->pattern); }
  limits->format = api["format"].str();
  limits->one_of_values = api["enum"].items();
  for (const Value& name : api["required"].items()) { limits->required.emplace_back(name.str()); }
  limits->all_of = compileAll(api["allOf"], depth);
  limits->any_of = compileAll(api["anyOf"], depth);
  limits->one_of = compileAll(api["oneOf"], depth);
  if (api["not"].isObject()) { limits->none_of = compile(api["not"], depth + 1); }
  return limits;
}

void readLists(const Value& api, Schema& out) {
  const std::string_view kind = api["x-kubernetes-list-type"].str();
  if (kind == "set") { out.list = ListKind::Set; }
  if (kind != "map") { return; }
  for (const Value& key : api["x-kubernetes-list-map-keys"].items()) { out.keys.emplace_back(key.str()); }
  if (!out.keys.empty()) { out.list = ListKind::Map; }
}

SchemaPtr compile(const Value& api, int depth) {
  auto out = std::make_shared<Schema>();
  if (depth > kMaxDepth) {
    out->preserve_unknown = true;
    return out;
  }
  out->type = typeOf(api);
  out->go_name = api["type"].str();
  out->preserve_unknown = api["x-kubernetes-preserve-unknown-fields"].boolOr(false) || out->type == Type::Any;
  if (api["additionalProperties"].boolOr(false)) { out->preserve_unknown = true; }
  out->embedded = api["x-kubernetes-embedded-resource"].boolOr(false);
  out->nullable = api["nullable"].boolOr(false);
  out->atomic_map = api["x-kubernetes-map-type"].str() == "atomic";
  if (const Value* d = api.find("default")) { out->default_value = *d; }
  for (const auto& [name, property] : api["properties"].members()) {
    out->fields.push_back({name, compile(property, depth + 1), false, false});
  }
  std::sort(out->fields.begin(), out->fields.end(),
            [](const Field& a, const Field& b) { return a.name < b.name; });
  if (out->type == Type::Map) { out->element = compile(api["additionalProperties"], depth + 1); }
  if (out->type == Type::List) { out->element = compile(api["items"], depth + 1); }
  readLists(api, *out);
  out->limits = readLimits(api, depth);
  return out;
}

void setField(Schema& schema, std::string name, SchemaPtr type) {
  std::erase_if(schema.fields, [&](const Field& f) { return f.name == name; });
  schema.fields.push_back({std::move(name), std::move(type), false, false});
}

/// Members of a list or map, named for paths.
std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string{name} : path + "." + std::string{name};
}

void pruneValue(const Schema& schema, Value& value, const std::string& path, bool root,
                std::vector<std::string>& dropped) {
  if (value.isArray()) {
    if (schema.element == nullptr) { return; }
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      pruneValue(*schema.element, value.array()[i], fmt::format("{}[{}]", path, i), false, dropped);
    }
    return;
  }
  if (!value.isObject()) { return; }
  const bool object_meta = root || schema.embedded;
  std::vector<std::string> gone;
  for (auto& [name, member] : value.object()) {
    if (object_meta && (name == "apiVersion" || name == "kind" || name == "metadata")) { continue; }
    if (const Schema* type = schema.child(name)) {
      pruneValue(*type, member, child(path, name), false, dropped);
    } else if (!schema.preserve_unknown) {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) {
    dropped.push_back(child(path, name));
    value.erase(name);
  }
}

/// Nulls of fields that may not be null: to the default, else away.
void fixNulls(const Schema& schema, Value& value) {
  std::vector<std::string> gone;
  for (auto& [name, member] : value.object()) {
    const Schema* type = member.isNull() ? schema.child(name) : nullptr;
    if (type == nullptr || type->nullable || type->type == Type::Any) { continue; }
    if (type->default_value) {
      member = *type->default_value;
    } else {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) { value.erase(name); }
}

void checkNode(const Value& api, const std::string& field, bool root, int depth, FieldErrors& errors) {
  if (depth > kMaxDepth) { return; }
  for (const auto& [name, property] : api["properties"].members()) {
    checkNode(property, fmt::format("{}.properties[{}]", field, name), false, depth + 1, errors);
  }
  if (api["additionalProperties"].isObject()) {
    checkNode(api["additionalProperties"], field + ".additionalProperties", false, depth + 1, errors);
  }
  if (api["items"].isObject()) { checkNode(api["items"], field + ".items", false, depth + 1, errors); }
  const bool untyped = api["type"].str().empty() && !api["x-kubernetes-int-or-string"].boolOr(false) &&
                       !api["x-kubernetes-preserve-unknown-fields"].boolOr(false);
  const std::string_view what = root                        ? "must not be empty at the root"
                                : field.ends_with(".items") ? "must not be empty for specified array items"
                                                            : "must not be empty for specified object fields";
  if (untyped || (root && api["type"].str().empty())) {
    errors.push_back(fieldRequired(field + ".type", what));
  }
  if (root && !api["type"].str().empty() && api["type"].str() != "object") {
    errors.push_back(fieldInvalid(field + ".type", api["type"], "must be object at the root"));
  }
  if (api["type"].str() == "array" && api.find("items") == nullptr) {
    errors.push_back(fieldRequired(field + ".items", "must be specified"));
  }
  if (const Value* d = api.find("default"); d != nullptr && !root) {
    for (const FieldError& e : validateSchema(*compile(api, depth), *d, {})) {
      errors.push_back({field + ".default" + (e.field.empty() ? "" : "." + e.field), e.reason, e.message});
    }
  }
}

}  // namespace

SchemaPtr compileCrdSchema(const json::Value& openapi) {
  auto root = std::make_shared<Schema>(*compile(openapi, 0));
  auto text = std::make_shared<Schema>();
  text->type = Type::String;
  root->type = Type::Object;
  setField(*root, "apiVersion", text);
  setField(*root, "kind", text);
  setField(*root, "metadata", builtinType("ObjectMeta"));
  std::sort(root->fields.begin(), root->fields.end(),
            [](const Field& a, const Field& b) { return a.name < b.name; });
  return root;
}

FieldErrors checkStructural(const json::Value& openapi, const std::string& field) {
  FieldErrors errors;
  checkNode(openapi, field, true, 0, errors);
  return errors;
}

std::vector<std::string> prune(const Schema& schema, json::Value& object) {
  std::vector<std::string> dropped;
  pruneValue(schema, object, {}, true, dropped);
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

void applyDefaults(const Schema& schema, json::Value& value) {
  if (value.isArray() && schema.element != nullptr) {
    for (Value& item : value.array()) { applyDefaults(*schema.element, item); }
  }
  if (!value.isObject()) { return; }
  fixNulls(schema, value);
  for (const Field& field : schema.fields) {
    if (field.schema->default_value && value.find(field.name) == nullptr) {
      value.set(field.name, *field.schema->default_value);
    }
  }
  for (auto& [name, member] : value.object()) {
    if (const Schema* type = schema.child(name)) { applyDefaults(*type, member); }
  }
}

}  // namespace gs::apiserver
