// What event_bench tells a scheduler: the cluster that it lists, and objects as lines of a watch.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/scheduler_drive.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "testing/builders.h"

namespace gs::bench {

using kapi::Kind;
using testing::PodBuilder;

inline constexpr int kNodes = 5'000;
inline constexpr int kGpus = 8;
inline constexpr std::size_t kBytes = 1'400'000;  // etcd's limit is 1.5 MiB

inline std::string nodeName(int i) { return fmt::format("node-{:05}", i); }
inline std::vector<model::Object>& of(SchedulerDrive::Listed& listed, Kind kind) { return listed[kind]; }
template <class T>
model::Object shared(T value) {
  return std::make_shared<const T>(std::move(value));
}

/// `taken` of the nodes are full: two pods with a claim of four GPUs each, and their leases.
inline SchedulerDrive::Listed cluster(int nodes, int taken) {
  SchedulerDrive::Listed listed;
  for (const int count : {1, 4}) {
    of(listed, kapi::kGpuClaim).push_back(shared(testing::makeClaim(fmt::format("c{}", count), count)));
  }
  for (int i = 0; i < nodes; ++i) {
    model::Node n = testing::makeNode(nodeName(i));
    n.labels = {{"kubernetes.io/hostname", n.name.text},
                {"all", "same"},
                {"zone", fmt::format("zone-{}", i % 4)},
                {"model", i % 2 == 0 ? "a100" : "h100"}};
    of(listed, kapi::kNode).push_back(shared(n));
    of(listed, kapi::kGpuNodeStatus).push_back(shared(testing::makeStatus(n.name.text, kGpus, 4)));
    for (int first = 0; i < taken && first < kGpus; first += 4) {
      const std::string ids =
          fmt::format("{}:{},{},{},{}", n.name.text, first, first + 1, first + 2, first + 3);
      const auto pod = PodBuilder(fmt::format("{}-{}", n.name.text, first))
                           .claim("c4")
                           .on(n.name.text.c_str())
                           .allocated(ids)
                           .annotate(model::kReservationKey, "r")
                           .running()
                           .make();
      of(listed, kapi::kPod).emplace_back(pod);
      for (int id = first; id < first + 4; ++id) {
        of(listed, kapi::kLease).push_back(shared(testing::makeLease(n.name.text, id, *pod, "r", ids)));
      }
    }
  }
  return listed;
}

/// A pod of one of so many kinds (each asks for other CPU) that waits for one GPU.
inline model::PodPtr waiting(int i, int kinds, model::Revision revision) {
  return PodBuilder(fmt::format("waits-{}", i)).revision(revision).claim("c1").cpu(i % kinds + 1).make();
}

// ---- Objects as lines of a watch

/// So many of these that they are kBytes together; "@" in them is their number.
inline std::string many(const std::string& entry, std::size_t bytes = kBytes) {
  std::string out;
  out.reserve(bytes + entry.size());
  for (std::size_t i = 0; out.size() < bytes; ++i) {
    if (i > 0) { out += ','; }
    for (const char c : entry) {
      if (c == '@') {
        out += std::to_string(i);
      } else {
        out += c;
      }
    }
  }
  return out;
}

inline std::string line(const char* type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object);
}

struct PodText {
  std::string name = "big";
  std::string labels = {};
  std::string annotations = {};
  std::string spec = {};  // after schedulerName, with a comma before
  std::string status = R"("phase":"Pending")";
};
inline std::string text(const PodText& p, model::Revision revision) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}","resourceVersion":"{1}","labels":{{{2}}},"annotations":{{{3}}}}},"spec":{{"schedulerName":"gpu-scheduler"{4}}},"status":{{{5}}}}})",
      p.name, revision, p.labels, p.annotations, p.spec, p.status);
}

struct NodeText {
  std::string name = nodeName(7);
  std::string labels = R"("all":"same","zone":"zone-3","model":"h100")";
  std::string taints = {};
  std::string allocatable = R"("cpu":"64","memory":"512Gi","pods":"110")";
};
inline std::string text(const NodeText& n, model::Revision revision) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","uid":"uid-{}","resourceVersion":"{}","labels":{{{}}}}},"spec":{{"taints":[{}]}},"status":{{"allocatable":{{{}}},"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      n.name, n.name, revision, n.labels, n.taints, n.allocatable);
}

inline std::string statusText(const std::string& devices, model::Revision revision) {
  return fmt::format(
      R"({{"apiVersion":"gpu.scheduling/v1","kind":"GpuNodeStatus","metadata":{{"name":"{}","uid":"gns-7","resourceVersion":"{}"}},"status":{{"devices":[{}]}}}})",
      nodeName(7), revision, devices);
}

inline std::string leaseText(const std::string& name, const std::string& holder,
                             const std::string& annotations, model::Revision revision) {
  return fmt::format(
      R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}","resourceVersion":"{1}","labels":{{"gpu.scheduling/managed":"true"}},"annotations":{{"gpu.scheduling/format":"1",{2}}}}},"spec":{{"holderIdentity":"{3}"}}}})",
      name, revision, annotations, holder);
}

inline std::string claimText(const std::string& spec, model::Revision revision) {
  return fmt::format(
      R"({{"apiVersion":"gpu.scheduling/v1","kind":"GpuClaim","metadata":{{"name":"c1","namespace":"default","uid":"claim-c1","resourceVersion":"{}"}},"spec":{{{}}}}})",
      revision, spec);
}

inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"') { out += '\\'; }
    out += c;
  }
  return out;
}

}  // namespace gs::bench
