#include "apiserver/patch/apply.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

/// Takes out what belongs to nobody, and what the subresource does not write.
void strip(FieldSet& set, const std::string& subresource) {
  set.children.erase("f:apiVersion");
  set.children.erase("f:kind");
  set.children.erase(subresource == "status" ? "f:spec" : "f:status");
  const auto meta = set.children.find("f:metadata");
  if (meta == set.children.end()) { return; }
  for (const char* name :
       {"f:name", "f:namespace", "f:uid", "f:resourceVersion", "f:creationTimestamp", "f:selfLink",
        "f:generation", "f:managedFields", "f:deletionTimestamp", "f:deletionGracePeriodSeconds"}) {
    meta->second.children.erase(name);
  }
  meta->second.member = false;
  if (meta->second.empty()) { set.children.erase(meta); }
}

// ---- does the configuration fit the schema?

class ConfigCheck {
 public:
  std::string error;  // the first finding

  void check(const Value& v, const Schema* schema, const std::string& path, bool root) {
    if (!error.empty() || schema == nullptr) { return; }
    if (v.isObject()) { checkMembers(v, *schema, path, root); }
    if (v.isArray() && schema->type == Schema::Type::List) { checkItems(v, *schema, path); }
  }

 private:
  void checkMembers(const Value& v, const Schema& schema, const std::string& path, bool root) {
    if (schema.type != Schema::Type::Object && schema.type != Schema::Type::Map) {
      if (schema.type != Schema::Type::Any) {
        error = fmt::format("{}: expected {}, got {}", path, expected(schema), "&{map}");
      }
      return;
    }
    for (const auto& [name, member] : v.members()) {
      const Schema* type = schema.child(name);
      if (type == nullptr && schema.type == Schema::Type::Object && !schema.preserve_unknown && !root) {
        error = fmt::format("{}.{}: field not declared in schema", path, name);
        return;
      }
      if (type == nullptr && root && !schema.preserve_unknown) {
        error = fmt::format(".{}: field not declared in schema", name);
        return;
      }
      check(member, type, fmt::format("{}.{}", path, name), false);
    }
  }

  static std::string expected(const Schema& schema) {
    return schema.type == Schema::Type::List ? "list" : schema.go_name;
  }

  void checkItems(const Value& v, const Schema& schema, const std::string& path) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < v.items().size(); ++i) {
      const Value& item = v.items()[i];
      if (schema.list == ListKind::Map) {
        for (const std::string& key : schema.keys) {
          if (item.find(key) == nullptr && key != "protocol") {
            error = fmt::format(
                "{}: element {}: associative list with keys has an element that omits key field \"{}\" "
                "(and doesn't have default value)",
                path, i, key);
            return;
          }
        }
      }
      if (schema.list != ListKind::Atomic && !seen.insert(itemStep(schema, item)).second) {
        FieldSet one;
        one.children[itemStep(schema, item)].member = true;
        error = fmt::format("{}: duplicate entries for key {}", path, one.paths().front());
        return;
      }
      check(item, schema.element.get(), fmt::format("{}[{}]", path, i), false);
    }
  }
};

// ---- merging

void mergeInto(Value& live, const Value& config, const Schema* schema);

/// Items of the configuration in its order; live items that it does not name keep their place before what
/// follows them.
void mergeItems(Value& live, const Value& config, const Schema& schema) {
  std::map<std::string, const Value*> wanted;
  for (const Value& item : config.items()) { wanted.emplace(itemStep(schema, item), &item); }
  std::map<std::string, Value*> known;
  for (Value& item : live.array()) { known.emplace(itemStep(schema, item), &item); }
  const auto merged = [&](const Value& item) {
    const auto at = known.find(itemStep(schema, item));
    if (at == known.end()) { return item; }
    Value out = *at->second;
    mergeInto(out, item, schema.element.get());
    return out;
  };
  Array out;
  std::size_t l = 0;
  std::size_t r = 0;
  const Array& left = live.items();
  const Array& right = config.items();
  while (l < left.size() || r < right.size()) {
    if (l < left.size() && !wanted.contains(itemStep(schema, left[l]))) {
      out.push_back(left[l++]);
    } else if (r < right.size()) {
      if (l < left.size() && itemStep(schema, left[l]) == itemStep(schema, right[r])) { ++l; }
      out.push_back(merged(right[r++]));
    } else {
      ++l;  // came with the configuration's items already
    }
  }
  live = std::move(out);
}

void mergeInto(Value& live, const Value& config, const Schema* schema) {
  const bool granular = schema == nullptr || !schema->atomic_map;
  if (live.isObject() && config.isObject() && granular) {
    for (const auto& [name, member] : config.members()) {
      if (Value* at = live.object().find(name)) {
        mergeInto(*at, member, childOf(schema, name));
      } else {
        live.set(name, member);
      }
    }
  } else if (live.isArray() && config.isArray() && listKindOf(schema) != ListKind::Atomic) {
    mergeItems(live, config, *schema);
  } else {
    live = config;
  }
}

// ---- taking away

const FieldSet kNobody;

const FieldSet& under(const FieldSet& set, const std::string& step) {
  const auto at = set.children.find(step);
  return at == set.children.end() ? kNobody : at->second;
}

/// Removes from `v` what `last` names and `owned` does not. True: `v` became empty and nobody owns it.
bool takeAway(Value& v, const Schema* schema, const FieldSet& last, const FieldSet& owned) {
  if (v.isObject()) {
    std::vector<std::string> gone;
    for (auto& [name, member] : v.object()) {
      const std::string step = fieldStep(name);
      const FieldSet& before = under(last, step);
      if (before.empty()) { continue; }
      const FieldSet& now = under(owned, step);
      const bool whole = now.empty() && (before.member || before.children.empty() || !member.isObject());
      if (whole || takeAway(member, childOf(schema, name), before, now)) { gone.push_back(name); }
    }
    for (const std::string& name : gone) { v.erase(name); }
    return !gone.empty() && v.members().empty() && !owned.member;
  }
  if (v.isArray() && listKindOf(schema) != ListKind::Atomic) {
    const std::size_t size = v.items().size();
    std::erase_if(v.array(), [&](Value& item) {
      const std::string step = itemStep(*schema, item);
      const FieldSet& before = under(last, step);
      if (before.empty()) { return false; }
      const FieldSet& now = under(owned, step);
      if (now.empty()) { return true; }
      Value keep = item;
      takeAway(item, schema->element.get(), before, now);
      for (const std::string& key : schema->keys) {
        if (const Value* part = keep.find(key)) { item.set(key, *part); }
      }
      return false;
    });
    return v.items().size() < size && v.items().empty() && !owned.member;
  }
  return false;
}

// ---- conflicts

std::string shownManager(const Manager& m) {
  std::string out = goQuote(m.name);
  if (!m.subresource.empty()) { out += fmt::format(" with subresource {}", goQuote(m.subresource)); }
  if (!m.applies) { out += fmt::format(" using {}", m.api_version); }
  return out;
}

Refused conflicts(const std::map<std::string, std::vector<std::string>>& found) {
  Value causes = Array{};
  std::size_t count = 0;
  std::string list;
  for (const auto& [manager, paths] : found) {
    list += fmt::format("{}conflicts with {}:", list.empty() ? "" : "\n", manager);
    for (const std::string& path : paths) {
      ++count;
      list += "\n- " + path;
      causes.array().push_back(json::Object{
          {"reason", "FieldManagerConflict"}, {"message", "conflict with " + manager}, {"field", path}});
    }
  }
  ApiError error{409, "Conflict", {}, json::Object{}, {}, false};
  const auto& first = *found.begin();
  error.message = count == 1 ? fmt::format("Apply failed with 1 conflict: conflict with {}: {}", first.first,
                                           first.second.front())
                             : fmt::format("Apply failed with {} conflicts: {}", count, list);
  error.details.set("causes", std::move(causes));
  return Refused{std::move(error)};
}

FieldSet ownedByAll(const Owners& owners) {
  FieldSet all;
  for (const auto& entry : owners) { all.unite(entry.second); }
  return all;
}

void dropEmpty(Owners& owners) {
  std::erase_if(owners, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace

Answer<Applied> serverSideApply(const json::Value& live, const json::Value& config, const Schema& schema,
                                const Owners& owners, const Manager& manager, bool force) {
  ConfigCheck fits;
  fits.check(config, &schema, "", true);
  if (!fits.error.empty()) {
    return plainError(fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}",
                                  config["metadata"]["namespace"].str(), config["metadata"]["name"].str(),
                                  config["apiVersion"].str(), config["kind"].str(), fits.error));
  }
  Applied out{live, owners};
  const auto mine = out.owners.find(manager);
  FieldSet last = mine == out.owners.end() ? FieldSet{} : mine->second;
  FieldSet now = fieldsOf(config, &schema);
  strip(now, manager.subresource);
  out.owners[manager] = std::move(now);
  mergeInto(out.object, config, &schema);
  if (!last.empty()) { takeAway(out.object, &schema, last, ownedByAll(out.owners)); }

  FieldChanges changes = compareFields(live, out.object, &schema);
  strip(changes.changed, manager.subresource);
  std::map<std::string, std::vector<std::string>> found;
  for (auto& [other, set] : out.owners) {
    if (other == manager) { continue; }
    const FieldSet both = set.intersect(changes.changed);
    if (!both.empty() && !force) { found[shownManager(other)] = both.paths(); }
    set.subtract(both);
    set.subtract(changes.removed);
  }
  if (!found.empty()) { return conflicts(found); }
  dropEmpty(out.owners);
  return out;
}

bool trackUpdate(Owners& owners, const Manager& manager, const json::Value& old, const json::Value& now,
                 const Schema& schema) {
  FieldChanges changes = compareFields(old, now, &schema);
  strip(changes.changed, manager.subresource);
  strip(changes.removed, manager.subresource);
  if (changes.changed.empty() && changes.removed.empty()) { return false; }
  for (auto& entry : owners) {
    if (entry.first != manager) { entry.second.subtract(changes.changed); }
    entry.second.subtract(changes.removed);
  }
  owners[manager].unite(changes.changed);
  dropEmpty(owners);
  return true;
}

}  // namespace gs::apiserver
