#include "enforce/cdi/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/value.h"
#include "yaml/yaml.h"

namespace gs::enforce::cdi {
namespace {

using json::Value;

constexpr std::size_t kMostOfAValueShown = 100;
constexpr std::int64_t kMostOfUint32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostOfInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostOfAClosId = 4095;  // the longest name of a file

// Ascending. The library knows 0.1.0 and 0.2.0 too, and then wants 0.3.0 of every file.
constexpr std::array<std::string_view, 8> kVersions{"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                    "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
/// Places in kVersions: which one brought what.
constexpr std::size_t kWithMountTypes = 1;
constexpr std::size_t kWithHostPaths = 2;    // and names that begin with a digit
constexpr std::size_t kWithAnnotations = 3;  // and classes with a dot
constexpr std::size_t kWithGids = 4;         // and intelRdt
constexpr std::size_t kWithNetDevices = 7;   // and more of intelRdt

constexpr std::array<std::pair<std::string_view, HookKind>, 6> kHookNames{{
    {"prestart", HookKind::Prestart},
    {"createRuntime", HookKind::CreateRuntime},
    {"createContainer", HookKind::CreateContainer},
    {"startContainer", HookKind::StartContainer},
    {"poststart", HookKind::Poststart},
    {"poststop", HookKind::Poststop},
}};

std::string shownOf(const Value& v) {
  return v.isNull() ? "missing" : std::string{utf8Prefix(json::print(v), kMostOfAValueShown)};
}

/// Of a map, in any case of letters; null: absent.
const Value& member(const Value& map, std::string_view key) {
  static const Value kNothing{};
  for (const auto& [name, value] : map.members()) {
    if (equalInAnyCase(name, key)) { return value; }
  }
  return kNothing;
}

bool isEmpty(const Edits& edits) { return edits == Edits{}; }

/// Reads one file. The first mistake is kept, with its place; reading goes on harmlessly, and soon ends.
class SpecReader {
 public:
  Spec read(const Value& root) {
    Spec spec;
    map(root, "", {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
    spec.kind = kindOf(member(root, "kind"));
    annotations(member(root, "annotations"), "annotations");
    spec.edits = edits(member(root, "containerEdits"), "containerEdits");
    devices(member(root, "devices"), spec);
    spec.version = version(member(root, "cdiVersion"));
    return spec;
  }
  [[nodiscard]] const std::string& mistake() const { return mistake_; }

 private:
  void say(std::string text) {
    if (mistake_.empty()) { mistake_ = std::move(text); }
  }
  void wrong(std::string_view at, const Value& seen, std::string_view rule) {
    if (!mistake_.empty()) { return; }
    say(fmt::format("{} is {}; {}", at.empty() ? "the file" : at, shownOf(seen), rule));
  }
  void needs(std::size_t version, std::string_view at, std::string_view what) {
    if (version <= needed_) { return; }
    needed_ = version;
    why_needed_ = fmt::format("{} {}", at, what);
  }
  static std::string below(const std::string& at, std::string_view key) {
    return at.empty() ? std::string{key} : fmt::format("{}.{}", at, key);
  }

  /// It is a map with no other keys than these, each once.
  void map(const Value& v, const std::string& at, std::initializer_list<std::string_view> keys) {
    if (!v.isObject()) { wrong(at, v, fmt::format("write a map of {}", fmt::join(keys, ", "))); }
    std::set<std::string_view> seen;
    for (const auto& [name, value] : v.members()) {
      const auto is_it = [&name = name](std::string_view key) { return equalInAnyCase(name, key); };
      const auto* key = std::find_if(keys.begin(), keys.end(), is_it);
      if (key == keys.end()) {
        wrong(below(at, utf8Prefix(name, kMostOfAValueShown)), value,
              fmt::format("no such field, and a container runtime reads no file with one; there are {}",
                          fmt::join(keys, ", ")));
        return;
      }
      if (!seen.insert(*key).second) { wrong(below(at, name), value, "the field is there twice"); }
    }
  }

  /// Calls `each` with every element and its place, until there is a mistake.
  template <class Each>
  void list(const Value& v, const std::string& at, const Each& each) {
    if (v.isNull()) { return; }
    if (!v.isArray()) { return wrong(at, v, "write a list"); }
    const json::Array& items = v.items();
    if (items.size() > kMostEntries) {
      return say(fmt::format("{} has {} entries; {} at most", at, items.size(), kMostEntries));
    }
    for (std::size_t i = 0; i < items.size() && mistake_.empty(); ++i) {
      each(items[i], fmt::format("{}[{}]", at, i));
    }
  }

  /// Numbers and true are taken for the text that they are written as, as in the runtimes. "": absent.
  std::string text(const Value& v, const std::string& at) {
    if (v.isNull()) { return ""; }
    if (v.isInt()) { return std::to_string(v.intOr(0)); }
    if (v.isBool()) { return v.boolOr(false) ? "true" : "false"; }
    if (!v.isString()) {
      wrong(at, v, "write a text, and quote what looks like a number");
    } else if (v.str().size() > kMostText) {
      say(fmt::format("{} has {} bytes; {} at most", at, v.str().size(), kMostText));
    } else if (v.str().find('\0') != std::string_view::npos) {
      wrong(at, v, "no text has a NUL byte");
    } else {
      return std::string{v.str()};
    }
    return "";
  }
  std::string someText(const Value& v, const std::string& at, std::string_view rule) {
    std::string out = text(v, at);
    if (out.empty()) { wrong(at, v, rule); }
    return out;
  }
  std::vector<std::string> texts(const Value& v, const std::string& at) {
    std::vector<std::string> out;
    list(v, at, [&](const Value& one, const std::string& place) { out.push_back(text(one, place)); });
    return out;
  }
  std::vector<std::string> variables(const Value& v, const std::string& at) {
    std::vector<std::string> out;
    list(v, at, [&](const Value& one, const std::string& place) {
      out.push_back(text(one, place));
      const auto equals = out.back().find('=');
      if (equals == std::string::npos || equals == 0) { wrong(place, one, "write NAME=VALUE"); }
    });
    return out;
  }
  /// nullopt: absent.
  std::optional<std::int64_t> number(const Value& v, const std::string& at, std::int64_t most) {
    if (v.isNull()) { return std::nullopt; }
    const auto whole = v.integer();
    if (!whole || *whole < 0 || *whole > most) {
      wrong(at, v, fmt::format("write a whole number from 0 to {}", most));
      return std::nullopt;
    }
    return whole;
  }
  std::optional<std::uint32_t> uint32(const Value& v, const std::string& at) {
    const auto whole = number(v, at, kMostOfUint32);
    return whole ? std::optional{static_cast<std::uint32_t>(*whole)} : std::nullopt;
  }

  std::string version(const Value& v) {
    std::string out = text(v, "cdiVersion");
    if (out.starts_with('v')) { out.erase(0, 1); }
    const auto* known = std::find(kVersions.begin(), kVersions.end(), out);
    if (known == kVersions.end()) {
      wrong("cdiVersion", v, fmt::format("write one of {}", fmt::join(kVersions, ", ")));
    } else if (static_cast<std::size_t>(known - kVersions.begin()) < needed_) {
      say(fmt::format("cdiVersion is {}; {}, which needs {}: write that or a later one", out, why_needed_,
                      kVersions.at(needed_)));
    }
    return out;
  }

  Kind kindOf(const Value& v) {
    auto kind = parseKind(text(v, "kind"));
    if (!kind) {
      wrong("kind", v, kKindRule);
      return {};
    }
    if (kind->device_class.find('.') != std::string::npos) {
      needs(kWithAnnotations, "kind", "has a dot in its class");
    }
    return *std::move(kind);
  }

  void annotations(const Value& v, const std::string& at) {
    if (v.isNull()) { return; }
    if (!v.isObject()) { wrong(at, v, "write a map of texts"); }
    for (const auto& [name, value] : v.members()) {
      needs(kWithAnnotations, at, "is there");
      text(value, below(at, utf8Prefix(name, kMostOfAValueShown)));
    }
  }

  void devices(const Value& v, Spec& spec) {
    std::set<std::string> names;
    list(v, "devices", [&](const Value& one, const std::string& at) {
      map(one, at, {"name", "annotations", "containerEdits"});
      Device device;
      device.name = text(member(one, "name"), below(at, "name"));
      if (!isDeviceName(device.name)) {
        wrong(below(at, "name"), member(one, "name"), kDeviceNameRule);
      } else if (device.name.front() >= '0' && device.name.front() <= '9') {
        needs(kWithHostPaths, below(at, "name"), "begins with a digit");
      }
      if (!names.insert(device.name).second) {
        wrong(below(at, "name"), member(one, "name"), "each name is there once; remove one of the devices");
      }
      annotations(member(one, "annotations"), below(at, "annotations"));
      device.edits = edits(member(one, "containerEdits"), below(at, "containerEdits"));
      if (isEmpty(device.edits)) {
        wrong(below(at, "containerEdits"), member(one, "containerEdits"),
              "a device gives something to a container: write its deviceNodes, mounts, env or hooks");
      }
      spec.devices.push_back(std::move(device));
    });
    if (spec.devices.empty()) { wrong("devices", v, "write one device at least"); }
  }

  Edits edits(const Value& v, const std::string& at) {
    Edits out;
    if (v.isNull()) { return out; }
    map(v, at, {"env", "deviceNodes", "netDevices", "hooks", "mounts", "intelRdt", "additionalGids"});
    out.env = variables(member(v, "env"), below(at, "env"));
    list(member(v, "deviceNodes"), below(at, "deviceNodes"), [&](const Value& one, const std::string& place) {
      out.device_nodes.push_back(deviceNode(one, place));
    });
    list(member(v, "mounts"), below(at, "mounts"),
         [&](const Value& one, const std::string& place) { out.mounts.push_back(mount(one, place)); });
    list(member(v, "hooks"), below(at, "hooks"),
         [&](const Value& one, const std::string& place) { out.hooks.push_back(hook(one, place)); });
    list(member(v, "additionalGids"), below(at, "additionalGids"),
         [&](const Value& one, const std::string& place) {
           if (one.isNull()) { wrong(place, one, "write the number of a group"); }
           out.additional_gids.push_back(uint32(one, place).value_or(0));
         });
    if (!out.additional_gids.empty()) { needs(kWithGids, below(at, "additionalGids"), "is there"); }
    out.net_devices = netDevices(member(v, "netDevices"), below(at, "netDevices"));
    out.has_intel_rdt = intelRdt(member(v, "intelRdt"), below(at, "intelRdt"));
    return out;
  }

  DeviceNode deviceNode(const Value& v, const std::string& at) {
    map(v, at, {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"});
    DeviceNode out;
    out.path = someText(member(v, "path"), below(at, "path"), "write where it is in the container");
    out.host_path = text(member(v, "hostPath"), below(at, "hostPath"));
    if (!out.host_path.empty()) { needs(kWithHostPaths, below(at, "hostPath"), "is there"); }
    out.type = text(member(v, "type"), below(at, "type"));
    if (out.type.size() > 1 || out.type.find_first_not_of("bcup") != std::string::npos) {
      wrong(below(at, "type"), member(v, "type"), "write b, c, u or p, or leave it out");
    }
    out.major = number(member(v, "major"), below(at, "major"), kMostOfInt64).value_or(0);
    out.minor = number(member(v, "minor"), below(at, "minor"), kMostOfInt64).value_or(0);
    out.file_mode = uint32(member(v, "fileMode"), below(at, "fileMode"));
    out.permissions = text(member(v, "permissions"), below(at, "permissions"));
    if (out.permissions.find_first_not_of("rwm") != std::string::npos) {
      wrong(below(at, "permissions"), member(v, "permissions"), "write letters of rwm");
    }
    out.uid = uint32(member(v, "uid"), below(at, "uid"));
    out.gid = uint32(member(v, "gid"), below(at, "gid"));
    return out;
  }

  Mount mount(const Value& v, const std::string& at) {
    map(v, at, {"hostPath", "containerPath", "options", "type"});
    Mount out;
    out.host_path = someText(member(v, "hostPath"), below(at, "hostPath"), "write its path on the host");
    out.container_path = someText(member(v, "containerPath"), below(at, "containerPath"),
                                  "write where it is in the container");
    out.options = texts(member(v, "options"), below(at, "options"));
    out.type = text(member(v, "type"), below(at, "type"));
    if (!out.type.empty()) { needs(kWithMountTypes, below(at, "type"), "is there"); }
    return out;
  }

  Hook hook(const Value& v, const std::string& at) {
    map(v, at, {"hookName", "path", "args", "env", "timeout"});
    Hook out;
    const std::string name = text(member(v, "hookName"), below(at, "hookName"));
    const auto* known = std::find_if(kHookNames.begin(), kHookNames.end(),
                                     [&](const auto& one) { return one.first == name; });
    if (known == kHookNames.end()) {
      wrong(below(at, "hookName"), member(v, "hookName"),
            "write prestart, createRuntime, createContainer, startContainer, poststart or poststop");
    } else {
      out.kind = known->second;
    }
    out.path = someText(member(v, "path"), below(at, "path"), "write the program's path on the host");
    out.args = texts(member(v, "args"), below(at, "args"));
    out.env = variables(member(v, "env"), below(at, "env"));
    out.timeout = number(member(v, "timeout"), below(at, "timeout"), kMostOfInt64);
    return out;
  }

  std::vector<std::string> netDevices(const Value& v, const std::string& at) {
    std::vector<std::string> out;
    std::set<std::string> on_host;
    std::set<std::string> inside;
    list(v, at, [&](const Value& one, const std::string& place) {
      map(one, place, {"hostInterfaceName", "name"});
      out.push_back(someText(member(one, "hostInterfaceName"), below(place, "hostInterfaceName"),
                             "write the interface's name on the host"));
      const auto name =
          someText(member(one, "name"), below(place, "name"), "write the interface's name in the container");
      if (!on_host.insert(out.back()).second || !inside.insert(name).second) {
        wrong(place, one, "each interface is there once, and each name in the container");
      }
    });
    if (!out.empty()) { needs(kWithNetDevices, at, "is there"); }
    return out;
  }

  /// Whether it is there: nothing of ours uses what it says.
  bool intelRdt(const Value& v, const std::string& at) {
    if (v.isNull()) { return false; }
    map(v, at, {"closID", "l3CacheSchema", "memBwSchema", "schemata", "enableMonitoring"});
    const std::string clos = text(member(v, "closID"), below(at, "closID"));
    const bool is_name = clos != "." && clos != ".." && clos.find_first_of("/\n") == std::string::npos;
    if (clos != "/" && (!is_name || clos.size() > kMostOfAClosId)) {
      wrong(below(at, "closID"), member(v, "closID"), "write / or the name of a folder of resctrl");
    }
    text(member(v, "l3CacheSchema"), below(at, "l3CacheSchema"));
    text(member(v, "memBwSchema"), below(at, "memBwSchema"));
    texts(member(v, "schemata"), below(at, "schemata"));
    const Value& monitoring = member(v, "enableMonitoring");
    if (!monitoring.isNull() && !monitoring.isBool()) {
      wrong(below(at, "enableMonitoring"), monitoring, "write true or false");
    }
    needs(kWithGids, at, "is there");
    if (!member(v, "schemata").isNull() || monitoring.boolOr(false)) {
      needs(kWithNetDevices, at, "has schemata or enableMonitoring");
    }
    return true;
  }

  std::string mistake_;
  std::size_t needed_ = 0;  // place in kVersions
  std::string why_needed_;
};

}  // namespace

Result<Spec> readSpec(std::string file, std::string_view text) {
  const auto refused = [&](std::string_view why) {
    return fail(Code::Invalid, fmt::format("{}: {}", file, why));
  };
  const auto documents = yaml::toJson(text, kMostSpecBytes);
  if (!documents) { return refused(documents.error().message); }
  if (documents->empty() || documents->front() == "null") {
    return refused("it is empty; write a CDI spec, or remove it");
  }
  const auto value = json::parse(documents->front(), kMostSpecJson);
  if (!value) { return refused(value.error().message); }
  SpecReader reader;
  Spec spec = reader.read(*value);
  if (!reader.mistake().empty()) { return refused(reader.mistake()); }
  spec.file = std::move(file);
  return spec;
}

}  // namespace gs::enforce::cdi
