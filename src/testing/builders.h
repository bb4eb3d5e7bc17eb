// Fluent builders of the values that tests need. Included by tests, fuzz targets and benchmarks only.
#pragma once

#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/annotations.h"
#include "model/claim.h"
#include "model/crd.h"
#include "model/lease.h"
#include "model/node.h"
#include "model/object.h"
#include "model/pod.h"
#include "model/quota.h"

namespace gs::testing {

class PodBuilder {
 public:
  explicit PodBuilder(std::string name, std::string ns = "default") {
    pod_.uid = model::Uid{"uid-" + name};
    pod_.key = {std::move(ns), std::move(name)};
    pod_.revision = 1;
    pod_.scheduler_name = "gpu-scheduler";
    pod_.containers_terminated = true;
  }
  PodBuilder& uid(const char* uid) {
    pod_.uid = model::Uid{uid};
    return *this;
  }
  PodBuilder& revision(model::Revision r) {
    pod_.revision = r;
    return *this;
  }
  PodBuilder& claim(const char* name) { return annotate(model::kClaimKey, name); }
  PodBuilder& annotate(const char* key, std::string value) {
    pod_.annotations[key] = std::move(value);
    return *this;
  }
  PodBuilder& gpus(std::int64_t n) {
    pod_.requests.extended[model::kNvidiaGpu] = n;
    return *this;
  }
  PodBuilder& resourceClaim(const char* name) {
    pod_.claims.push_back({name, name, false});
    return *this;
  }
  PodBuilder& cpu(std::int64_t milli) {
    pod_.requests.cpu_milli = milli;
    return *this;
  }
  PodBuilder& on(const char* node) {
    pod_.node = model::NodeName{node};
    return *this;
  }
  PodBuilder& allocated(std::string text) { return annotate(model::kAllocatedKey, std::move(text)); }
  PodBuilder& phase(model::PodPhase p) {
    pod_.phase = p;
    return *this;
  }
  PodBuilder& running() {
    pod_.containers_terminated = false;
    return phase(model::PodPhase::Running);
  }
  PodBuilder& terminated() {
    pod_.containers_terminated = true;
    return *this;
  }
  PodBuilder& scheduler(const char* name) {
    pod_.scheduler_name = name;
    return *this;
  }
  PodBuilder& gate(const char* name) {
    pod_.scheduling_gates.change().emplace_back(name);
    return *this;
  }
  PodBuilder& unsupported(const char* path) {
    pod_.unsupported.change().emplace_back(path);
    return *this;
  }
  PodBuilder& agent(bool ready) {
    pod_.is_agent = true;
    pod_.ready = ready;
    return *this;
  }
  PodBuilder& priority(std::int32_t p) {
    pod_.priority = p;
    return *this;
  }
  [[nodiscard]] model::PodPtr make() const { return std::make_shared<const model::Pod>(pod_); }
  [[nodiscard]] const model::Pod& value() const { return pod_; }

 private:
  model::Pod pod_;
};

/// A Ready node with cpu, memory and room for 110 pods.
[[nodiscard]] inline model::Node makeNode(const std::string& name) {
  model::Node n;
  n.name = model::NodeName{name};
  n.uid = model::Uid{"uid-" + name};
  n.revision = 1;
  n.ready = true;
  n.allocatable.cpu_milli = 64'000;
  n.allocatable.memory = std::int64_t{512} << 30;
  n.allocatable.ephemeral = std::int64_t{512} << 30;
  n.allocatable_pods = 110;
  return n;
}

/// `count` healthy GPUs, `per_island` of them in each island, 600 GB/s inside.
[[nodiscard]] inline model::GpuNodeStatus makeStatus(const std::string& node, int count, int per_island = 8) {
  model::GpuNodeStatus s;
  s.node = model::NodeName{node};
  s.uid = model::Uid{"gns-" + node};
  s.revision = 1;
  s.enforcement = model::Enforcement::Devices;
  for (int id = 0; id < count; ++id) {
    model::Device d;
    d.id = id;
    d.uuid = fmt::format("GPU-{}-{}", node, id);
    d.health = model::Health::Healthy;
    d.memory_mib = 81'920;
    d.island = std::to_string(id / per_island);
    d.bandwidth_gbps = 600;
    s.devices.push_back(std::move(d));
  }
  return s;
}

[[nodiscard]] inline model::GpuClaim makeClaim(const std::string& name, std::int64_t count = 1) {
  model::GpuClaim c;
  c.key = {"default", name};
  c.uid = model::Uid{"claim-" + name};
  c.revision = 1;
  c.count = count;
  return c;
}

/// A format-1 lease of `ns` that gives one device to one pod.
[[nodiscard]] inline model::Lease makeLease(const std::string& node, int gpu, const model::Pod& pod,
                                            const std::string& reservation, const std::string& devices) {
  model::Lease l;
  l.key = {"default", model::leaseName(model::NodeName{node}, gpu)};
  l.uid = model::Uid{"lease-" + l.key.name};
  l.revision = 5;
  l.managed = true;
  l.holder = pod.uid.text;
  l.format = 1;
  l.node = model::NodeName{node};
  l.gpu = gpu;
  l.pod = pod.key;
  l.pod_uid = pod.uid;
  l.reservation = model::ReservationId{reservation};
  l.devices = devices;
  return l;
}

}  // namespace gs::testing
