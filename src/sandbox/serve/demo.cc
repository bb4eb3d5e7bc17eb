#include "sandbox/serve/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <sstream>

#include "apiserver/present/table.h"
#include "base/check.h"
#include "sandbox/node/pod_log.h"
#include "sandbox/serve/examples.h"
#include "sandbox/world/world.h"
#include "yaml/yaml.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> words(const std::string& text) {
  std::istringstream in{text};
  return {std::istream_iterator<std::string>{in}, {}};
}

/// Plays commands in a World, prints what they print, and remembers whether it was right.
class Demo {
 public:
  explicit Demo(std::ostream& out)
      : out_{out}, world_{World::Options{.webhook = true, .controllers = true, .classes = true}} {
    world_.startReplica();
  }

  bool play();

 private:
  void playExamples();
  void playTooMuch();
  void playMore();
  void title(const char* text) { out_ << "\n# " << text << '\n'; }
  void apply(const char* file);
  /// Prints command and output. `want`: the output word by word; "?" stands for any word (an age, a uid).
  void show(const std::string& command, const std::string& output, const std::string& want);
  void get(const std::string& what, const std::string& path, const char* group, const char* plural,
           const std::string& want, bool gpu_leases = false);
  void jsonpath(const std::string& pod, const std::string& want);
  void reason(const std::string& pod, const std::string& want);
  void logs(const std::string& pod, const std::string& want);
  void waitFor(const char* what, const std::function<bool()>& fact);
  void bound(const std::string& pod);
  [[nodiscard]] json::Value pod(const std::string& name) {
    return world_.get("/api/v1/namespaces/default/pods/" + name);
  }
  [[nodiscard]] std::string allocated(const std::string& name) {
    return std::string{pod(name)["metadata"]["annotations"]["gpu.scheduling/allocated"].str()};
  }

  std::ostream& out_;
  World world_;
  bool right_ = true;
};

void Demo::show(const std::string& command, const std::string& output, const std::string& want) {
  out_ << "$ " << command << '\n' << output << (output.empty() || output.back() == '\n' ? "" : "\n");
  const auto got = words(output);
  const auto wanted = words(want);
  const bool same = got.size() == wanted.size() &&
                    std::equal(got.begin(), got.end(), wanted.begin(),
                               [](const auto& g, const auto& w) { return w == "?" || g == w; });
  if (same) { return; }
  right_ = false;
  out_ << "!! this is not what it should be:\n" << want << '\n';
}

void Demo::apply(const char* file) {
  const auto documents = yaml::toJson(examples().at(file));
  GS_CHECK(documents.has_value(), "{}: {}", file, documents ? "" : documents.error().message);
  std::string output;
  for (const auto& text : *documents) {
    const auto object = json::parse(text);
    if (object->isNull()) { continue; }
    world_.create(*object);
    const apiserver::Resource& kind =
        *world_.api().resources().ofKind((*object)["apiVersion"].str(), (*object)["kind"].str());
    output += fmt::format("{}{}{}/{} created\n", kind.singular, kind.group.empty() ? "" : ".", kind.group,
                          (*object)["metadata"]["name"].str());
  }
  show(fmt::format("kubectl apply -f examples/{}", file), output, output);
}

void Demo::get(const std::string& what, const std::string& path, const char* group, const char* plural,
               const std::string& want, bool gpu_leases) {
  const apiserver::Resource* resource = world_.api().resources().find(group, plural);
  const json::Value table = apiserver::tableOfAnswer(*resource, world_.get(path), world_.now().wall);
  std::string text = apiserver::printTable(table);
  if (gpu_leases) {  // | grep gpu-
    std::istringstream lines{text};
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("gpu-") != std::string::npos) { kept += line + "\n"; }
    }
    text = std::move(kept);
  }
  show("kubectl get " + what, text, want);
}

void Demo::jsonpath(const std::string& name, const std::string& want) {
  show(fmt::format("kubectl get pod {} -o jsonpath='{{.metadata.annotations.gpu\\.scheduling/allocated}}'",
                   name),
       allocated(name), want);
}

void Demo::reason(const std::string& name, const std::string& want) {
  const json::Value object = pod(name);
  for (const auto& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == "PodScheduled") {
      show(fmt::format(
               "kubectl get pod {} -o jsonpath='{{.status.conditions[?(@.type==\"PodScheduled\")].message}}'",
               name),
           std::string{c["message"].str()}, want);
      return;
    }
  }
  show("kubectl get pod " + name, "(no reason)", want);
}

void Demo::logs(const std::string& name, const std::string& want) {
  const auto log = podLog(world_.api(), world_.kubelet(),
                          {"GET", fmt::format("/api/v1/namespaces/default/pods/{}/log", name)}, world_.now());
  show("kubectl logs " + name, log ? log->text : std::string{}, want);
}

void Demo::waitFor(const char* what, const std::function<bool()>& fact) {
  if (world_.runUntil(fact, 60s)) { return; }
  right_ = false;
  out_ << "!! waited a minute for: " << what << '\n';
}

void Demo::bound(const std::string& name) {
  waitFor("a pod to run", [&] { return pod(name)["status"]["phase"].str() == "Running"; });
  world_.run(2s);  // claim status is written at most once a second
}

bool Demo::play() {
  waitFor("a leader", [&] { return world_.leader().has_value(); });
  playExamples();
  playTooMuch();
  playMore();
  out_ << (right_ ? "\nEverything was as it should be.\n" : "\nSomething was not as it should be.\n");
  return right_;
}

void Demo::playExamples() {
  title("Two nodes: node-a with 4 GPUs, node-b with 8 in two NVLink islands.");
  get("gns", "/apis/gpu.scheduling/v1/gpunodestatuses", "gpu.scheduling", "gpunodestatuses",
      "NAME NODE DEVICES FREE HEALTHY MODEL ENFORCEMENT AGE node-a node-a 4 4 4 NVIDIA-L40S devices ? "
      "node-b node-b 8 8 8 NVIDIA-A100-SXM4-80GB devices ?");

  title("Example 1: one GPU.");
  apply("single-gpu.yaml");
  bound("gpu-test");
  jsonpath("gpu-test", "node-a:0");

  title("Example 2: four GPUs that are close to each other.");
  apply("multi-gpu.yaml");
  bound("training-job");
  get("gpuclaim", "/apis/gpu.scheduling/v1/namespaces/default/gpuclaims", "gpu.scheduling", "gpuclaims",
      "NAME REQ POLICY TOPOLOGY ALLOCATED multi-gpu 4 contiguous Preferred node-b:0,1,2,3 single-gpu 1 "
      "contiguous node-a:0");
  get("leases | grep gpu-", "/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io",
      "leases",
      "gpu-node-a-0 ? ? gpu-node-b-0 ? ? gpu-node-b-1 ? ? gpu-node-b-2 ? ? gpu-node-b-3 ? ? "
      "scheduler.gpu.scheduling gpu-scheduler-0_1 ?",  // by its holder
      true);

  title("Example 3: these GPUs if they are free. GPU 0 of node-a is not.");
  apply("pinned-gpus.yaml");
  bound("pinned-job");
  jsonpath("pinned-job", "node-a:1,2");

  title("Example 4: a whole node of a kind, once training-job has ended.");
  world_.kubelet().finish("default", "training-job");
  apply("specific-node.yaml");
  bound("big-job");
  jsonpath("big-job", "node-b:0,1,2,3,4,5,6,7");
}

void Demo::playTooMuch() {
  title("Too much: a pod of two more GPUs waits, and says why.");
  apply("late.yaml");
  waitFor("a reason", [&] { return !pod("late-job")["status"]["conditions"].items().empty(); });
  reason("late-job",
         "0/2 nodes are available: 2 node(s) had too few free GPUs: need 2 and most free is 1. Held by "
         "default/big-job, default/gpu-test, default/pinned-job.");
  title("gpu-test ends, and its GPU is enough.");
  world_.kubelet().finish("default", "gpu-test");
  bound("late-job");
  jsonpath("late-job", "node-a:0,3");
  title("Its container was told: it ran `printenv CUDA_VISIBLE_DEVICES`.");
  logs("late-job", "0,3");
}

void Demo::playMore() {
  title("A pod of a higher priority comes, and nothing is free: who began last goes for it.");
  apply("urgent.yaml");
  bound("urgent-job");
  jsonpath("urgent-job", "node-a:0,3");

  title("big-job ends. A pod with a volume: it is made where the pod is to run, and the pod waits for it.");
  world_.kubelet().finish("default", "big-job");
  apply("volume.yaml");
  bound("volume-job");
  jsonpath("volume-job", "node-b:0");
  get("pvc", "/api/v1/namespaces/default/persistentvolumeclaims", "", "persistentvolumeclaims",
      "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE models Bound ? 10Gi "
      "RWO "
      "standard <unset> ?");
  get("pods", "/api/v1/namespaces/default/pods", "", "pods",
      "NAME READY STATUS RESTARTS AGE big-job 0/1 Completed 0 ? gpu-test 0/1 Completed 0 ? pinned-job 1/1 "
      "Running 0 ? training-job 0/1 Completed 0 ? urgent-job 1/1 Running 0 ? volume-job 1/1 Running 0 ?");
}

}  // namespace

bool runDemo(std::ostream& out) { return Demo{out}.play(); }

}  // namespace gs::sandbox
