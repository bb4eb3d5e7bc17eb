#include "mcv/run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "base/temp_folder_test.h"
#include "cacherim/image/docker_archive.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "json/value.h"
#include "kcache/content/samples_test.h"
#include "mcv/create.h"
#include "mcv/gpus.h"

namespace gs::mcv {
namespace {

namespace fs = std::filesystem;

/// Says what it is told to.
class GivenGpus final : public noderim::GpuSource {
 public:
  agent::Look look() override { return given; }
  agent::Look given = tl::unexpected(agent::Fault{agent::Fault::Kind::Absent, "no driver"});
};

agent::Look cuda(const std::vector<std::string>& computes) {
  agent::Hardware out{.driver_version = "550.54.15", .gpus = {}, .links = {}};
  for (std::size_t i = 0; i < computes.size(); ++i) {
    agent::Gpu gpu;
    gpu.uuid = "GPU-" + std::to_string(i);
    gpu.model = "NVIDIA-A100";
    gpu.pci_bus_id = "00000000:0" + std::to_string(i + 1) + ":00.0";
    gpu.compute = computes[i];
    out.gpus.push_back(gpu);
  }
  return out;
}

class McvTest : public ::testing::Test {
 protected:
  McvTest() {
    put("rocm", kcache::rocmSample());
    put("llama", kcache::llamaSample());
  }
  void put(const std::string& folder, const kcache::Tree& tree) {
    for (const auto& [path, text] : tree) {
      const fs::path file = folder_.path() / folder / path;
      fs::create_directories(file.parent_path());
      std::ofstream{file} << text;
    }
  }
  int call(const Options& options) {
    out_.str("");
    err_.str("");
    return run(options, {gpus_,
                         [this](const char* name) -> std::optional<std::string> {
                           const auto it = environment_.find(name);
                           return it == environment_.end() ? std::nullopt : std::optional{it->second};
                         },
                         clock_, pause_, Rng{1}, out_, err_});
  }
  Options creating(const std::string& folder) {
    return {.image = kName, .dir = folder_.path(folder), .create = true, .to = kPlace};
  }
  Options extracting(const std::string& folder) {
    return {.image = kName, .dir = folder_.path(folder), .extract = true, .from = kPlace};
  }
  json::Value asJson() const { return *json::parse(out_.str()); }
  std::string text(const std::string& path) const { return readFile(folder_.path(path)).value_or("(none)"); }

  const kcache::Tree kCuda80{
      {"K/__grp__k.json", "{}"},
      {"K/k.json", R"({"hash":"1","target":{"backend":"cuda","arch":80,"warp_size":32}})"}};
  const std::string kName = "quay.io/gkm/vector-add-cache:rocm";
  TempFolder folder_;
  const std::string kPlace = "oci:" + folder_.path("oci");
  GivenGpus gpus_;
  std::map<std::string, std::string> environment_;
  ManualClock clock_;
  cacherim::NoPause pause_{clock_};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(McvTest, ACacheGoesIntoAnImageAndComesOutOfIt) {
  ASSERT_EQ(call(creating("rocm")), kDone) << err_.str();
  EXPECT_TRUE(
      out_.str().starts_with("OCI image created successfully.\n  image   " + kName + "\n  digest  sha256:"))
      << out_.str();
  EXPECT_NE(out_.str().find("triton, 1 entry, 80415 bytes, for hip gfx90a"), std::string::npos) << out_.str();
  ASSERT_EQ(call(extracting("there")), kDone) << err_.str();
  EXPECT_EQ(out_.str(),
            "Extracted triton cache to directory: " + folder_.path("there") + " (10 files, 80415 bytes)\n");
  const std::string group = kcache::kRocmKey + "/__grp__add_kernel.json";
  for (const auto& [path, wanted] : kcache::rocmSample()) {
    if (path != group) { EXPECT_EQ(text("there/" + path), wanted) << path; }
  }
  // Triton finds children by paths that exist: those of the new place.
  for (const auto& [name, child] : (*json::parse(text("there/" + group)))["child_paths"].members()) {
    EXPECT_EQ(child.str(), folder_.path("there/" + kcache::kRocmKey + "/" + name));
    EXPECT_TRUE(fs::exists(std::string{child.str()}));
  }
}

TEST_F(McvTest, ATerminalIsShownHowFarThingsAreAndIsLeftClean) {
  /// One on which each look takes a second.
  struct Slow final : Clock {
    mutable Now at{};
    [[nodiscard]] Now now() const override {
      at.mono += std::chrono::seconds{1};
      return at;
    }
  };
  const Slow slow;
  std::ostringstream terminal;
  const auto callSlowly = [&](const Options& options) {
    return run(options, {gpus_, [](const char*) { return std::optional<std::string>{}; }, slow, pause_,
                         Rng{1}, out_, err_, &terminal});
  };
  ASSERT_EQ(callSlowly(creating("rocm")), kDone) << err_.str();
  EXPECT_NE(terminal.str().find("\r\x1b[Kpacking  78.5 KiB of 78.5 KiB  100%  "), std::string::npos)
      << terminal.str();
  EXPECT_TRUE(terminal.str().ends_with("\r\x1b[K"));
  terminal.str("");
  ASSERT_EQ(callSlowly(extracting("there")), kDone) << err_.str();
  EXPECT_NE(terminal.str().find("\r\x1b[Kextracting  "), std::string::npos) << terminal.str();
  EXPECT_NE(terminal.str().find("100%"), std::string::npos) << terminal.str();
  EXPECT_TRUE(terminal.str().ends_with("\r\x1b[K"));
  EXPECT_EQ(err_.str(), "");
  ASSERT_EQ(call(extracting("elsewhere")), kDone);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(McvTest, TheSameCacheHasTheSameDigest) {
  Options options = creating("rocm");
  options.output = "json";
  ASSERT_EQ(call(options), kDone);
  const std::string first{asJson()["digest"].str()};
  fs::last_write_time(folder_.path("rocm/" + kcache::kRocmKey + "/add_kernel.json"),
                      fs::file_time_type::clock::now() - std::chrono::hours{1000});
  options.to = "oci:" + folder_.path("again");
  ASSERT_EQ(call(options), kDone);
  EXPECT_EQ(asJson()["digest"].str(), first);
}

TEST_F(McvTest, PathsAreMadeForWhereTheCacheIsMounted) {
  ASSERT_EQ(call(creating("llama")), kDone) << err_.str();
  Options options = extracting("there");
  options.mount_path = "/home/kserve/.cache/vllm/";
  ASSERT_EQ(call(options), kDone) << err_.str();
  const std::string list =
      text("there/torch_compile_cache/edf531ca35/rank_0_0/backbone/vllm_compile_cache.py");
  EXPECT_EQ(list.find("ec2-user"), std::string::npos);
  EXPECT_NE(list.find("'/home/kserve/.cache/vllm/torch_compile_cache/edf531ca35/"), std::string::npos)
      << list;
}

TEST_F(McvTest, ATorchCompileCacheAloneLiesInTheImageAsOne) {
  Options options = creating("llama/torch_compile_cache");
  options.output = "json";
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_EQ(asJson()["type"].str(), "vllm");
  ASSERT_EQ(call(extracting("there")), kDone) << err_.str();
  EXPECT_NE(text("there/torch_compile_cache/edf531ca35/rank_0_0/backbone/cache_key_factors.json"), "(none)");
}

TEST_F(McvTest, WithoutAFolderItGoesWhereItsProgramLooks) {
  ASSERT_EQ(call(creating("rocm")), kDone);
  Options options = extracting("");
  options.dir = "";
  environment_ = {{"HOME", folder_.path("home")}};
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_TRUE(fs::exists(folder_.path("home/.triton/cache/" + kcache::kRocmKey)));
  environment_["TRITON_CACHE_DIR"] = folder_.path("named");
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_TRUE(fs::exists(folder_.path("named/" + kcache::kRocmKey)));
}

TEST_F(McvTest, AnImageIsLookedInto) {
  ASSERT_EQ(call(creating("rocm")), kDone);
  Options options{.image = kName, .inspect = true, .from = kPlace, .output = "json"};
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_EQ(asJson()["type"].str(), "triton");
  EXPECT_EQ(asJson()["layers"].items().size(), 1U);
  EXPECT_EQ(asJson()["labels"]["cache.triton.image/cache-size-bytes"].str(), "80415");
  options.output = "text";
  ASSERT_EQ(call(options), kDone);
  EXPECT_NE(out_.str().find("label   cache.triton.image/entry-count=1\n"), std::string::npos) << out_.str();
}

TEST_F(McvTest, WhichGpusMatchIsSaidByIds) {
  put("cuda", kCuda80);
  ASSERT_EQ(call(creating("cuda")), kDone) << err_.str();
  const Options checking{.image = kName, .check_compat = true, .from = kPlace};
  gpus_.given = cuda({"8.0", "9.0", "8.0"});
  EXPECT_EQ(call(checking), kDone);
  EXPECT_EQ(out_.str(), "Compatible GPUs: [0 2]\nIncompatible GPUs: [1]\n");
  gpus_.given = cuda({"9.0"});
  EXPECT_EQ(call(checking), kFailed);
  EXPECT_EQ(err_.str(), "no compatible GPU found from summary preflight check\n");
  EXPECT_EQ(call(extracting("there")), kFailed);
  EXPECT_EQ(err_.str(), "preflight check failed: no compatible GPU found from summary preflight check\n");
  EXPECT_FALSE(fs::exists(folder_.path("there")));
  Options unchecked = extracting("there");
  unchecked.no_gpu = true;
  EXPECT_EQ(call(unchecked), kDone);
}

TEST_F(McvTest, WhatIsInAnImageIsComparedWhenAskedFor) {
  ASSERT_EQ(call(creating("rocm")), kDone);
  // An image whose label lies: made from the same files with another summary.
  auto packed = pack(folder_.path("rocm"), *kcache::parseReference(kName));
  packed->image.labels["cache.triton.image/summary"] =
      R"({"targets":[{"backend":"cuda","arch":"80","warp_size":32}]})";
  ASSERT_TRUE(cacherim::writeDockerArchive(packed->image, folder_.path("lies.tar")));
  gpus_.given = cuda({"8.0"});
  Options options = extracting("there");
  options.from = "docker-archive:" + folder_.path("lies.tar");
  options.baremetal = true;
  EXPECT_EQ(call(options), kFailed);
  EXPECT_EQ(err_.str(), "manifest check failed: incompatibility detected: backend mismatch\n");
  EXPECT_FALSE(fs::exists(folder_.path("there")));
  options.baremetal = false;
  EXPECT_EQ(call(options), kDone) << err_.str();
}

TEST_F(McvTest, ADriverThatDoesNotAnswerIsSaid) {
  gpus_.given = tl::unexpected(agent::Fault{agent::Fault::Kind::Failing, "GPU is lost (15)"});
  EXPECT_EQ(call({.gpu_info = true}), kWrong);
  EXPECT_EQ(err_.str(), "the GPUs cannot be looked at: GPU is lost (15)\n");
}

TEST_F(McvTest, TheFleetIsGroupedByKindAndDriver) {
  EXPECT_EQ(call({.gpu_info = true}), kDone);
  EXPECT_EQ(out_.str(), "No GPUs found.\n");
  gpus_.given = cuda({"8.0", "8.0", ""});
  EXPECT_EQ(call({.gpu_info = true}), kDone);
  EXPECT_EQ(out_.str(),
            "GPU Fleet:\n  - GPU Type: NVIDIA-A100\n    Driver Version: 550.54.15\n    IDs: [0 1]\n");
  EXPECT_EQ(call({.gpu_info = true, .stub = true, .output = "json"}), kDone);
  EXPECT_EQ(json::print(asJson()), R"({"gpus":[{"gpuType":"STUBBED Aldebaran/MI200 [Instinct MI210]",)"
                                   R"("driverVersion":"6.12.10-100.fc40.x86_64","ids":[0,1]}]})");
}

TEST_F(McvTest, WhatCannotBePackedIsSaid) {
  Options options = creating("nowhere");
  EXPECT_EQ(call(options), kNotCreated);
  EXPECT_NE(err_.str().find("No such file or directory"), std::string::npos) << err_.str();
  fs::create_directories(folder_.path("empty/.hidden"));
  options.dir = folder_.path("empty");
  EXPECT_EQ(call(options), kNotCreated);
  EXPECT_NE(err_.str().find("there is no cache in it"), std::string::npos);
  fs::create_symlink("/etc/passwd", folder_.path("rocm/link"));
  EXPECT_EQ(call(creating("rocm")), kNotCreated);
  EXPECT_NE(err_.str().find("rocm/link' is a symbolic link; caches have files and folders only"),
            std::string::npos);
}

TEST_F(McvTest, WhatIsHiddenIsNotPacked) {
  put("rocm", {{".git/config", "secret"}, {kcache::kRocmKey + "/.lock", ""}});
  ASSERT_EQ(call(creating("rocm")), kDone) << err_.str();
  ASSERT_EQ(call(extracting("there")), kDone) << err_.str();
  std::size_t files = 0;
  for (const auto& one : fs::recursive_directory_iterator{folder_.path("there")}) {
    EXPECT_FALSE(one.path().filename().string().starts_with('.')) << one.path();
    files += one.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, kcache::rocmSample().size());
}

// docs/reference/gkm-faults.md 24: the ancestor's second look in a process found no GPU.
TEST_F(McvTest, TheSecondLookIsAsTheFirst) {
  put("cuda", kCuda80);
  ASSERT_EQ(call(creating("cuda")), kDone) << err_.str();
  gpus_.given = cuda({"9.0", "8.0"});
  Options options = extracting("there");
  options.output = "json";
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(call(options), kDone) << err_.str();
    EXPECT_EQ(json::print(asJson()["compatibleGPUs"]), "[1]");
  }
}

TEST_F(McvTest, ACacheForKnownGpusIsForThoseAndAnOddFileChangesNothing) {
  put("cuda", kCuda80);
  put("cuda", {{"L/l.json", R"({"hash":"12"})"}});
  ASSERT_EQ(call(creating("cuda")), kDone) << err_.str();
  gpus_.given = cuda({"9.0", "8.0"});
  const Options checking{.image = kName, .check_compat = true, .from = kPlace};
  EXPECT_EQ(call(checking), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "Compatible GPUs: [1]\nIncompatible GPUs: [0]\n");
}

TEST_F(McvTest, AnImageIsNotMadeInsideOfWhatGoesIntoIt) {
  Options options = creating("rocm");
  for (const char* place : {"oci:rocm", "oci:rocm/new/oci", "docker-archive:rocm/a.tar"}) {
    const auto colon = std::string_view{place}.find(':') + 1;
    options.to = std::string{place}.substr(0, colon) + folder_.path(std::string{place}.substr(colon));
    EXPECT_EQ(call(options), kWrong) << place;
    EXPECT_NE(err_.str().find("would be in the next image"), std::string::npos) << err_.str();
  }
  options.to = "oci:" + folder_.path("rocm-image");
  EXPECT_EQ(call(options), kDone) << err_.str();
}

TEST_F(McvTest, NorIsTheFileThatNobodyNamed) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path("rocm"));
  Options options = creating("rocm");
  options.to = "";
  options.dir = ".";
  EXPECT_EQ(call(options), kWrong) << out_.str();
  EXPECT_TRUE(err_.str().starts_with("docker-archive:vector-add-cache-rocm.tar lies in --dir ."))
      << err_.str();
  fs::current_path(before);
}

TEST_F(McvTest, WhatCouldNotBeExtractedIsNotMade) {
  put("rocm", {{"zeros", std::string(std::size_t{80} << 20, '\0')}});
  EXPECT_EQ(call(creating("rocm")), kNotCreated);
  EXPECT_NE(err_.str().find("over 100 times as many"), std::string::npos) << err_.str();
}

TEST_F(McvTest, WhatAnImageSaysIsNoCommandToATerminal) {
  auto packed = pack(folder_.path("rocm"), *kcache::parseReference(kName));
  packed->image.labels["a"] = "b\ndigest  sha256:\x1b[2J";
  ASSERT_TRUE(cacherim::writeDockerArchive(packed->image, folder_.path("odd.tar")));
  const Options options{.image = kName, .inspect = true, .from = "docker-archive:" + folder_.path("odd.tar")};
  ASSERT_EQ(call(options), kDone) << err_.str();
  EXPECT_NE(out_.str().find("label   a=\"b\\ndigest  sha256:\\u001b[2J\"\n"), std::string::npos)
      << out_.str();
}

TEST_F(McvTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(call({}), kWrong);
  EXPECT_EQ(call(extracting("there")), kFailed);
  EXPECT_NE(err_.str().find("cannot read"), std::string::npos);
}

}  // namespace
}  // namespace gs::mcv
