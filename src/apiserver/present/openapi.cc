#include "apiserver/present/openapi.h"

#include <fmt/format.h>

#include "apiserver/present/discovery.h"
#include "apiserver/schema/builtin_types.h"
#include "base/hash.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr int kMaxDepth = 100;
constexpr const char* kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr const char* kMetaText =
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
constexpr const char* kVersionText =
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
    "recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
constexpr const char* kKindText =
    "Kind is a string value representing the REST resource this object represents. Servers may infer this "
    "from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

Value textSchema(const char* description) { return Object{{"description", description}, {"type", "string"}}; }

/// Go types as OpenAPI, named types once each.
class Components {
 public:
  Value of(const Schema* schema, int depth) {
    using Type = Schema::Type;
    if (schema == nullptr || depth > kMaxDepth) { return Object{{"type", "object"}}; }
    switch (schema->type) {
      case Type::String: return Object{{"type", "string"}};
      case Type::Boolean: return Object{{"type", "boolean"}};
      case Type::Integer: return Object{{"format", schema->go_name}, {"type", "integer"}};
      case Type::Number: return Object{{"type", "number"}};
      case Type::IntOrString: return Object{{"format", "int-or-string"}, {"type", "string"}};
      case Type::Quantity: return Object{{"type", "string"}};
      case Type::Time:
      case Type::MicroTime: return Object{{"format", "date-time"}, {"type", "string"}};
      case Type::List: return Object{{"items", of(schema->element.get(), depth + 1)}, {"type", "array"}};
      case Type::Map:
        return Object{{"additionalProperties", of(schema->element.get(), depth + 1)}, {"type", "object"}};
      case Type::Any: return Object{{"type", "object"}};
      case Type::Object: return reference(*schema, depth);
    }
    return Object{};
  }

  /// The component of a named type: "io.k8s.api.v1.PodSpec".
  std::string name(const Schema& schema, int depth) {
    std::string name = schema.go_name == "v1.ObjectMeta" ? kObjectMeta : "io.k8s.api." + schema.go_name;
    if (made_.find(name) == nullptr) {
      made_[name] = Value{};  // a type that contains itself finds it
      Value properties = Object{};
      for (const Field& field : schema.fields) {
        properties.set(field.name, of(field.schema.get(), depth + 1));
      }
      made_[name] = Object{{"type", "object"}, {"properties", std::move(properties)}};
    }
    return name;
  }

  void add(const std::string& name, Value schema) { made_[name] = std::move(schema); }
  Value& at(const std::string& name) { return made_[name]; }
  Object take() { return std::move(made_); }

 private:
  Value reference(const Schema& schema, int depth) {
    return Object{
        {"allOf", Array{Value{Object{{"$ref", "#/components/schemas/" + name(schema, depth + 1)}}}}}};
  }

  Object made_;
};

Value gvkOf(const Resource& r) {
  return Object{{"group", r.group}, {"kind", r.kind}, {"version", r.version}};
}

Value parameter(const char* name) {
  return Object{{"name", name}, {"in", "query"}, {"schema", Object{{"type", "string"}}}};
}

/// Paths of one resource. kubectl looks for a patch with fieldValidation, and for any operation's kind.
void addPaths(const Resource& r, Value& paths) {
  const std::string base = (r.group.empty() ? "/api/" : "/apis/") + r.apiVersion() + "/" +
                           (r.namespaced ? "namespaces/{namespace}/" : "") + r.plural;
  const auto operation = [&](const char* action) {
    return Value{Object{
        {"x-kubernetes-action", action},
        {"x-kubernetes-group-version-kind", gvkOf(r)},
        {"parameters", Array{parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")}},
        {"responses", Object{}}}};
  };
  Value collection = Object{{"post", operation("post")}};
  if (!r.create_only) {
    collection.set("get", operation("list"));
    paths.set(base + "/{name}", Object{{"delete", operation("delete")},
                                       {"get", operation("get")},
                                       {"patch", operation("patch")},
                                       {"put", operation("put")}});
  }
  paths.set(base, std::move(collection));
}

/// "gpu.scheduling" -> "scheduling.gpu", as the real server names a CRD's component.
std::string reversed(std::string_view group) {
  std::string out;
  while (!group.empty()) {
    const auto dot = group.rfind('.');
    out += (out.empty() ? "" : ".") + std::string{group.substr(dot == std::string_view::npos ? 0 : dot + 1)};
    group = group.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return out;
}

void addCustom(const Resource& r, Components& components) {
  Value schema = r.openapi.isObject() ? r.openapi : Value{Object{{"type", "object"}}};
  Value properties = schema["properties"].isObject() ? schema["properties"] : Value{Object{}};
  properties.set("apiVersion", textSchema(kVersionText));
  properties.set("kind", textSchema(kKindText));
  (void)components.of(builtinType("ObjectMeta").get(), 0);
  properties.set(
      "metadata",
      Object{{"description", kMetaText},
             {"allOf", Array{Value{Object{{"$ref", std::string{"#/components/schemas/"} + kObjectMeta}}}}}});
  schema.set("properties", std::move(properties));
  schema.set("x-kubernetes-group-version-kind", Array{gvkOf(r)});
  components.add(reversed(r.group) + "." + r.version + "." + r.kind, std::move(schema));
}

std::string documentOf(const Resources& resources, const std::string& group_version) {
  Components components;
  Value paths = Object{};
  for (const auto& [key, r] : resources.all()) {
    if (r.apiVersion() != group_version) { continue; }
    addPaths(r, paths);
    if (r.custom) {
      addCustom(r, components);
    } else if (r.schema) {
      components.at(components.name(*r.schema, 0)).set("x-kubernetes-group-version-kind", Array{gvkOf(r)});
    }
  }
  return json::print(Object{{"openapi", "3.0.0"},
                            {"info", Object{{"title", "Kubernetes"}, {"version", "v1.33.0"}}},
                            {"paths", std::move(paths)},
                            {"components", Object{{"schemas", components.take()}}}});
}

}  // namespace

void OpenApi::refresh(const Resources& resources) {
  if (seen_ == resources.changes()) { return; }
  seen_ = resources.changes();
  documents_.clear();
  for (const std::string& version : groupVersions(resources)) {
    const bool core = version.find('/') == std::string::npos;
    documents_[(core ? "api/" : "apis/") + version] = documentOf(resources, version);
  }
}

json::Value OpenApi::index(const Resources& resources) {
  refresh(resources);
  Value paths = Object{};
  for (const auto& [path, text] : documents_) {
    paths.set(path, Object{{"serverRelativeURL",
                            fmt::format("/openapi/v3/{}?hash={}", path, sha256Hex(text).substr(0, 32))}});
  }
  return Object{{"paths", std::move(paths)}};
}

std::string OpenApi::document(const Resources& resources, const std::string& path) {
  refresh(resources);
  const auto at = documents_.find(path);
  return at == documents_.end() ? std::string{} : at->second;
}

}  // namespace gs::apiserver
