#include "test/conformance/normal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace gs::conformance {
namespace {

using json::Value;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// 'x' stands for a hexadecimal digit, '9' for a digit, all else for itself.
bool fits(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) { return false; }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[i];
    const bool hex = isDigit(c) || (c >= 'a' && c <= 'f');
    if (shape[i] == 'x' ? !hex : shape[i] == '9' ? !isDigit(c) : c != shape[i]) { return false; }
  }
  return true;
}

constexpr std::string_view kUid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view kPointer = "(*bool)(0x";  // as Go prints one
constexpr std::string_view kTime = "9999-99-99T99:99:99";

/// Bytes of a time at the start of `text`; 0: there is none.
std::size_t timeLength(std::string_view text) {
  if (!fits(text, kTime)) { return 0; }
  std::size_t end = kTime.size();
  if (end < text.size() && text[end] == '.') {
    ++end;
    while (end < text.size() && isDigit(text[end])) { ++end; }
  }
  return end < text.size() && text[end] == 'Z' ? end + 1 : 0;
}

/// Digits after any of these words are a revision or a count of the server.
std::string withoutNumbers(std::string text) {
  static constexpr std::array kWords{"in record (",
                                     "ResourceVersion in object meta: ", "ResourceVersion in precondition: ",
                                     "current: ", "too old resource version: 1 ("};
  for (const std::string_view word : kWords) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const auto begin = at + word.size();
      auto end = begin;
      while (end < text.size() && isDigit(text[end])) { ++end; }
      if (end > begin) { text.replace(begin, end - begin, "<n>"); }
    }
  }
  for (auto at = text.find(kPointer); at != std::string::npos; at = text.find(kPointer, at + 1)) {
    const auto end = text.find(')', at + kPointer.size());
    if (end != std::string::npos) { text.replace(at + kPointer.size(), end - at - kPointer.size(), "0"); }
  }
  return text;
}

/// Cuts from `from` to the last `to` after it, and puts `mark` there.
std::string cut(std::string text, std::string_view from, std::string_view to, std::string_view mark) {
  const auto begin = text.find(from);
  const auto end = begin == std::string::npos ? begin : text.rfind(to);
  if (end == std::string::npos || end < begin) { return text; }
  return text.replace(begin, end + to.size() - begin, mark);
}

std::string withoutObjects(std::string text) {
  text = cut(std::move(text), "patch: Invalid value: \"{", "}\":", "patch: Invalid value: <object>:");
  text = cut(std::move(text), "Invalid value: \"{", "}\":", "Invalid value: <object>:");
  text = cut(std::move(text), "Object 'Kind' is missing in '{", "}'", "Object 'Kind' is missing in <object>");
  // a Go value with its types, or the difference of two, to the end
  for (const std::string_view mark : {"core.PodSpec{", "core.PersistentVolumeClaimSpec{",
                                      "core.PersistentVolumeSource{", "[]apiextensions."}) {
    text.resize(std::min(text.find(mark), text.size()));
  }
  while (text.ends_with(' ') || text.ends_with('\xa0') || text.ends_with('\xc2') || text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

/// "3 (2d ago)" -> "3 (<age> ago)": how long ago a container was restarted last.
void maskRestart(Value& cell) {
  const std::string text{cell.str()};
  const auto open = text.find(" (");
  if (open != std::string::npos && text.ends_with(" ago)")) { cell = text.substr(0, open) + " (<age> ago)"; }
}

/// Ages stand in the columns of these names, and beside restarts.
void maskAges(json::Object& table, const Value& columns) {
  static constexpr std::array kAges{"Age", "Last Seen", "First Seen", "TimeAdded"};
  std::vector<bool> ages;
  for (const Value& column : columns.items()) {
    ages.push_back(std::find(kAges.begin(), kAges.end(), column["name"].str()) != kAges.end());
  }
  Value* rows = table.find("rows");
  if (rows == nullptr || !rows->isArray()) { return; }
  for (Value& row : rows->array()) {
    if (!row["cells"].isArray()) { continue; }
    auto& cells = row.child("cells").array();
    for (std::size_t i = 0; i < cells.size() && i < ages.size(); ++i) {
      if (ages[i] && !cells[i].isNull() && cells[i].str() != "<unknown>") { cells[i] = "<age>"; }
      maskRestart(cells[i]);
    }
  }
}

/// The real server finds some things twice, and others in any order.
void sortCauses(json::Object& status) {
  Value& causes = status["details"].child("causes");
  std::map<std::string, Value> sorted;
  for (const Value& cause : causes.items()) {
    sorted.emplace(fmt::format("{}: {}", cause["field"].str(), cause["message"].str()), cause);
  }
  json::Array unique;
  std::string texts;
  for (const auto& [text, cause] : sorted) {
    unique.push_back(cause);
    texts += (texts.empty() ? "" : ", ") + text;
  }
  causes = std::move(unique);
  const std::string message{status["message"].str()};
  const auto list = message.find(" is invalid: [");
  if (sorted.size() > 1 && list != std::string::npos) {
    status["message"] = message.substr(0, list + 14) + texts + "]";
  }
}

}  // namespace

json::Value Normal::value(const json::Value& answer, const std::string& generated) {
  generated_ = generated;
  return walk(answer, {});
}

json::Value Normal::walk(const json::Value& v, const std::string& key) {
  if (v.isObject()) { return object(v); }
  if (v.isArray()) {
    json::Array out;
    for (const Value& item : v.items()) { out.push_back(walk(item, {})); }
    return out;
  }
  if (!v.isString()) { return v; }
  const std::string s{v.str()};
  const bool revision = key == "resourceVersion" && !s.empty() && std::all_of(s.begin(), s.end(), isDigit);
  if (!revision) { return text(s); }
  return revisions_.emplace(s, fmt::format("r{}", revisions_.size() + 1)).first->second;
}

json::Value Normal::object(const json::Value& v) {
  std::vector<const json::Member*> members;
  for (const auto& member : v.members()) { members.push_back(&member); }
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  const bool is_table = v["kind"].str() == "Table";
  const bool is_list = v["items"].isArray() || is_table;
  json::Object out;
  for (const auto* member : members) {
    const std::string& name = member->first;
    if (name == "managedFields" ||
        (name == "description" && !v["jsonPath"].isString() && v.find("priority") != nullptr)) {
      continue;
    }
    if (name == "storageVersionHash") { continue; }
    if (name == "serviceAccount" || name == "serviceAccountName") { continue; }
    if (name == "metadata" && is_list) {
      Value meta = member->second;
      meta.erase("resourceVersion");
      if (meta.find("continue") != nullptr) { meta.set("continue", "<continue>"); }
      out.append(name, std::move(meta));
      continue;
    }
    out.append(name, walk(member->second, name));
  }
  if (is_table) {
    if (v["columnDefinitions"].isArray()) { columns_ = v["columnDefinitions"]; }  // a watch names them once
    maskAges(out, columns_);
  }
  if (v["details"]["causes"].isArray()) { sortCauses(out); }
  if (v["kind"].str() == "APIResourceList" && v["resources"].isArray()) {
    auto& list = out["resources"].array();
    std::sort(list.begin(), list.end(),
              [](const Value& a, const Value& b) { return a["name"].str() < b["name"].str(); });
  }
  return out;
}

std::string Normal::text(const std::string& s) {
  std::string out;
  for (std::size_t at = 0; at < s.size();) {
    const std::string_view rest = std::string_view{s}.substr(at);
    if (fits(rest, kUid)) {
      out += uids_.emplace(rest.substr(0, kUid.size()), fmt::format("u{}", uids_.size() + 1)).first->second;
      at += kUid.size();
    } else if (const auto length = timeLength(rest); length > 0) {
      out += "<time>";
      at += length;
    } else if (!generated_.empty() && rest.starts_with(generated_) && rest.size() >= generated_.size() + 5 &&
               rest.substr(generated_.size(), 5).find_first_not_of("bcdfghjklmnpqrstvwxz2456789") ==
                   std::string_view::npos) {
      out += generated_ + "<random>";
      at += generated_.size() + 5;
    } else {
      out += s[at++];
    }
  }
  return withoutNumbers(withoutObjects(std::move(out)));
}

std::string difference(const json::Value& a, const json::Value& b) {
  if (a == b) { return {}; }
  if (a.isObject() && b.isObject()) {
    for (const Value* one : {&a, &b}) {
      for (const auto& [name, member] : one->members()) {
        const std::string inner = difference(a[name], b[name]);
        if (!inner.empty()) {
          return name + (inner.starts_with('[') ? "" : inner.starts_with(": ") ? "" : ".") + inner;
        }
        if (a.find(name) == nullptr || b.find(name) == nullptr) {
          return fmt::format("{}: {} | {}", name, a.find(name) == nullptr ? "absent" : "null",
                             b.find(name) == nullptr ? "absent" : "null");
        }
      }
    }
  }
  if (a.isArray() && b.isArray() && a.items().size() == b.items().size()) {
    for (std::size_t i = 0; i < a.items().size(); ++i) {
      const std::string inner = difference(a.at(i), b.at(i));
      if (!inner.empty()) {
        return fmt::format("[{}]{}{}", i, inner.starts_with(": ") || inner.starts_with('[') ? "" : ".",
                           inner);
      }
    }
  }
  return fmt::format(": {}\n    | {}", json::print(a), json::print(b));
}

}  // namespace gs::conformance
