#include "enforce/cdi/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/because.h"

namespace gs::enforce::cdi {
namespace {

constexpr std::uint32_t kMostMode = 0777;

/// Each edits once, in the order in which they apply.
std::vector<std::pair<const Spec*, const Edits*>> inOrder(const std::vector<Entry>& devices) {
  std::vector<std::pair<const Spec*, const Edits*>> out;
  std::set<const void*> seen;
  for (const Entry& entry : devices) {
    if (seen.insert(entry.spec.get()).second) { out.emplace_back(entry.spec.get(), &entry.spec->edits); }
    if (seen.insert(entry.device).second) { out.emplace_back(entry.spec.get(), &entry.device->edits); }
  }
  return out;
}

/// The file says what kind of a device it is, and which.
bool isFullySaid(const DeviceNode& node) {
  return !node.type.empty() && (node.major != 0 || node.type == "p");
}

std::vector<rpc::nri::Hook>& hooksOf(rpc::nri::Hooks& hooks, HookKind kind) {
  switch (kind) {
    case HookKind::Prestart: return hooks.prestart;
    case HookKind::CreateRuntime: return hooks.create_runtime;
    case HookKind::CreateContainer: return hooks.create_container;
    case HookKind::StartContainer: return hooks.start_container;
    case HookKind::Poststart: return hooks.poststart;
    case HookKind::Poststop: break;
  }
  return hooks.poststop;
}

/// Values by a key of theirs: the last one of a key counts, at the place of the first.
template <class Value>
class LastOfEach {
 public:
  void put(const std::string& key, Value value) {
    const auto [it, is_new] = places_.try_emplace(key, values_.size());
    if (is_new) {
      values_.push_back(std::move(value));
    } else {
      values_[it->second] = std::move(value);
    }
  }
  [[nodiscard]] std::vector<Value> take() { return std::move(values_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<Value> values_;
};

class Writer {
 public:
  explicit Writer(const Stats& stats) : stats_{stats} {}

  Status add(const Spec& spec, const Edits& edits) {
    for (const DeviceNode& node : edits.device_nodes) {
      auto device = deviceOf(spec, node);
      if (!device) { return because(std::move(device.error())); }
      narrow_.erase(node.path);
      if (!node.permissions.empty() && (node.permissions.find('r') == std::string::npos ||
                                        node.permissions.find('w') == std::string::npos)) {
        narrow_.insert(node.path);
      }
      devices_.put(node.path, *std::move(device));
    }
    for (const Mount& mount : edits.mounts) {
      if (!mount.container_path.starts_with('/')) { return notAbsolute(spec, mount.container_path); }
      mounts_.put(mount.container_path, {mount.container_path, mount.type, mount.host_path, mount.options});
    }
    for (const std::string& variable : edits.env) {
      if (variable.starts_with('-')) {  // NRI takes it for the removal of one
        return fail(Code::Invalid, fmt::format("{}: env {} cannot be set by NRI: a name that begins with '-' "
                                               "removes there; call it otherwise",
                                               spec.file, variable.substr(0, variable.find('='))));
      }
      const auto equals = variable.find('=');  // readSpec() saw that it has one
      std::string name = variable.substr(0, equals);
      env_.put(name, {name, variable.substr(equals + 1)});
    }
    for (const Hook& hook : edits.hooks) {
      hooksOf(hooks_, hook.kind).push_back({hook.path, hook.args, hook.env, hook.timeout});
    }
    for (const std::uint32_t gid : edits.additional_gids) {
      if (gid != 0) { gids_.insert(gid); }
    }
    net_devices_.insert(edits.net_devices.begin(), edits.net_devices.end());
    intel_rdt_ = intel_rdt_ || edits.has_intel_rdt;
    return {};
  }

  [[nodiscard]] WrittenOut take() {
    WrittenOut out;
    out.adjustment.devices = devices_.take();
    out.adjustment.mounts = mounts_.take();
    out.adjustment.env = env_.take();
    out.adjustment.hooks = std::move(hooks_);
    out.untold = {{gids_.begin(), gids_.end()},
                  {net_devices_.begin(), net_devices_.end()},
                  {narrow_.begin(), narrow_.end()},
                  intel_rdt_};
    return out;
  }

 private:
  static tl::unexpected<Error> notAbsolute(const Spec& spec, const std::string& path) {
    return fail(Code::Invalid,
                fmt::format("{}: the path {} in a container does not begin with '/'; write it in full",
                            spec.file, path));
  }

  [[nodiscard]] Result<rpc::nri::LinuxDevice> deviceOf(const Spec& spec, const DeviceNode& node) const {
    if (!node.path.starts_with('/')) { return notAbsolute(spec, node.path); }
    rpc::nri::LinuxDevice out;
    out.path = node.path;
    out.type = node.type == "u" ? "c" : node.type;  // two words of mknod for the same
    out.major = node.major;
    out.minor = node.minor;
    out.file_mode = node.file_mode;
    out.uid = node.uid;
    out.gid = node.gid;
    auto filled = fillIn(spec, node, out);
    if (!filled) { return because(std::move(filled.error())); }
    if (out.type == "p") {
      return fail(Code::Invalid, fmt::format("{}: {} is a FIFO, which NRI gives to no container; mount it",
                                             spec.file, node.onHost()));
    }
    if (out.file_mode.value_or(0) > kMostMode) {
      return fail(Code::Invalid, fmt::format("{}: fileMode {} of {} is no mode of a device; write it as a "
                                             "decimal number: 438 is rw for all",
                                             spec.file, *out.file_mode, node.path));
    }
    return out;
  }

  /// What the file leaves out is as it is on the host.
  [[nodiscard]] Status fillIn(const Spec& spec, const DeviceNode& node, rpc::nri::LinuxDevice& out) const {
    const auto it = stats_.find(node.onHost());
    if (it == stats_.end()) {
      if (isFullySaid(node)) { return {}; }
      return fail(Code::NotFound, fmt::format("{}: there is no device node {} on this host; load the driver, "
                                              "or let the vendor's tool write the file anew",
                                              spec.file, node.onHost()));
    }
    const NodeStat& stat = it->second;
    if (!out.file_mode) { out.file_mode = stat.file_mode; }
    if (isFullySaid(node)) { return {}; }
    if (out.type.empty()) { out.type = stat.type; }
    if (out.type != stat.type) {
      return fail(Code::Invalid, fmt::format("{}: device node {} is of type {} in the file and {} on this "
                                             "host; let the vendor's tool write the file anew",
                                             spec.file, node.onHost(), node.type, stat.type));
    }
    if (out.major == 0) {
      out.major = stat.major;
      out.minor = stat.minor;
    }
    return {};
  }

  const Stats& stats_;
  LastOfEach<rpc::nri::LinuxDevice> devices_;
  LastOfEach<rpc::nri::Mount> mounts_;
  LastOfEach<std::pair<std::string, std::string>> env_;
  rpc::nri::Hooks hooks_;
  std::set<std::uint32_t> gids_;
  std::set<std::string> net_devices_;
  std::set<std::string> narrow_;
  bool intel_rdt_ = false;
};

}  // namespace

std::vector<std::string> nodesToStat(const std::vector<Entry>& devices) {
  std::set<std::string> out;
  for (const auto& [spec, edits] : inOrder(devices)) {
    for (const DeviceNode& node : edits->device_nodes) {
      if (!isFullySaid(node) || !node.file_mode) { out.insert(node.onHost()); }
    }
  }
  return {out.begin(), out.end()};
}

std::string Untold::sentence() const {
  std::vector<std::string> what;
  if (!additional_gids.empty()) {
    what.push_back(fmt::format("groups {}", fmt::join(additional_gids, ", ")));
  }
  if (!net_devices.empty()) {
    what.push_back(fmt::format("network interfaces {}", fmt::join(net_devices, ", ")));
  }
  if (!narrow_nodes.empty()) {
    what.push_back(fmt::format("narrower permissions of {}", fmt::join(narrow_nodes, ", ")));
  }
  if (intel_rdt) { what.emplace_back("intelRdt"); }
  if (what.empty()) { return ""; }
  return fmt::format(
      "the CDI files say {}, which NRI has no field for; a runtime that injects CDI devices "
      "itself gives them (containerd 2.1, CRI-O 1.34)",
      fmt::join(what, "; "));
}

Result<WrittenOut> writtenOut(const std::vector<Entry>& devices, const Stats& stats) {
  Writer writer{stats};
  for (const auto& [spec, edits] : inOrder(devices)) {
    auto added = writer.add(*spec, *edits);
    if (!added) { return because(std::move(added.error())); }
  }
  return writer.take();
}

}  // namespace gs::enforce::cdi
