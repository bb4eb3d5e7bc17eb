#include "apiserver/schema/go_decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/base64.h"
#include "kapi/quantity.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Type = Schema::Type;

/// Where we are, as a chain on the stack; turned into text only when something is wrong.
struct Place {
  const Place* up = nullptr;
  std::string_view name;          // "" for the root and list elements
  long index = -1;                // of a list element
  bool is_field = true;           // false for map keys and list elements: Go leaves them out of error paths
  const Schema* owner = nullptr;  // the struct that declares this field
};

std::string jsonPath(const Place* p) {
  if (p == nullptr || p->up == nullptr) { return {}; }
  std::string head = jsonPath(p->up);
  if (p->index >= 0) { return head + fmt::format("[{}]", p->index); }
  return head.empty() ? std::string{p->name} : head + "." + std::string{p->name};
}

std::string goPath(const Place* p) {
  if (p == nullptr || p->up == nullptr) { return {}; }
  std::string head = goPath(p->up);
  if (!p->is_field) { return head; }
  return head.empty() ? std::string{p->name} : head + "." + std::string{p->name};
}

const char* jsonKind(const Value& v) {
  if (v.isString()) { return "string"; }
  if (v.isBool()) { return "bool"; }
  if (v.isArray()) { return "array"; }
  if (v.isObject()) { return "object"; }
  return "number";
}

/// Where Go says that base64 went wrong.
std::size_t wrongByte(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n";
  const auto end = text.find_first_not_of(kLetters);
  if (end == std::string_view::npos) { return text.size() / 4 * 4; }
  return end;
}

class Decoder {
 public:
  std::vector<std::string> unknown;
  std::string error;

  bool decode(const Schema* type, const Value& in, const Value& known, const Place& at, Value& out) {
    if (type == nullptr || (in.isObject() && in.members().isCopyOf(known.members()))) {
      out = in;
      return true;
    }
    switch (type->type) {
      case Type::Object: return decodeStruct(*type, in, known, at, out);
      case Type::Map: return decodeMap(*type, in, known, at, out);
      case Type::List: return decodeList(*type, in, known, at, out);
      case Type::String: return decodeText(*type, in, at, out);
      case Type::Boolean: return expect(in.isBool(), *type, in, at, out);
      case Type::Number: return expect(in.isNumber(), *type, in, at, out);
      case Type::Integer: return decodeInteger(*type, in, at, out);
      case Type::IntOrString: return expect(in.isInt() || in.isString(), *type, in, at, out);
      case Type::Quantity: return decodeQuantity(in, out);
      case Type::Time: return decodeTime(in, out);
      case Type::MicroTime: return decodeMicroTime(in, out);
      case Type::Any: out = in; return true;
    }
    return true;
  }

 private:
  bool wrongType(const Schema& type, const Value& in, const Place& at, std::string_view shown) {
    const Place* field = &at;
    while (field->up != nullptr && !field->is_field) { field = field->up; }
    if (field->up == nullptr || field->owner == nullptr) {
      error = fmt::format("json: cannot unmarshal {}{} into Go value of type {}", jsonKind(in), shown,
                          type.go_name);
      return false;
    }
    std::string_view owner = field->owner->go_name;
    owner.remove_prefix(std::min(owner.size(), owner.rfind('.') + 1));
    error = fmt::format("json: cannot unmarshal {}{} into Go struct field {}.{} of type {}", jsonKind(in),
                        shown, owner, goPath(&at), type.go_name);
    return false;
  }

  bool expect(bool fits, const Schema& type, const Value& in, const Place& at, Value& out) {
    if (!fits) { return wrongType(type, in, at, {}); }
    out = in;
    return true;
  }

  bool decodeText(const Schema& type, const Value& in, const Place& at, Value& out) {
    if (!expect(in.isString(), type, in, at, out)) { return false; }
    if (type.go_name != kGoBytes || decodeBase64(in.str())) { return true; }
    error = fmt::format("illegal base64 data at input byte {}", wrongByte(in.str()));
    return false;
  }

  bool decodeInteger(const Schema& type, const Value& in, const Place& at, Value& out) {
    if (!in.isInt()) {
      return wrongType(type, in, at, in.isNumber() ? " " + json::print(in) : std::string{});
    }
    const std::int64_t v = *in.integer();
    if (type.go_name == "int32" &&
        (v > std::numeric_limits<std::int32_t>::max() || v < std::numeric_limits<std::int32_t>::min())) {
      return wrongType(type, in, at, " " + json::print(in));
    }
    out = in;
    return true;
  }

  bool decodeQuantity(const Value& in, Value& out) {
    if (in.isNull()) {
      out = Value{"0"};
      return true;
    }
    const auto text =
        in.isString() ? kapi::canonicalQuantity(in.str()) : kapi::canonicalQuantity(json::print(in));
    if (!text) {
      error = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
      return false;
    }
    out = Value{*text};
    return true;
  }

  bool badTime(const Value& in, std::string_view layout) {
    error = in.isString()
                ? fmt::format("parsing time {} as {}: cannot parse {} as \"2006\"", json::print(in), layout,
                              json::print(in))
                : fmt::format("json: cannot unmarshal {} into Go value of type string", jsonKind(in));
    return false;
  }

  bool decodeTime(const Value& in, Value& out) {
    const auto at = kapi::parseTime(in.str());
    if (!at) { return badTime(in, "\"2006-01-02T15:04:05Z07:00\""); }
    out = Value{kapi::timeText(*at)};
    return true;
  }

  bool decodeMicroTime(const Value& in, Value& out) {
    constexpr const char* kLayout = "\"2006-01-02T15:04:05.000000Z07:00\"";
    constexpr std::size_t kSeconds = 19;  // what stands before the fraction
    const auto at = kapi::parseTime(in.str());
    if (!at) { return badTime(in, kLayout); }
    if (in.str().find('.') == std::string_view::npos) {
      error = fmt::format("parsing time {} as {}: cannot parse {} as \".000000\"", json::print(in), kLayout,
                          json::print(Value{in.str().substr(std::min(kSeconds, in.str().size()))}));
      return false;
    }
    out = Value{kapi::microTimeText(*at)};
    return true;
  }

  bool decodeList(const Schema& type, const Value& in, const Value& known, const Place& at, Value& out) {
    if (!in.isArray()) { return wrongType(type, in, at, {}); }
    json::Array items;
    items.reserve(in.items().size());
    for (std::size_t i = 0; i < in.items().size(); ++i) {
      const Place here{&at, {}, static_cast<long>(i), false, nullptr};
      items.emplace_back();
      if (in.items()[i].isNull()) {
        items.back() = zero(type.element.get());
      } else if (!decode(type.element.get(), in.items()[i], known.at(i), here, items.back())) {
        return false;
      }
    }
    out = Value{std::move(items)};
    return true;
  }

  bool decodeMap(const Schema& type, const Value& in, const Value& known, const Place& at, Value& out) {
    if (!in.isObject()) { return wrongType(type, in, at, {}); }
    json::Object made;
    made.reserve(in.members().size());
    for (const auto& [name, value] : in.members()) {
      const Place here{&at, name, -1, false, nullptr};
      Value item;
      if (value.isNull()) {
        item = zero(type.element.get());
      } else if (!decode(type.element.get(), value, known[name], here, item)) {
        return false;
      }
      made.append(name, std::move(item));
    }
    out = Value{std::move(made)};
    return true;
  }

  bool decodeStruct(const Schema& type, const Value& in, const Value& known, const Place& at, Value& out) {
    if (!in.isObject() && !in.isNull()) { return wrongType(type, in, at, {}); }
    json::Object made;
    made.reserve(in.members().size());
    for (const auto& [name, value] : in.members()) {
      const Place here{&at, name, -1, true, &type};
      const Field* field = type.field(name);
      if (field == nullptr) {
        unknown.push_back(jsonPath(&here));
        continue;
      }
      if (value.isNull()) { continue; }
      Value item;
      if (!decode(field->schema.get(), value, known[name], here, item)) { return false; }
      if (!field->pointer && !field->always && isZero(field->schema.get(), item)) { continue; }
      made.append(name, std::move(item));
    }
    addAlways(type, made);
    out = Value{std::move(made)};
    return true;
  }

  /// Structs and times that Go writes even when nothing was given, and fields without omitempty.
  static void addAlways(const Schema& type, json::Object& made) {
    for (const Field& field : type.fields) {
      const Type t = field.schema->type;
      const bool struct_or_time = t == Type::Object || t == Type::Time || t == Type::MicroTime;
      if (!field.always && (field.pointer || !struct_or_time)) { continue; }
      if (made.find(field.name) == nullptr) {
        made.append(field.name, field.pointer ? Value{} : zero(field.schema.get()));
      }
    }
  }

  static Value zero(const Schema* type) {
    if (type == nullptr) { return {}; }
    switch (type->type) {
      case Type::String: return Value{""};
      case Type::Integer: return Value{0};
      case Type::Boolean: return Value{false};
      case Type::IntOrString: return Value{0};
      case Type::Quantity: return Value{"0"};
      case Type::Object: {
        json::Object made;
        addAlways(*type, made);
        return Value{std::move(made)};
      }
      default: return {};
    }
  }

  static bool isZero(const Schema* type, const Value& v) {
    if (type == nullptr) { return v.isNull(); }
    switch (type->type) {
      case Type::String: return v.str().empty();
      case Type::Integer: return v.intOr(1) == 0;
      case Type::Boolean: return !v.boolOr(true);
      case Type::List: return v.items().empty();
      case Type::Map: return v.members().empty();
      default: return false;
    }
  }
};

}  // namespace

tl::expected<Decoded, std::string> goDecode(const Schema& type, const json::Value& in,
                                            const json::Value& known) {
  Decoder decoder;
  Decoded out;
  if (!decoder.decode(&type, in, known, Place{}, out.object)) {
    return tl::unexpected<std::string>{decoder.error};
  }
  out.unknown = std::move(decoder.unknown);
  return out;
}

}  // namespace gs::apiserver
