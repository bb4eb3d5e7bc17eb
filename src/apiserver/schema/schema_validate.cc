#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "apiserver/schema/crd_schema.h"
#include "base/utf8.h"
#include "kapi/time.h"
#include "pattern/pattern.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Type = Schema::Type;

std::string typeName(const Value& v) {
  if (v.isNull()) { return "null"; }
  if (v.isString()) { return "string"; }
  if (v.isBool()) { return "boolean"; }
  if (v.isArray()) { return "array"; }
  if (v.isObject()) { return "object"; }
  return v.integer() ? "integer" : "number";
}

/// A limit as Go's %v shows it next to an integer or a number.
std::string shownLimit(double limit, const Value& beside) {
  if (beside.integer() || limit == std::floor(limit)) { return fmt::format("{}", std::trunc(limit)); }
  return fmt::format("{}", limit);
}

bool fitsType(const Schema& schema, const Value& v) {
  switch (schema.type) {
    case Type::Any: return true;
    case Type::Object:
    case Type::Map: return v.isObject();
    case Type::List: return v.isArray();
    case Type::String: return v.isString();
    case Type::Boolean: return v.isBool();
    case Type::Integer: return v.integer().has_value();
    case Type::Number: return v.isNumber();
    case Type::IntOrString: return v.isString() || v.integer();
    default: return true;
  }
}

/// Where a value is, as a chain on the stack; made into text only when something is wrong.
struct Spot {
  const Spot* up = nullptr;
  std::string_view name;  // of a member
  long index = -1;        // of an item
  bool is_new = false;    // a member that the old object does not have

  /// The path from the root; `shown`: from the nearest new member,
  /// as the real server has it inside its messages.
  [[nodiscard]] std::string text(bool shown) const {
    if (up == nullptr) { return {}; }
    const std::string head = shown && is_new ? std::string{} : up->text(shown);
    if (index >= 0) { return head + fmt::format("[{}]", index); }
    return head.empty() ? std::string{name} : head + "." + std::string{name};
  }
};

class Validator {
 public:
  FieldErrors errors;

  void check(const Schema& schema, const Value& v, const Value& old, const Spot& at) {
    if (!old.isNull() && v == old) { return; }
    if (v.isNull() && schema.nullable) { return; }
    if (!fitsType(schema, v)) {
      wrongType(schema, v, at);
      return;
    }
    if (schema.limits != nullptr) { checkLimits(*schema.limits, v, old, at); }
    if (v.isArray()) { checkItems(schema, v, old, at); }
    if (v.isObject()) { checkMembers(schema, v, old, at); }
  }

  bool valid(const Schema& schema, const Value& v) {
    Validator inner;
    inner.check(schema, v, {}, Spot{});
    return inner.errors.empty();
  }

 private:
  void typeInvalid(const Spot& at, const std::string& type, const std::string& value) {
    errors.push_back({at.text(false), "TypeInvalid",
                      fmt::format("Invalid value: {}: {} in body must be of type {}: {}", value,
                                  at.text(true), type, value)});
  }

  void wrongType(const Schema& schema, const Value& v, const Spot& at) {
    const std::string type = schema.type == Type::IntOrString                          ? "integer,string"
                             : schema.type == Type::Map || schema.type == Type::Object ? "object"
                                                                                       : schema.go_name;
    typeInvalid(at, type, "\"" + typeName(v) + "\"");
  }

  void outside(const Value& v, const Spot& at, const std::string& rule) {
    errors.push_back(fieldInvalid(at.text(false), v, fmt::format("{} in body {}", at.text(true), rule)));
  }

  void checkLimits(const Limits& l, const Value& v, const Value& old, const Spot& at) {
    if (v.isString()) { checkText(l, v, at); }
    if (v.isNumber()) { checkNumber(l, v, at); }
    if (v.isArray()) { checkSize(l.min_items, l.max_items, v.items().size(), "items", at); }
    if (v.isObject()) {
      checkSize(l.min_properties, l.max_properties, v.members().size(), "properties", at);
      for (const std::string& name : l.required) {
        if (v.find(name) == nullptr) { errors.push_back(fieldRequired(Spot{&at, name}.text(false))); }
      }
    }
    if (!l.one_of_values.empty() &&
        std::find(l.one_of_values.begin(), l.one_of_values.end(), v) == l.one_of_values.end()) {
      std::vector<std::string> names;
      for (const Value& e : l.one_of_values) {
        names.emplace_back(e.isString() ? std::string{e.str()} : json::print(e));
      }
      errors.push_back(fieldNotSupported(at.text(false), v, names));
    }
    checkCombinations(l, v, old, at);
  }

  void checkText(const Limits& l, const Value& v, const Spot& at) {
    const auto length = static_cast<std::int64_t>(codePoints(v.str()));
    if (l.min_length && length < *l.min_length) {
      outside(v, at, fmt::format("should be at least {} chars long", *l.min_length));
    }
    if (l.max_length && length > *l.max_length) {
      errors.push_back(
          {at.text(false), "TooLong", fmt::format("Too long: may not be more than {} bytes", *l.max_length)});
    }
    if (l.compiled && !l.compiled->matches(v.str())) {
      outside(v, at, fmt::format("should match '{}'", l.pattern));
    }
    if (l.format == "date-time" && !kapi::parseTime(v.str())) {
      typeInvalid(at, "date-time", goQuote(v.str()));
    }
  }

  void checkNumber(const Limits& l, const Value& v, const Spot& at) {
    const double n = *v.number();
    if (l.minimum && (n < *l.minimum || (l.exclusive_minimum && n <= *l.minimum))) {
      outside(v, at,
              fmt::format("should be greater than {}{}", l.exclusive_minimum ? "" : "or equal to ",
                          shownLimit(*l.minimum, v)));
    }
    if (l.maximum && (n > *l.maximum || (l.exclusive_maximum && n >= *l.maximum))) {
      outside(v, at,
              fmt::format("should be less than {}{}", l.exclusive_maximum ? "" : "or equal to ",
                          shownLimit(*l.maximum, v)));
    }
    if (l.multiple_of && *l.multiple_of > 0) {
      const double ratio = n / *l.multiple_of;
      if (ratio != std::floor(ratio)) {
        outside(v, at, fmt::format("should be a multiple of {}", shownLimit(*l.multiple_of, v)));
      }
    }
  }

  void checkSize(const std::optional<std::int64_t>& min, const std::optional<std::int64_t>& max,
                 std::size_t size, std::string_view what, const Spot& at) {
    const auto n = static_cast<std::int64_t>(size);
    if (min && n < *min) { outside(Value{n}, at, fmt::format("should have at least {} {}", *min, what)); }
    if (max && n > *max) {
      errors.push_back(
          {at.text(false), "TooMany", fmt::format("Too many: {}: must have at most {} items", n, *max)});
    }
  }

  void checkCombinations(const Limits& l, const Value& v, const Value& old, const Spot& at) {
    for (const SchemaPtr& s : l.all_of) { check(*s, v, old, at); }
    const auto count = [&](const std::vector<SchemaPtr>& all) {
      return std::count_if(all.begin(), all.end(), [&](const SchemaPtr& s) { return valid(*s, v); });
    };
    const auto bad = [&](std::string_view rule) {
      errors.push_back(
          {at.text(false), "Invalid", fmt::format("Invalid value: \"{}\": {}", at.text(true), rule)});
    };
    if (!l.any_of.empty() && count(l.any_of) == 0) { bad("must validate at least one schema (anyOf)"); }
    if (!l.one_of.empty()) {
      const auto n = count(l.one_of);
      if (n == 0) { bad("must validate one and only one schema (oneOf). Found none valid"); }
      if (n > 1) {
        bad(fmt::format("must validate one and only one schema (oneOf). Found {} valid alternatives", n));
      }
    }
    if (l.none_of != nullptr && valid(*l.none_of, v)) { bad("must not validate the schema (not)"); }
  }

  void checkItems(const Schema& schema, const Value& v, const Value& old, const Spot& at) {
    for (std::size_t i = 0; schema.element != nullptr && i < v.items().size(); ++i) {
      check(*schema.element, v.items()[i], old.at(i), Spot{&at, {}, static_cast<long>(i), false});
    }
    if (schema.list != ListKind::Atomic) { checkUnique(schema, v, at); }
  }

  void checkUnique(const Schema& schema, const Value& v, const Spot& at) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < v.items().size(); ++i) {
      Value key = v.items()[i];
      if (schema.list == ListKind::Map) {
        key = json::Object{};
        for (const std::string& name : schema.keys) {
          if (const Value* part = v.items()[i].find(name)) { key.set(name, *part); }
        }
      }
      std::string text = (schema.list == ListKind::Map ? "map[string]interface {}" : "") + json::print(key);
      if (seen.contains(text)) {
        errors.push_back(fieldDuplicate(Spot{&at, {}, static_cast<long>(i), false}.text(false), text));
      }
      seen.insert(std::move(text));
    }
  }

  void checkMembers(const Schema& schema, const Value& v, const Value& old, const Spot& at) {
    const bool root = at.up == nullptr;
    for (const auto& [name, member] : v.members()) {
      const Schema* type = schema.child(name);
      if (type == nullptr || (root && (name == "metadata" || name == "apiVersion" || name == "kind"))) {
        continue;
      }
      const bool is_new = !old.isNull() && old.find(name) == nullptr;
      check(*type, member, old[name], Spot{&at, name, -1, is_new});
    }
  }
};

}  // namespace

FieldErrors validateSchema(const Schema& schema, const json::Value& object, const json::Value& old) {
  Validator validator;
  validator.check(schema, object, old, Spot{});
  return std::move(validator.errors);
}

}  // namespace gs::apiserver
