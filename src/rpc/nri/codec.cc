#include "rpc/nri/codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <nri/nri.pb.h>

#include <utility>

#include "base/utf8.h"

namespace gs::rpc::nri {
namespace wire = ::nri::pkg::api::v1alpha1;

namespace {

template <class Message>
Result<Message> read(const std::string& payload, std::string_view what) {
  Message out;
  if (!out.ParseFromString(payload)) {
    return fail(Code::Invalid, fmt::format("the runtime's {} cannot be read", what));
  }
  return out;
}

template <class WireMap>
std::map<std::string, std::string> kept(const WireMap& from,
                                        const std::function<bool(std::string_view)>& keeps) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : from) {
    if (!keeps || keeps(key)) { out.emplace(key, value); }
  }
  return out;
}

PodSandbox valueOf(const wire::PodSandbox& in, const Keep& keep) {
  return {.id = in.id(),
          .name = in.name(),
          .uid = in.uid(),
          .ns = in.namespace_(),
          .labels = kept(in.labels(), keep.label),
          .annotations = kept(in.annotations(), keep.annotation)};
}

ContainerState valueOf(wire::ContainerState state) {
  switch (state) {
    case wire::CONTAINER_CREATED: return ContainerState::Created;
    case wire::CONTAINER_PAUSED: return ContainerState::Paused;
    case wire::CONTAINER_RUNNING: return ContainerState::Running;
    case wire::CONTAINER_STOPPED: return ContainerState::Stopped;
    default: return ContainerState::Unknown;
  }
}

Mount valueOf(const wire::Mount& in) {
  return {.destination = in.destination(),
          .type = in.type(),
          .source = in.source(),
          .options = {in.options().begin(), in.options().end()}};
}

LinuxDevice valueOf(const wire::LinuxDevice& in) {
  LinuxDevice out;
  out.path = in.path();
  out.type = in.type();
  out.major = in.major();
  out.minor = in.minor();
  if (in.has_file_mode()) { out.file_mode = in.file_mode().value(); }
  if (in.has_uid()) { out.uid = in.uid().value(); }
  if (in.has_gid()) { out.gid = in.gid().value(); }
  return out;
}

Container valueOf(const wire::Container& in, const Keep& keep) {
  Container out;
  out.id = in.id();
  out.pod_sandbox_id = in.pod_sandbox_id();
  out.name = in.name();
  out.state = valueOf(in.state());
  out.annotations = kept(in.annotations(), keep.annotation);
  for (const std::string& variable : in.env()) {
    const std::string_view name = std::string_view{variable}.substr(0, variable.find('='));
    if (!keep.variable || keep.variable(name)) { out.env.push_back(variable); }
  }
  for (const wire::Mount& mount : in.mounts()) {
    if (!keep.mount || keep.mount(mount.destination())) { out.mounts.push_back(valueOf(mount)); }
  }
  for (const wire::LinuxDevice& device : in.linux().devices()) { out.devices.push_back(valueOf(device)); }
  for (const wire::CDIDevice& device : in.cdi_devices()) { out.cdi_devices.push_back(device.name()); }
  out.pid = in.pid();
  return out;
}

std::optional<Event> valueOf(wire::Event event) {
  switch (event) {
    case wire::RUN_POD_SANDBOX: return Event::RunPodSandbox;
    case wire::STOP_POD_SANDBOX: return Event::StopPodSandbox;
    case wire::REMOVE_POD_SANDBOX: return Event::RemovePodSandbox;
    case wire::REMOVE_CONTAINER: return Event::RemoveContainer;
    default: return std::nullopt;
  }
}

/// Writes an adjustment, and remembers what of it may not be sent.
class AdjustmentWriter {
 public:
  explicit AdjustmentWriter(wire::ContainerAdjustment& out) : out_{out} {}

  void write(const Adjustment& from) {
    for (const auto& key : from.remove_annotations) { text((*out_.mutable_annotations())[removed(key)], ""); }
    for (const auto& [name, value] : from.annotations) {
      text((*out_.mutable_annotations())[set(name)], value);
    }
    for (const auto& destination : from.remove_mounts) {
      text(*out_.add_mounts()->mutable_destination(), removed(destination));
    }
    for (const Mount& mount : from.mounts) { write(mount, *out_.add_mounts()); }
    for (const auto& [name, value] : from.env) {
      wire::KeyValue& variable = *out_.add_env();
      text(*variable.mutable_key(), set(name));
      text(*variable.mutable_value(), value);
    }
    if (from.hooks != Hooks{}) { write(from.hooks, *out_.mutable_hooks()); }
    for (const auto& path : from.remove_devices) {
      text(*out_.mutable_linux()->add_devices()->mutable_path(), removed(path));
    }
    for (const LinuxDevice& device : from.devices) { write(device, *out_.mutable_linux()->add_devices()); }
    for (const DeniedDevice& device : from.denied_devices) {
      deny(device, *out_.mutable_linux()->mutable_resources()->add_devices());
    }
    for (const auto& name : from.cdi_devices) { text(*out_.add_cdi_devices()->mutable_name(), name); }
  }

  /// Why it may not be sent; "": it may.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void text(std::string& to, std::string_view from) {
    if (!isUtf8(from) && wrong_.empty()) { wrong_ = "a text of it is no UTF-8"; }
    to = from;
  }
  void texts(google::protobuf::RepeatedPtrField<std::string>& to, const std::vector<std::string>& from) {
    for (const std::string& one : from) { text(*to.Add(), one); }
  }
  /// A key that is set. Of a map's keys nobody else looks at the bytes.
  const std::string& set(const std::string& key) {
    if (wrong_.empty() && (key.empty() || key.front() == '-' || !isUtf8(key))) {
      wrong_ = key.empty() ? "a key of it is empty" : fmt::format("it sets '{}', which is no key", key);
    }
    return key;
  }
  std::string removed(const std::string& key) { return "-" + set(key); }

  void deny(const DeniedDevice& from, wire::LinuxDeviceCgroup& to) {
    text(*to.mutable_type(), from.type);
    to.mutable_major()->set_value(from.major);
    to.mutable_minor()->set_value(from.minor);
    to.set_access("rw");
  }
  void write(const Mount& from, wire::Mount& to) {
    text(*to.mutable_destination(), set(from.destination));
    text(*to.mutable_type(), from.type);
    text(*to.mutable_source(), from.source);
    texts(*to.mutable_options(), from.options);
  }
  void write(const LinuxDevice& from, wire::LinuxDevice& to) {
    text(*to.mutable_path(), set(from.path));
    text(*to.mutable_type(), from.type);
    to.set_major(from.major);
    to.set_minor(from.minor);
    if (from.file_mode) { to.mutable_file_mode()->set_value(*from.file_mode); }
    if (from.uid) { to.mutable_uid()->set_value(*from.uid); }
    if (from.gid) { to.mutable_gid()->set_value(*from.gid); }
  }
  void write(const Hooks& from, wire::Hooks& to) {
    write(from.prestart, *to.mutable_prestart());
    write(from.create_runtime, *to.mutable_create_runtime());
    write(from.create_container, *to.mutable_create_container());
    write(from.start_container, *to.mutable_start_container());
    write(from.poststart, *to.mutable_poststart());
    write(from.poststop, *to.mutable_poststop());
  }
  void write(const std::vector<Hook>& from, google::protobuf::RepeatedPtrField<wire::Hook>& to) {
    for (const Hook& hook : from) {
      wire::Hook& one = *to.Add();
      text(*one.mutable_path(), hook.path);
      texts(*one.mutable_args(), hook.args);
      texts(*one.mutable_env(), hook.env);
      if (hook.timeout) { one.mutable_timeout()->set_value(*hook.timeout); }
    }
  }

  wire::ContainerAdjustment& out_;
  std::string wrong_;
};

/// The same message is always the same bytes: maps are written in order.
std::string printInOrder(const google::protobuf::MessageLite& message) {
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream{&out};
    google::protobuf::io::CodedOutputStream coded{&stream};
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }  // from now on `out` is all of it
  return out;
}

/// Of an element of a container of the standard library, beside what it points to.
constexpr std::size_t kOfAnElement = 64;

std::size_t weightOf(const std::map<std::string, std::string>& map) {
  std::size_t out = 0;
  for (const auto& [key, value] : map) { out += kOfAnElement + key.size() + value.size(); }
  return out;
}

std::size_t weightOf(const std::vector<std::string>& texts) {
  std::size_t out = 0;
  for (const std::string& text : texts) { out += kOfAnElement + text.size(); }
  return out;
}

}  // namespace

Result<Runtime> parseConfigure(const std::string& payload) {
  return read<wire::ConfigureRequest>(payload, "Configure").map([](const wire::ConfigureRequest& in) {
    return Runtime{.name = in.runtime_name(), .version = in.runtime_version()};
  });
}

Result<Inventory> parseSynchronize(const std::string& payload, const Keep& keep) {
  return read<wire::SynchronizeRequest>(payload, "Synchronize").map([&](const wire::SynchronizeRequest& in) {
    Inventory out;
    for (const wire::PodSandbox& pod : in.pods()) { out.pods.push_back(valueOf(pod, keep)); }
    for (const wire::Container& one : in.containers()) { out.containers.push_back(valueOf(one, keep)); }
    out.more = in.more();
    return out;
  });
}

Result<ContainerCall> parseCreate(const std::string& payload, const Keep& keep) {
  const auto read_in = read<wire::CreateContainerRequest>(payload, "CreateContainer");
  return read_in.map([&](const wire::CreateContainerRequest& in) {
    return ContainerCall{.pod = valueOf(in.pod(), keep), .container = valueOf(in.container(), keep)};
  });
}

Result<ContainerCall> parseStop(const std::string& payload, const Keep& keep) {
  const auto read_in = read<wire::StopContainerRequest>(payload, "StopContainer");
  return read_in.map([&](const wire::StopContainerRequest& in) {
    return ContainerCall{.pod = valueOf(in.pod(), keep), .container = valueOf(in.container(), keep)};
  });
}

Result<StateChange> parseStateChange(const std::string& payload, const Keep& keep) {
  return read<wire::StateChangeEvent>(payload, "StateChange").map([&](const wire::StateChangeEvent& in) {
    return StateChange{.event = valueOf(in.event()),
                       .pod = valueOf(in.pod(), keep),
                       .container = valueOf(in.container(), keep)};
  });
}

std::size_t weightOf(const PodSandbox& pod) {
  return sizeof pod + pod.id.size() + pod.name.size() + pod.uid.size() + pod.ns.size() +
         weightOf(pod.labels) + weightOf(pod.annotations);
}

std::size_t weightOf(const Container& container) {
  std::size_t out = sizeof container + container.id.size() + container.pod_sandbox_id.size() +
                    container.name.size() + weightOf(container.annotations) + weightOf(container.env) +
                    weightOf(container.cdi_devices);
  for (const Mount& mount : container.mounts) {
    out += sizeof mount + mount.destination.size() + mount.type.size() + mount.source.size() +
           weightOf(mount.options);
  }
  for (const LinuxDevice& device : container.devices) {
    out += sizeof device + device.path.size() + device.type.size();
  }
  return out;
}

std::string printRegister(const std::string& plugin_name, const std::string& plugin_idx) {
  wire::RegisterPluginRequest out;
  out.set_plugin_name(plugin_name);
  out.set_plugin_idx(plugin_idx);
  return out.SerializeAsString();
}

std::string printConfigured(std::initializer_list<Event> events) {
  std::int32_t mask = 0;
  for (const Event event : events) { mask |= 1 << (static_cast<int>(event) - 1); }
  wire::ConfigureResponse out;
  out.set_events(mask);
  return out.SerializeAsString();
}

std::string printSynchronized(bool more) {
  wire::SynchronizeResponse out;
  out.set_more(more);
  return out.SerializeAsString();
}

Result<std::string> printAdjustment(const Adjustment& adjustment) {
  wire::CreateContainerResponse out;
  AdjustmentWriter writer{*out.mutable_adjust()};
  writer.write(adjustment);
  if (!writer.wrong().empty()) {
    return fail(Code::Invalid, fmt::format("the container cannot be adjusted: {}", writer.wrong()));
  }
  std::string bytes = printInOrder(out);
  if (bytes.size() > kMostOfAnAdjustment) {
    return fail(Code::Invalid, fmt::format("the container's adjustment has {} bytes; at most {} are sent",
                                           bytes.size(), kMostOfAnAdjustment));
  }
  return bytes;
}

}  // namespace gs::rpc::nri
