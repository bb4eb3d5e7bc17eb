#include "sandbox/protobuf_body.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gs::sandbox {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr std::size_t kMaxFields = 10'000;

/// One field of a message. Only varints and length-delimited fields are kept; the others are skipped.
struct Wire {
  std::uint64_t number = 0;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

std::optional<std::uint64_t> takeVarint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) { return value; }
  }
  return std::nullopt;
}

bool skip(std::string_view& in, std::size_t bytes) {
  if (in.size() < bytes) { return false; }
  in.remove_prefix(bytes);
  return true;
}

/// nullopt: malformed.
std::optional<std::vector<Wire>> fieldsIn(std::string_view in) {
  std::vector<Wire> out;
  while (!in.empty()) {
    const auto tag = takeVarint(in);
    if (!tag || *tag >> 3U == 0 || out.size() >= kMaxFields) { return std::nullopt; }
    Wire field{*tag >> 3U, 0, {}};
    const auto type = *tag & 7U;
    if (type == 0) {
      const auto value = takeVarint(in);
      if (!value) { return std::nullopt; }
      field.varint = *value;
    } else if (type == 2) {
      const auto size = takeVarint(in);
      if (!size || *size > in.size()) { return std::nullopt; }
      field.bytes = in.substr(0, *size);
      in.remove_prefix(*size);
    } else if (!(type == 1 && skip(in, 8)) && !(type == 5 && skip(in, 4))) {
      return std::nullopt;
    }
    out.push_back(field);
  }
  return out;
}

std::string_view bytesOf(const std::vector<Wire>& fields, std::uint64_t number) {
  for (const Wire& field : fields) {
    if (field.number == number) { return field.bytes; }
  }
  return {};
}

/// map<string, string> entries of field `number`.
json::Value mapOf(const std::vector<Wire>& fields, std::uint64_t number) {
  json::Value out;
  for (const Wire& field : fields) {
    if (field.number != number) { continue; }
    const auto entry = fieldsIn(field.bytes);
    if (entry) { out.set(bytesOf(*entry, 1), bytesOf(*entry, 2)); }
  }
  return out;
}

/// Strings by field number, those that are there.
void setTexts(json::Value& object, const std::vector<Wire>& fields,
              std::initializer_list<std::pair<std::uint64_t, const char*>> names) {
  for (const auto& [number, name] : names) {
    if (const auto text = bytesOf(fields, number); !text.empty()) { object.set(name, text); }
  }
}

json::Value metaOf(std::string_view bytes) {
  json::Value meta = json::Object{};
  const auto fields = fieldsIn(bytes);
  if (!fields) { return meta; }
  setTexts(meta, *fields, {{1, "name"}, {2, "generateName"}, {3, "namespace"}});
  if (auto labels = mapOf(*fields, 11); !labels.isNull()) { meta.set("labels", std::move(labels)); }
  if (auto notes = mapOf(*fields, 12); !notes.isNull()) { meta.set("annotations", std::move(notes)); }
  return meta;
}

json::Value reviewSpec(std::string_view bytes) {
  json::Value spec = json::Object{};
  const auto fields = fieldsIn(bytes);
  if (!fields) { return spec; }
  if (const auto attributes = fieldsIn(bytesOf(*fields, 1)); attributes && !attributes->empty()) {
    json::Value out = json::Object{};
    setTexts(out, *attributes,
             {{1, "namespace"},
              {2, "verb"},
              {3, "group"},
              {4, "version"},
              {5, "resource"},
              {6, "subresource"},
              {7, "name"}});
    spec.set("resourceAttributes", std::move(out));
  }
  if (const auto attributes = fieldsIn(bytesOf(*fields, 2)); attributes && !attributes->empty()) {
    json::Value out = json::Object{};
    setTexts(out, *attributes, {{1, "path"}, {2, "verb"}});
    spec.set("nonResourceAttributes", std::move(out));
  }
  return spec;
}

}  // namespace

Answer<json::Value> readProtobuf(std::string_view bytes) {
  // runtime.Unknown: typeMeta = 1 {apiVersion = 1, kind = 2}, raw = 2
  if (!bytes.starts_with(kMagic)) {
    return badRequest(
        "the body of the request is not Kubernetes protobuf: it does not begin with \"k8s\\0\"");
  }
  const auto envelope = fieldsIn(bytes.substr(kMagic.size()));
  const auto type = fieldsIn(envelope ? bytesOf(*envelope, 1) : std::string_view{});
  const auto raw = fieldsIn(envelope ? bytesOf(*envelope, 2) : std::string_view{});
  if (!envelope || !type || !raw) { return badRequest("the protobuf body of the request is malformed"); }
  const auto version = bytesOf(*type, 1);
  const auto kind = bytesOf(*type, 2);
  json::Value out = json::Object{{"apiVersion", version}, {"kind", kind}};
  if (version == "v1" && kind == "Namespace") {
    out.set("metadata", metaOf(bytesOf(*raw, 1)));
    return out;
  }
  if (version == "authorization.k8s.io/v1" && kind == "SelfSubjectAccessReview") {
    out.set("metadata", metaOf(bytesOf(*raw, 1)));
    out.set("spec", reviewSpec(bytesOf(*raw, 2)));
    return out;
  }
  return refuse(
      415, "UnsupportedMediaType",
      fmt::format(
          "the sandbox reads protobuf bodies of Namespace and SelfSubjectAccessReview only, and this one "
          "is a {} of {}; send JSON or YAML instead: kubectl create ... --dry-run=client -o yaml | "
          "kubectl apply -f -",
          goQuote(kind), goQuote(version)));
}

}  // namespace gs::sandbox
