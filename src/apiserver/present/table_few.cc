#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apiserver/meta/label_selector.h"
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

std::string joined(const std::vector<std::string>& texts, const char* none) {
  std::string out;
  for (const std::string& text : texts) { out += (out.empty() ? "" : ",") + text; }
  return out.empty() ? none : out;
}

/// As the real server shortens them: three, and how many more.
std::string firstOf(std::vector<std::string> texts) {
  constexpr std::size_t kMost = 3;
  const std::size_t more = texts.size() > kMost ? texts.size() - kMost : 0;
  texts.resize(texts.size() - more);
  return joined(texts, "<unset>") + (more > 0 ? fmt::format(" + {} more...", more) : "");
}

FewCells serviceCells(const Value& service) {
  const Value& spec = service["spec"];
  const auto type = spec["type"].str();
  const auto address = spec["clusterIP"].str();
  std::vector<std::string> outside;
  for (const Value& ip : spec["externalIPs"].items()) { outside.emplace_back(ip.str()); }
  std::vector<std::string> ports;
  for (const Value& p : spec["ports"].items()) {
    const auto on_nodes = p["nodePort"].intOr(0);
    ports.push_back(fmt::format("{}{}/{}", p["port"].intOr(0),
                                on_nodes == 0 ? "" : fmt::format(":{}", on_nodes), p["protocol"].str()));
  }
  const std::string external = type == "ExternalName"
                                   ? std::string{spec["externalName"].str()}
                                   : joined(outside, type == "LoadBalancer" ? "<pending>" : "<none>");
  std::vector<std::string> labels;
  for (const auto& [key, value] : spec["selector"].members()) {
    labels.push_back(fmt::format("{}={}", key, value.str()));
  }
  std::sort(labels.begin(), labels.end());
  return {{Value{type}, Value{address.empty() ? "<none>" : address}, Value{external},
           Value{joined(ports, "<none>")}},
          {Value{joined(labels, "<none>")}}};
}

FewCells endpointCells(const Value& slice) {
  std::vector<std::string> ports;
  for (const Value& p : slice["ports"].items()) {
    ports.push_back(p["port"].isInt() ? json::print(p["port"]) : std::string{p["name"].str()});
  }
  std::vector<std::string> addresses;
  for (const Value& endpoint : slice["endpoints"].items()) {
    for (const Value& address : endpoint["addresses"].items()) { addresses.emplace_back(address.str()); }
  }
  return {{Value{slice["addressType"].str()}, Value{firstOf(std::move(ports))},
           Value{firstOf(std::move(addresses))}},
          {}};
}

Value accessModes(const Value& modes) {
  std::vector<std::string> out;
  for (const auto& [mode, shown] :
       {std::pair{"ReadWriteOnce", "RWO"}, std::pair{"ReadOnlyMany", "ROX"},
        std::pair{"ReadWriteMany", "RWX"}, std::pair{"ReadWriteOncePod", "RWOP"}}) {
    for (const Value& one : modes.items()) {
      if (one.str() == mode) {
        out.emplace_back(shown);
        break;
      }
    }
  }
  return Value{joined(out, "")};
}

Value textOrUnset(const Value& text) { return text.str().empty() ? Value{"<unset>"} : text; }
std::string phaseOf(const Value& object) {
  return object["metadata"]["deletionTimestamp"].isNull() ? std::string{object["status"]["phase"].str()}
                                                          : "Terminating";
}

FewCells volumeCells(const Value& volume) {
  const Value& spec = volume["spec"];
  const Value& claim = spec["claimRef"];
  return {{Value{spec["capacity"]["storage"].str()}, accessModes(spec["accessModes"]),
           Value{spec["persistentVolumeReclaimPolicy"].str()}, Value{phaseOf(volume)},
           Value{claim.isObject() ? fmt::format("{}/{}", claim["namespace"].str(), claim["name"].str()) : ""},
           Value{spec["storageClassName"].str()}, textOrUnset(spec["volumeAttributesClassName"]),
           Value{volume["status"]["reason"].str()}},
          {textOrUnset(spec["volumeMode"])}};
}

FewCells claimCells(const Value& claim) {
  const Value& spec = claim["spec"];
  const bool is_bound = !spec["volumeName"].str().empty();
  const Value& status = claim["status"];
  return {{Value{phaseOf(claim)}, Value{spec["volumeName"].str()},
           Value{is_bound ? status["capacity"]["storage"].str() : ""},
           is_bound ? accessModes(status["accessModes"]) : Value{""}, Value{spec["storageClassName"].str()},
           textOrUnset(spec["volumeAttributesClassName"])},
          {textOrUnset(spec["volumeMode"])}};
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
  if (plural == "persistentvolumes") { return volumeCells(object); }
  if (plural == "persistentvolumeclaims") { return claimCells(object); }
  if (plural == "secrets") {
    return FewCells{{Value{object["type"].str()}, Value{object["data"].members().size()}}, {}};
  }
  if (plural == "services") { return serviceCells(object); }
  if (plural == "endpointslices") { return endpointCells(object); }
  if (plural.ends_with("webhookconfigurations")) {
    return FewCells{{Value{object["webhooks"].items().size()}}, {}};
  }
  if (plural == "networkpolicies") {
    std::string pods = selectorText(object["spec"]["podSelector"]);
    return FewCells{{Value{pods.empty() ? "<none>" : std::move(pods)}}, {}};
  }
  if (plural == "validatingadmissionpolicies") {
    const Value& kind = object["spec"]["paramKind"];
    return FewCells{
        {Value{object["spec"]["validations"].items().size()},
         Value{kind.isNull() ? "<unset>"
                             : fmt::format("{}/{}", kind["apiVersion"].str(), kind["kind"].str())}},
        {}};
  }
  if (plural == "validatingadmissionpolicybindings") {
    const Value& ref = object["spec"]["paramRef"];
    const auto ns = ref["namespace"].str();
    const auto name = ref["name"].str();
    return FewCells{{object["spec"]["policyName"],
                     Value{name.empty() ? "<unset>" : fmt::format("{}/{}", ns.empty() ? "*" : ns, name)}},
                    {}};
  }
  return std::nullopt;
}

}  // namespace gs::apiserver
