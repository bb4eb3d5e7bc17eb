#include "rpc/nri/codec.h"

#include <gtest/gtest.h>

#include "rpc/nri/fake_runtime_test.h"

namespace gs::rpc::nri {
namespace {

using Texts = std::vector<std::string>;

TEST(NriCodec, AContainerIsRead) {
  const Proto device = Proto{}
                           .text(1, "/dev/nvidia0")
                           .text(2, "c")
                           .number(3, 195)
                           .number(4, 7)
                           .message(5, Proto{}.number(1, 0666))
                           .message(7, {});
  const Proto container =
      Proto{}
          .text(1, "c")
          .text(2, "s")
          .text(3, "main")
          .number(4, 3)
          .entry(5, "label", "x")
          .entry(6, "k", "v")
          .text(7, "sleep")
          .text(8, "A=1")
          .text(8, "A=2")
          .message(9,
                   Proto{}.text(1, "/proc").text(2, "proc").text(3, "proc").text(4, "ro").text(4, "nosuid"))
          .message(11, Proto{}.message(2, device).text(5, "/kubepods"))
          .number(12, 4711)
          .message(20, Proto{}.text(1, "nvidia.com/gpu=0"));
  const Proto pod = Proto{}
                        .text(1, "s")
                        .text(2, "train")
                        .text(3, "u")
                        .text(4, "ml")
                        .entry(5, "app", "x")
                        .entry(6, "gpu", "3")
                        .text(7, "runc");
  const auto call = parseCreate(Proto{}.message(1, pod).message(2, container).bytes(), {});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->pod, (PodSandbox{"s", "train", "u", "ml", {{"app", "x"}}, {{"gpu", "3"}}}));
  Container wanted;
  wanted.id = "c";
  wanted.pod_sandbox_id = "s";
  wanted.name = "main";
  wanted.state = ContainerState::Running;
  wanted.annotations = {{"k", "v"}};
  wanted.env = {"A=1", "A=2"};
  wanted.mounts = {{"/proc", "proc", "proc", {"ro", "nosuid"}}};
  wanted.devices = {{"/dev/nvidia0", "c", 195, 7, 0666, std::nullopt, 0}};
  wanted.cdi_devices = {"nvidia.com/gpu=0"};
  wanted.pid = 4711;
  EXPECT_EQ(call->container, wanted);
  EXPECT_EQ(parseStop(Proto{}.message(1, pod).message(2, container).bytes(), {}), call);
  EXPECT_GT(weightOf(call->container), container.bytes().size());
  EXPECT_GT(weightOf(call->pod), pod.bytes().size());
}

TEST(NriCodec, WhatIsLeftOutIsEmpty) {
  EXPECT_EQ(parseCreate("", {}), ContainerCall{});
  EXPECT_EQ(parseSynchronize("", {}), Inventory{});
  EXPECT_EQ(parseConfigure(""), Runtime{});
  EXPECT_EQ(parseStateChange("", {}), StateChange{});
}

TEST(NriCodec, NumbersOfTheFutureAreUnknown) {
  const auto call = parseCreate(Proto{}.message(2, Proto{}.number(4, 9)).bytes(), {});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->container.state, ContainerState::Unknown);
  const auto change = parseStateChange(Proto{}.number(1, 15).bytes(), {});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->event, std::nullopt);
}

TEST(NriCodec, OnlyWhatIsWantedIsKept) {
  const Keep keep{.annotation = [](std::string_view key) { return key.starts_with("gpu"); },
                  .label = [](std::string_view) { return false; },
                  .variable = [](std::string_view name) { return name == "CUDA_VISIBLE_DEVICES"; },
                  .mount = [](const std::string& destination) { return destination == "/sys"; }};
  const Proto pod = Proto{}.entry(5, "gpu", "l").entry(6, "gpu", "3").entry(6, "blank", "x");
  const Proto container = Proto{}
                              .entry(6, "gpu", "3")
                              .entry(6, "blank", "x")
                              .text(8, "CUDA_VISIBLE_DEVICES")
                              .text(8, "CUDA_VISIBLE_DEVICES=0=1")
                              .text(8, "CUDA_VISIBLE_DEVICESX=2")
                              .text(8, "=CUDA_VISIBLE_DEVICES")
                              .message(9, Proto{}.text(1, "/sys").text(2, "sysfs"))
                              .message(9, Proto{}.text(1, "/data").text(3, "/mnt/data"));
  const auto list =
      parseSynchronize(Proto{}.message(1, pod).message(2, container).number(3, 1).bytes(), keep);
  ASSERT_TRUE(list && list->pods.size() == 1 && list->containers.size() == 1);
  EXPECT_TRUE(list->more);
  const std::map<std::string, std::string> kept{{"gpu", "3"}};
  EXPECT_EQ(list->pods[0].annotations, kept);
  EXPECT_TRUE(list->pods[0].labels.empty());
  EXPECT_EQ(list->containers[0].annotations, kept);
  EXPECT_EQ(list->containers[0].env, (Texts{"CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES=0=1"}));
  EXPECT_EQ(list->containers[0].mounts, (std::vector<Mount>{{"/sys", "sysfs", "", {}}}));
}

TEST(NriCodec, AnAdjustmentIsWritten) {
  Adjustment from;
  from.annotations = {{"set", "1"}};
  from.remove_annotations = {"gone"};
  from.env = {{"A", "1"}, {"B", ""}};
  from.mounts = {{"/lib/gpu", "bind", "/opt/gpu", {"rbind", "ro"}}};
  from.remove_mounts = {"/lib/gpu", "/old"};
  from.devices = {{"/dev/nvidia3", "c", 195, 3, std::nullopt, 0, std::nullopt}};
  from.remove_devices = {"/dev/nvidia7"};
  from.denied_devices = {{"c", 195, 7}};
  from.hooks.poststop = {{"/bin/hook", {"hook", "x"}, {"E=1"}, 0}};
  from.cdi_devices = {"nvidia.com/gpu=3", "nvidia.com/gpu=4"};
  const auto bytes = printAdjustment(from);
  ASSERT_TRUE(bytes);
  const std::string adjust = fieldOf(*bytes, 1);

  std::map<std::string, std::string> annotations;
  for (const auto& one : fieldsOf(adjust, 2)) { annotations[fieldOf(one, 1)] = fieldOf(one, 2); }
  EXPECT_EQ(annotations, (std::map<std::string, std::string>{{"set", "1"}, {"-gone", ""}}));
  Texts mounts;
  for (const auto& one : fieldsOf(adjust, 3)) { mounts.push_back(fieldOf(one, 1)); }
  EXPECT_EQ(mounts, (Texts{"-/lib/gpu", "-/old", "/lib/gpu"}));
  EXPECT_EQ(fieldsOf(fieldsOf(adjust, 3)[2], 4), (Texts{"rbind", "ro"}));
  Texts env;
  for (const auto& one : fieldsOf(adjust, 4)) { env.push_back(fieldOf(one, 1) + "=" + fieldOf(one, 2)); }
  EXPECT_EQ(env, (Texts{"A=1", "B="}));
  const std::string hook = fieldOf(fieldOf(adjust, 5), 6);
  EXPECT_EQ(fieldOf(hook, 1), "/bin/hook");
  EXPECT_EQ(fieldsOf(hook, 2), (Texts{"hook", "x"}));
  EXPECT_EQ(fieldsOf(hook, 4).size(), 1U) << "0 s is a timeout";
  const auto devices = fieldsOf(fieldOf(adjust, 6), 1);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(fieldOf(devices[0], 1), "-/dev/nvidia7");
  EXPECT_EQ(fieldOf(devices[1], 1), "/dev/nvidia3");
  EXPECT_EQ(numberOf(devices[1], 3), 195U);
  EXPECT_EQ(fieldsOf(devices[1], 6).size(), 1U) << "root is an owner";
  EXPECT_TRUE(fieldsOf(devices[1], 5).empty() && fieldsOf(devices[1], 7).empty());
  const auto rules = fieldsOf(fieldOf(fieldOf(adjust, 6), 2), 7);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_TRUE(fieldsOf(rules[0], 1).empty()) << "it allows nothing";
  EXPECT_EQ(fieldOf(rules[0], 2), "c");
  EXPECT_EQ(numberOf(fieldOf(rules[0], 3), 1), 195U);
  EXPECT_EQ(numberOf(fieldOf(rules[0], 4), 1), 7U);
  EXPECT_EQ(fieldOf(rules[0], 5), "rw") << "runc refuses a rule that has an m";
  EXPECT_EQ(fieldOf(fieldsOf(adjust, 8)[1], 1), "nvidia.com/gpu=4");
}

TEST(NriCodec, NothingToAdjustIsNothing) { EXPECT_EQ(printAdjustment({}), std::string("\x0A\x00", 2)); }

TEST(NriCodec, TheSameAdjustmentIsTheSameBytes) {
  Adjustment from;
  Texts wanted;
  for (int i = 10; i < 60; ++i) {
    wanted.push_back("key" + std::to_string(i));
    from.annotations[wanted.back()] = "v";
  }
  Texts written;
  for (const auto& one : fieldsOf(fieldOf(printAdjustment(from).value_or(""), 1), 2)) {
    written.push_back(fieldOf(one, 1));
  }
  EXPECT_EQ(written, wanted) << "in order";
}

TEST(NriCodec, WhatARuntimeWouldMisreadIsNotSent) {
  struct Case {
    const char* name;
    Adjustment adjustment;
    const char* why;
  };
  std::vector<Case> cases(9);
  cases[0] = {"value", {}, "no UTF-8"};
  cases[0].adjustment.annotations = {{"a", "\xC3"}};
  cases[1] = {"key", {}, "which is no key"};
  cases[1].adjustment.annotations = {{"\xC3", "a"}};
  cases[2] = {"annotation that removes", {}, "'-gpu', which is no key"};
  cases[2].adjustment.annotations = {{"-gpu", ""}};
  cases[3] = {"mount that removes", {}, "'-/proc', which is no key"};
  cases[3].adjustment.mounts = {{"-/proc", "", "", {}}};
  cases[4] = {"device that removes", {}, "'-/dev/nvidia0', which is no key"};
  cases[4].adjustment.devices = {{"-/dev/nvidia0", "c", 0, 0, {}, {}, {}}};
  cases[5] = {"removes a removal", {}, "'-/x', which is no key"};
  cases[5].adjustment.remove_mounts = {"-/x"};
  cases[6] = {"no key", {}, "a key of it is empty"};
  cases[6].adjustment.env = {{"", "1"}};
  cases[7] = {"hook", {}, "no UTF-8"};
  cases[7].adjustment.hooks.prestart = {{"/x", {"\xFF"}, {}, {}}};
  cases[8] = {"long", {}, "at most 409600 are sent"};
  cases[8].adjustment.env = {{"A", std::string(kMostOfAnAdjustment, 'x')}};
  for (const Case& c : cases) {
    const auto bytes = printAdjustment(c.adjustment);
    ASSERT_FALSE(bytes) << c.name;
    EXPECT_EQ(bytes.error().code, Code::Invalid);
    EXPECT_NE(bytes.error().message.find(c.why), std::string::npos)
        << c.name << ": " << bytes.error().message;
  }
}

}  // namespace
}  // namespace gs::rpc::nri
