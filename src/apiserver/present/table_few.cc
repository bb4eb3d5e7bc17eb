#include <fmt/format.h>

#include "apiserver/present/table.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

/// An amount or a percentage; "N/A" where there is none.
Value amountOrNone(const Value& amount) {
  if (amount.isNull()) { return Value{"N/A"}; }
  return amount.isString() ? amount : Value{json::print(amount)};
}

/// The subjects of one kind: "a, b", service accounts as NAMESPACE/NAME.
Value subjectsOf(const Value& binding, std::string_view kind) {
  std::string out;
  for (const Value& subject : binding["subjects"].items()) {
    if (subject["kind"].str() != kind) { continue; }
    const auto ns = subject["namespace"].str();
    const bool scoped = kind == "ServiceAccount" && !ns.empty();
    out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", scoped ? ns : "", scoped ? "/" : "",
                       subject["name"].str());
  }
  return Value{out};
}

FewCells bindingCells(const Value& binding) {
  const Value& role = binding["roleRef"];
  return {{Value{fmt::format("{}/{}", role["kind"].str(), role["name"].str())}},
          {subjectsOf(binding, "User"), subjectsOf(binding, "Group"), subjectsOf(binding, "ServiceAccount")}};
}

}  // namespace

std::optional<FewCells> fewCells(const std::string& plural, const json::Value& object) {
  if (plural == "serviceaccounts") { return FewCells{{Value{object["secrets"].items().size()}}, {}}; }
  if (plural == "priorityclasses") {
    return FewCells{{Value{object["value"].intOr(0)}, Value{object["globalDefault"].boolOr(false)}},
                    {Value{object["preemptionPolicy"].str()}}};
  }
  if (plural == "rolebindings" || plural == "clusterrolebindings") { return bindingCells(object); }
  if (plural == "poddisruptionbudgets") {
    const Value& spec = object["spec"];
    return FewCells{{amountOrNone(spec["minAvailable"]), amountOrNone(spec["maxUnavailable"]),
                     Value{object["status"]["disruptionsAllowed"].intOr(0)}},
                    {}};
  }
  return std::nullopt;
}

}  // namespace gs::apiserver
