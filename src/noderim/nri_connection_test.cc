#include "noderim/nri_connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/deadline_test.h"
#include "base/mailbox.h"
#include "base/temp_folder_test.h"
#include "noderim/nri_link_test.h"

namespace gs::noderim {
namespace {

using rpc::nri::FakeRuntime;
using State = NriConnection::State;

constexpr Duration kLong = std::chrono::hours{1};
constexpr Duration kShort = std::chrono::milliseconds{20};
constexpr std::string_view kClosed = "the container runtime closed the NRI connection";

class NriConnectionTest : public testing::Test {
 protected:
  void listen() { listener.listen(); }
  NriLink accept() const { return listener.accept(); }
  NriConnection::Options options() const {
    return {.session = {.plugin_name = "gpu-scheduler", .plugin_idx = "10"},
            .socket = path,
            .retry = {kLong, kLong},
            .settled = {},
            .registration = kLong,
            .write = kLong};
  }
  NriConnection::Say saying() {
    return [this](const State& state) { (void)said.tryPush(state); };
  }
  State next() { return said.pop().value_or(State{}); }

  const Deadline deadline{"a test of NriConnection ends"};
  const TempFolder folder;
  const std::string path = folder.path("nri.sock");
  NriListener listener{path};
  rpc::nri::RecordingPlugin plugin;  // of the connection's thread, until it is stopped
  Mailbox<State> said{64};
};

TEST_F(NriConnectionTest, ThePluginIsAsked) {
  listen();
  NriConnection connection{options(), plugin, saying()};
  connection.start();
  NriLink link = accept();
  link.registerIt();
  EXPECT_EQ(next(), (State{true, ""}));
  EXPECT_EQ(link.ask("CreateContainer", rpc::nri::containerCall("c")).code, 0U);
  connection.stop();
  EXPECT_EQ(plugin.told.back(), "create s/c");
  EXPECT_EQ(said.size(), 0U) << "that it stops is no news";
}

/// The next wait is an hour: it must not be waited for.
TEST_F(NriConnectionTest, AGoodConnectionIsFollowedAtOnce) {
  listen();
  NriConnection connection{options(), plugin, saying()};
  connection.start();
  for (int i = 0; i < 3; ++i) {
    NriLink link = accept();
    link.registerIt();
    EXPECT_EQ(next(), (State{true, ""}));
    link.close();
    EXPECT_EQ(next(), (State{false, std::string{kClosed}}));
  }
}

TEST_F(NriConnectionTest, OneThatWasNotGoodIsFollowedWithAWait) {
  struct Case {
    const char* name;
    Duration settled;
    std::string_view last_words;
    std::string_view why;
  };
  const Case cases[] = {
      {"it was short", kLong, "", kClosed},
      {"it ended in nonsense", {}, "HTTP/1.1 400 Bad Request", "a piece of 791752241 bytes for connection"},
  };
  for (const Case& c : cases) {
    listen();
    NriConnection::Options careful = options();
    careful.settled = c.settled;
    NriConnection connection{careful, plugin, saying()};
    connection.start();
    NriLink link = accept();
    link.registerIt();
    EXPECT_EQ(next(), (State{true, ""}));
    link.send(c.last_words);
    if (c.last_words.empty()) { link.close(); }
    EXPECT_EQ(next().why.find(c.why), 0U) << c.name;
    pollfd dialled{listener.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&dialled, 1, 20), 0) << c.name << ": it rests for an hour";
  }
}

/// Closed by us, said once, and tried again with a wait.
TEST_F(NriConnectionTest, WhatIsWrongAgainAndAgainIsSaidOnce) {
  struct Case {
    std::string bytes;
    const char* why;
  };
  const Case cases[] = {
      {FakeRuntime::refuse("no such index"),
       "the container runtime refuses the NRI plugin '10-gpu-scheduler': no such index (code 2)"},
      {"HTTP/1.1 400 Bad Request\r\n",
       "a piece of 791752241 bytes for connection 1213486160; at most 4194314 are read"},
  };
  for (const Case& c : cases) {
    listen();
    NriConnection::Options quick = options();
    quick.retry = {std::chrono::milliseconds{1}, std::chrono::milliseconds{2}};
    NriConnection connection{quick, plugin, saying()};
    connection.start();
    for (int i = 0; i < 4; ++i) {
      NriLink link = accept();
      link.send(c.bytes);
      link.readToTheEnd();
    }
    EXPECT_EQ(next(), (State{false, c.why}));
    connection.stop();
    EXPECT_EQ(said.size(), 0U) << c.why;
  }
}

TEST_F(NriConnectionTest, NobodyThereIsSaidWithWhatToDo) {
  NriConnection::Options quick = options();
  quick.retry = {std::chrono::milliseconds{1}, std::chrono::milliseconds{2}};
  NriConnection connection{quick, plugin, saying()};
  connection.start();
  EXPECT_EQ(next(), (State{false, "no NRI at " + path +
                                      ": No such file or directory; is it on in the container runtime's "
                                      "configuration, and is the socket's folder mounted here?"}));
  listen();  // now it starts; (between bind and listen the system says another reason)
  NriLink link = accept();
  link.registerIt();
  State state = next();
  while (!state.is_registered) { state = next(); }
  EXPECT_EQ(state, (State{true, ""}));
}

TEST_F(NriConnectionTest, ASilentRuntimeIsLeft) {
  listen();
  NriConnection::Options quick = options();
  quick.registration = kShort;
  NriConnection connection{quick, plugin, saying()};
  connection.start();
  NriLink link = accept();
  EXPECT_EQ(next(), (State{false, "the container runtime has not registered the plugin for 0.02 s"}));
  link.readToTheEnd();
  EXPECT_EQ(link.runtime.plugin, "10-gpu-scheduler");
}

/// Answers that are longer than what a socket holds.
rpc::nri::Adjustment longAdjustment() {
  rpc::nri::Adjustment out;
  out.env = {{"A", std::string(390'000, 'x')}};
  return out;
}
constexpr int kCalls = 8;

TEST_F(NriConnectionTest, ARuntimeThatReadsNothingIsLeft) {
  listen();
  plugin.create = [](const rpc::nri::Container&) { return longAdjustment(); };
  NriConnection::Options quick = options();
  quick.write = kShort;
  NriConnection connection{quick, plugin, saying()};
  connection.start();
  NriLink link = accept();
  link.registerIt();
  EXPECT_EQ(next(), (State{true, ""}));
  std::string calls;
  for (int i = 0; i < kCalls; ++i) {
    calls += link.runtime.call("CreateContainer", rpc::nri::containerCall("c"));
  }
  link.send(calls);
  EXPECT_EQ(next(), (State{false, "the container runtime takes nothing of what it is sent for 0.02 s"}));
}

TEST_F(NriConnectionTest, StopEndsAWriteThatWaits) {
  listen();
  Mailbox<int> asked{kCalls};
  plugin.create = [&asked](const rpc::nri::Container&) {
    (void)asked.tryPush(1);
    return longAdjustment();
  };
  NriConnection connection{options(), plugin, saying()};
  connection.start();
  NriLink link = accept();
  link.registerIt();
  EXPECT_EQ(next(), (State{true, ""}));
  std::string calls;
  for (int i = 0; i < kCalls; ++i) {
    calls += link.runtime.call("CreateContainer", rpc::nri::containerCall("c"));
  }
  link.send(calls);
  EXPECT_TRUE(asked.pop());
  connection.stop();
  EXPECT_EQ(said.size(), 0U);
}

TEST_F(NriConnectionTest, StopEndsOtherWaits) {
  {
    NriConnection connection{options(), plugin, saying()};
    connection.start();
    EXPECT_FALSE(next().is_registered);  // nobody is there, and the next try is in an hour
    connection.stop();
    connection.stop();
  }
  listen();
  NriConnection connection{options(), plugin, saying()};
  connection.start();
  const NriLink link = accept();  // and says nothing, for an hour
  connection.stop();
  EXPECT_EQ(said.size(), 0U);
}

TEST_F(NriConnectionTest, MayBeStoppedBeforeItWasStarted) {
  NriConnection connection{options(), plugin, saying()};
  connection.stop();
}

/// A container that a runtime made as it is, since nobody was there, is found within 10 s.
TEST_F(NriConnectionTest, ARuntimeThatIsBackIsMetSoon) {
  const NriConnection::Options as_it_comes{};
  EXPECT_LE(kapi::retryWait(1000, {}, as_it_comes.retry), std::chrono::seconds{5});
}

TEST_F(NriConnectionTest, APathThatIsTooLongIsSaid) {
  NriConnection::Options wrong = options();
  wrong.socket = std::string(200, 'x');
  NriConnection connection{wrong, plugin, saying()};
  connection.start();
  EXPECT_NE(next().why.find("has more than 107 bytes"), std::string::npos);
}

}  // namespace
}  // namespace gs::noderim
