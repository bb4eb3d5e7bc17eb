// What pods ask of DRA drivers (resource.k8s.io/v1): classes of devices, and claims with what was allocated.
#include <algorithm>

#include "json/value.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/named.h"
#include "kapi/time.h"

namespace gs::kapi {
namespace {

using json::View;

std::vector<std::string> selectorsOf(const View& v) {
  std::vector<std::string> out;
  for (const View selector : v.items()) { out.push_back(text(selector["cel"]["expression"])); }
  return out;
}

std::vector<model::DeviceConfig> configOf(const View& v, bool from_class) {
  std::vector<model::DeviceConfig> out;
  for (const View entry : v.items()) {
    model::DeviceConfig& one = out.emplace_back();
    one.from_class = from_class;
    for (const View request : entry["requests"].items()) { one.requests.push_back(text(request)); }
    json::Object rest;
    for (const auto [name, value] : entry.members()) {
      if (name != "requests") { rest[name] = value.value(); }
    }
    one.config = json::print(json::Value{std::move(rest)});
  }
  return out;
}

model::Toleration tolerationOf(const View& v) {
  return {text(v["key"]), text(v["value"]), text(v["effect"]), v["operator"].str() == "Exists"};
}

/// Of `exactly` or of an entry of `firstAvailable`, which have the same fields.
model::DeviceSubRequest wayOf(const View& v) {
  model::DeviceSubRequest out;
  out.name = text(v["name"]);
  out.device_class = text(v["deviceClassName"]);
  out.selectors = selectorsOf(v["selectors"]);
  const auto mode = v["allocationMode"].str();
  out.all = mode == "All";
  out.count = out.all ? 0 : std::max<std::int64_t>(1, v["count"].intOr(1));
  for (const View t : v["tolerations"].items()) { out.tolerations.push_back(tolerationOf(t)); }
  if (!mode.empty() && mode != "All" && mode != "ExactCount") { out.unsupported = "allocationMode"; }
  if (v["adminAccess"].boolOr(false)) { out.unsupported = "adminAccess"; }
  if (!v["capacity"].isNull()) { out.unsupported = "capacity"; }
  if (!v["derivedAttributes"].items().empty()) { out.unsupported = "derivedAttributes"; }
  return out;
}

model::DevicesRequest requestOf(const View& v) {
  model::DevicesRequest out;
  out.name = text(v["name"]);
  if (v["exactly"].isObject()) { out.ways.push_back(wayOf(v["exactly"])); }
  for (const View way : v["firstAvailable"].items()) { out.ways.push_back(wayOf(way)); }
  return out;
}

/// "domain/name". Without a domain it is nothing that a constraint may say.
model::QualifiedName fullName(const View& v) {
  const auto name = v.str();
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) { return {}; }
  return {std::string{name.substr(0, slash)}, std::string{name.substr(slash + 1)}};
}

model::DeviceConstraint constraintOf(const View& v) {
  model::DeviceConstraint out;
  for (const View request : v["requests"].items()) { out.requests.push_back(text(request)); }
  out.match = fullName(v["matchAttribute"]);
  out.distinct = fullName(v["distinctAttribute"]);
  for (const auto [name, value] : v.members()) {
    if (name != "requests" && name != "matchAttribute" && name != "distinctAttribute") {
      out.unsupported = std::string{name};
    }
  }
  return out;
}

void readAllocation(const View& status, model::ResourceClaim& out) {
  out.allocated = status["allocation"].isObject();
  for (const View r : status["allocation"]["devices"]["results"].items()) {
    out.results.push_back({text(r["request"]),
                           {text(r["driver"]), text(r["pool"]), text(r["device"])},
                           r["adminAccess"].boolOr(false)});
  }
  for (const View who : status["reservedFor"].items()) {
    out.reserved_for.emplace_back(who["uid"].str());  // others than pods too: they use it
  }
  std::sort(out.reserved_for.begin(), out.reserved_for.end());
}

constexpr KindInfo kDeviceClassInfo{
    "resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false, decodedBy<decodeDeviceClass>, true};
constexpr KindInfo kResourceClaimInfo{
    "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true, decodedBy<decodeResourceClaim>, true};

}  // namespace

constinit const Kind kDeviceClass{kDeviceClassInfo};
constinit const Kind kResourceClaim{kResourceClaimInfo};

model::DeviceClass decodeDeviceClass(const View& v) {
  auto out = namedOf<model::DeviceClass>(v);
  out.selectors = selectorsOf(v["spec"]["selectors"]);
  out.extended_resource = text(v["spec"]["extendedResourceName"]);
  out.config = configOf(v["spec"]["config"], true);
  return out;
}

model::ResourceClaim decodeResourceClaim(const View& v) {
  auto out = namedOf<model::ResourceClaim>(v);
  const View meta = v["metadata"];
  out.created = parseTime(meta["creationTimestamp"].str()).value_or(Wall{});
  out.deleting = meta["deletionTimestamp"].isString();
  for (const View owner : meta["ownerReferences"].items()) {
    if (owner["kind"].str() == "Pod" && owner["controller"].boolOr(false)) {
      out.owner_pod = model::Uid{owner["uid"].str()};
    }
  }
  for (const View finalizer : meta["finalizers"].items()) { out.finalizers.push_back(text(finalizer)); }
  out.reservation = text(meta["annotations"][model::kOfReservationKey]);
  const View devices = v["spec"]["devices"];
  for (const View request : devices["requests"].items()) { out.requests.push_back(requestOf(request)); }
  for (const View constraint : devices["constraints"].items()) {
    out.constraints.push_back(constraintOf(constraint));
  }
  out.config = configOf(devices["config"], false);
  readAllocation(v["status"], out);
  return out;
}

}  // namespace gs::kapi
