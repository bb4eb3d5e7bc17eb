#include "test/filters/shrink.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"

namespace gs::filters {
namespace {

/// What names an object or holds it in its place; and a node is Ready, which kube-scheduler does not look at.
bool isKept(std::string_view member) {
  constexpr std::array<std::string_view, 11> kKept{"apiVersion", "kind",       "metadata", "name",
                                                   "namespace",  "uid",        "spec",     "nodeName",
                                                   "conditions", "containers", "pod"};
  return std::find(kKept.begin(), kKept.end(), member) != kKept.end();
}

class Shrinking {
 public:
  Shrinking(json::Value drawn, const std::function<bool(const json::Value&)>& differs)
      : root_{std::move(drawn)}, differs_{differs} {}

  json::Value run() {
    constexpr int kPasses = 4;
    bool smaller = true;
    for (int pass = 0; pass < kPasses && smaller; ++pass) {
      smaller = leaveNodesOut();
      smaller = below(root_, true) || smaller;
    }
    return std::move(root_);
  }

 private:
  bool leaveNodesOut() {
    bool smaller = false;
    for (std::size_t n = root_["nodes"].items().size(); n-- > 0;) {
      json::Value without = root_;
      json::Array& nodes = without.child("nodes").array();
      const std::string name{nodes[n]["metadata"]["name"].str()};
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(n));
      std::erase_if(without.child("pods").array(),
                    [&](const json::Value& pod) { return pod["spec"]["nodeName"].str() == name; });
      if (differs_(without)) {
        root_ = std::move(without);
        smaller = true;
      }
    }
    return smaller;
  }

  /// Whatever is in `at`, the whole before its parts.
  bool below(json::Value& at, bool is_root) {
    if (at.isArray()) { return belowList(at); }
    return at.isObject() && belowMembers(at, is_root);
  }

  bool belowList(json::Value& at) {
    bool smaller = false;
    for (std::size_t n = at.items().size(); n-- > 0;) {
      json::Value without = at;
      without.array().erase(without.array().begin() + static_cast<std::ptrdiff_t>(n));
      smaller = goesOnAs(at, std::move(without)) || smaller;
    }
    for (std::size_t n = 0; n < at.items().size(); ++n) { smaller = below(at.array()[n], false) || smaller; }
    return smaller;
  }

  bool belowMembers(json::Value& at, bool is_root) {
    bool smaller = false;
    std::vector<std::string> keys;
    for (const auto& [key, value] : at.members()) { keys.push_back(key); }
    for (const std::string& key : keys) {
      if (isKept(key) || (is_root && key == "nodes")) { continue; }
      json::Value without = at;
      without.erase(key);
      smaller = goesOnAs(at, std::move(without)) || smaller;
    }
    for (const std::string& key : keys) {
      if (at.find(key) == nullptr || key == "conditions") { continue; }
      json::Value& member = at.child(key);
      if (is_root && key == "nodes") {
        for (std::size_t n = 0; n < member.items().size(); ++n) {
          smaller = below(member.array()[n], false) || smaller;
        }
      } else {
        smaller = below(member, false) || smaller;
      }
    }
    return smaller;
  }

  /// `at` is a part of the whole.
  bool goesOnAs(json::Value& at, json::Value other) {
    std::swap(at, other);
    if (differs_(root_)) { return true; }
    std::swap(at, other);
    return false;
  }

  json::Value root_;
  const std::function<bool(const json::Value&)>& differs_;
};

bool isPlain(std::string_view text) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
  constexpr std::array<std::string_view, 9> kWords{"true", "false", "null", "yes", "no",
                                                   "on",   "off",   "y",    "n"};
  const std::string lower = inLowerCase(text);
  return !text.empty() && kFirst.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kRest) == std::string_view::npos &&
         std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

std::string scalar(const json::Value& value) {
  if (value.isString() && isPlain(value.str())) { return std::string{value.str()}; }
  return json::print(value);  // {} and [] too
}

bool isInline(const json::Value& value) {
  return value.isArray() ? value.items().empty() : !value.isObject() || value.members().empty();
}

/// Lines of one value; the first begins where it stands already.
void addYaml(std::string& out, const json::Value& value, std::size_t indent) {
  const std::string space(indent, ' ');
  bool first = true;
  const auto begin = [&] {
    if (!std::exchange(first, false)) { out += space; }
  };
  for (const json::Value& one : value.items()) {
    begin();
    out += "- ";
    if (isInline(one)) {
      out += scalar(one) + "\n";
    } else {
      addYaml(out, one, indent + 2);
    }
  }
  for (const auto& [key, one] : value.members()) {
    begin();
    out += (isPlain(key) ? key : json::print(key)) + ":";
    if (isInline(one)) {
      out += " " + scalar(one) + "\n";
    } else {
      out += "\n" + std::string(indent + 2, ' ');
      addYaml(out, one, indent + 2);
    }
  }
}

}  // namespace

json::Value shrunk(json::Value drawn, const std::function<bool(const json::Value&)>& differs) {
  return Shrinking{std::move(drawn), differs}.run();
}

std::string podAsYaml(const json::Value& drawn) {
  std::string out;
  addYaml(out, drawn["pod"], 0);
  return out;
}

std::string clusterAsYaml(const json::Value& drawn) {
  std::string out;
  for (const auto& [key, objects] : drawn.members()) {
    for (const json::Value& one : objects.items()) {
      out += "---\n";
      addYaml(out, one, 0);
    }
  }
  return out;
}

}  // namespace gs::filters
