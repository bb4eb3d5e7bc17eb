#include "extender/protocol/wire.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "json/value.h"

namespace gs::extender {
namespace {

namespace fs = std::filesystem;
using json::Value;

constexpr const char* kRecorded = "test/extender/recorded";  // bodies as real programs sent them

std::string contentOf(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Recorded bodies whose file name ends like this.
std::vector<fs::path> recorded(const std::string& ending) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator{kRecorded}) {
    if (entry.path().string().ends_with(ending)) { out.push_back(entry.path()); }
  }
  std::sort(out.begin(), out.end());
  EXPECT_FALSE(out.empty()) << ending;
  return out;
}

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *std::move(value) : Value{};
}

class WireTest : public ::testing::Test {
 protected:
  json::Scanner scanner;
};

void expectNode(const NodeArg& got, const Value& node) {
  EXPECT_EQ(got.name, node["metadata"]["name"].str());
  EXPECT_EQ(std::to_string(got.revision), node["metadata"]["resourceVersion"].str());
  EXPECT_EQ(parsed(got.object), node);
}

TEST_F(WireTest, RecordedFiltersReadAsTheTreeOfTheSameText) {
  for (const char* verb : {"_filter.json", "_prioritize.json"}) {
    for (const auto& path : recorded(verb)) {
      std::string body = contentOf(path);
      const Value tree = parsed(body);
      const auto args = readFilterArgs(scanner, body);
      ASSERT_TRUE(args.has_value()) << path << args.error().message;
      EXPECT_EQ(parsed(args->pod), tree["Pod"]) << path;
      EXPECT_EQ(args->with_objects, tree["Nodes"].isObject()) << path;
      EXPECT_EQ(args->by_name, tree["NodeNames"].isArray()) << path;
      const auto& nodes = args->by_name ? tree["NodeNames"].items() : tree["Nodes"]["items"].items();
      ASSERT_EQ(args->nodes.size(), nodes.size()) << path;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (args->by_name) {
          EXPECT_EQ(args->nodes[i].name, nodes[i].str());
        } else {
          expectNode(args->nodes[i], nodes[i]);
        }
      }
      if (args->with_objects) { EXPECT_EQ(parsed(args->nodes_object), tree["Nodes"]) << path; }
    }
  }
}

TEST_F(WireTest, RecordedPreemptionsReadAsTheTreeOfTheSameText) {
  for (const auto& path : recorded("_preempt.json")) {
    std::string body = contentOf(path);
    const Value tree = parsed(body);
    const auto args = readPreemptArgs(scanner, body);
    ASSERT_TRUE(args.has_value()) << path << args.error().message;
    EXPECT_EQ(parsed(args->pod), tree["Pod"]) << path;
    const bool meta = tree["NodeNameToMetaVictims"].isObject();
    const auto& victims = tree[meta ? "NodeNameToMetaVictims" : "NodeNameToVictims"].members();
    ASSERT_EQ(args->victims.size(), victims.size()) << path;
    for (const VictimsArg& got : args->victims) {
      const Value* want = victims.find(got.node);
      ASSERT_NE(want, nullptr) << got.node;
      ASSERT_EQ(got.uids.size(), (*want)["Pods"].items().size());
      for (std::size_t i = 0; i < got.uids.size(); ++i) {
        const Value& pod = (*want)["Pods"].at(i);
        EXPECT_EQ(got.uids[i], meta ? pod["UID"].str() : pod["metadata"]["uid"].str());
      }
      EXPECT_EQ(got.pdb_violations, (*want)["NumPDBViolations"].intOr(-1));
    }
  }
}

TEST_F(WireTest, RecordedTasksReadAsTheTreeOfTheSameText) {
  for (const char* verb : {"-predicate.json", "-prioritize.json", "-allocateFunc.json"}) {
    for (const auto& path : recorded(verb)) {
      std::string body = contentOf(path);
      const Value tree = parsed(body);
      const auto args = readTaskArgs(scanner, body);
      ASSERT_TRUE(args.has_value()) << path << args.error().message;
      EXPECT_EQ(parsed(args->pod), tree["task"]["Pod"]) << path;
      EXPECT_EQ(args->on_node, tree["task"]["NodeName"].str()) << path;
      const json::Array one{tree["node"]};
      const auto& nodes = tree["nodes"].isArray() ? tree["nodes"].items() : one;
      ASSERT_EQ(args->nodes.size(), tree["node"].isNull() && !tree["nodes"].isArray() ? 0U : nodes.size())
          << path;
      for (std::size_t i = 0; i < args->nodes.size(); ++i) { expectNode(args->nodes[i], nodes[i]["Node"]); }
    }
  }
}

TEST_F(WireTest, KeysInAnyCaseUnknownOnesAndNullsAreTaken) {
  std::string body =
      R"({"x":[{"y":1}],"pod":{"metadata":{"name":"p"}},"NODES":{"Items":[{"Metadata":{"Name":"a","ResourceVersion":"7"},)"
      R"("status":{"capacity":{}}},null,{"metadata":null},{}]},"nodenames":null})";
  const auto args = readFilterArgs(scanner, body);
  ASSERT_TRUE(args.has_value()) << args.error().message;
  EXPECT_EQ(args->pod, R"({"metadata":{"name":"p"}})");
  EXPECT_TRUE(args->with_objects);
  EXPECT_FALSE(args->by_name);
  ASSERT_EQ(args->nodes.size(), 4U);
  EXPECT_EQ(args->nodes[0].name, "a");
  EXPECT_EQ(args->nodes[0].revision, 7U);
  EXPECT_TRUE(args->nodes[1].name.empty());
}

TEST_F(WireTest, NothingGivenIsNothingRead) {
  for (const char* text : {"{}", R"({"Pod":null,"Nodes":null,"NodeNames":null})"}) {
    std::string body = text;
    const auto args = readFilterArgs(scanner, body);
    ASSERT_TRUE(args.has_value()) << text;
    EXPECT_TRUE(args->pod.empty());
    EXPECT_FALSE(args->with_objects || args->by_name);
  }
}

TEST_F(WireTest, ANodeInfoWithoutItsNodeHasAName) {
  std::string body = R"({"task":{"NodeName":"a"},"nodes":[{"Name":"b","Node":null}]})";
  const auto args = readTaskArgs(scanner, body);
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(args->on_node, "a");
  ASSERT_EQ(args->nodes.size(), 1U);
  EXPECT_EQ(args->nodes[0].name, "b");
  EXPECT_EQ(args->nodes[0].object, "");
}

TEST_F(WireTest, ABindingIsRead) {
  std::string body = R"({"PodName":"p","PodNamespace":"ml","PodUID":"u","Node":"n1"})";
  const auto args = readBindArgs(scanner, body);
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(args->pod, (model::ObjectKey{"ml", "p"}));
  EXPECT_EQ(args->uid.text, "u");
  EXPECT_EQ(args->node.text, "n1");
}

TEST_F(WireTest, WhatIsWrongIsSaid) {
  struct Row {
    const char* body;
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {"", "EOF"},
           {" \n", "EOF"},
           {"{", "unexpected EOF: the body is cut off after 1 bytes"},
           {R"({"Pod":{"a":1)", "unexpected EOF: the body is cut off after 13 bytes"},
           {"hello", "the body is no JSON: at byte 0 stands 'hello' where a value was expected"},
           {"{\"Pod\" 1}", "the body is no JSON: at byte 7 stands '1}' where ':' was expected"},
           {"{} {\"Pod\":{}, and much more than is shown",
            "the body is no JSON: at byte 3 stands '{\"Pod\":{}, and much ' where nothing more was expected"},
           {"[]", "the body is not an object"},
           {"5", "the body is not an object"},
           {R"({"Pod":5})", "Pod is not an object"},
           {R"({"Pod":[]})", "Pod is not an object"},
           {R"({"Nodes":[]})", "Nodes is not an object"},
           {R"({"Nodes":{"items":{}}})", "Nodes.items is not an array"},
           {R"({"Nodes":{"items":[5]}})", "a node is not an object"},
           {R"({"Nodes":{"items":[{"metadata":5}]}})", "a node's metadata is not an object"},
           {R"({"Nodes":{"items":[{"metadata":{"name":5}}]}})", "a node's name is not a plain string"},
           {R"({"NodeNames":{}})", "NodeNames is not an array"},
           {R"({"NodeNames":[5]})", "a name in NodeNames is not a plain string"},
           {R"({"NodeNames":["a\u0062"]})", "a name in NodeNames is not a plain string"},
       }) {
    std::string body = row.body;
    const auto args = readFilterArgs(scanner, body);
    ASSERT_FALSE(args.has_value()) << row.body;
    EXPECT_EQ(args.error().message, row.says) << row.body;
  }
  for (const char* text : {"{}{}", "{\"Pod\" 1}", "{\"Nodes\":{\"items\":[}]}}", "nul"}) {
    std::string body = text;
    EXPECT_FALSE(readFilterArgs(scanner, body).has_value()) << text;
  }
}

/// `one` so many times, with commas.
std::string repeated(std::string_view one, std::size_t times) {
  std::string out;
  out.reserve((one.size() + 1) * times);
  for (std::size_t i = 0; i < times; ++i) {
    out += i > 0 ? "," : "";
    out += one;
  }
  return out;
}

TEST_F(WireTest, AHundredThousandNodesAreTakenAndNotOneMore) {
  const char* says = "more than 100000 nodes; no cluster has so many";
  struct Row {
    const char* before;
    const char* node;
    const char* after;
  };
  for (const Row& row :
       {Row{R"({"NodeNames":[)", R"("x")", "]}"}, Row{R"({"Nodes":{"items":[)", "{}", "]}}"}}) {
    std::string most = row.before + repeated(row.node, kMostNodes) + row.after;
    const auto taken = readFilterArgs(scanner, most);
    ASSERT_TRUE(taken.has_value()) << taken.error().message;
    EXPECT_EQ(taken->nodes.size(), kMostNodes);
    std::string more = row.before + repeated(row.node, kMostNodes + 1) + row.after;
    const auto refused = readFilterArgs(scanner, more);
    ASSERT_FALSE(refused.has_value()) << row.before;
    EXPECT_EQ(refused.error().code, Code::Invalid);
    EXPECT_EQ(refused.error().message, says);
  }
  std::string infos = R"({"nodes":[)" + repeated("null", kMostNodes + 1) + "]}";
  const auto tasks = readTaskArgs(scanner, infos);
  ASSERT_FALSE(tasks.has_value());
  EXPECT_EQ(tasks.error().message, says);
  for (const char* key : {"NodeNameToMetaVictims", "NodeNameToVictims"}) {
    std::string victims = fmt::format(R"({{"{}":{{{}}}}})", key, repeated(R"("n":null)", kMostNodes + 1));
    const auto preempt = readPreemptArgs(scanner, victims);
    ASSERT_FALSE(preempt.has_value());
    EXPECT_EQ(preempt.error().message, says);
  }
}

/// As Go reads a map: the last one counts.
TEST_F(WireTest, ANodeThatIsNamedTwiceHasTheVictimsOfTheLastTime) {
  std::string body =
      R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"1"}],"NumPDBViolations":3},"b":{"Pods":[{"UID":"2"}]},"a":{"Pods":[{"UID":"4"},{"UID":"5"}]}}})";
  const auto args = readPreemptArgs(scanner, body);
  ASSERT_TRUE(args.has_value());
  ASSERT_EQ(args->victims.size(), 2U);
  EXPECT_EQ(args->victims[0].node, "a");
  EXPECT_EQ(args->victims[0].uids, (std::vector<std::string_view>{"4", "5"}));
  EXPECT_EQ(args->victims[0].pdb_violations, 0);
  EXPECT_EQ(args->victims[1].node, "b");
  EXPECT_EQ(args->victims[1].uids, (std::vector<std::string_view>{"2"}));
}

TEST_F(WireTest, NoNodeHasMoreThanTenThousandVictims) {
  const auto body = [](std::size_t pods) {
    return fmt::format(R"({{"NodeNameToMetaVictims":{{"a":{{"Pods":[{}]}}}}}})",
                       repeated(R"({"UID":"u"})", pods));
  };
  std::string most = body(kMostVictimsOfNode);
  EXPECT_TRUE(readPreemptArgs(scanner, most).has_value());
  std::string more = body(kMostVictimsOfNode + 1);
  const auto refused = readPreemptArgs(scanner, more);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "more than 10000 victims of one node; no kubelet runs so many pods");
}

TEST_F(WireTest, AMillionVictimsAreTakenAndNotOneMore) {
  const auto body = [](const char* key, const char* pod, std::size_t pods) {
    std::string nodes;
    for (std::size_t left = pods, n = 0; left > 0; ++n) {
      const std::size_t here = std::min(left, kMostVictimsOfNode);
      nodes += fmt::format(R"({}"n{}":{{"Pods":[{}]}})", n > 0 ? "," : "", n, repeated(pod, here));
      left -= here;
    }
    return fmt::format(R"({{"{}":{{{}}}}})", key, nodes);
  };
  std::string most = body("NodeNameToMetaVictims", R"({"UID":"u"})", kMostVictims);
  EXPECT_TRUE(readPreemptArgs(scanner, most).has_value());
  for (std::string more : {body("NodeNameToMetaVictims", R"({"UID":""})", kMostVictims + 2),
                           body("NodeNameToVictims", R"({"metadata":{"uid":""}})", kMostVictims + 2)}) {
    const auto refused = readPreemptArgs(scanner, more);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, "more than 1000000 victims; no cluster has so many pods");
  }
}

TEST_F(WireTest, AnObjectThatNoApiServerWouldStoreIsRefused) {
  const std::string large = R"({"metadata":{"name":")" + std::string(kMostObject, 'x') + R"("}})";
  std::string pod = R"({"Pod":)" + large + "}";
  const auto as_pod = readFilterArgs(scanner, pod);
  ASSERT_FALSE(as_pod.has_value());
  EXPECT_EQ(as_pod.error().message, "Pod is larger than 4 MiB; no API server stores such an object");
  std::string node = R"({"Nodes":{"items":[)" + large + "]}}";
  const auto as_node = readFilterArgs(scanner, node);
  ASSERT_FALSE(as_node.has_value());
  EXPECT_EQ(as_node.error().message, "a node is larger than 4 MiB; no API server stores such an object");
}

TEST_F(WireTest, CutAnywhereABodyIsRefused) {
  for (const auto& path : recorded("009-cache-true_prioritize.json")) {
    const std::string whole = contentOf(path);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      std::string body = whole.substr(0, size);
      EXPECT_FALSE(readFilterArgs(scanner, body).has_value()) << size;
    }
  }
}

}  // namespace
}  // namespace gs::extender
