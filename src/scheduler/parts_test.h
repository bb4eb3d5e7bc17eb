// The parts of a scheduler that serve kube-scheduler's pods, for their tests: wired as Scheduler wires them,
// on virtual time, with an API server that answers what the test lets it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "scheduler/extender_pods.h"
#include "scheduler/leases/gone_proofs.h"
#include "scheduler/leases/lease_desk.h"
#include "scheduler/term/lease_record.h"
#include "testing/builders.h"

namespace gs::scheduler {

class TestParts {
 public:
  explicit TestParts(Config config = kubes()) : c{std::move(config), Rng{1}} {
    c.now = {Mono{std::chrono::hours{1}}, Wall{std::chrono::seconds{1'750'000'000}}};
    pending.reservedBy([](const model::Uid&) { return false; });
    c.engine.synced(c.now.mono);
    model::Crd crd{"gpuclaims.gpu.scheduling", model::Uid{"crd"}, 7, "default", "term",
                   c.config.scheduler_name};
    record.start("term", c.out);
    answer(calls().at(0), kapi::CallResult::Applied, 200, std::make_shared<const model::Crd>(crd));
    EXPECT_TRUE(record.ours());
  }
  static Config kubes() {
    Config config;
    config.extender_pods = {"kube"};
    return config;
  }

  // ---- objects

  void node(const std::string& name, int gpus) {
    auto object = std::make_shared<const model::Node>(testing::makeNode(name));
    auto status = std::make_shared<const model::GpuNodeStatus>(testing::makeStatus(name, gpus));
    c.engine.apply({kapi::kNode, {"", name}, {}, object, ++revision_}, c.now.mono);
    c.engine.apply({kapi::kGpuNodeStatus, {"", name}, {}, status, ++revision_}, c.now.mono);
  }
  void claim(const std::string& name, int count, const std::string& ns = "default") {
    model::GpuClaim object = testing::makeClaim(name, count);
    object.key.ns = ns;
    auto shared = std::make_shared<const model::GpuClaim>(object);
    c.engine.apply({kapi::kGpuClaim, object.key, {}, shared, ++revision_}, c.now.mono);
  }
  /// A pod of a kube-scheduler, of that claim; known here.
  const model::Pod& pod(const std::string& name, const char* of_claim = "one",
                        const std::string& ns = "default") {
    learn(testing::PodBuilder{name, ns}.scheduler("kube").claim(of_claim));
    return *c.cache().pod(uid(name));
  }
  void learn(testing::PodBuilder builder) {
    const auto made = builder.revision(++revision_).make();
    c.engine.apply({kapi::kPod, made->key, {}, made, made->revision}, c.now.mono);
  }
  /// The DeviceClass of all GPUs that drivers publish, and a ResourceClaim for one of these. Another object
  /// of that name each time.
  void deviceClass() {
    model::DeviceClass one;
    one.key = {"", "gpu"};
    one.revision = ++revision_;
    one.selectors = {"device.driver == 'gpu.nvidia.com'"};
    auto shared = std::make_shared<const model::DeviceClass>(std::move(one));
    c.engine.apply({kapi::kDeviceClass, shared->key, {}, shared, shared->revision}, c.now.mono);
  }
  void resourceClaim(const std::string& name) {
    model::DeviceSubRequest way;
    way.device_class = "gpu";
    model::ResourceClaim one;
    one.key = {"default", name};
    one.revision = ++revision_;
    one.uid = model::Uid{name + "-" + std::to_string(one.revision)};
    one.requests = {{"gpus", {way}}};
    auto shared = std::make_shared<const model::ResourceClaim>(std::move(one));
    c.engine.apply({kapi::kResourceClaim, shared->key, {}, shared, shared->revision}, c.now.mono);
  }
  void resourceClaimGone(const std::string& name) {
    c.engine.resourceClaimGone({"default", name}, {}, c.now.mono);
  }
  [[nodiscard]] model::PodPtr known(const std::string& name) const { return c.cache().pods().at(uid(name)); }
  void gone(const std::string& name) { c.engine.podGone(uid(name), c.now.mono); }
  static model::Uid uid(const std::string& name) { return model::Uid{"uid-" + name}; }
  static std::vector<model::NodeName> nodes(const std::vector<std::string>& names) {
    std::vector<model::NodeName> out;
    for (const auto& name : names) { out.emplace_back(name); }
    return out;
  }
  [[nodiscard]] int freeOn(const std::string& node) const {
    return static_cast<int>(c.engine.ledger().find(model::NodeName{node})->free_devices);
  }
  [[nodiscard]] sched::PodRequest requestOf(const model::Pod& pod) const {
    return std::get<sched::PodRequest>(pending.readDoor(pod));
  }

  /// Nodes a, b and large with four, eight and 64 GPUs; claims of one and of four in two namespaces.
  void threeNodes() {
    for (const char* ns : {"default", "other"}) {
      claim("one", 1, ns);
      claim("four", 4, ns);
    }
    node("a", 4);
    node("b", 8);
    node("large", 64);
  }

  // ---- time, and what comes of it

  void pass(Duration by) {
    c.now.mono += by;
    c.now.wall += std::chrono::duration_cast<Wall::duration>(by);
    c.reconciles.moveDue(c.now.mono);
    c.parts.tick(c.now, c.out);
    work();
  }
  /// As Scheduler::work() does, as far as these parts go.
  void work() {
    for (bool again = true; again;) {
      desk.pump(c.now.mono, c.out);
      again = false;
      for (const auto& notice : desk.takeNotices()) {
        c.reconciles.add(notice.uid);
        again = binder.noticed(notice) || again;
      }
      allocations.pump(c.now.mono, c.out);
      for (const auto& notice : allocations.takeNotices()) {
        c.reconciles.add(notice.uid);
        again = binder.noticed(notice) || again;
      }
      volumes.pump(c.now.mono, c.out);
      for (const auto& notice : volumes.takeNotices()) {
        c.reconciles.add(notice.uid);
        again = binder.noticed(notice) || again;
      }
      while (const auto uid = c.reconciles.take()) {
        volumes.touched(*uid);
        again = binder.advance(*uid) || again;
      }
    }
    binds.settle();
    pods.settle();
  }
  /// The calls that left since this was last asked.
  [[nodiscard]] std::vector<kapi::Call> calls() {
    std::vector<kapi::Call> out;
    for (auto& effect : std::exchange(c.out, {})) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { out.push_back(std::move(*call)); }
    }
    return out;
  }
  void answer(const kapi::Call& call, kapi::CallResult result, int http, model::Object object = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    o.object = std::move(object);
    EXPECT_TRUE(c.parts.handle(o, c.now, c.out));
  }
  void refuse(const kapi::Call& call, int http = 403) { answer(call, kapi::CallResult::Refused, http); }
  /// As the API server does.
  void apply(const kapi::Call& call) {
    json::Value body = call.body;
    body.child("metadata").set("uid", "lease-" + std::to_string(++revision_));
    body.child("metadata").set("resourceVersion", std::to_string(revision_));
    if (call.kind == kapi::kLease && call.verb != kapi::Verb::Delete) {
      body.child("metadata").set("namespace", call.key.ns);
      auto lease = std::make_shared<const model::Lease>(kapi::decodeLease(json::View{body}));
      return answer(call, kapi::CallResult::Applied, 201, std::move(lease));
    }
    if (call.kind == kapi::kPod && call.subresource != "binding") {
      for (const auto& [uid, known] : c.cache().pods()) {
        if (known->key != call.key) { continue; }
        model::Pod pod = *known;
        pod.revision = revision_;
        for (const auto& [key, value] : call.body["metadata"]["annotations"].members()) {
          pod.annotations[key] = value.str();
        }
        return answer(call, kapi::CallResult::Applied, 200, std::make_shared<const model::Pod>(pod));
      }
    }
    answer(call, kapi::CallResult::Applied, 201);
  }
  /// Every call is carried out, and what follows from that, until nothing more leaves.
  void applyAll() {
    for (int idle = 0; idle < 2;) {  // who was granted something at the end of one turn writes in the next
      work();
      const auto all = calls();
      idle = all.empty() ? idle + 1 : 0;
      for (const auto& call : all) { apply(call); }
    }
  }

  Context c;
  LeaseRecord record{"default", c.config.scheduler_name, c.parts};
  NodeCaches node_caches{0, c.rng};
  Slots slots{c.config.max_binding_cycles};
  LeaseDesk desk{c.engine, c.config.max_sharers, c.parts};
  AllocationDesk allocations{c.engine, c.rng, c.parts};
  VolumeDesk volumes{c.engine, c.parts};
  GoneProofs proofs{c};
  PendingPods pending{c};
  Probes probes{c, slots, pending};
  Binder binder{c, {desk, allocations, volumes, slots, pending, proofs, node_caches}};
  Leftovers leftovers{c, desk, allocations, record, pending, binder, proofs};
  Holds holds{c};
  Nominator nominator{c, holds};
  AskedBinds binds{c, {record, slots, pending, probes, binder, leftovers, holds}};
  ExtenderPods pods{c, {pending, binder, nominator, holds, binds, node_caches}};

 private:
  model::Revision revision_ = 100;
};

}  // namespace gs::scheduler
