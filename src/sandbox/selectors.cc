#include "sandbox/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gs::sandbox {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') { s.remove_prefix(1); }
  while (!s.empty() && s.back() == ' ') { s.remove_suffix(1); }
  return s;
}

/// At commas outside parentheses.
std::vector<std::string_view> splitTop(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') { ++depth; }
    if (i < text.size() && text[i] == ')') { --depth; }
    if (i < text.size() && (text[i] != ',' || depth > 0)) { continue; }
    parts.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

std::vector<std::string> values(std::string_view list) {
  std::vector<std::string> out;
  for (const auto part : splitTop(list)) { out.emplace_back(part); }
  return out;
}

std::vector<std::string> splitPath(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('.', at), path.size());
    out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool knownField(const std::string& resource, std::string_view field) {
  static constexpr std::array kPods{
      "spec.nodeName",    "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase",       "status.podIP",       "status.nominatedNodeName"};
  static constexpr std::array kEvents{"involvedObject.kind",
                                      "involvedObject.namespace",
                                      "involvedObject.name",
                                      "involvedObject.uid",
                                      "regarding.kind",
                                      "regarding.namespace",
                                      "regarding.name",
                                      "regarding.uid",
                                      "reason",
                                      "type",
                                      "reportingController"};
  const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), field) != list.end(); };
  if (field == "metadata.name" || field == "metadata.namespace") { return true; }
  if (resource == "/pods") { return in(kPods); }
  if (resource == "/nodes") { return field == "spec.unschedulable"; }
  if (resource == "/namespaces") { return field == "status.phase"; }
  if (resource == "/events" || resource == "events.k8s.io/events") { return in(kEvents); }
  return false;
}

std::string textOf(const json::Value& v) {
  return v.isString() ? std::string{v.str()} : v.isNull() ? std::string{} : json::print(v);
}

}  // namespace

Answer<Selector> Selector::labels(std::string_view text) {
  Selector s;
  if (trim(text).empty()) { return s; }
  for (const auto part : splitTop(text)) {
    const auto add = [&](std::string_view key, Op op, std::vector<std::string> list) {
      s.requirements_.push_back({{"metadata", "labels", std::string{trim(key)}}, op, std::move(list)});
    };
    const auto open = part.find('(');
    const auto ne = part.find("!=");
    const auto eq = part.find('=');
    if (part.empty() || (open != std::string_view::npos && part.back() != ')')) {
      return badRequest(fmt::format("unable to parse requirement: found '{}', expected: identifier", part));
    }
    if (open != std::string_view::npos) {
      const auto head = trim(part.substr(0, open));
      const auto list = part.substr(open + 1, part.size() - open - 2);
      const bool negated = head.size() > 6 && head.substr(head.size() - 6) == " notin";
      const bool positive = !negated && head.size() > 3 && head.substr(head.size() - 3) == " in";
      if (!negated && !positive) {
        return badRequest(fmt::format("unable to parse requirement: found '{}' expected: in, notin", head));
      }
      add(head.substr(0, head.size() - (negated ? 6 : 3)), negated ? Op::NotIn : Op::In, values(list));
    } else if (ne != std::string_view::npos) {
      add(part.substr(0, ne), Op::NotIn, {std::string{trim(part.substr(ne + 2))}});
    } else if (eq != std::string_view::npos) {
      const auto rest = part.substr(eq + 1);
      add(part.substr(0, eq), Op::In,
          {std::string{trim(!rest.empty() && rest.front() == '=' ? rest.substr(1) : rest)}});
    } else if (part.front() == '!') {
      add(part.substr(1), Op::Absent, {});
    } else if (const auto space = part.find(' '); space != std::string_view::npos) {
      return badRequest(
          fmt::format("unable to parse requirement: found '{}' expected: '('", trim(part.substr(space))));
    } else {
      add(part, Op::Exists, {});
    }
  }
  return s;
}

Answer<Selector> Selector::fields(std::string_view text, const std::string& resource) {
  Selector s;
  if (trim(text).empty()) { return s; }
  for (const auto part : splitTop(text)) {
    const auto ne = part.find("!=");
    const auto eq = part.find('=');
    if (eq == std::string_view::npos) {
      return badRequest(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    }
    const bool negated = ne != std::string_view::npos && ne + 1 == eq;
    const auto field = trim(part.substr(0, negated ? ne : eq));
    auto value = part.substr(eq + 1);
    if (!value.empty() && value.front() == '=') { value.remove_prefix(1); }
    if (!knownField(resource, field)) {
      return badRequest(fmt::format("field label not supported: {}", field));
    }
    s.requirements_.push_back({splitPath(field), negated ? Op::NotIn : Op::In, {std::string{trim(value)}}});
  }
  return s;
}

bool Selector::matches(const json::Value& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const json::Value* at = &object;
    for (const auto& step : r.path) { at = &(*at)[step]; }
    const bool label = r.path.size() > 2 && r.path[1] == "labels";
    const bool there = !at->isNull() || !label;
    const std::string text = textOf(*at);
    const bool listed = there && std::find(r.values.begin(), r.values.end(), text) != r.values.end();
    switch (r.op) {
      case Op::In: return listed;
      case Op::NotIn: return !listed;
      case Op::Exists: return there;
      case Op::Absent: return !there;
    }
    return false;
  });
}

}  // namespace gs::sandbox
