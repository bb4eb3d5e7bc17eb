// Names at their limits: whatever a Node, a pod or a cache may be called in Kubernetes, each name that one of
// our programs makes of it is one that an API server takes, and no two of them make the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "apiserver/meta/meta_check.h"
#include "base/dns_name.h"
#include "base/short_name.h"
#include "controller/event.h"
#include "kcache/kinds/claims.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"
#include "model/annotations.h"
#include "operator/volume_kinds.h"

namespace gs::test {
namespace {

using Texts = std::vector<std::string>;

/// Names of objects that Kubernetes takes, and that begin alike.
Texts names() {
  Texts out{"a", "a-b", "a.b", "node-1.rack-2.example.com"};
  for (const std::size_t size : {62U, 63U, 64U, 200U, 246U, 247U, 252U, 253U}) {
    out.push_back(std::string(size, 'n'));
    out.push_back(std::string(size - 1, 'n') + 'm');
    std::string dotted;
    while (dotted.size() + 12 <= size) { dotted += "abcdefghij-.x"; }
    out.push_back(dotted.substr(0, dotted.size() - 3) + std::string(size - dotted.size() + 3, 'z'));
    out.push_back("a" + std::string(50, 'b') + "." + std::string(size - 52, 'c'));
  }
  for (std::string& one : out) {
    while (one.find("-.") != std::string::npos) { one.replace(one.find("-."), 2, "x."); }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// What is wrong with it; empty: nothing.
using Rule = std::function<Texts(std::string_view)>;
Texts objectName(std::string_view text) { return apiserver::dnsSubdomainErrors(text); }
Texts labelValue(std::string_view text) { return apiserver::labelValueErrors(text); }
Texts qualified(std::string_view text) { return apiserver::qualifiedNameErrors(text); }
Texts shortText(std::string_view text) {
  return text.size() <= 128 ? Texts{} : Texts{fmt::format("{} bytes", text.size())};
}

kcache::Cache cacheNamed(const std::string& ns, const std::string& name) {
  kcache::Cache out;
  out.key = {ns, name};
  out.uid = model::Uid{"u"};
  return out;
}
std::string nameIn(const kapi::Call& call) { return std::string{call.body["metadata"]["name"].str()}; }

/// An Event about a pod of that name, from a process on a host of that name.
json::Value eventOf(const std::string& name) {
  controller::EventRecorder recorder{"gpu-scheduler", "gpu-scheduler-" + name, Rng{1}};
  controller::EventNote note;
  note.kind = kcache::kCache;
  note.object = {"ns", name};
  note.uid = model::Uid{name};
  note.reason = "Reason";
  note.note = "text";
  note.once = "1";
  const auto call = recorder.record(note, {});
  EXPECT_TRUE(call.has_value());
  return call ? call->body : json::Value{};
}

struct Made {
  const char* what;
  Rule rule;
  std::function<std::string(const std::string&)> of;
};

const std::vector<Made>& all() {
  static const std::vector<Made> kAll{
      {"the Lease of a GPU", objectName,
       [](const auto& node) { return model::leaseName(model::NodeName{node}, 16); }},
      {"a lease's label of its pod", labelValue, [](const auto& pod) { return model::podLabel(pod); }},
      {"an Event", objectName,
       [](const auto& name) { return std::string{eventOf(name)["metadata"]["name"].str()}; }},
      {"whom an Event is from", shortText,
       [](const auto& host) { return std::string{eventOf(host)["reportingInstance"].str()}; }},
      {"a node object's label of its node", labelValue,
       [](const auto& node) {
         return std::string{
             kcache::createNode({"ns", node}, {}).body["metadata"]["labels"][kcache::kHostLabel].str()};
       }},
      {"the finalizer of a cache on a node object", qualified,
       [](const auto& cache) { return kcache::nodeFinalizer(cache); }},
      {"the PersistentVolume of a GKMCache", objectName,
       [](const auto& cache) {
         return kcache::volumeName(kcache::volumeHandle({"ns", cache}, "ns"));
       }},
      {"the PersistentVolume of a ClusterGKMCache", objectName,
       [](const auto& cache) {
         return kcache::volumeName(kcache::volumeHandle({"", cache}, "ns"));
       }},
      {"a PersistentVolumeClaim", objectName,
       [](const auto& cache) { return nameIn(gkm::createClaim(cacheNamed("ns", cache), "ns", 0)); }},
      {"the Node of a host in upper case", objectName,
       [](std::string host) {
         std::transform(host.begin(), host.end(), host.begin(),
                        [](unsigned char c) { return std::toupper(c); });
         return nodeNameOfHost(host).value_or("no name");
       }},
  };
  return kAll;
}

TEST(NamesAtTheirLimits, AreNamesThatAnApiServerTakes) {
  for (const std::string& name : names()) { ASSERT_TRUE(isDnsSubdomain(name)) << name; }
  for (const Made& made : all()) {
    for (const std::string& name : names()) {
      const std::string derived = made.of(name);
      const Texts wrong = made.rule(derived);
      EXPECT_TRUE(wrong.empty()) << made.what << " of " << name << " is " << derived << ": " << wrong.front();
    }
  }
}

TEST(NamesAtTheirLimits, StayApart) {
  for (const Made& made : all()) {
    std::map<std::string, std::string> seen;
    for (const std::string& name : names()) {
      const auto [at, is_new] = seen.emplace(made.of(name), name);
      EXPECT_TRUE(is_new) << made.what << " of " << name << " and of " << at->second << " is " << at->first;
    }
  }
}

TEST(NamesAtTheirLimits, OfNamespacesToo) {
  const std::string longest(63, 'n');
  for (const std::string& name : names()) {
    const std::string handle = kcache::volumeHandle({longest, name}, longest);
    EXPECT_TRUE(apiserver::dnsSubdomainErrors(kcache::volumeName(handle)).empty()) << name;
    EXPECT_EQ(kcache::parseVolumeHandle(handle)->claim(), (model::ObjectKey{longest, name}));
  }
}

TEST(NamesAtTheirLimits, AHostThatNoNodeCanBeCalledIsToldApart) {
  for (const char* host : {"", "under_score", "-a", "a..b", "a b"}) {
    EXPECT_FALSE(nodeNameOfHost(host)) << host;
  }
}

}  // namespace
}  // namespace gs::test
