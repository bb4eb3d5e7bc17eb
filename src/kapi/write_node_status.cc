#include "kapi/write_node_status.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kapi/kinds.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

using json::Array;
using json::Object;
using json::Value;

Call callOn(Verb verb, const model::NodeName& node, const char* subresource = "") {
  Call call;
  call.verb = verb;
  call.kind = kGpuNodeStatus;
  call.key = {"", node.text};
  call.subresource = subresource;
  return call;
}

Value asItIs(const model::GpuNodeStatus& status) {
  return Object{{"uid", status.uid.text}, {"resourceVersion", std::to_string(status.revision)}};
}

/// What the CRD takes: a driver may publish anything.
std::int64_t memoryOf(const model::Device& d) { return std::max<std::int64_t>(0, d.memory_mib); }

Value deviceValue(const model::Device& d) {
  Value out = Object{{"id", d.id}};
  const auto set_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) { out.set(name, text); }
  };
  set_text("uuid", d.uuid);
  set_text("model", d.model);
  out.set("memoryMiB", memoryOf(d));
  set_text("pciBusId", d.pci_bus_id);
  out.set("health", model::healthName(d.health));
  set_text("healthReason", d.health_reason);
  return out;
}

/// As far as deviceValue() says it.
bool isSaidAlike(const model::Device& a, const model::Device& b) {
  return a.id == b.id && a.uuid == b.uuid && a.model == b.model && memoryOf(a) == memoryOf(b) &&
         a.pci_bus_id == b.pci_bus_id && a.health == b.health && a.health_reason == b.health_reason;
}

}  // namespace

Call createNodeStatus(const model::NodeName& node, const model::Uid& node_uid) {
  Call call = callOn(Verb::Create, node);
  call.key.name.clear();
  Array owners{
      Object{{"apiVersion", "v1"}, {"kind", kNode->name}, {"name", node.text}, {"uid", node_uid.text}}};
  call.body = Object{{"apiVersion", apiVersion(kGpuNodeStatus)},
                     {"kind", kGpuNodeStatus->name},
                     {"metadata", Object{{"name", node.text},
                                         {"labels", Object{{model::kWrittenByKey, model::kByScheduler}}},
                                         {"ownerReferences", std::move(owners)}}},
                     {"spec", Object{{"nodeName", node.text}}}};
  return call;
}

Call publishDevices(const model::GpuNodeStatus& ours, const std::vector<model::Device>& devices) {
  Array list;
  for (const auto& device : devices) { list.push_back(deviceValue(device)); }
  const auto healthy = std::count_if(devices.begin(), devices.end(),
                                     [](const auto& d) { return d.health == model::Health::Healthy; });
  Call call = callOn(Verb::MergePatch, ours.node, "status");
  call.body = Object{{"metadata", asItIs(ours)},
                     {"status", Object{{"total", devices.size()},
                                       {"healthy", static_cast<std::int64_t>(healthy)},
                                       {"devices", std::move(list)},
                                       {"enforcement", model::enforcementName(model::Enforcement::Dra)}}}};
  return call;
}

bool isPublished(const model::GpuNodeStatus& ours, const std::vector<model::Device>& devices) {
  return ours.says_dra &&
         std::equal(ours.devices.begin(), ours.devices.end(), devices.begin(), devices.end(), isSaidAlike);
}

Call sayDra(const model::GpuNodeStatus& of_agent, bool dra) {
  Call call = callOn(Verb::MergePatch, of_agent.node, "status");
  // Said here, and not only by the User-Agent: else the agent, whose apply names it no more, takes it out.
  call.query = "fieldManager=gpu-scheduler";
  const Value word = dra ? Value{model::enforcementName(model::Enforcement::Dra)} : Value{};
  call.body = Object{{"metadata", asItIs(of_agent)}, {"status", Object{{"enforcement", word}}}};
  return call;
}

Call deleteNodeStatus(const model::GpuNodeStatus& ours) {
  Call call = callOn(Verb::Delete, ours.node);
  call.body = Object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", asItIs(ours)}};
  return call;
}

}  // namespace gs::kapi
