#include "test/conformance/drawn.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "test/conformance/draw.h"
#include "test/conformance/normal.h"

namespace gs::conformance {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kSpace = "c-drawn";
constexpr std::size_t kMostKinds = 40;  // of differences
constexpr int kThreads = 4;

/// A message without the object that it quotes: as Go prints it, or as JSON.
std::string withoutQuoted(std::string text) {
  const auto open = text.find('{');
  for (const std::string_view nothing : {"map[string]string(nil)", "core.ResourceList(nil)"}) {
    const auto at = text.find(nothing);
    if (at != std::string::npos && open == std::string::npos) {
      return text.replace(at, nothing.size(), "<object>");
    }
  }
  const auto close = text.rfind('}');
  const auto begin = text.rfind("alue: ", open);
  if (open == std::string::npos || close == std::string::npos || begin == std::string::npos) { return text; }
  return text.replace(begin + 6, close - begin - 5, "<object>");
}

/// A refusal's causes say all that its message says.
Value comparable(Value answer) {
  if (!answer["details"]["causes"].isArray()) { return answer; }
  const std::string message{answer["message"].str()};
  answer.set("message", message.substr(0, message.find(" is invalid:")));
  std::map<std::string, Value> causes;
  for (Value cause : answer["details"]["causes"].items()) {
    cause.set("message", withoutQuoted(std::string{cause["message"].str()}));
    causes.emplace(json::print(cause), cause);
  }
  Array sorted;
  for (auto& [text, cause] : causes) { sorted.push_back(std::move(cause)); }
  answer.child("details").set("causes", std::move(sorted));
  return answer;
}

/// An admission plugin gives it to pods, which the real server may not have.
void giveAccount(const Drawn& drawn, Value& object) {
  const bool is_pod = std::string_view{drawn.kind} == "Pod" && object["spec"].isObject();
  if (!is_pod || !object["spec"]["serviceAccountName"].str().empty()) { return; }
  object.child("spec").set("serviceAccountName", "default");
}

/// Addresses and ports of nodes that the real server gave to a Service, and the sandbox gives to none.
Value withoutGiven(Value answer, const Value& object) {
  if (answer["kind"].str() != "Service" || !answer["spec"].isObject()) { return answer; }
  const Value& asked = object["spec"];
  Value& spec = answer.child("spec");
  const bool named = !asked["clusterIP"].str().empty();
  if (!named) { spec.erase("clusterIP"); }
  if (!named && asked["clusterIPs"].items().empty()) { spec.erase("clusterIPs"); }
  if (asked["healthCheckNodePort"].intOr(0) == 0) { spec.erase("healthCheckNodePort"); }
  if (!spec["ports"].isArray()) { return answer; }
  auto& ports = spec.child("ports").array();
  for (std::size_t i = 0; i < ports.size() && i < asked["ports"].items().size(); ++i) {
    if (asked["ports"].at(i)["nodePort"].intOr(0) == 0) { ports[i].erase("nodePort"); }
  }
  return answer;
}

/// A kube-apiserver 1.33 gives no answer to a Job whose successPolicy needs completions that it has not.
bool panics(const Drawn& drawn, const Value& object) {
  const Value& spec = object["spec"];
  return std::string_view{drawn.kind} == "Job" && spec["successPolicy"].isObject() &&
         spec["completions"].isNull();
}

std::string inSpace(std::string path) {
  const auto at = path.find("$ns");
  return at == std::string::npos ? path : path.replace(at, 3, kSpace);
}

Sent request(const char* method, const std::string& target, const Value& body) {
  return {method, target, "application/json", "application/json", json::print(body)};
}

Value answerOf(const Got& got, const Value& object) {
  Normal normal;
  const auto parsed = json::parse(got.body);
  const Value answer = withoutGiven(parsed ? *parsed : Value{got.body}, object);
  return Object{
      {"code", got.code},
      {"answer", comparable(normal.value(answer, std::string{object["metadata"]["generateName"].str()}))}};
}

/// Two servers, as one thread sees them.
class Pair {
 public:
  Pair(Server real, Server ours) : real_{std::move(real)}, ours_{std::move(ours)} {}

  std::string differCreated(const Drawn& drawn, Value object) {
    giveAccount(drawn, object);
    const Sent sent = request("POST", inSpace(drawn.path) + "?dryRun=All", object);
    const Got real = real_(sent);
    if (real.code == 0 && panics(drawn, object)) { return {}; }
    return difference(answerOf(real, object), answerOf(ours_(sent), object));
  }

  /// Nothing is compared where the first object is refused.
  std::string differUpdated(const Drawn& drawn, const std::string& name, Value object, Value next) {
    for (Value* one : {&object, &next}) {
      one->child("metadata").set("name", name);
      one->child("metadata").erase("generateName");
      one->child("metadata").erase("finalizers");
      one->child("metadata").erase("namespace");
      one->child("metadata").erase("ownerReferences");
      giveAccount(drawn, *one);
    }
    const std::string collection = inSpace(drawn.path);
    const Sent post = request("POST", collection, object);
    const int real = real_(post).code;
    const int ours = ours_(post).code;
    const Sent put = request("PUT", collection + "/" + name + "?dryRun=All", next);
    std::string out =
        real == 201 && ours == 201 ? difference(answerOf(real_(put), next), answerOf(ours_(put), next)) : "";
    const Sent gone = request("DELETE", collection + "/" + name, Object{{"gracePeriodSeconds", 0}});
    if (real == 201) { (void)real_(gone); }
    if (ours == 201) { (void)ours_(gone); }
    return out;
  }

  void makeSpace() {
    const Sent sent = request("POST", "/api/v1/namespaces", Object{{"metadata", Object{{"name", kSpace}}}});
    (void)real_(sent);
    (void)ours_(sent);
  }

 private:
  Server real_;
  Server ours_;
};

/// What was found, over all threads.
class Found {
 public:
  /// Whether one like it is new.
  bool isNew(const std::string& how) {
    const std::scoped_lock lock{mutex_};
    return ++kinds_[kindOf(how)] == 1 && kinds_.size() <= kMostKinds;
  }
  void print(const std::string& text) {
    const std::scoped_lock lock{mutex_};
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }
  int report(const DrawnOptions& options) {
    int all = 0;
    for (const auto& [kind, times] : kinds_) { all += times; }
    fmt::print("{} objects of seed {}, {} answered differently, in {} ways\n", options.count, options.seed,
               all, kinds_.size());
    return all == 0 ? 0 : 1;
  }

 private:
  /// Without indexes and values.
  static std::string kindOf(const std::string& how) {
    std::string out;
    bool quoted = false;
    for (const char c : how.substr(0, how.find('\n'))) {
      if (c == '"') { quoted = !quoted; }
      if (!quoted && (c < '0' || c > '9')) { out += c; }
    }
    return out.substr(0, 80);
  }

  std::mutex mutex_;
  std::map<std::string, int> kinds_;
};

void compareOne(const DrawnOptions& options, std::uint64_t number, Pair& pair, Found& found) {
  const Drawn drawn = draw(options.seed, number);
  if (!options.kind.empty() && options.kind != drawn.kind) { return; }
  const auto told = [&](const std::string& how, const std::string& objects) {
    found.print(fmt::format("{} {} of seed {}: {}\n  {}", drawn.kind, number, options.seed, how, objects));
  };
  if (const auto how = pair.differCreated(drawn, drawn.object); !how.empty()) {
    if (!found.isNew(how)) { return; }
    const Value least =
        shrunk(drawn.object, [&](const Value& one) { return !pair.differCreated(drawn, one).empty(); });
    return told(pair.differCreated(drawn, least), json::print(least));
  }
  if (drawn.next.isNull()) { return; }
  const std::string name = fmt::format("u{}", number);
  if (const auto how = pair.differUpdated(drawn, name, drawn.object, drawn.next); !how.empty()) {
    if (found.isNew("update " + how)) {
      told("update " + how, json::print(drawn.object) + "\n  " + json::print(drawn.next));
    }
  }
}

}  // namespace

int compareDrawn(const DrawnOptions& options, const std::function<Server()>& real,
                 const std::function<Server()>& ours) {
  Pair{real(), ours()}.makeSpace();
  Found found;
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Pair pair{real(), ours()};
      for (auto number = next++; number < options.count; number = next++) {
        compareOne(options, number, pair, found);
      }
    });
  }
  threads.clear();
  return found.report(options);
}

}  // namespace gs::conformance
