#include "serve/agent/enforcement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline_test.h"
#include "base/files.h"
#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "enforce/fixture_test.h"
#include "enforce/told_file.h"
#include "noderim/nri_link_test.h"

namespace gs::serve {
namespace {

namespace fixture = enforce::fixture;
using fixture::gpu;
using noderim::NriLink;
using rpc::nri::Proto;

constexpr Duration kAnHour = std::chrono::hours{1};

// ---- What a runtime says, as its bytes.
Proto wireOf(const rpc::nri::PodSandbox& pod) {
  Proto out;
  out.text(1, pod.id).text(2, pod.name).text(3, pod.uid).text(4, pod.ns);
  for (const auto& [key, value] : pod.annotations) { out.entry(6, key, value); }
  return out;
}

Proto wireOf(const rpc::nri::Container& container) {
  Proto out;
  out.text(1, container.id).text(2, container.pod_sandbox_id).text(3, container.name);
  for (const auto& [key, value] : container.annotations) { out.entry(6, key, value); }
  for (const std::string& variable : container.env) { out.text(8, variable); }
  for (const auto& mount : container.mounts) {
    Proto one;
    one.text(1, mount.destination).text(2, mount.type).text(3, mount.source);
    for (const std::string& option : mount.options) { one.text(4, option); }
    out.message(9, one);
  }
  Proto on_linux;
  for (const auto& device : container.devices) {
    on_linux.message(2, Proto{}
                            .text(1, device.path)
                            .text(2, device.type)
                            .number(3, static_cast<std::uint64_t>(device.major))
                            .number(4, static_cast<std::uint64_t>(device.minor)));
  }
  return out.message(11, on_linux);
}

Proto wireOf(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) {
  return Proto{}.message(1, wireOf(pod)).message(2, wireOf(container));
}

/// StateChange that it was removed.
Proto removal(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) {
  return Proto{}.number(1, 11).message(2, wireOf(pod)).message(3, wireOf(container));
}

std::vector<std::string> namesIn(const std::string& message, unsigned field) {
  std::vector<std::string> out;
  for (const std::string& one : rpc::nri::fieldsOf(message, field)) {
    out.push_back(rpc::nri::fieldOf(one, 1));
  }
  return out;
}
using WireAnswer = rpc::nri::FakeRuntime::Answer;
std::string adjustmentIn(const WireAnswer& answer) { return rpc::nri::fieldOf(answer.payload, 1); }
std::vector<std::string> cdiNamesIn(const WireAnswer& answer) { return namesIn(adjustmentIn(answer), 8); }
std::vector<std::string> devicesIn(const WireAnswer& answer) {
  return namesIn(rpc::nri::fieldOf(adjustmentIn(answer), 6), 1);
}

/// As nvidia-ctk writes it.
std::string vendorFile(const std::vector<enforce::NodeDevice>& devices) {
  std::string out = R"({"cdiVersion":"0.6.0","kind":"nvidia.com/gpu","devices":[)";
  const char* comma = "";
  for (const enforce::NodeDevice& device : devices) {
    out += fmt::format(R"({}{{"name":"{}","containerEdits":{{"deviceNodes":[)", comma, device.uuid);
    const char* inner = "";
    for (const auto& node : fixture::nodesOf(device)) {
      out += fmt::format(R"({}{{"path":"{}","type":"c","major":{},"minor":{}}})", inner, node.path,
                         node.major, node.minor);
      inner = ",";
    }
    out += "]}}";
    comma = ",";
  }
  return out + "]}";
}

class EnforcementTest : public ::testing::Test {
 protected:
  EnforcementTest() {
    listener.listen();
    std::filesystem::create_directories(cdi);
    EXPECT_TRUE(replaceFile(cdi + "/nvidia.json", vendorFile(node.record.devices)));
  }

  /// Nothing happens by time alone.
  Enforcement::Options options() const {
    return {.node = fixture::kNode,
            .cdi = {.directories = {folder.path("etc"), cdi}, .host_root = folder.path("host")},
            .facts = {},
            .connection = {.session = {},
                           .socket = socket,
                           .retry = {kAnHour, kAnHour},
                           .settled = {},
                           .registration = kAnHour,
                           .write = kAnHour},
            .least = {},
            .most = kAnHour};
  }
  void begin() { begin(options()); }
  void begin(Enforcement::Options with, std::function<void()> changed = {}) {
    enforcement =
        std::make_unique<Enforcement>(std::move(with), slot, metrics, clock, [this](const auto& report) {
          if (takes) { return reports.tryPush(report); }
          refused_reports += report.said.size();
          return false;
        });
    enforcement->onChange(std::move(changed));
    enforcement->start();
  }
  NriLink connect(const Proto& configure = rpc::nri::configureCall(), const Proto& synchronize = {}) {
    NriLink link = listener.accept();
    link.registerIt(configure, synchronize);
    return link;
  }
  void putRecord() { slot.put(std::make_shared<const enforce::NodeRecord>(node.record)); }
  static WireAnswer create(NriLink& link, const rpc::nri::PodSandbox& pod,
                           const rpc::nri::Container& container) {
    return link.ask("CreateContainer", wireOf(pod, container));
  }
  /// As the device plugin of the kubelet would have it.
  rpc::nri::Container pickedBy(fixture::Plugin plugin, int id, const std::string& name) const {
    auto out = fixture::containerOf(name);
    fixture::pluginGives(plugin, {node.device(gpu(id))}, out);
    return out;
  }
  /// The first report of which that is so; what is said on the way is added up.
  enforce::Report until(const std::function<bool(const enforce::Report&)>& is_so) {
    for (;;) {
      enforce::Report next = reports.pop().value_or(enforce::Report{});
      said.insert(said.end(), next.said.begin(), next.said.end());
      unsaid += next.unsaid;
      EXPECT_LE(next.said.size(), enforce::Report::kMostSaid);
      if (is_so(next)) { return next; }
    }
  }
  enforce::Report untilConnected() {
    return until([](const auto& report) { return report.is_connected; });
  }
  enforce::Report untilAway() {
    return until([](const auto& report) { return !report.is_connected && !report.why.empty(); });
  }
  enforce::Report untilSaid(std::size_t how_much) {
    return until([&](const auto&) { return said.size() + unsaid >= how_much; });
  }

  const Deadline deadline{"a test of Enforcement ends"};
  const TempFolder folder;
  const std::string socket = folder.path("nri.sock");
  const std::string cdi = folder.path("cdi");
  noderim::NriListener listener{socket};
  fixture::Node node;
  RecordSlot slot{fixture::kNode};
  Metrics metrics;
  const SystemClock clock;
  std::atomic<bool> takes = true;  // reports
  std::atomic<std::size_t> refused_reports = 0;
  Mailbox<enforce::Report> reports{4096};
  std::vector<enforce::Said> said;
  std::uint64_t unsaid = 0;
  std::unique_ptr<Enforcement> enforcement;  // last: its threads use the rest
};

TEST_F(EnforcementTest, WithoutARecordNoPodIsGivenGpus) {
  begin();
  NriLink link = connect();
  const auto pod = fixture::podOf("p", "node-a:1");
  const auto container = fixture::containerOf("c1");
  const auto refused = create(link, pod, container);
  EXPECT_EQ(refused.code, 2U);
  EXPECT_NE(refused.message.find("container main of pod ns/p: its pod was given GPUs"), std::string::npos)
      << refused.message;
  EXPECT_NE(refused.message.find("the agent of node node-a does not know it yet"), std::string::npos);
  EXPECT_EQ(create(link, fixture::podOf("q"), fixture::containerOf("c2")).code, 0U) << "it asks for none";
  (void)untilSaid(1);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(
      said.front(),
      (enforce::Said{{"ns", "p"}, model::Uid{"p"}, "main", enforce::Reason::NotKnown, refused.message}));
  EXPECT_EQ(link.ask("StopContainer", wireOf(pod, container)).code, 0U) << "the runtime says it nevertheless";
  EXPECT_EQ(link.ask("StateChange", removal(pod, container)).code, 0U);
  EXPECT_NE(metrics.text().find("gpu_agent_nri_answer_seconds_count 2\n"), std::string::npos);
}

TEST_F(EnforcementTest, AContainerIsGivenItsPodsGpusInThePlaceOfThePlugins) {
  node.holds("p", {gpu(1)});
  putRecord();
  begin();
  NriLink link = connect();
  const auto pod = fixture::podOf("p", "node-a:1");
  const auto container = pickedBy(fixture::Plugin::Envvar, 0, "c1");
  const auto answer = create(link, pod, container);
  ASSERT_EQ(answer.code, 0U) << answer.message;
  EXPECT_EQ(cdiNamesIn(answer), (std::vector<std::string>{"nvidia.com/gpu=GPU-1"}));
  const auto report = until([](const auto& one) { return !one.containers.empty(); });
  EXPECT_EQ(report.containers,
            (std::vector<enforce::ContainerGpus>{{{"ns", "p"}, model::Uid{"p"}, "main", {gpu(1)}}}));
  EXPECT_EQ(report.runtime, (rpc::nri::Runtime{"containerd", "v2.2.9"}));
  EXPECT_TRUE(report.mismatches.empty());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said.front().what, (std::variant<enforce::Reason, enforce::Remark>{enforce::Remark::Adjusted}));
  EXPECT_EQ(link.ask("StopContainer", wireOf(pod, container)).code, 0U);
  (void)until([](const auto& one) { return one.containers.empty(); });
}

TEST_F(EnforcementTest, AnotherRecordIsComparedWithWhatRuns) {
  putRecord();
  begin();
  NriLink link = connect();
  ASSERT_EQ(create(link, fixture::podOf("q"), pickedBy(fixture::Plugin::DeviceSpecs, 1, "c1")).code, 0U);
  (void)until([](const auto& one) { return !one.containers.empty() && one.mismatches.empty(); });
  node.holds("p", {gpu(1)});
  putRecord();  // and nothing else happens
  const auto report = until([](const auto& one) { return !one.mismatches.empty(); });
  ASSERT_EQ(report.mismatches.size(), 1U);
  EXPECT_EQ(report.mismatches.front().wrong, enforce::Wrong::HasAnothers);
  EXPECT_EQ(report.mismatches.front().pod_name, "q");
  EXPECT_EQ(report.more_mismatches, 0U);
}

TEST_F(EnforcementTest, AfterAReconnectWhatWasMadeMeanwhileIsCompared) {
  node.holds("p", {gpu(0)});
  putRecord();
  begin();
  NriLink link = connect();
  (void)untilConnected();
  link.close();
  EXPECT_EQ(untilAway().why, "the container runtime closed the NRI connection");
  auto wrong = pickedBy(fixture::Plugin::CdiCri, 0, "wrong");
  wrong.pod_sandbox_id = "sandbox-q";
  const Proto all = Proto{}.message(1, wireOf(fixture::podOf("q"))).message(2, wireOf(wrong));
  const NriLink again = connect(rpc::nri::configureCall(), all);
  const auto report = until([](const auto& one) { return one.is_connected && !one.mismatches.empty(); });
  ASSERT_EQ(report.mismatches.size(), 1U);
  EXPECT_EQ(report.mismatches.front().container, "wrong");
  EXPECT_EQ(report.mismatches.front().wrong, enforce::Wrong::HasAnothers);
}

TEST_F(EnforcementTest, ARequestThatIsCutOffLeavesNothing) {
  node.holds("p", {gpu(1)});
  putRecord();
  begin();
  const Proto call = wireOf(fixture::podOf("p", "node-a:1"), fixture::containerOf("c1"));
  {
    NriLink link = connect();
    (void)untilConnected();
    const std::string bytes = link.runtime.call("CreateContainer", call);
    link.send(std::string_view{bytes}.substr(0, bytes.size() / 2));
    link.close();  // the runtime dies in the middle of it
    EXPECT_TRUE(untilAway().containers.empty());
  }
  NriLink link = connect();
  (void)untilConnected();
  const std::string bytes = link.runtime.call("CreateContainer", call);
  link.send(std::string_view{bytes}.substr(0, bytes.size() / 2));
  enforcement->stop();  // and now we do
  link.readToTheEnd();
  EXPECT_EQ(link.runtime.answers.size(), 2U) << "those to Configure and Synchronize";
}

TEST_F(EnforcementTest, NonsenseEndsTheConnectionAndIsSaid) {
  putRecord();
  begin();
  NriLink link = connect();
  (void)untilConnected();
  EXPECT_EQ(link.ask("CreateContainer", Proto{}.text(1, "\x0f")).code, 3U) << "a message alone ends nothing";
  EXPECT_EQ(create(link, fixture::podOf("q"), fixture::containerOf("c1")).code, 0U);
  link.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto report = untilAway();
  EXPECT_TRUE(report.why.starts_with("a piece of 791752241 bytes")) << report.why;
  const Status may = enforcement->mayStart(model::Uid{"q"}, "ns", "q");
  ASSERT_FALSE(may);
  EXPECT_NE(may.error().message.find(report.why), std::string::npos) << may.error().message;
}

TEST_F(EnforcementTest, SaysWhetherAPodMayStart) {
  begin();
  const auto may = [&](const char* uid) -> std::string {
    const Status out = enforcement->mayStart(model::Uid{uid}, "ns", "p");
    if (out) { return "yes"; }
    return (out.error().code == Code::Unavailable ? "later: " : "no: ") + out.error().message;
  };
  EXPECT_EQ(may("p"),
            "later: pod ns/p: the agent of node node-a is not connected to the container runtime's NRI: it "
            "has just begun to dial");
  NriLink link = connect();
  (void)untilConnected();
  EXPECT_EQ(may("p"), "later: pod ns/p: the agent of node node-a does not know the node's pods yet");
  node.holds("p", {gpu(1)});
  node.record.holdings[model::Uid{"late"}].why = "its leases are being read";
  auto& refuted = node.record.holdings[model::Uid{"refuted"}];
  refuted.hold = enforce::Hold::Refuted;
  refuted.why = "lease gpu-node-a-1 is another pod's";
  node.record.holdings[model::Uid{"without"}].hold = enforce::Hold::Verified;
  putRecord();
  EXPECT_EQ(may("p"), "yes");
  EXPECT_EQ(may("without"), "yes") << "it holds none, and the record knows it";
  EXPECT_EQ(may("late"), "later: pod ns/p: its leases are being read");
  EXPECT_EQ(may("refuted"), "no: pod ns/p: lease gpu-node-a-1 is another pod's");
  EXPECT_TRUE(
      may("unknown").starts_with("later: pod ns/p: the agent of node node-a does not know yet which "
                                 "GPUs it was given"))
      << may("unknown");
  link.close();
  (void)untilAway();
  EXPECT_TRUE(may("p").starts_with("later: ")) << may("p");
  node.record.by_driver = true;
  putRecord();
  EXPECT_EQ(may("unknown"), "yes") << "a DRA driver gives it its GPUs";
}

TEST_F(EnforcementTest, NoPodStartsWhileItIsBeingStopped) {
  node.holds("p", {gpu(1)});
  putRecord();
  begin();
  const NriLink link = connect();
  (void)untilConnected();
  EXPECT_TRUE(enforcement->mayStart(model::Uid{"p"}, "ns", "p"));
  enforcement->stop();
  EXPECT_EQ(enforcement->mayStart(model::Uid{"p"}, "ns", "p").error(),
            (Error{Code::Unavailable, "pod ns/p: the agent of node node-a is being stopped"}));
}

/// Pods wait at their gate for it.
TEST_F(EnforcementTest, SaysWhenAPodMayStartThatCouldNot) {
  std::atomic<int> changes = 0;
  begin(options(), [&] { ++changes; });
  NriLink link = connect();
  waitUntil("the connection is said", [&] { return changes == 1; });
  putRecord();
  EXPECT_EQ(changes, 2);
  (void)create(link, fixture::podOf("q"), fixture::containerOf("c1"));
  link.close();
  waitUntil("its end is said", [&] { return changes == 3; });
  enforcement->stop();
  putRecord();
  EXPECT_EQ(changes, 3) << "nobody listens any more";
}

/// Nobody tells when a file is put into the directory: the answers that depend on it look.
TEST_F(EnforcementTest, ACdiFileThatWasPutThereJustBeforeCounts) {
  std::filesystem::remove(cdi + "/nvidia.json");
  node.holds("p", {gpu(1)});
  putRecord();
  begin();
  NriLink link = connect();
  const auto pod = fixture::podOf("p", "node-a:1");
  const auto refused = create(link, pod, fixture::containerOf("c1"));
  EXPECT_EQ(refused.code, 2U);
  EXPECT_NE(refused.message.find("cannot be given its GPUs"), std::string::npos) << refused.message;
  ASSERT_TRUE(replaceFile(cdi + "/nvidia.json", vendorFile(node.record.devices)));
  EXPECT_EQ(create(link, pod, fixture::containerOf("c2")).code, 0U);
  ASSERT_TRUE(replaceFile(cdi + "/nvidia.json", vendorFile({node.device(gpu(0))})));
  EXPECT_EQ(create(link, pod, fixture::containerOf("c3")).code, 2U) << "and one that was replaced does not";
}

TEST_F(EnforcementTest, ForARuntimeThatInjectsNoCdiTheFilesAreWrittenOut) {
  node.holds("p", {gpu(1)});
  putRecord();
  begin();
  NriLink link = connect(Proto{}.text(2, "containerd").text(3, "v1.7.27").number(4, 5000));
  const auto answer = create(link, fixture::podOf("p", "node-a:1"), fixture::containerOf("c1"));
  ASSERT_EQ(answer.code, 0U) << answer.message;
  EXPECT_TRUE(cdiNamesIn(answer).empty());
  const auto devices = devicesIn(answer);
  for (const auto& device : fixture::nodesOf(node.device(gpu(1)))) {
    EXPECT_NE(std::find(devices.begin(), devices.end(), device.path), devices.end()) << device.path;
  }
}

TEST_F(EnforcementTest, WhatIsNotTakenComesAgainInItsOrder) {
  takes = false;
  begin();
  NriLink link = connect();
  (void)create(link, fixture::podOf("first", "node-a:1"), fixture::containerOf("c1"));
  waitUntil("a report was not taken", [this] { return refused_reports > 0; });
  takes = true;
  (void)create(link, fixture::podOf("second", "node-a:1"), fixture::containerOf("c2"));
  (void)untilSaid(2);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].pod.name, "first");
  EXPECT_EQ(said[1].pod.name, "second");
}

TEST_F(EnforcementTest, WhatIsTooMuchToBeSaidIsCounted) {
  constexpr std::size_t kRefused = 300;
  takes = false;
  begin();
  NriLink link = connect();
  for (std::size_t i = 0; i < kRefused; ++i) {
    const auto pod = fixture::podOf(fmt::format("p{}", i), "node-a:1");
    EXPECT_EQ(create(link, pod, fixture::containerOf("c")).code, 2U);
    EXPECT_EQ(create(link, pod, fixture::containerOf("c")).code, 2U) << "said once";
  }
  takes = true;
  (void)create(link, fixture::podOf("last", "node-a:1"), fixture::containerOf("c"));
  (void)untilSaid(kRefused + 1);
  EXPECT_GT(unsaid, 0U);
}

TEST_F(EnforcementTest, NoReportFollowsTheOneBeforeAtOnce) {
  Enforcement::Options slow = options();
  slow.least = kAnHour;
  begin(std::move(slow));
  NriLink link = connect();
  (void)create(link, fixture::podOf("p", "node-a:1"), fixture::containerOf("c"));
  enforcement->stop();
  EXPECT_EQ(reports.size(), 0U);
}

TEST_F(EnforcementTest, OurOwnFileIsThereAndComesBack) {
  begin();
  const std::string path = cdi + "/" + enforce::kToldFile;
  EXPECT_EQ(readFile(path), enforce::toldFile());
  std::filesystem::remove(path);
  putRecord();  // something happens
  waitUntil("the file is there again", [&] { return std::filesystem::exists(path); });
  EXPECT_EQ(readFile(path), enforce::toldFile());
  EXPECT_FALSE(std::filesystem::exists(folder.path("etc"))) << "it goes into the last of the directories";
}

TEST_F(EnforcementTest, MayBeStoppedBeforeItWasStarted) {
  Enforcement unused{options(), slot, metrics, clock, [](const auto&) { return true; }};
  unused.stop();
  putRecord();
}

}  // namespace
}  // namespace gs::serve
