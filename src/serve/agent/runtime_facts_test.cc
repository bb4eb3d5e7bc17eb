#include "serve/agent/runtime_facts.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

TEST(RuntimeFacts, ContainerdFrom2_1AndCriOFrom1_34InjectCdiDevices) {
  struct Case {
    const char* name;
    const char* version;
    bool injects;
  };
  const Case cases[] = {
      {"containerd", "v2.2.9", true},
      {"containerd", "2.1.0", true},
      {"containerd", "v2.1.0-rc.1", true},
      {"containerd", "v2.1.4-k3s1", true},
      {"containerd", "v10.0.0", true},
      {"containerd", "v2.0.7", false},
      {"containerd", "1.7.27~ds1", false},
      {"containerd", "v1.34.0", false},
      {"CRI-O", "1.34.0", true},
      {"cri-o", "1.35.1+git", true},
      {"cri-o", "2.0", true},
      {"cri-o", "1.33.9", false},
      // Nobody knows: written out, which every runtime takes.
      {"", "", false},
      {"containerd", "", false},
      {"containerd", "v", false},
      {"containerd", "v2", false},
      {"containerd", "v2.", false},
      {"containerd", "2.x", false},
      {"containerd", "-2.1", false},
      {"containerd", "99999999999999999999.1", false},
      {"containerd", "v2.99999999999999999999", false},
      {"containerd", "(devel)", false},
      {"another", "v9.9.9", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(injectsCdi({c.name, c.version}), c.injects) << c.name << " " << c.version;
  }
}

}  // namespace
}  // namespace gs::serve
