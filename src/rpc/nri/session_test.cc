#include "rpc/nri/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "rpc/nri/fake_runtime_test.h"

namespace gs::rpc::nri {
namespace {

using Told = std::vector<std::string>;

/// A plugin and a runtime with a session between them.
class NriSession : public testing::Test {
 protected:
  explicit NriSession(SessionOptions options = {.plugin_name = "gpu-scheduler", .plugin_idx = "10"})
      : session{std::move(options), plugin} {
    runtime.read(session.takeOutput());
  }
  /// What is sent to the plugin, `at_once` bytes at a time.
  Status send(std::string_view bytes, std::size_t at_once = std::string_view::npos) {
    Status done;
    while (!bytes.empty() && done) {
      done = session.received(bytes.substr(0, at_once));
      runtime.read(session.takeOutput());
      bytes.remove_prefix(std::min(at_once, bytes.size()));
    }
    return done;
  }
  FakeRuntime::Answer ask(std::string_view method, const Proto& payload) {
    const Status done = send(runtime.call(method, payload));
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(runtime.answers.count(runtime.lastStream()), 1U) << method << " is not answered";
    return runtime.answers[runtime.lastStream()];
  }
  void registerIt() {
    EXPECT_TRUE(send(FakeRuntime::accept()));
    EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
    EXPECT_EQ(ask("Synchronize", {}).code, 0U);
    EXPECT_TRUE(session.isRegistered());
    plugin.told.clear();
  }

  RecordingPlugin plugin;
  FakeRuntime runtime;
  Session session;
};

TEST_F(NriSession, RegistersConfiguresAndSynchronizes) {
  EXPECT_EQ(runtime.plugin, "10-gpu-scheduler");
  ASSERT_TRUE(send(FakeRuntime::accept()));
  const auto configured = ask("Configure", configureCall());
  const std::uint64_t events = numberOf(configured.payload, 2);
  EXPECT_EQ(events, 0x60FU) << "run, stop, remove a pod; create, stop, remove a container";
  EXPECT_EQ(events & ~std::uint64_t{0x7FF}, 0U)
      << "a bit that a runtime does not know fails the registration";
  EXPECT_FALSE(session.isRegistered());
  const auto synchronized =
      ask("Synchronize",
          Proto{}.message(1, podOf("s")).message(2, containerOf("c")).message(2, containerOf("d")));
  EXPECT_EQ(synchronized.payload, "") << "no updates, no more";
  EXPECT_TRUE(session.isRegistered());
  EXPECT_EQ(plugin.told,
            (Told{"configured containerdv2.2.9", "synchronized", " pod s", " container c", " container d"}));
}

TEST_F(NriSession, TheAnswerToTheRegistrationMayComeLast) {
  EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
  EXPECT_EQ(ask("Synchronize", {}).code, 0U);
  EXPECT_TRUE(send(FakeRuntime::accept()));
  EXPECT_TRUE(session.isRegistered());
}

TEST_F(NriSession, PartsOfSynchronizeAreOneList) {
  ASSERT_TRUE(send(FakeRuntime::accept()));
  ASSERT_EQ(ask("Configure", configureCall()).code, 0U);
  const std::string blank(256 * 1024, 'x');
  for (int part = 0; part < 3; ++part) {  // each as long as a frame may be
    Proto payload;
    for (int pod = 0; pod < 15; ++pod) {
      payload.message(1, podOf(fmt::format("{}-{}", part, pod)).entry(6, "example.com/blank", blank));
    }
    payload.message(2, containerOf(fmt::format("c{}", part)));
    const bool more = part < 2;
    if (more) { payload.number(3, 1); }
    const auto answer = ask("Synchronize", payload);
    EXPECT_EQ(answer.code, 0U);
    EXPECT_EQ(numberOf(answer.payload, 2), more ? 1U : 0U) << "`more` is said again";
    EXPECT_EQ(session.isRegistered(), !more);
    EXPECT_EQ(plugin.told.size(), more ? 1U : 2U + 45U + 3U) << "told once, of all parts";
  }
  ASSERT_EQ(plugin.all.pods.size(), 45U);
  EXPECT_EQ(plugin.all.pods.back().id, "2-14");
  EXPECT_EQ(plugin.all.pods.back().annotations["example.com/blank"], blank);
  EXPECT_EQ(plugin.all.containers.size(), 3U);
}

TEST_F(NriSession, AContainerIsAdjusted) {
  registerIt();
  plugin.create = [](const Container& container) {
    Adjustment out;
    out.annotations["of"] = container.id;
    return out;
  };
  const auto answer = ask("CreateContainer", containerCall("c"));
  EXPECT_EQ(answer.code, 0U);
  const std::string annotation = fieldOf(fieldOf(answer.payload, 1), 2);
  EXPECT_EQ(fieldOf(annotation, 1) + "=" + fieldOf(annotation, 2), "of=c");
  EXPECT_EQ(plugin.last.pod.annotations.at("gpu"), "3");
  EXPECT_EQ(plugin.last.container.env, (Told{"A=1"}));
}

TEST_F(NriSession, ARefusalIsASentence) {
  registerIt();
  plugin.create = [](const Container&) -> Result<Adjustment> {
    return fail(Code::Conflict, "pod ml/train: GPU 3 is held by pod ml/other");
  };
  const auto answer = ask("CreateContainer", containerCall("c"));
  EXPECT_EQ(answer.code, 2U);
  EXPECT_EQ(answer.message, "pod ml/train: GPU 3 is held by pod ml/other");
  EXPECT_EQ(ask("StopContainer", containerCall("c")).code, 0U) << "the session goes on";
}

TEST_F(NriSession, WhatCannotBeSentRefuses) {
  registerIt();
  plugin.create = [](const Container&) {
    Adjustment out;
    out.env = {{"A", "\xFF"}};
    return out;
  };
  const auto answer = ask("CreateContainer", containerCall("c"));
  EXPECT_EQ(answer.code, 2U);
  EXPECT_NE(answer.message.find("no UTF-8"), std::string::npos) << answer.message;
}

TEST_F(NriSession, ALongAnswerIsCutIntoPieces) {
  registerIt();
  const std::string value(300'000, 'v');
  plugin.create = [&](const Container&) {
    Adjustment out;
    out.env = {{"A", value}};
    return out;
  };
  const auto answer = ask("CreateContainer", containerCall("c"));  // FakeRuntime looks at the pieces
  EXPECT_EQ(fieldOf(fieldOf(fieldOf(answer.payload, 1), 4), 2), value);
}

TEST_F(NriSession, EventsReachThePlugin) {
  registerIt();
  const auto event = [](std::uint64_t number) {
    return Proto{}.number(1, number).message(2, podOf("s")).message(3, containerOf("c"));
  };
  for (const unsigned number : {1U, 2U, 3U, 11U, 7U, 99U}) {
    const auto answer = ask("StateChange", event(number));
    EXPECT_EQ(answer.code, 0U) << number;
    EXPECT_EQ(answer.payload, "");
  }
  EXPECT_EQ(ask("StopContainer", containerCall("d")).payload, "");
  EXPECT_EQ(ask("Shutdown", {}).code, 0U);
  EXPECT_EQ(plugin.told,
            (Told{"pod started s", "pod stopped s", "pod removed s", "removed s/c", "stopped s/d"}));
}

/// NRI 0.12 has methods where older ones send a StateChange, and asks again so when they are unknown.
TEST_F(NriSession, ARuntimeWithMoreMethodsFallsBack) {
  registerIt();
  for (const char* method : {"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "RemoveContainer",
                             "PostCreateContainer", "UpdateContainer", "ValidateContainerAdjustment"}) {
    const auto answer = ask(method, containerCall("c"));
    EXPECT_EQ(answer.code, 12U) << method;
    EXPECT_NE(answer.message.find(method), std::string::npos);
  }
  EXPECT_TRUE(plugin.told.empty());
  EXPECT_EQ(ask("StateChange", Proto{}.number(1, 1).message(2, podOf("s"))).code, 0U);
  EXPECT_EQ(plugin.told, (Told{"pod started s"}));
}

TEST_F(NriSession, CallsMayOverlap) {
  registerIt();
  const std::string first = runtime.call("CreateContainer", containerCall("c"));
  const std::uint32_t stream = runtime.lastStream();
  const std::string both = first + runtime.call("CreateContainer", containerCall("d"));
  ASSERT_TRUE(send(both));
  EXPECT_EQ(plugin.told, (Told{"create s/c", "create s/d"}));
  EXPECT_EQ(runtime.answers.count(stream), 1U);
  EXPECT_EQ(runtime.answers.count(stream + 2), 1U);
}

/// The calls of one on connection 1, the answer on 2: pieces of both may alternate.
TEST_F(NriSession, ConnectionsMayAlternate) {
  const std::string call = FakeRuntime::frame(
      1, 1, 1, FakeRuntime::request("nri.pkg.api.v1alpha1.Plugin", "Configure", configureCall()));
  const std::string accept = FakeRuntime::frame(2, 1, 2, "");
  std::string bytes;
  const std::string_view call_frame = std::string_view{call}.substr(8, 10);  // its head
  bytes += FakeRuntime::piece(1, call_frame.substr(0, 4));
  bytes += FakeRuntime::piece(2, std::string_view{accept}.substr(8, 3));
  bytes += FakeRuntime::piece(1, call_frame.substr(4));
  bytes += FakeRuntime::piece(2, std::string_view{accept}.substr(11));
  bytes += call.substr(18);
  ASSERT_TRUE(send(bytes));
  EXPECT_EQ(runtime.answers.at(1).code, 0U);
  EXPECT_EQ(plugin.told, (Told{"configured containerdv2.2.9"}));
}

TEST_F(NriSession, EachByteMayComeAlone) {
  std::string all = FakeRuntime::accept();
  all += runtime.call("Configure", configureCall());
  all += runtime.call("Synchronize", Proto{}.message(1, podOf("s")).number(3, 1));
  all += runtime.call("Synchronize", Proto{}.message(2, containerOf("c")));
  all += runtime.call("CreateContainer", containerCall("d"));
  all += runtime.call("RunPodSandbox", {});
  all += runtime.call("StateChange", Proto{}.number(1, 1).message(2, podOf("s")));
  ASSERT_TRUE(send(all, 1));
  EXPECT_EQ(plugin.told, (Told{"configured containerdv2.2.9", "synchronized", " pod s", " container c",
                               "create s/d", "pod started s"}));
  EXPECT_EQ(runtime.order_of_answers, (std::vector<std::uint32_t>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(runtime.answers.at(9).code, 12U);
}

TEST_F(NriSession, ARefusedRegistrationIsItsEnd) {
  const Status refused = send(FakeRuntime::refuse("invalid plugin index \"1\", must be 2 digits"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(
      refused.error().message,
      "the container runtime refuses the NRI plugin '10-gpu-scheduler': invalid plugin index \"1\", must "
      "be 2 digits (code 2)");
  const Status later = send(runtime.call("Configure", configureCall()));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error(), refused.error());
  EXPECT_TRUE(plugin.told.empty());
}

TEST_F(NriSession, NonsenseIsItsEnd) {
  const std::string four{"\xFF\xFF\xFF\xFF", 4};
  struct Case {
    const char* name;
    std::string bytes;
    const char* why;
  };
  const Case cases[] = {
      {"piece", "HTTP/1.1 400 Bad Request\r\n", "a piece of 791752241 bytes"},
      {"frame", FakeRuntime::piece(1, four + "1234567890"), "a ttrpc frame of 4294967295 bytes"},
      {"frame of the other connection", FakeRuntime::piece(2, four + "1234567890"), "a ttrpc frame of"},
      {"answer", FakeRuntime::frame(2, 1, 2, four), "not a response of ttrpc"},
  };
  for (const Case& c : cases) {
    RecordingPlugin quiet;
    Session one{{.plugin_name = "gpu-scheduler", .plugin_idx = "10"}, quiet};
    (void)one.takeOutput();
    const Status done = one.received(c.bytes);
    ASSERT_FALSE(done) << c.name;
    EXPECT_EQ(done.error().code, Code::Invalid) << c.name;
    EXPECT_EQ(done.error().message.find(c.why), 0U) << done.error().message;
    EXPECT_EQ(one.takeOutput(), "") << c.name;
  }
}

TEST_F(NriSession, UnknownConnectionsAreDropped) {
  std::string bytes;
  for (const std::uint32_t conn : {0U, 3U, 77U}) {
    bytes += FakeRuntime::piece(conn, std::string(50'000, '\xFF'));
  }
  ASSERT_TRUE(send(bytes));
  EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
}

TEST_F(NriSession, CallsThatAreNoneAreRefused) {
  registerIt();
  const std::uint32_t used = runtime.lastStream();
  const std::string request =
      FakeRuntime::request("nri.pkg.api.v1alpha1.Plugin", "CreateContainer", containerCall("c"));
  const std::string other = FakeRuntime::request("nri.pkg.api.v1alpha1.Other", "CreateContainer", {});
  struct Case {
    const char* name;
    std::uint32_t stream;
    std::uint8_t type;
    std::string data;
    std::optional<std::uint64_t> code;  // nullopt: passed over
  };
  const Case cases[] = {
      {"even stream", used + 1, 1, request, 3},
      {"data of no call", used + 2, 3, request, 3},
      {"answer to nothing", used + 2, 2, request, std::nullopt},
      {"type of the future", used + 2, 9, request, std::nullopt},
      {"no request", used + 4, 1, "\xFF", 3},
      {"other service", used + 6, 1, other, 12},
      {"older stream", used + 2, 1, request, 3},
  };
  for (const Case& c : cases) {
    runtime.answers.clear();
    ASSERT_TRUE(send(FakeRuntime::frame(1, c.stream, c.type, c.data))) << c.name;
    ASSERT_EQ(runtime.answers.size(), c.code ? 1U : 0U) << c.name;
    if (c.code) { EXPECT_EQ(runtime.answers[c.stream].code, *c.code) << c.name; }
  }
  EXPECT_TRUE(plugin.told.empty());
}

/// A message that cannot be read refuses, whatever it is: nothing goes unasked.
TEST_F(NriSession, MessagesThatCannotBeReadAreRefused) {
  registerIt();
  const Proto nonsense = Proto{}.text(1, "\xFF").text(2, "\xFF");
  for (const char* method : {"CreateContainer", "StopContainer", "Synchronize"}) {
    EXPECT_EQ(ask(method, nonsense).code, 3U) << method;
  }
  EXPECT_EQ(ask("StateChange", Proto{}.text(2, "\xFF")).code, 3U);
  EXPECT_TRUE(plugin.told.empty());
}

TEST_F(NriSession, EventsComeAfterSynchronize) {
  EXPECT_EQ(ask("Synchronize", {}).code, 9U);
  EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
  EXPECT_EQ(ask("Configure", configureCall()).code, 9U);
  EXPECT_EQ(ask("CreateContainer", containerCall("c")).code, 9U);
  EXPECT_EQ(ask("Synchronize", {}).code, 0U);
  EXPECT_EQ(ask("Synchronize", Proto{}.message(1, podOf("t"))).code, 0U) << "it may come again";
  EXPECT_EQ(plugin.told, (Told{"configured containerdv2.2.9", "synchronized", "synchronized", " pod t"}));
}

class SmallNriSession : public NriSession {
 protected:
  SmallNriSession()
      : NriSession{{.plugin_name = "gpu-scheduler",
                    .plugin_idx = "10",
                    .keep = {.annotation = [](std::string_view key) { return key == "gpu"; }},
                    .most_to_synchronize = 100'000}} {}
};

TEST_F(SmallNriSession, WhatIsNotKeptIsNotCounted) {
  EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
  const std::string blank(90'000, 'x');
  for (int part = 0; part < 10; ++part) {
    EXPECT_EQ(ask("Synchronize", Proto{}.message(1, podOf("s").entry(6, "blank", blank)).number(3, 1)).code,
              0U);
  }
  EXPECT_EQ(ask("Synchronize", {}).code, 0U);
  ASSERT_EQ(plugin.all.pods.size(), 10U);
  EXPECT_EQ(plugin.all.pods[9].annotations, (std::map<std::string, std::string>{{"gpu", "3"}}));
}

TEST_F(SmallNriSession, TooMuchIsItsEnd) {
  EXPECT_EQ(ask("Configure", configureCall()).code, 0U);
  const std::string blank(60'000, 'x');
  const Proto part = Proto{}.message(1, podOf("s").entry(5, "label", blank)).number(3, 1);
  EXPECT_EQ(ask("Synchronize", part).code, 0U);
  const Status done = send(runtime.call("Synchronize", part));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::Invalid);
  EXPECT_NE(done.error().message.find("at most 100000 are kept"), std::string::npos) << done.error().message;
}

}  // namespace
}  // namespace gs::rpc::nri
