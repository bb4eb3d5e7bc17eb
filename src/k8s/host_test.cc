#include "k8s/host.h"

#include <gtest/gtest.h>

#include <future>

#include "base/mutex.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;

/// A machine that notes what happens to it; nobody listens at its API server's address.
class HostTest : public ::testing::Test {
 protected:
  static Access nowhere() {
    Access access;
    access.server = "http://127.0.0.1:1";
    return access;
  }
  Host::Machine machine() {
    return {.run = {.begin = [](Now) { return kapi::Effects{}; },
                    .handle =
                        [this](const Event& event, Now) {
                          if (const auto* told = std::get_if<kapi::Leadership>(&event)) {
                            led_.set_value(told->leading);
                          }
                          return kapi::Effects{};
                        }},
            .stop_taking = [this] { stopped_taking_ = true; },
            .under_way = [this] { return --looks_ > 0; },
            .give_up = [this] { gave_up_ = looks_; }};
  }

  std::promise<bool> led_;
  bool stopped_taking_ = false;  // of the machine's thread
  int looks_ = 1;                // after so many it has come to its end
  int gave_up_ = -1;             // when so many were left
};

TEST_F(HostTest, WithoutAnElectionItLeadsFromTheStart) {
  Host host{nowhere(), {.user_agent = "test", .metrics = {}, .election = {}}, Rng{1}};
  host.start(machine());
  EXPECT_TRUE(led_.get_future().get());
  EXPECT_EQ(host.election().trouble, "");
  EXPECT_EQ(host.ask([] { return 7; }), 7);
  host.stop(0s, [] { return false; });
}

TEST_F(HostTest, ItEndsWhenWhatWasDecidedHasEnded) {
  looks_ = 3;
  Host host{nowhere(), {.user_agent = "test", .metrics = {}, .election = {}}, Rng{1}};
  host.start(machine());
  int asked = 0;
  host.stop(1h, [&] { return ++asked > 100; });
  EXPECT_TRUE(stopped_taking_);
  EXPECT_EQ(looks_, 0);
  EXPECT_EQ(asked, 2) << "before each further look";
  EXPECT_EQ(gave_up_, 0);
}

TEST_F(HostTest, ItsEndStopsIt) {
  {
    Host host{nowhere(), {.user_agent = "test", .metrics = {}, .election = {}}, Rng{1}};
    host.start(machine());
  }
  EXPECT_TRUE(stopped_taking_);
  const Host never_started{nowhere(), {.user_agent = "test", .metrics = {}, .election = {}}, Rng{1}};
}

TEST_F(HostTest, ASecondSignalEndsTheWait) {
  looks_ = 1'000'000;
  Host host{nowhere(), {.user_agent = "test", .metrics = {}, .election = {}}, Rng{1}};
  host.start(machine());
  host.stop(1h, [] { return true; });
  EXPECT_EQ(looks_, 999'999);
  EXPECT_EQ(gave_up_, 999'999);
}

}  // namespace
}  // namespace gs::k8s
