#include "k8s/watch_pool.h"

#include <gtest/gtest.h>

#include "base/mailbox.h"
#include "k8s/fake_client_test.h"

namespace gs::k8s {
namespace {

using Given = std::variant<kapi::WatchEvent, kapi::WatchEnded>;

class WatchPoolTest : public testing::Test {
 protected:
  static kapi::OpenWatch watch(kapi::Token stream) {
    kapi::OpenWatch made;
    made.stream = stream;
    return made;
  }
  model::Revision nextRevision() { return std::get<kapi::WatchEvent>(*mailbox_.pop()).revision; }

  FakeApi api_;
  Mailbox<Given> mailbox_{2};
  WatchPool pool_{api_.connect(), [this](Given given) { return mailbox_.push(std::move(given)); }};
};

TEST_F(WatchPoolTest, GivesEventsInOrderAndThenTheEnd) {
  pool_.open(watch(1));
  for (model::Revision r = 1; r <= 5; ++r) { api_.sendEvent(1, r); }
  api_.endWatch(1, 410);
  for (model::Revision r = 1; r <= 5; ++r) { EXPECT_EQ(nextRevision(), r); }
  const auto ended = std::get<kapi::WatchEnded>(*mailbox_.pop());
  EXPECT_EQ(ended.stream, 1U);
  EXPECT_EQ(ended.http, 410);
}

TEST_F(WatchPoolTest, ClosedStreamGivesNothingMoreNotEvenItsEnd) {
  pool_.open(watch(1));
  pool_.open(watch(2));
  api_.waitForWatch(1);
  pool_.close(1);
  pool_.close(1);
  pool_.close(77);
  api_.sendEvent(1, 1);
  api_.sendEvent(2, 2);
  EXPECT_EQ(nextRevision(), 2U);
  pool_.stop();
  mailbox_.close();
  EXPECT_EQ(mailbox_.pop(), std::nullopt);
}

TEST_F(WatchPoolTest, ConnectionOfAnEndedWatchIsUsedAgain) {
  for (kapi::Token t = 1; t <= 5; ++t) {
    pool_.open(watch(t));
    api_.endWatch(t, 200);
    EXPECT_EQ(std::get<kapi::WatchEnded>(*mailbox_.pop()).stream, t);
  }
  EXPECT_EQ(api_.clients(), 1);
}

TEST_F(WatchPoolTest, StopEndsAStreamThatWaitsForRoom) {
  pool_.open(watch(1));
  for (model::Revision r = 1; r <= 9; ++r) { api_.sendEvent(1, r); }
  EXPECT_EQ(nextRevision(), 1U);
  mailbox_.close();
  pool_.stop();
  pool_.open(watch(2));  // does nothing
  EXPECT_LE(mailbox_.size(), 2U);
}

}  // namespace
}  // namespace gs::k8s
