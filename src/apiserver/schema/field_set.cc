#include "apiserver/schema/field_set.h"

#include <algorithm>

#include "apiserver/meta/answer.h"

namespace gs::apiserver {
namespace {

using json::Value;

bool isAtomicMap(const Schema* schema) { return schema != nullptr && schema->atomic_map; }

void collect(const Value& v, const Schema* schema, FieldSet& out) {
  if (v.isObject() && !v.members().empty() && !isAtomicMap(schema)) {
    for (const auto& [name, member] : v.members()) {
      collect(member, childOf(schema, name), out.children[fieldStep(name)]);
    }
    return;
  }
  if (v.isArray() && !v.items().empty() && listKindOf(schema) != ListKind::Atomic) {
    for (const Value& item : v.items()) {
      FieldSet& at = out.children[itemStep(*schema, item)];
      at.member = true;
      if (schema->list == ListKind::Map) { collect(item, schema->element.get(), at); }
    }
    return;
  }
  out.member = true;
}

void compare(const Value& old, const Value& now, const Schema* schema, FieldSet& changed, FieldSet& removed);

/// Keeps trees without empty branches.
template <class Fill>
void branch(FieldSet& a, FieldSet& b, const std::string& step, Fill fill) {
  FieldSet sub_a;
  FieldSet sub_b;
  fill(sub_a, sub_b);
  if (!sub_a.empty()) { a.children[step].unite(sub_a); }
  if (!sub_b.empty()) { b.children[step].unite(sub_b); }
}

void compareMembers(const Value& old, const Value& now, const Schema* schema, FieldSet& changed,
                    FieldSet& removed) {
  // No structured bindings here: clang 14's lambdas cannot capture them.
  for (const auto& entry : now.members()) {
    const auto& name = entry.first;
    const Value& member = entry.second;
    const Value* before = old.find(name);
    if (before != nullptr && *before == member) { continue; }
    branch(changed, removed, fieldStep(name), [&](FieldSet& c, FieldSet& r) {
      if (before == nullptr) {
        collect(member, childOf(schema, name), c);
      } else {
        compare(*before, member, childOf(schema, name), c, r);
      }
    });
  }
  for (const auto& entry : old.members()) {
    const auto& name = entry.first;
    const Value& member = entry.second;
    if (now.find(name) != nullptr) { continue; }
    branch(changed, removed, fieldStep(name),
           [&](FieldSet&, FieldSet& r) { collect(member, childOf(schema, name), r); });
  }
}

void compareItems(const Value& old, const Value& now, const Schema& schema, FieldSet& changed,
                  FieldSet& removed) {
  std::map<std::string, const Value*> before;
  for (const Value& item : old.items()) { before.emplace(itemStep(schema, item), &item); }
  for (const Value& item : now.items()) {
    const std::string step = itemStep(schema, item);
    const auto known = before.find(step);
    branch(changed, removed, step, [&](FieldSet& c, FieldSet& r) {
      if (known == before.end()) {
        c.member = true;
        if (schema.list == ListKind::Map) { collect(item, schema.element.get(), c); }
      } else if (schema.list == ListKind::Map) {
        compare(*known->second, item, schema.element.get(), c, r);
      }
    });
    if (known != before.end()) { before.erase(known); }
  }
  for (const auto& entry : before) {
    branch(changed, removed, entry.first, [&](FieldSet&, FieldSet& r) {
      r.member = true;
      if (schema.list == ListKind::Map) { collect(*entry.second, schema.element.get(), r); }
    });
  }
}

void compare(const Value& old, const Value& now, const Schema* schema, FieldSet& changed, FieldSet& removed) {
  if (old == now) { return; }
  if (old.isObject() && now.isObject() && !isAtomicMap(schema)) {
    compareMembers(old, now, schema, changed, removed);
  } else if (old.isArray() && now.isArray() && listKindOf(schema) != ListKind::Atomic) {
    compareItems(old, now, *schema, changed, removed);
  } else {
    collect(now, schema, changed);
  }
}

/// "k:{"name":"c"}" -> [name="c"], "f:spec" -> .spec, "v:"x"" -> [="x"]
std::string shown(const std::string& step) {
  if (step.starts_with("f:")) { return "." + step.substr(2); }
  if (step.starts_with("v:")) { return "[=" + step.substr(2) + "]"; }
  std::string out;
  const auto keys = json::parse(step.substr(2));
  if (!keys) { return "[" + step + "]"; }
  for (const auto& [name, value] : keys->members()) {
    out += (out.empty() ? "" : ",") + name + "=" + json::print(value);
  }
  return "[" + out + "]";
}

void listPaths(const FieldSet& set, const std::string& at, std::vector<std::string>& out) {
  if (set.member) { out.push_back(at); }
  for (const auto& [step, child] : set.children) { listPaths(child, at + shown(step), out); }
}

}  // namespace

void FieldSet::unite(const FieldSet& other) {
  member = member || other.member;
  for (const auto& [step, child] : other.children) { children[step].unite(child); }
}

void FieldSet::subtract(const FieldSet& other) {
  if (other.member) { member = false; }
  for (const auto& [step, child] : other.children) {
    const auto at = children.find(step);
    if (at == children.end()) { continue; }
    at->second.subtract(child);
    if (at->second.empty()) { children.erase(at); }
  }
}

FieldSet FieldSet::intersect(const FieldSet& other) const {
  FieldSet out;
  out.member = member && other.member;
  for (const auto& [step, child] : children) {
    const auto at = other.children.find(step);
    if (at == other.children.end()) { continue; }
    FieldSet both = child.intersect(at->second);
    if (!both.empty()) { out.children.emplace(step, std::move(both)); }
  }
  return out;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  listPaths(*this, "", out);
  return out;
}

std::string fieldStep(std::string_view name) { return "f:" + std::string{name}; }

std::string itemStep(const Schema& schema, const json::Value& item) {
  if (schema.list != ListKind::Map) { return "v:" + json::print(item); }
  Value keys = json::Object{};
  for (const std::string& name : schema.keys) {
    if (const Value* part = item.find(name)) {
      keys.set(name, *part);
    } else if (name == "protocol") {
      keys.set(name, "TCP");  // the one key that has a default
    }
  }
  return "k:" + json::print(keys);
}

FieldSet fieldsOf(const json::Value& v, const Schema* schema) {
  FieldSet out;
  collect(v, schema, out);
  return out;
}

FieldChanges compareFields(const json::Value& old, const json::Value& now, const Schema* schema) {
  FieldChanges out;
  compare(old, now, schema, out.changed, out.removed);
  return out;
}

json::Value toJson(const FieldSet& set) {
  json::Value out = json::Object{};
  if (set.member && !set.children.empty()) { out.set(".", json::Object{}); }
  for (const auto& [step, child] : set.children) { out.set(step, toJson(child)); }
  return out;
}

FieldSet fieldSetFrom(const json::Value& fields) {
  FieldSet out;
  out.member = fields.members().empty();
  for (const auto& [step, child] : fields.members()) {
    if (step == ".") {
      out.member = true;
    } else {
      out.children[step] = fieldSetFrom(child);
    }
  }
  return out;
}

}  // namespace gs::apiserver
