#include "test/conformance/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/base64.h"

namespace gs::conformance {
namespace {

using json::Value;

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

bool isNamePart(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

std::string contentType(std::string_view type) {
  if (type == "merge") { return "application/merge-patch+json"; }
  if (type == "strategic") { return "application/strategic-merge-patch+json"; }
  if (type == "json") { return "application/json-patch+json"; }
  if (type == "apply") { return "application/apply-patch+yaml"; }
  return type.empty() ? "application/json" : std::string{type};
}

Result<std::string> bodyOf(const Value& line, const std::string& where) {
  if (line.find("text") != nullptr) { return std::string{line["text"].str()}; }
  if (line.find("base64") == nullptr) { return line["body"].isNull() ? "" : json::print(line["body"]); }
  auto bytes = decodeBase64(line["base64"].str());
  if (!bytes) { return fail(Code::Invalid, fmt::format("{}: 'base64' is none", where)); }
  return *std::move(bytes);
}

Result<Step> readStep(const Value& line, const std::string& where) {
  static const std::map<std::string_view, Compare> kCompare{
      {"", Compare::All}, {"reason", Compare::Reason}, {"kind", Compare::Kind}, {"code", Compare::Code}};
  for (const auto& member : line.members()) {
    static constexpr const char* kKnown[] = {"do",     "type",    "body", "text",  "base64", "table",
                                             "accept", "compare", "save", "until", "note"};
    if (std::find(std::begin(kKnown), std::end(kKnown), member.first) == std::end(kKnown)) {
      return fail(Code::Invalid, fmt::format("{}: no member is called '{}'", where, member.first));
    }
  }
  const std::string what{line["do"].str()};
  const auto space = what.find(' ');
  const auto compare = kCompare.find(line["compare"].str());
  if (space == std::string::npos || compare == kCompare.end()) {
    return fail(
        Code::Invalid,
        fmt::format("{}: write \"do\": \"METHOD /path\", and compare reason, kind, code or nothing", where));
  }
  Step step;
  step.method = what.substr(0, space);
  step.target = what.substr(space + 1);
  step.content_type = contentType(line["type"].str());
  auto body = bodyOf(line, where);
  if (!body) { return tl::unexpected(body.error()); }
  step.body = *std::move(body);
  step.accept = line["table"].boolOr(false) ? kTable : "application/json";
  if (line.find("accept") != nullptr) { step.accept = line["accept"].str(); }
  step.compare = compare->second;
  step.save = line["save"];
  step.until = line["until"];
  step.generated = line["body"]["metadata"]["generateName"].str();
  step.where = where;
  return step;
}

Result<Case> readCase(const std::filesystem::path& file) {
  Case out;
  out.name = file.stem();
  std::ifstream in{file};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = fmt::format("{}:{}", file.filename().string(), ++number);
    const auto value = json::parse(line);
    if (!value) { return fail(Code::Invalid, fmt::format("{}: {}", where, value.error().message)); }
    auto step = readStep(*value, where);
    if (!step) { return tl::unexpected(step.error()); }
    out.steps.push_back(*std::move(step));
  }
  if (out.steps.empty()) { return fail(Code::Invalid, fmt::format("{} holds no step", file.string())); }
  return out;
}

}  // namespace

Result<std::vector<Case>> readCases(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{folder, error}) {
    if (entry.path().extension() == ".jsonl") { files.push_back(entry.path()); }
  }
  if (files.empty()) { return fail(Code::NotFound, fmt::format("no cases (*.jsonl) in {}", folder)); }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::pair{a.stem() != "setup", a.stem().string()} <
           std::pair{b.stem() != "setup", b.stem().string()};
  });
  std::vector<Case> cases;
  for (const auto& file : files) {
    auto one = readCase(file);
    if (!one) { return tl::unexpected(one.error()); }
    cases.push_back(*std::move(one));
  }
  return cases;
}

std::string fill(std::string_view text, const Saved& saved) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (text[at] == '$' && end < text.size() && isNamePart(text[end])) { ++end; }
    const auto found = saved.find(std::string{text.substr(at + 1, end - at - 1)});
    out += text[at] == '$' && found != saved.end() ? found->second : std::string{text.substr(at, end - at)};
    at = end;
  }
  return out;
}

const json::Value& pick(const json::Value& value, std::string_view path) {
  const Value* at = &value;
  while (!path.empty()) {
    const auto step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(step.size() + 1, path.size()));
    std::size_t index = 0;
    std::from_chars(step.data(), step.data() + step.size(), index);
    at = at->isArray() ? &at->at(index) : &(*at)[step];
  }
  return *at;
}

}  // namespace gs::conformance
