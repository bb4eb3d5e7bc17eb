// The conformance table: requests as data, one JSON object a line,
// one file per case (cases/*.jsonl; README.md).
//
// A case has a namespace of its own, "c-<case>", which requests name as $ns. "$x" stands for what an earlier
// step of the case saved under x.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gs::conformance {

/// How much of an answer is compared.
enum class Compare : std::uint8_t { All, Reason, Kind, Code };

struct Step {
  std::string method;
  std::string target;
  std::string content_type;
  std::string body;
  std::string accept;
  Compare compare = Compare::All;
  json::Value save;       // {"name": "path.of.the.answer"}
  json::Value until;      // {"path": value}: asked again until the answer has it; "code" is the status code
  std::string generated;  // the body's generateName
  std::string where;      // "binding.jsonl:3"
};

struct Case {
  std::string name;
  std::vector<Step> steps;
};

/// All cases of a folder; "setup" first, the others by name. Error: the file,
/// the line and what is wrong in it.
[[nodiscard]] Result<std::vector<Case>> readCases(const std::string& folder);

using Saved = std::map<std::string, std::string>;
/// `text` with $names filled in; what was not saved stays as it is.
[[nodiscard]] std::string fill(std::string_view text, const Saved& saved);
/// The member at "a.b.0.c"; null when absent.
[[nodiscard]] const json::Value& pick(const json::Value& value, std::string_view path);

}  // namespace gs::conformance
