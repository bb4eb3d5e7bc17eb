// Security contexts of pods and containers.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

void checkId(const Value& context, const char* name, const std::string& field, FieldErrors& errors) {
  if (context[name].isNull()) { return; }
  refuseFor(errors, fmt::format("{}.{}", field, name), context[name], idErrors(context[name].intOr(0)));
}

void checkSeccomp(const Value& profile, const std::string& field, FieldErrors& errors) {
  if (!profile.isObject()) { return; }
  const auto type = profile["type"].str();
  if (type.empty()) {
    errors.push_back(fieldRequired(field + ".type", "type is required when seccompProfile is set"));
  } else {
    checkKnown(errors, field + ".type", profile["type"], {"Localhost", "RuntimeDefault", "Unconfined"});
  }
  const Value& file = profile["localhostProfile"];
  const std::string of_file = field + ".localhostProfile";
  if (type != "Localhost") {
    if (file.isNull()) { return; }
    errors.push_back(
        fieldInvalid(of_file, json::print(profile), "can only be set when seccomp type is Localhost"));
  } else if (file.isNull()) {
    errors.push_back(fieldRequired(of_file, "must be set when seccomp type is Localhost"));
  } else {
    refuseFor(errors, of_file, file, descendingPathErrors(file.str()));
  }
}

/// [a-z0-9]([-_a-z0-9]*[a-z0-9])?, with '.' or '/' between.
bool isSysctl(std::string_view name) {
  const auto is_edge = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char before = '.';
  for (const char c : name) {
    const bool separates = c == '.' || c == '/';
    const bool inner = c == '-' || c == '_';
    if (!separates && !inner && !is_edge(c)) { return false; }
    const bool begins = before == '.' || before == '/';
    if (begins && !is_edge(c)) { return false; }
    if (separates && !is_edge(before)) { return false; }
    before = c;
  }
  return !name.empty() && name.size() <= 253 && is_edge(before);
}

/// Of the host's namespace: "net", "ipc" or neither.
std::string_view namespaceOf(std::string sysctl) {
  static const std::set<std::string_view> kIpc{"kernel.sem",    "kernel.shm",    "kernel.shmall",
                                               "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
                                               "kernel.msg",    "kernel.msgmax", "kernel.msgmnb",
                                               "kernel.msgmni"};
  const auto separator = sysctl.find_first_of("./");
  if (separator != std::string::npos && sysctl[separator] == '/') {  // net/ipv4/conf/eno2.100
    for (char& c : sysctl) { c = c == '.' ? '/' : c == '/' ? '.' : c; }
  }
  if (sysctl.starts_with("net.")) { return "net"; }
  return sysctl.starts_with("fs.mqueue.") || kIpc.contains(sysctl) ? "ipc" : "";
}

void checkSysctls(const Value& spec, const Value& sysctls, const std::string& field, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < sysctls.items().size(); ++i) {
    const Value& name = sysctls.items()[i]["name"];
    const std::string at = fmt::format("{}[{}].name", field, i);
    if (name.str().empty()) {
      errors.push_back(fieldRequired(at));
    } else if (!isSysctl(name.str())) {
      errors.push_back(
          fieldInvalid(at, name,
                       "must have at most 253 characters and match regex "
                       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"));
    } else if (names.contains(name.str())) {
      errors.push_back(fieldDuplicate(at, goQuote(name.str())));
    }
    const auto of = namespaceOf(std::string{name.str()});
    for (const auto& [flag, space] : {std::pair{"hostNetwork", "net"}, std::pair{"hostIPC", "ipc"}}) {
      if (!spec[flag].boolOr(false) || of != space) { continue; }
      errors.push_back(fieldInvalid(at, name, fmt::format("may not be specified when '{}' is true", flag)));
    }
    names.insert(name.str());
  }
}

/// A container that may gain no privileges and has them.
void checkEscalation(const Value& context, const std::string& field, FieldErrors& errors) {
  if (context["allowPrivilegeEscalation"].boolOr(true)) { return; }
  const std::string whole = json::print(context);
  if (context["privileged"].boolOr(false)) {
    errors.push_back(fieldInvalid(field, whole,
                                  "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  }
  for (const Value& added : context["capabilities"]["add"].items()) {
    if (added.str() != "CAP_SYS_ADMIN") { continue; }
    errors.push_back(fieldInvalid(
        field, whole, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
  }
}

}  // namespace

void checkPodSecurity(const json::Value& spec, const std::string& field, FieldErrors& errors) {
  const Value& context = spec["securityContext"];
  for (const char* id : {"fsGroup", "runAsUser", "runAsGroup"}) { checkId(context, id, field, errors); }
  const auto& groups = context["supplementalGroups"].items();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    refuseFor(errors, fmt::format("{}.supplementalGroups[{}]", field, i), groups[i],
              idErrors(groups[i].intOr(0)));
  }
  if (spec["shareProcessNamespace"].boolOr(false) && spec["hostPID"].boolOr(false)) {
    errors.push_back(fieldInvalid(field + ".shareProcessNamespace", Value{true},
                                  "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  checkSysctls(spec, context["sysctls"], field + ".sysctls", errors);
  checkKnownIfThere(errors, field + ".fsGroupChangePolicy", context["fsGroupChangePolicy"],
                    {"Always", "OnRootMismatch"});
  checkSeccomp(context["seccompProfile"], field + ".seccompProfile", errors);
  checkAppArmorProfile(context["appArmorProfile"], field + ".appArmorProfile", errors);
  checkKnownIfThere(errors, field + ".supplementalGroupsPolicy", context["supplementalGroupsPolicy"],
                    {"Merge", "Strict"});
  checkKnownIfThere(errors, field + ".seLinuxChangePolicy", context["seLinuxChangePolicy"], {"Recursive"});
}

void checkContainerSecurity(const json::Value& context, bool host_users, const std::string& field,
                            FieldErrors& errors) {
  checkId(context, "runAsUser", field, errors);
  checkId(context, "runAsGroup", field, errors);
  const Value& proc = context["procMount"];
  checkKnownIfThere(errors, field + ".procMount", proc, {"Default", "Unmasked"});
  if (host_users && proc.str() == "Unmasked") {
    errors.push_back(fieldInvalid(field + ".procMount", proc, "`hostUsers` must be false to use `Unmasked`"));
  }
  checkSeccomp(context["seccompProfile"], field + ".seccompProfile", errors);
  checkEscalation(context, field, errors);
  checkAppArmorProfile(context["appArmorProfile"], field + ".appArmorProfile", errors);
}

}  // namespace gs::apiserver
