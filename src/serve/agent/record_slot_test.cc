#include "serve/agent/record_slot.h"

#include <gtest/gtest.h>

#include "serve/agent/published_agent.h"

namespace gs::serve {
namespace {

TEST(RecordSlot, HasARecordFromTheBeginAndSaysEachOtherOne) {
  RecordSlot slot{"node-a"};
  ASSERT_NE(slot.get(), nullptr);
  EXPECT_EQ(slot.get()->node, "node-a");
  EXPECT_FALSE(slot.get()->knows_pods);
  int changes = 0;
  slot.onChange([&] { ++changes; });
  slot.put(slot.get());
  EXPECT_EQ(changes, 0);
  const auto another = std::make_shared<const enforce::NodeRecord>();
  slot.put(another);
  slot.put(another);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(slot.get(), another);
  slot.onChange({});
  slot.put(std::make_shared<const enforce::NodeRecord>());
  EXPECT_EQ(changes, 1);
}

TEST(PublishedAgent, ItsRecordLiesInTheSlotAfterWhateverItIsTold) {
  agent::Agent machine{{.node = model::NodeName{"n"}}, Rng{1}};
  const auto another = std::make_shared<const enforce::NodeRecord>();
  RecordSlot slot;
  PublishedAgent published{machine, slot};
  const auto is_published = [&] {
    const bool out = slot.get() == machine.record();
    slot.put(another);
    return out;
  };
  EXPECT_FALSE(is_published());
  (void)published.start({});
  EXPECT_TRUE(is_published());
  (void)published.handle(kapi::TimerDue{}, {});
  EXPECT_TRUE(is_published());
  (void)published.looked(std::make_shared<const agent::Look>(agent::Hardware{}), {});
  EXPECT_TRUE(is_published());
  (void)published.containersSeen(agent::Containers{}, {});
  EXPECT_TRUE(is_published());
  (void)published.enforced({}, {});
  EXPECT_TRUE(is_published());
}

}  // namespace
}  // namespace gs::serve
