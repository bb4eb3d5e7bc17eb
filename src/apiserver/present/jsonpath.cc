#include "apiserver/present/jsonpath.h"

#include <charconv>

namespace gs::apiserver {
namespace {

/// A name up to '.' or '['; a backslash takes the next character as it is.
std::string takeName(std::string_view& text) {
  std::string out;
  while (!text.empty() && text.front() != '.' && text.front() != '[') {
    if (text.front() == '\\' && text.size() > 1) { text.remove_prefix(1); }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front()) {
    return std::nullopt;
  }
  return std::string{text.substr(1, text.size() - 2)};
}

/// Inside of [...]: what is up to the matching bracket, quotes respected.
std::optional<std::string_view> takeBracket(std::string_view& text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      quote = c == quote ? char{0} : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ']') {
      const std::string_view inside = text.substr(0, i);
      text.remove_prefix(i + 1);
      return inside;
    }
  }
  return std::nullopt;
}

std::string textOf(const json::Value& v) { return v.isString() ? std::string{v.str()} : json::print(v); }

}  // namespace

/// What stands between [ and ].
std::optional<JsonPath::Step> JsonPath::bracket(std::string_view inside) {
  Step step;
  if (inside == "*") {
    step.kind = Step::Kind::All;
    return step;
  }
  if (const auto name = unquoted(inside)) {
    step.name = *name;
    return step;
  }
  if (inside.starts_with("?(@.") && inside.ends_with(")")) {
    return filter(inside.substr(4, inside.size() - 5));
  }
  step.kind = Step::Kind::Index;
  const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
  if (error != std::errc{} || end != inside.data() + inside.size()) { return std::nullopt; }
  return step;
}

/// type=="Ready"
std::optional<JsonPath::Step> JsonPath::filter(std::string_view body) {
  Step step;
  step.kind = Step::Kind::Filter;
  const std::size_t op = std::min(body.find("=="), body.find("!="));
  if (op == std::string_view::npos) { return std::nullopt; }
  step.negated = body[op] == '!';
  std::string_view path = body.substr(0, op);
  std::string_view value = body.substr(op + 2);
  while (!value.empty() && value.front() == ' ') { value.remove_prefix(1); }
  while (!path.empty() && path.back() == ' ') { path.remove_suffix(1); }
  step.name = unquoted(value).value_or(std::string{value});
  while (!path.empty()) {
    step.filter_path.push_back(takeName(path));
    if (!path.empty()) { path.remove_prefix(1); }
  }
  return step;
}

std::optional<JsonPath> JsonPath::compile(std::string_view text) {
  JsonPath out;
  if (text.starts_with("{") && text.ends_with("}")) { text = text.substr(1, text.size() - 2); }
  if (text.starts_with("$")) { text.remove_prefix(1); }
  if (text == ".") { return out; }
  while (!text.empty()) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first == '.' && text.starts_with("[")) { continue; }
    std::optional<Step> step;
    if (first == '.') {
      step.emplace();
      step->name = takeName(text);
      if (step->name.empty()) { return std::nullopt; }
      if (step->name == "*") { step->kind = Step::Kind::All; }
    } else if (first == '[') {
      const auto inside = takeBracket(text);
      if (inside) { step = bracket(*inside); }
    }
    if (!step) { return std::nullopt; }
    out.steps_.push_back(*std::move(step));
  }
  return out;
}

bool JsonPath::passes(const Step& filter, const json::Value& item) {
  const json::Value* at = &item;
  for (const std::string& name : filter.filter_path) {
    at = at->find(name);
    if (at == nullptr) { return false; }
  }
  return (textOf(*at) == filter.name) != filter.negated;
}

void JsonPath::apply(const Step& step, const json::Value& at, std::vector<const json::Value*>& out) {
  switch (step.kind) {
    case Step::Kind::Member:
      if (const json::Value* member = at.find(step.name)) { out.push_back(member); }
      return;
    case Step::Kind::Index: {
      const auto size = static_cast<long>(at.items().size());
      const long i = step.index < 0 ? size + step.index : step.index;
      if (i >= 0 && i < size) { out.push_back(&at.items()[static_cast<std::size_t>(i)]); }
      return;
    }
    case Step::Kind::All:
      for (const json::Value& item : at.items()) { out.push_back(&item); }
      for (const auto& member : at.members()) { out.push_back(&member.second); }
      return;
    case Step::Kind::Filter:
      for (const json::Value& item : at.items()) {
        if (passes(step, item)) { out.push_back(&item); }
      }
      return;
  }
}

std::vector<const json::Value*> JsonPath::find(const json::Value& root) const {
  std::vector<const json::Value*> found{&root};
  for (const Step& step : steps_) {
    std::vector<const json::Value*> next;
    for (const json::Value* at : found) { apply(step, *at, next); }
    found = std::move(next);
  }
  return found;
}

}  // namespace gs::apiserver
