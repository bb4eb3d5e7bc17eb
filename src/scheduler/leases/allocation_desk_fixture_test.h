// For tests only: an allocation desk, a pod with a limit, and an API server that answers what the test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "dra/drivers.h"
#include "dra/limits.h"
#include "kapi/write_dra.h"
#include "scheduler/leases/allocation_desk.h"

namespace gs::scheduler {

class AllocationDeskTest : public ::testing::Test {
 protected:
  AllocationDeskTest() {
    pod.key = {"team", "train-0"};
    pod.uid = model::Uid{"u"};
    pod.gpu_limits = {{"main", 1}};
  }
  [[nodiscard]] Allocation gpu(int n) const {
    Allocation a;
    a.claim = kapi::claimKeyOf(pod);
    a.requests = dra::limitRequests(pod, dra::knownDrivers().front());
    a.devices = dra::allocation(a.requests, {{"gpu.nvidia.com", "a", "gpu-" + std::to_string(n)}});
    a.node = model::NodeName{"a"};
    a.reservation = "r";
    return a;
  }
  /// The pod's claim as the API server has it; `n` -1: allocated nothing.
  [[nodiscard]] model::ResourceClaim claim(model::Revision revision, int n = -1) const {
    model::ResourceClaim c;
    c.key = {"team", "gpu-u"};
    c.uid = model::Uid{"c"};
    c.revision = revision;
    c.owner_pod = pod.uid;
    c.reservation = "r";
    c.requests = dra::claimRequests(gpu(0).requests);
    if (n < 0) { return c; }
    c.allocated = true;
    c.results = gpu(n).devices;
    c.reserved_for = {pod.uid};
    return c;
  }
  static model::Object object(model::ResourceClaim c) {
    return std::make_shared<const model::ResourceClaim>(std::move(c));
  }
  void know(model::ResourceClaim c) {
    engine.learn(object(std::move(c)), now);
    desk.touched(pod.uid);
  }

  /// What is sent next, "POST", "PUT 5 gpu-1", "PUT 5", "PATCH", "GET"; "" nothing.
  std::string next() {
    kapi::Effects out;
    desk.pump(now, out);
    EXPECT_LE(out.size(), 1U);
    if (out.empty()) { return ""; }
    call = std::get<kapi::Call>(out.front());
    EXPECT_EQ(call.leader_only, call.verb != kapi::Verb::Get);
    if (call.verb == kapi::Verb::Create) { return "POST"; }
    if (call.verb == kapi::Verb::Get) { return "GET"; }
    if (call.verb == kapi::Verb::MergePatch) { return "PATCH"; }
    if (call.verb == kapi::Verb::StrategicPatch) {
      const json::Value& entry = call.body["status"]["reservedFor"].at(0);
      return (entry["$patch"].str() == "delete" ? "LEAVE " : "JOIN ") +
             std::string{call.body["metadata"]["resourceVersion"].str()} + " " +
             std::string{entry["uid"].str()};
    }
    std::string text = "PUT " + std::string{call.body["metadata"]["resourceVersion"].str()};
    const auto& results = call.body["status"]["allocation"]["devices"]["results"].items();
    for (const auto& result : results) { text += " " + std::string{result["device"].str()}; }
    return text;
  }
  void answer(kapi::CallResult result, int http, model::Object there = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    if (http == 404) { o.reason = "NotFound"; }
    o.object = std::move(there);
    desk.handle(o, Now{now, {}}, ignored);
  }
  void applied(model::ResourceClaim c) { answer(kapi::CallResult::Applied, 200, object(std::move(c))); }
  std::string told() {
    std::string text = next();
    EXPECT_EQ(text, "") << "it writes on";
    for (const auto& n : desk.takeNotices()) {
      static const char* names[] = {"allocated", "refused", "empty"};
      text += std::string{names[static_cast<int>(n.what)]};
      if (n.what == AllocationNotice::What::Allocated) { text += " " + std::to_string(n.revision); }
      why = n.why;
    }
    return text;
  }

  engine::Engine engine;
  controller::Parts parts;
  Rng rng{1};
  AllocationDesk desk{engine, rng, parts};
  model::Pod pod;
  kapi::Call call;
  kapi::Effects ignored;
  std::string why;
  Mono now{std::chrono::hours{1}};
};

}  // namespace gs::scheduler
