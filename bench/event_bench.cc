// What one event costs the deciding thread, against the size of its object: 5,000 nodes of 8 GPUs that are
// all taken, and for each kind of object one of 1.4 MB, which is what the API server takes, of whatever there
// can be many of in it.
//
//   event_bench              a table: the longest handle() that the event leads to, how many follow, what
//                            decoding took; at the end the longest, and what they did
//   event_bench NAME...      only cases whose name has one of these in it; "crowd": what many objects make of
//                            one event; "wide": nodes of 1,024 GPUs; "verbs": what schedulers ask
//   event_bench --json FILE  the figures (docs/reference/benchmarks.md) as one flat JSON object:
//
//   worst_event_ms    the longest of all
//   quota_ratio       what 256 decisions among 8,000 kinds cost with quotas / without
#include <fmt/format.h>

#include <cstring>
#include <functional>

#include "bench/event_objects.h"
#include "bench/event_report.h"
#include "bench/event_verbs.h"
#include "bench/event_wide.h"
#include "bench/figures.h"
#include "bench/scheduler_drive.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "testing/builders.h"

namespace gs::bench {
namespace {

// ---- Cases

struct Case {
  const char* name;
  Kind kind;
  std::function<std::string(model::Revision)> object;  // as JSON
};

std::string onNode(int i) { return fmt::format(R"(,"nodeName":"{}")", nodeName(i)); }

std::vector<Case> podCases() {
  const auto pod = [](const char* name, PodText p) {
    p.name = name;
    std::replace(p.name.begin(), p.name.end(), ' ', '-');
    return Case{name, kapi::kPod, [p = std::move(p)](model::Revision r) { return text(p, r); }};
  };
  const std::string term =
      R"({"topologyKey":"all","labelSelector":{"matchExpressions":[{"key":"app@","operator":"In","values":["@"]}]}})";
  const auto terms = [](const std::string& list) {
    return R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + list +
           "]}}";
  };
  const std::string terminated =
      R"("phase":"Running","startTime":"2026-01-01T00:00:00Z","containerStatuses":[)" +
      many(R"({"name":"c@","state":{"running":{}}})") + "]";
  return {
      pod("pod labels", {.labels = many(R"("label-@":"value")")}),
      pod("pod annotations", {.annotations = many(R"("gpu.scheduling/a@":"value")")}),
      pod("pod tolerations",
          {.spec = R"(,"tolerations":[)" + many(R"({"key":"key-@","operator":"Exists"})") + "]"}),
      pod("pod nodeSelector", {.spec = R"(,"nodeSelector":{)" + many(R"("label-@":"value")") + "}"}),
      pod("pod gates", {.spec = R"(,"schedulingGates":[)" + many(R"({"name":"gate-@"})") + "]"}),
      pod("pod extended resources", {.spec = R"(,"containers":[{"name":"c","resources":{"requests":{)" +
                                             many(R"("example.com/r@":"1")") + "}}}]"}),
      pod("pod containers of shares",
          {.spec =
               R"(,"containers":[)" +
               many(
                   R"({"name":"c@","resources":{"limits":{"tencent.com/vcuda-core":"1","tencent.com/vcuda-memory":"1"}}})") +
               "]"}),
      pod("bound pod of shares",
          {.annotations = R"("tencent.com/predicate-node":"node-00007",)" +
                          many(R"("tencent.com/predicate-gpu-idx-@":"1")", kBytes / 2),
           .spec =
               onNode(7) + R"(,"containers":[)" +
               many(
                   R"({"name":"c@","resources":{"limits":{"tencent.com/vcuda-core":"1","tencent.com/vcuda-memory":"1"}}})",
                   kBytes / 2) +
               "]"}),
      pod("bound pod allocated",
          {.annotations = R"("gpu.scheduling/allocated":"node-00008:)" + many("@") + R"(")",
           .spec = onNode(8)}),
      pod("bound pod extended resources",
          {.spec = onNode(14) + R"(,"containers":[{"name":"c","resources":{"requests":{)" +
                   many(R"("example.com/r@":"1")") + "}}}]"}),
      pod("pod unreadable resources", {.spec = R"(,"containers":[{"name":"c","resources":{"requests":{)" +
                                               many(R"("example.com/r@":"x")") + "}}}]"}),
      pod("bound pod prefers nothing",
          {.spec = onNode(9) + R"(,"tolerations":[)" + many(R"({"key":"k@"})") + "]"}),
      pod("bound pod 64 terms", {.spec = onNode(10) + terms(many(term, 64 * (term.size() + 1) - 64 * 2))}),
      pod("bound pod many terms", {.spec = onNode(11) + terms(many(term))}),
      pod("bound pod large terms",
          {.spec = onNode(12) + terms(R"({"topologyKey":"all","namespaces":[)" + many(R"("ns-@")") +
                                      R"(],"labelSelector":{}})")}),
      pod("bound pod topology keys",
          {.spec = onNode(10) + terms(many(R"({"topologyKey":"example.com/key-@","labelSelector":{}})"))}),
      pod("bound pod statuses", {.spec = onNode(13), .status = terminated}),
  };
}

std::vector<Case> otherCases() {
  const auto node = [](const char* name, NodeText n) {
    return Case{name, kapi::kNode, [n = std::move(n)](model::Revision r) { return text(n, r); }};
  };
  const auto status = [](const char* name, std::string devices) {
    return Case{name, kapi::kGpuNodeStatus,
                [d = std::move(devices)](model::Revision r) { return statusText(d, r); }};
  };
  const auto lease = [](const char* name, const char* holder, std::string annotations) {
    return Case{name, kapi::kLease, [=, a = std::move(annotations)](model::Revision r) {
                  return leaseText(std::string{"big-"} + holder, holder, a, r);
                }};
  };
  const auto claim = [](const char* name, std::string spec) {
    return Case{name, kapi::kGpuClaim, [s = std::move(spec)](model::Revision r) { return claimText(s, r); }};
  };
  const auto quota = [](const char* name, std::string table) {
    return Case{
        name, kapi::kQuotaMap, [t = escaped(std::move(table))](model::Revision r) {
          return fmt::format(
              R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"gpuquota","namespace":"kube-system","uid":"q","resourceVersion":"{}"}},"data":{{"gpu_quota":"{}"}}}})",
              r, t);
        }};
  };
  const std::string at = R"("gpu.scheduling/node":"node-00020","gpu.scheduling/gpu":"0",)";
  const std::string holder =
      R"({"uid":"uid-h@","namespace":"default","name":"h@","milli":1,"mib":1,"reservation":"r","devices":"node-00020:0"})";
  return {
      node("node labels", {.labels = R"("all":"same",)" + many(R"("label-@":"value")")}),
      node("node taints", {.taints = many(R"({"key":"key-@","value":"v","effect":"NoSchedule"})")}),
      node("node resources",
           {.allocatable = R"("cpu":"64","pods":"110",)" + many(R"("example.com/r@":"1")")}),
      node("node as it was", {}),
      status("status devices", many(R"({"id":@,"uuid":"GPU-@","health":"Healthy"})")),
      status("status links", R"({"id":0,"health":"Healthy","links":[)" + many(R"({"to":1,"gbps":1})") + "]}"),
      status("status users", R"({"id":0,"health":"Healthy","inUseBy":[)" + many(R"("uid-user-@")") + "]}"),
      status("status users everywhere",
             many(R"({"id":@,"health":"Healthy","inUseBy":["uid-a@","uid-b@","uid-c@"]})")),
      lease("lease holders", "shared",
            at + R"("gpu.scheduling/holders":")" + escaped("[" + many(holder, kBytes / 2) + "]") + "\""),
      lease(
          "lease devices", "uid-x",
          at +
              R"("gpu.scheduling/pod-uid":"uid-x","gpu.scheduling/pod-name":"x","gpu.scheduling/pod-namespace":"default","gpu.scheduling/reservation":"r","gpu.scheduling/devices":"node-00020:)" +
              many("@") + "\""),
      claim("claim selector", R"("selector":{"matchLabels":{)" + many(R"("label-@":"value")") + "}}"),
      claim("claim of 64 labels",
            R"("selector":{"matchLabels":{)" + many(R"("label-@":"value")", 64 * 17 - 8) + "}}"),
      claim("claim prefers ids", R"("devices":{"policy":"preferIds","preferIds":[)" + many("@") + "]}"),
      claim("claim of many pods", R"("devices":{"count":2})"),
      quota("quota of namespaces", "{" + many(R"("ns-@":{"quota":{"a100":8}})", kBytes / 2) + "}"),
      quota("quota of models", R"({"default":{"quota":{)" + many(R"("model-@":8)", kBytes / 2) + "}}}"),
      quota("quota of pools",
            R"({"default":{"quota":{"a100":100000},"pool":[)" + many(R"("pool-@")", kBytes / 2) + "]}}"),
  };
}

scheduler::Config withQuota() {
  scheduler::Config config;
  config.quota.map = {"kube-system", "gpuquota"};
  config.quota.labels = {"model", "pool"};
  return config;
}

/// A quota that binds nobody yet.
model::Object openQuota() {
  model::QuotaMap map{{"kube-system", "gpuquota"}, model::Uid{"q"}, 1, model::Quotas{}, ""};
  return shared(std::move(map));
}

/// The longest event of all.
double measureCases(const Wanted& wanted) {
  const auto isWanted = [&](const Case& c) { return wanted(c.name); };
  const auto pods = podCases();
  const auto others = otherCases();
  if (std::none_of(pods.begin(), pods.end(), isWanted) &&
      std::none_of(others.begin(), others.end(), isWanted)) {
    return 0;
  }
  auto listed = cluster(kNodes, kNodes);
  for (int i = 0; i < 2'000; ++i) { of(listed, kapi::kPod).emplace_back(waiting(i, 200, 1)); }
  of(listed, kapi::kQuotaMap).push_back(openQuota());
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{40});
  (void)drive.takeWorst();
  (void)drive.takeTotal();
  double worst = 0;
  const auto measure = [&](std::string name, Kind kind, const std::string& told) {
    Result r{std::move(name)};
    r.decode_ms = drive.tellLine(kind, told);
    drive.run(std::chrono::seconds{3});
    worst = std::max(worst, report(drive, r).ms);
  };
  for (const auto* cases : {&pods, &others}) {
    for (const auto& c : *cases) {
      if (!wanted(c.name)) { continue; }
      const std::string object = c.object(drive.nextRevision());
      measure(c.name, c.kind, line("ADDED", object));
      if (c.kind == kapi::kPod || c.kind == kapi::kLease) {
        measure(std::string{c.name} + ", gone", c.kind, line("DELETED", c.object(drive.nextRevision())));
      }
    }
  }
  return worst;
}

// ---- Crowds: what many objects make of one event

/// Listed, `n` pods of as many kinds that wait for a GPU of a full cluster, with that label.
SchedulerDrive::Listed crowd(int n, const model::Labels& labels = {}) {
  auto listed = cluster(kNodes, kNodes);
  for (int i = 0; i < n; ++i) {
    model::Pod pod = *waiting(i, n, 1);
    pod.labels = labels;
    of(listed, kapi::kPod).push_back(shared(std::move(pod)));
  }
  of(listed, kapi::kQuotaMap).push_back(openQuota());
  return listed;
}

/// A pod without GPUs comes to that node.
std::string guest(int i, model::Revision revision) {
  return line("ADDED",
              text(PodText{.name = fmt::format("guest-{}", i),
                           .spec = onNode(i) +
                                   R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}])"},
                   revision));
}

double measureKinds(int n) {
  SchedulerDrive drive{withQuota(), crowd(n)};
  drive.run(std::chrono::seconds{60});
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) { lines.push_back(guest(i, drive.nextRevision())); }
  return follow(drive, fmt::format("100 nodes change, {} kinds wait", n), kapi::kPod, lines).ms;
}

/// 64 pods with four GPUs each end, so that 256 others are placed.
Result measureQuota(int kinds, bool quota) {
  auto listed = crowd(kinds);
  const std::string binds = R"({"default":{"quota":{"a100":100000,"h100":100000}}})";
  SchedulerDrive drive{quota ? withQuota() : scheduler::Config{}, std::move(listed)};
  drive.run(std::chrono::seconds{60});
  if (quota) {
    (void)drive.tellLine(
        kapi::kQuotaMap,
        line(
            "MODIFIED",
            fmt::format(
                R"({{"metadata":{{"name":"gpuquota","namespace":"kube-system","uid":"q","resourceVersion":"{}"}},"data":{{"gpu_quota":"{}"}}}})",
                drive.nextRevision(), escaped(binds))));
    drive.run(std::chrono::seconds{60});
  }
  std::vector<std::string> lines;
  for (int i = 0; i < 64; ++i) {
    PodText pod{.name = fmt::format("{}-0", nodeName(i)), .spec = onNode(i)};
    pod.annotations =
        fmt::format(R"("gpu.scheduling/claim":"c4","gpu.scheduling/allocated":"{}:0,1,2,3")", nodeName(i));
    pod.status = R"("phase":"Succeeded","containerStatuses":[{"name":"c","state":{"terminated":{}}}])";
    lines.push_back(line("MODIFIED", text(pod, drive.nextRevision())));
  }
  const char* with = quota ? "with quotas" : "without";
  return follow(drive, fmt::format("256 decisions, {} kinds, {}", kinds, with), kapi::kPod, lines);
}

/// So many pods wait with maps, each for other GPUs of a node whose GPUs are all taken.
double measureMaps(int n) {
  auto listed = cluster(kNodes, kNodes);
  for (int i = 0; i < n; ++i) {
    const std::string map =
        fmt::format("{}={}:{},{}", i, nodeName(i % kNodes), i / kNodes % kGpus, (i / kNodes + 1) % kGpus);
    of(listed, kapi::kPod)
        .emplace_back(PodBuilder(fmt::format("mapped-{}", i)).annotate(model::kMapKey, map).make());
  }
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{60});
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) { lines.push_back(guest(i, drive.nextRevision())); }
  return follow(drive, fmt::format("100 nodes change, {} maps wait", n), kapi::kPod, lines).ms;
}

double measureTerms() {
  model::Labels labels;
  for (int i = 0; i < 64; ++i) { labels[fmt::format("app{}", i)] = std::to_string(i); }
  SchedulerDrive drive{withQuota(), crowd(100, labels)};
  drive.run(std::chrono::seconds{60});
  const auto pods = podCases();
  const auto terms = std::find_if(
      pods.begin(), pods.end(), [](const Case& c) { return std::strcmp(c.name, "bound pod 64 terms") == 0; });
  return follow(drive, "64 terms that mean 100 kinds", kapi::kPod,
                {line("ADDED", terms->object(drive.nextRevision()))})
      .ms;
}

double measureForged() {
  SchedulerDrive drive{withQuota(), crowd(100)};
  drive.run(std::chrono::seconds{60});
  std::string ids;
  for (int i = 0; i < 500; ++i) { ids += (i > 0 ? "," : "") + std::to_string(i); }
  const PodText pod{.annotations = fmt::format(R"("gpu.scheduling/allocated":"{}:{}")", nodeName(8), ids),
                    .spec = onNode(8)};
  return follow(drive, "500 forged ids, and a sweep", kapi::kPod,
                {line("ADDED", text(pod, drive.nextRevision()))})
      .ms;
}

/// `n` terms for everybody, each with another value.
std::vector<model::AntiAffinityTerm> termsWith(int n, int first, model::LabelRequirement::Op op) {
  std::vector<model::AntiAffinityTerm> terms;
  for (int t = 0; t < n; ++t) {
    terms.push_back({"kubernetes.io/hostname", {}, {{{"job", op, {fmt::format("{}-{}", first, t)}}}}});
  }
  return terms;
}

std::string bound(const char* name, const std::string& terms, model::Revision revision) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  return text(PodText{.name = name,
                      .spec = onNode(10) + fmt::format(R"(,"affinity":{{"podAntiAffinity":{{"{}":[{}]}}}})",
                                                       kRequired, terms)},
              revision);
}

/// Of 10,000 pods that ask for the same a few come, or the words that they are told change: nodes go.
double measureAlike() {
  auto listed = cluster(kNodes, kNodes);
  for (int i = 0; i < 10'000; ++i) { of(listed, kapi::kPod).emplace_back(waiting(i, 1, 1)); }
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{120});
  const auto gone = [&](int i) {
    NodeText n;
    n.name = nodeName(i);
    n.allocatable = R"("cpu":"0","pods":"110")";
    return line("MODIFIED", text(n, drive.nextRevision()));
  };
  const double all = follow(drive, "other words for 10,000 alike", kapi::kNode, {gone(3)}).ms;
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) { lines.push_back(gone(i + 10)); }
  return std::max(all, follow(drive, "other words again and again", kapi::kNode, lines).ms);
}

/// A thousand pods of one user with 64 terms each for every namespace, and a sweep over 2,000 pods that wait.
double measureOthersTerms(model::LabelRequirement::Op op) {
  auto listed = crowd(2'000, {{"app", "training"}, {"job", "7"}});
  for (int i = 0; i < 1'000; ++i) {
    model::Pod pod = PodBuilder(fmt::format("says-{}", i)).on(nodeName(i).c_str()).running().value();
    pod.keeps_away = termsWith(64, i, op);
    of(listed, kapi::kPod).push_back(shared(std::move(pod)));
  }
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{60});
  const char* which = op == model::LabelRequirement::Op::In ? "few" : "nearly all";
  return follow(drive, fmt::format("64,000 terms that mean {}", which), kapi::kPod,
                {guest(1, drive.nextRevision())})
      .ms;
}

/// A pod with a term for each of 60 labels that all nodes have comes and goes.
double measureKeys() {
  auto listed = cluster(kNodes, 0);
  const auto key = [](int k) { return fmt::format("feature.node.kubernetes.io/{}", k); };
  for (std::size_t i = 0; i < kNodes; ++i) {
    model::Node n = *of(listed, kapi::kNode)[i].as<model::Node>();
    for (int k = 0; k < 60; ++k) { n.labels[key(k)] = k % 2 == 0 ? "true" : std::to_string(i); }
    of(listed, kapi::kNode)[i] = shared(std::move(n));
  }
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{60});
  std::string terms;
  for (int k = 0; k < 60; ++k) {
    terms += fmt::format(R"({}{{"topologyKey":"{}","labelSelector":{{}}}})", k > 0 ? "," : "", key(k));
  }
  double worst = 0;
  for (const char* type : {"ADDED", "DELETED"}) {
    const Result r = follow(drive, fmt::format("60 topology keys, {}", type), kapi::kPod,
                            {line(type, bound("keys", terms, drive.nextRevision()))});
    worst = std::max(worst, r.ms);
  }
  return worst;
}

/// A pod with 64 terms comes while 10,000 wait.
double measureWaiting() {
  auto listed = cluster(kNodes, kNodes);
  for (int i = 0; i < 10'000; ++i) {
    model::Pod pod = *waiting(i, 200, 1);
    pod.labels = {{"app", "training"}, {"team", "a"}, {"job", std::to_string(i)}};
    of(listed, kapi::kPod).push_back(shared(std::move(pod)));
  }
  SchedulerDrive drive{withQuota(), std::move(listed)};
  drive.run(std::chrono::seconds{60});
  const std::string by_value = R"({"key":"job","operator":"In","values":["x@"]})";
  const std::string by_two = R"({"key":"app","operator":"Exists"},{"key":"x@","operator":"Exists"})";
  double worst = 0;
  for (const auto& asks : {by_value, by_two}) {
    const std::string term = R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[)" + asks + "]}}";
    const std::string terms = many(term, 64 * (term.size() + 1) - 64 * 2);
    for (const char* type : {"ADDED", "DELETED"}) {
      const Result r = follow(drive, fmt::format("64 terms, 10,000 wait, {}", type), kapi::kPod,
                              {line(type, bound("says", terms, drive.nextRevision()))});
      worst = std::max(worst, r.ms);
    }
  }
  return worst;
}

/// A claim changes that 10,000 running pods name.
double measureClaim() {
  SchedulerDrive drive{withQuota(), cluster(kNodes, kNodes)};
  drive.run(std::chrono::seconds{60});
  const model::Revision revision = drive.nextRevision();
  const std::string claim = fmt::format(
      R"({{"metadata":{{"name":"c4","namespace":"default","uid":"claim-c4","resourceVersion":"{}"}},"spec":{{"devices":{{"count":2}}}}}})",
      revision);
  return follow(drive, "a claim of 10,000 running pods", kapi::kGpuClaim, {line("MODIFIED", claim)}).ms;
}

/// A group of one case.
Group one(const char* name, const std::function<double()>& measure) {
  return {name, [=](const Wanted& wanted) { return wanted(name) ? measure() : 0; }};
}

/// All that is measured, by name. `quota_ratio`: what 256 decisions cost with quotas / without.
std::vector<Group> groups(double& quota_ratio) {
  using Op = model::LabelRequirement::Op;
  return {{"objects", measureCases},
          {"wide", measureWide},
          one("verbs", [] { return measureVerbs(cluster); }),
          one("verb preempt of wide nodes", measureWidePreempt),
          one("crowd of others' terms, few", [] { return measureOthersTerms(Op::In); }),
          one("crowd of others' terms, nearly all", [] { return measureOthersTerms(Op::NotIn); }),
          one("crowd of keys", measureKeys),
          one("crowd of waiting", measureWaiting),
          one("crowd of runners", measureClaim),
          one("crowd of alike", measureAlike),
          one("crowd of terms", measureTerms),
          one("crowd of ids", measureForged),
          one("crowd of kinds, 250", [] { return measureKinds(250); }),
          one("crowd of kinds, 270", [] { return measureKinds(270); }),
          one("crowd of kinds, 1,000", [] { return measureKinds(1'000); }),
          one("crowd of kinds, 10,000", [] { return measureKinds(10'000); }),
          one("crowd of maps", [] { return measureMaps(10'000); }),
          one("crowd of quotas", [&quota_ratio] {
            const Result without = measureQuota(8'000, false);
            const Result with = measureQuota(8'000, true);
            quota_ratio = with.total_ms / without.total_ms;
            return std::max(without.ms, with.ms);
          })};
}

/// As a JSON string.
std::string quoted(const std::string& text) { return '"' + escaped(text) + '"'; }

int writeAll(const char* path) {
  double quota_ratio = 0;
  const auto [worst, why] = measureAll(groups(quota_ratio), [](const auto&) { return true; });
  return writeFigures(
      fmt::format("{{\"worst_event_ms\": {:.1f}, \"worst_event_ms_why\": {}, \"quota_ratio\": {:.2f}}}\n",
                  worst, quoted(why), quota_ratio),
      path);
}

}  // namespace
}  // namespace gs::bench

int main(int argc, char** argv) {
  using namespace gs::bench;
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) { return writeAll(argv[2]); }
  const auto wanted = [&](const std::string& name) {
    return argc < 2 || std::any_of(argv + 1, argv + argc,
                                   [&](const char* part) { return name.find(part) != std::string::npos; });
  };
  double quota_ratio = 0;
  (void)measureAll(groups(quota_ratio), wanted);
  return 0;
}
