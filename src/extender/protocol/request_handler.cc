#include "extender/protocol/request_handler.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "json/document.h"
#include "kapi/decode.h"
#include "kapi/quantity.h"
#include "model/resources.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr std::string_view kPrefix = "/scheduler/";
constexpr int kMostRounds = 5;  // of one request: names changed, objects were asked for

/// One request, from its body to its reply.
class Exchange {
 public:
  Exchange(std::string body, json::Scanner& scanner, Backend& backend, VolcanoRules rules,
           const std::function<bool(const model::Pod&)>& offered)
      : body_{std::move(body)},
        size_{body_.size()},
        scanner_{scanner},
        backend_{backend},
        rules_{rules},
        offered_{offered} {}

  net::Response filter();
  net::Response priorities();
  net::Response preempt();
  net::Response bind();
  net::Response predicate();
  net::Response prioritize();
  net::Response allocate(Verb verb);
  [[nodiscard]] std::string_view result() const { return result_; }

 private:
  Answer decide(Verb verb, std::vector<NodeArg>& nodes);
  bool wantsNone();
  [[nodiscard]] bool isOffered() const { return offered_ && offered_(*pod_); }
  Answer ask(Verb verb, std::vector<NodeArg>& nodes);
  void lookUp(Candidates& c, std::vector<NodeArg>& nodes) const;
  Status readObjects(Candidates& c, const std::vector<NodeArg>& nodes,
                     const std::vector<std::size_t>& wanted);
  Status readPod(std::string_view text);
  Result<json::Document> readWhole(std::string_view object);
  Status checkPod() const;

  std::string body_;
  std::size_t size_;       // of the body
  std::size_t parts_ = 0;  // of the objects in it that were read
  std::size_t facts_ = 0;  // of the nodes among them
  json::Scanner& scanner_;
  Backend& backend_;
  VolcanoRules rules_;
  const std::function<bool(const model::Pod&)>& offered_;
  model::PodPtr pod_;
  Request request_;
  std::string_view result_ = "invalid";
};

/// For metrics.
std::string_view resultOf(Kind kind) {
  switch (kind) {
    case Kind::Untouched: return "untouched";
    case Kind::Chosen: return "placed";
    case Kind::Nowhere: return "misfit";
    case Kind::Offered: return "placed";
    case Kind::Ranked:
    case Kind::Done:
    case Kind::Kept: return "done";
    case Kind::Failed: return "failed";
    default: return "unavailable";
  }
}

/// How many commas part its members and elements.
std::size_t partsOf(std::string_view object) {
  std::size_t parts = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (c == ',' && !in_text) {
      ++parts;
    }
  }
  return parts;
}

net::Response ok(std::string body) { return net::jsonResponse(200, std::move(body)); }
net::Response unavailable(const Answer& a) { return net::textResponse(503, a.text + "\n"); }

net::Response unreadable(const Error& error) { return net::textResponse(400, error.message + "\n"); }
net::Response badRequest(const Error& error, std::string_view expected) {
  return net::textResponse(400, fmt::format("{}; expected is {}\n", error.message, expected));
}

/// A node that is named again is left out of both: it is asked about once, and answered once.
void Exchange::lookUp(Candidates& c, std::vector<NodeArg>& nodes) const {
  c = {};
  c.table = backend_.table();
  c.nodes.reserve(nodes.size());
  std::vector<bool> named;
  bool objects = false;
  const auto isNamedAgain = [&](NodeTable::Index node) {
    if (node == NodeTable::kUnknown) { return false; }
    if (node >= named.size()) { named.resize(std::size_t{node} + 1); }
    const bool again = named[node];
    named[node] = true;
    return again;
  };
  std::erase_if(nodes, [&](const NodeArg& node) {
    const NodeTable::Index index = c.table->find(node.name);
    if (isNamedAgain(index)) { return true; }
    c.nodes.push_back(index);
    objects = objects || !node.object.empty();
    return false;
  });
  if (!objects) { return; }
  for (const NodeArg& node : nodes) {
    c.revisions.push_back(node.object.empty() ? Candidates::kNoObject : node.revision);
  }
}

/// What an object becomes takes up to a hundred bytes for each of its parts, so those of a body may have so
/// many: what API servers store does not come near it.
Result<json::Document> Exchange::readWhole(std::string_view object) {
  constexpr std::size_t kFewParts = 65'536;
  constexpr std::size_t kBytesOfPart = 16;
  parts_ += partsOf(object);
  if (parts_ > kFewParts + size_ / kBytesOfPart) {
    return fail(
        Code::Invalid,
        fmt::format("{} parts in a body of {} bytes, no API server stores such objects", parts_, size_));
  }
  return json::Document::read(object);
}

/// The machine copies what is decided about. Of nodes beyond so much it goes by what it knows.
Status Exchange::readObjects(Candidates& c, const std::vector<NodeArg>& nodes,
                             const std::vector<std::size_t>& wanted) {
  constexpr std::size_t kMostFacts = 65'536;
  for (const std::size_t i : wanted) {
    if (facts_ > kMostFacts) {
      c.revisions[i] = Candidates::kNoObject;
      continue;
    }
    const auto read = readWhole(nodes[i].object);
    if (!read) {
      return fail(Code::Invalid, fmt::format("node {}: {}", nodes[i].name, read.error().message));
    }
    auto node = std::make_shared<const model::Node>(kapi::decodeNode(read->root()));
    facts_ += node->labels.size() + node->taints.size() / 4 + node->allocatable.extended.size();
    c.objects[i] = std::move(node);
  }
  return {};
}

Answer Exchange::ask(Verb verb, std::vector<NodeArg>& nodes) {
  Answer a = decide(verb, nodes);
  result_ = resultOf(a.kind);
  return a;
}

/// It asks for no GPU.
bool Exchange::wantsNone() {
  if (sched::wantsVcuda(*pod_)) { return false; }
  result_ = resultOf(Kind::Untouched);
  return true;
}

Answer Exchange::decide(Verb verb, std::vector<NodeArg>& nodes) {
  Answer a;
  request_.verb = verb;
  request_.pod = pod_;
  lookUp(request_.candidates, nodes);
  const std::size_t of_pod = parts_;
  for (int round = 0; round < kMostRounds; ++round) {
    a = backend_.ask(request_);
    if (a.kind == Kind::NewTable) {
      parts_ = of_pod;  // the nodes are read anew
      facts_ = 0;
      lookUp(request_.candidates, nodes);
    } else if (a.kind == Kind::SendObjects) {
      if (const Status read = readObjects(request_.candidates, nodes, a.kept); !read) {
        a.kind = Kind::Failed;
        a.text = read.error().message;
        return a;
      }
    } else {
      return a;
    }
  }
  a.kind = Kind::Unavailable;
  a.text = "the nodes of the cluster change too fast; ask again";
  return a;
}

/// What is no quantity would count as nothing, and its pod as one without GPUs.
Status checkLimits(const json::View& pod, const char* list) {
  std::size_t i = 0;
  for (const json::View container : pod["spec"][list].items()) {
    for (const char* name : {model::kVcudaCore, model::kVcudaMemory}) {
      const auto limit = container["resources"]["limits"].find(name);
      if (!limit || limit->isNull() || kapi::unitsOf(*limit)) { continue; }
      constexpr std::size_t kShown = 80;
      return fail(Code::Invalid,
                  fmt::format("Pod.spec.{}[{}].resources.limits[\"{}\"]: {} is not a quantity; write a whole "
                              "number such as \"{}",
                              list, i, name, json::print(limit->value()).substr(0, kShown),
                              name == model::kVcudaCore ? "50\" (100 is one GPU)" : "8\" (1 is 256 MiB)"));
    }
    ++i;
  }
  return {};
}

Status Exchange::readPod(std::string_view text) {
  if (text.empty()) { return fail(Code::Invalid, "Pod is missing"); }
  const auto read = readWhole(text);
  if (!read) { return fail(Code::Invalid, fmt::format("Pod: {}", read.error().message)); }
  for (const char* list : {"containers", "initContainers"}) {
    if (Status limits = checkLimits(read->root(), list); !limits) { return limits; }
  }
  pod_ = std::make_shared<const model::Pod>(kapi::decodePod(read->root()));
  return {};
}

Status Exchange::checkPod() const {
  if (pod_->key.name.empty()) { return fail(Code::Invalid, "Pod.metadata.name is missing"); }
  if (pod_->key.ns.empty()) { return fail(Code::Invalid, "Pod.metadata.namespace is missing"); }
  if (pod_->uid.empty()) { return fail(Code::Invalid, "Pod.metadata.uid is missing"); }
  return {};
}

net::Response Exchange::filter() {
  auto args = readFilterArgs(scanner_, body_);
  if (!args) { return ok(filterError(args.error().message)); }
  if (const Status read = readPod(args->pod); !read) { return ok(filterError(read.error().message)); }
  Answer a;
  a.kind = Kind::Untouched;
  if (isOffered() || !wantsNone()) {
    if (const Status named = checkPod(); !named) { return ok(filterError(named.error().message)); }
    a = ask(Verb::Filter, args->nodes);
    if (a.kind == Kind::Unavailable) { return unavailable(a); }
  }
  if (a.kind == Kind::Untouched) { return ok(untouchedReply(*args, std::move(body_))); }
  return ok(filterReply(*args, request_.candidates, a, pod_->uid.text));
}

net::Response Exchange::priorities() {
  auto args = readFilterArgs(scanner_, body_);
  if (!args) { return badRequest(args.error(), "ExtenderArgs: an object with Pod, and Nodes or NodeNames"); }
  if (offered_ || !args->pod.empty()) {
    if (const Status read = readPod(args->pod); !read) { return unreadable(read.error()); }
    if (!isOffered()) { pod_.reset(); }
  }
  const Answer a = ask(Verb::Rank, args->nodes);
  if (a.kind == Kind::Offered) { return ok(scoresReply(*args, a.scores)); }
  return a.kind == Kind::Ranked ? ok(prioritiesReply(*args, request_.candidates, a)) : unavailable(a);
}

net::Response Exchange::preempt() {
  const auto args = readPreemptArgs(scanner_, body_);
  if (!args) {
    return badRequest(
        args.error(),
        "ExtenderPreemptionArgs: an object with Pod, and NodeNameToVictims or NodeNameToMetaVictims");
  }
  if (const Status read = readPod(args->pod); !read) { return unreadable(read.error()); }
  std::vector<NodeArg> nodes;
  std::vector<Victims> victims;
  nodes.reserve(args->victims.size());
  victims.reserve(args->victims.size());
  for (const VictimsArg& v : args->victims) {
    nodes.push_back({v.node, {}, 0});
    victims.emplace_back(v.uids.begin(), v.uids.end());
  }
  request_.victims = std::make_shared<const std::vector<Victims>>(std::move(victims));
  const Answer a = ask(Verb::Preempt, nodes);
  return a.kind == Kind::Kept ? ok(preemptReply(*args, a)) : unavailable(a);
}

net::Response Exchange::bind() {
  const auto args = readBindArgs(scanner_, body_);
  if (!args) { return ok(bindReply(args.error().message)); }
  if (args->uid.empty() || args->pod.name.empty() || args->pod.ns.empty() || args->node.empty()) {
    return ok(bindReply("PodName, PodNamespace, PodUID and Node are needed"));
  }
  model::Pod pod;
  pod.key = args->pod;
  pod.uid = args->uid;
  pod_ = std::make_shared<const model::Pod>(std::move(pod));
  request_.node = args->node;
  std::vector<NodeArg> node{{args->node.text, {}, 0}};
  const Answer a = ask(Verb::Bind, node);
  if (a.kind == Kind::Unavailable) { return unavailable(a); }
  return ok(bindReply(a.kind == Kind::Done ? ""
                      : a.text.empty()     ? "the pod does not fit there any more"
                                           : a.text));
}

net::Response Exchange::predicate() {
  const auto misfit = [&](std::string text) {
    return ok(predicateReply(rules_.dialect, Misfit{MisfitCode::Error, std::move(text)}));
  };
  auto args = readTaskArgs(scanner_, body_);
  if (!args) { return misfit(args.error().message); }
  if (args->nodes.size() != 1 || args->nodes[0].name.empty()) { return misfit("node is missing"); }
  if (const Status read = readPod(args->pod); !read) { return misfit("task." + read.error().message); }
  if (wantsNone()) { return ok(predicateReply(rules_.dialect, std::nullopt)); }
  if (const Status named = checkPod(); !named) { return misfit("task." + named.error().message); }
  const Answer a = ask(rules_.allocates ? Verb::Look : Verb::Predicate, args->nodes);
  switch (a.kind) {
    case Kind::Unavailable: return unavailable(a);
    case Kind::Untouched:
    case Kind::Chosen: return ok(predicateReply(rules_.dialect, std::nullopt));
    case Kind::Nowhere: break;
    default: return misfit(a.text);
  }
  if (!a.text.empty()) {
    const MisfitCode code = a.never ? MisfitCode::Unresolvable : MisfitCode::Unschedulable;
    return ok(predicateReply(rules_.dialect, Misfit{code, a.text}));
  }
  return ok(predicateReply(rules_.dialect, misfitAt(a, request_.candidates, 0, pod_->uid.text)));
}

net::Response Exchange::prioritize() {
  auto args = readTaskArgs(scanner_, body_);
  if (!args) { return badRequest(args.error(), "an object with task and nodes, as Volcano sends it"); }
  if (const Status read = readPod(args->pod); !read) { return unreadable(read.error()); }
  const Answer a = ask(Verb::Rank, args->nodes);
  if (a.kind != Kind::Ranked) { return unavailable(a); }
  return ok(nodeScoreReply(*args, request_.candidates, a, sched::wantsVcuda(*pod_)));
}

net::Response Exchange::allocate(Verb verb) {
  auto args = readTaskArgs(scanner_, body_);
  if (!args) { return ok(errorMessageReply(args.error().message)); }
  if (const Status read = readPod(args->pod); !read) { return ok(errorMessageReply(read.error().message)); }
  if (wantsNone()) { return ok(errorMessageReply("")); }
  if (const Status named = checkPod(); !named) { return ok(errorMessageReply(named.error().message)); }
  // The pod is not bound yet: at this time its nodeName is what Volcano means to do.
  if (pod_->bound()) {
    model::Pod unbound = *pod_;
    unbound.node = {};
    pod_ = std::make_shared<const model::Pod>(std::move(unbound));
  }
  std::vector<NodeArg> nodes;
  if (verb == Verb::Allocate) { nodes.push_back({args->on_node, {}, 0}); }
  const Answer a = ask(verb, nodes);
  if (a.kind == Kind::Unavailable) { return unavailable(a); }
  if (a.kind == Kind::Chosen || a.kind == Kind::Done || a.kind == Kind::Untouched) {
    return ok(errorMessageReply(""));
  }
  if (a.kind == Kind::Nowhere && a.text.empty()) {
    return ok(errorMessageReply(misfitAt(a, request_.candidates, 0, pod_->uid.text).text));
  }
  return ok(errorMessageReply(a.text));
}

/// What Volcano asks besides: the extender abstains.
std::optional<std::string> abstention(std::string_view verb) {
  if (verb == "onSessionOpen" || verb == "onSessionClose" || verb == "jobEnqueued") { return "{}"; }
  if (verb == "preemptable" || verb == "reclaimable") { return R"({"status":0,"victims":null})"; }
  if (verb == "jobEnqueueable") { return R"({"status":0})"; }
  if (verb == "queueOverused") { return R"({"overused":false})"; }
  if (verb == "jobReady") { return R"({"status":true})"; }
  return std::nullopt;
}

net::Response notFound() { return net::textResponse(404, "404 page not found\n"); }
net::Response notAllowed() { return net::textResponse(405, "Method Not Allowed\n"); }

/// Of the paths below kPrefix, with the rules that its path or else the configuration names.
struct Route {
  std::string_view verb;
  VolcanoRules rules;
};
std::optional<Route> routeOf(std::string_view path, VolcanoRules rules) {
  if (!path.starts_with(kPrefix)) { return std::nullopt; }
  path.remove_prefix(kPrefix.size());
  constexpr std::string_view kVolcano = "volcano-";
  if (!path.starts_with(kVolcano)) { return Route{path, rules}; }
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) { return std::nullopt; }
  const auto named = volcanoRules(path.substr(kVolcano.size(), slash - kVolcano.size()));
  return named ? std::optional{Route{path.substr(slash + 1), *named}} : std::nullopt;
}

using Handling = net::Response (*)(Exchange&);

/// What asks the machine.
Handling handlingOf(std::string_view verb) {
  static const std::map<std::string_view, Handling> kHandlings = {
      {"predicates", [](Exchange& e) { return e.filter(); }},
      {"filter", [](Exchange& e) { return e.filter(); }},
      {"priorities", [](Exchange& e) { return e.priorities(); }},
      {"preempt", [](Exchange& e) { return e.preempt(); }},
      {"bind", [](Exchange& e) { return e.bind(); }},
      {"vpredicates", [](Exchange& e) { return e.predicate(); }},
      {"predicate", [](Exchange& e) { return e.predicate(); }},
      {"prioritize", [](Exchange& e) { return e.prioritize(); }},
      {"allocateFunc", [](Exchange& e) { return e.allocate(Verb::Allocate); }},
      {"deallocateFunc", [](Exchange& e) { return e.allocate(Verb::Deallocate); }},
  };
  const auto it = kHandlings.find(verb);
  return it == kHandlings.end() ? nullptr : it->second;
}

}  // namespace

std::optional<VolcanoRules> volcanoRules(std::string_view version) {
  if (version.empty()) { return VolcanoRules{}; }
  if (!version.starts_with("1.")) { return std::nullopt; }
  int minor = 0;
  const char* end = version.data() + version.size();
  const auto [read, error] = std::from_chars(version.data() + 2, end, minor);
  if (error != std::errc{} || read != end || minor < 6) { return std::nullopt; }
  return VolcanoRules{minor < 8 ? Dialect::V1_6 : minor < 10 ? Dialect::V1_8 : Dialect::V1_10, minor >= 13};
}

RequestHandler::Served RequestHandler::answer(net::Request request, json::Scanner& scanner,
                                              Backend& backend) const {
  const std::string path{request.path()};
  if (path == "/version" || path == "/hello") {
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (!reads) { return {notAllowed()}; }
    return {net::textResponse(200, path == "/version" ? config_.version : "Hello, World!")};
  }
  const auto route = routeOf(path, config_.volcano);
  if (!route) { return {notFound()}; }
  const auto abstains = abstention(route->verb);
  const Handling handling = handlingOf(route->verb);
  if (!abstains && handling == nullptr) { return {notFound()}; }
  if (request.method != "POST") { return {notAllowed(), std::string{route->verb}}; }
  if (abstains) { return {ok(*abstains), std::string{route->verb}, "done"}; }
  Exchange exchange{std::move(request.body), scanner, backend, route->rules, config_.offered};
  net::Response response = handling(exchange);
  return {std::move(response), std::string{route->verb}, exchange.result()};
}

}  // namespace gs::extender
