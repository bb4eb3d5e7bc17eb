#include <fmt/core.h>

#include <algorithm>

#include "apiserver/present/table.h"
#include "base/utf8.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kPadding = 3;
constexpr std::size_t kLeastWidth = 6;  // padding included

std::string upper(std::string_view name) {
  std::string out{name};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

/// One line of text: a cell shows its first line only.
std::string cellText(const Value& cell) {
  if (cell.isNull()) { return {}; }
  std::string out = cell.isString() ? std::string{cell.str()} : json::print(cell);
  if (const std::size_t end = out.find_first_of("\r\n"); end != std::string::npos) {
    out = out.substr(0, end) + "...";
  }
  return out;
}

using Line = std::vector<std::string>;

/// Columns as wide as their widest cell plus three; the last cell of a line has nothing after it.
std::string layOut(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), kLeastWidth);
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      widths[i] = std::max(widths[i], codePoints(line[i]) + kPadding);
    }
  }
  std::string out;
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      out += line[i];
      if (i + 1 < line.size()) { out.append(widths[i] - codePoints(line[i]), ' '); }
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string printTable(const json::Value& table, PrintTable how) {
  const auto& columns = table["columnDefinitions"].items();
  const auto& rows = table["rows"].items();
  if (rows.empty()) { return {}; }
  const auto shown = [&](std::size_t i) {
    return i < columns.size() && (how.wide || columns[i]["priority"].intOr(0) == 0);
  };
  std::vector<Line> lines;
  if (how.headers) {
    lines.emplace_back();
    if (how.namespaces) { lines.back().emplace_back("NAMESPACE"); }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (shown(i)) { lines.back().push_back(upper(columns[i]["name"].str())); }
    }
  }
  for (const Value& row : rows) {
    lines.emplace_back();
    if (how.namespaces) { lines.back().emplace_back(row["object"]["metadata"]["namespace"].str()); }
    for (std::size_t i = 0; i < row["cells"].items().size(); ++i) {
      if (shown(i)) { lines.back().push_back(cellText(row["cells"].items()[i])); }
    }
  }
  return layOut(lines);
}

std::string noResources(const Resource& resource, std::string_view ns) {
  if (!resource.namespaced || ns.empty()) { return "No resources found\n"; }
  return fmt::format("No resources found in {} namespace.\n", ns);
}

}  // namespace gs::apiserver
