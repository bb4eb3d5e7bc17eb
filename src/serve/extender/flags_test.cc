#include "serve/extender/flags.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

TEST(ExtenderFlags, TheLeaderIsShownTheServingPair) {
  ExtenderFlags f;
  f.tls.cert_file = "/cert";
  f.tls.key_file = "/key";
  f.leader_ca_file = "/ca";
  const net::ClientTls tls = leaderTls(f);
  EXPECT_EQ(tls.ca_file, "/ca");
  EXPECT_EQ(tls.cert_file, "/cert");
  EXPECT_EQ(tls.key_file, "/key");
}

TEST(OfferFlags, NamesArePartedByCommas) {
  OfferFlags f;
  EXPECT_EQ(f.names(), std::set<std::string>{});
  f.extender_pods = "gpu-kube, other,,";
  EXPECT_EQ(f.names(), (std::set<std::string>{"gpu-kube", "other"}));
}

TEST(OfferFlags, WhatCanNotBeIsSaid) {
  struct Case {
    const char* pods;
    const char* address;
    bool schedules;
    const char* why;
  };
  const Case cases[] = {
      {"", "", true, ""},
      {"gpu-kube", ":3456", true, ""},
      {"gpu-kube", ":3456", false, ""},
      {"gpu-kube", "", true, "needs --extender-address"},
      {"gpu-kube,gpu-scheduler", ":3456", true,
       "names gpu-scheduler, whose pods this scheduler places itself"},
      {"", ":3456", false, "leaves nothing to do"},
  };
  for (const auto& c : cases) {
    OfferFlags f{c.pods, c.schedules};
    ExtenderFlags extender;
    extender.address = c.address;
    const Status fine = f.check(extender, "gpu-scheduler");
    EXPECT_EQ(fine.has_value(), *c.why == '\0') << c.pods;
    if (!fine) { EXPECT_NE(fine.error().message.find(c.why), std::string::npos) << fine.error().message; }
  }
}

TEST(OfferFlags, PodsAreOfferedByNameAndByWhatTheyAskFor) {
  EXPECT_FALSE(offeredTo({})) << "nobody's are";
  const auto offered = offeredTo({"gpu-kube", true});
  model::Pod pod;
  pod.scheduler_name = "gpu-kube";
  EXPECT_FALSE(offered(pod)) << "it asks for none";
  pod.requests.extended[model::kNvidiaGpu] = 1;
  EXPECT_TRUE(offered(pod));
  pod.scheduler_name = "default-scheduler";
  EXPECT_FALSE(offered(pod));
}

}  // namespace
}  // namespace gs::serve
