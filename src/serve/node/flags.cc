#include "serve/node/flags.h"

#include <fmt/format.h>
#include <charconv>

#include "base/clean_path.h"
#include "base/dns_name.h"
#include "cacherim/disk/disk.h"
#include "kapi/quantity.h"
#include "kcache/image/architecture.h"
#include "noderim/all_gpus.h"
#include "noderim/simulated_gpus.h"

namespace gs::serve {
namespace {

Result<std::uint64_t> sizeOf(const char* flag, const std::string& text) {
  const auto size = kapi::quantityUnits(text);
  if (!size || *size < 0) {
    return fail(Code::Invalid,
                fmt::format("{}={} is no size: write 200Gi, say, or 0 for no limit", flag, text));
  }
  return static_cast<std::uint64_t>(*size);
}

/// A number, or a part of `all`.
Result<std::uint64_t> quotaOf(const char* flag, const std::string& text, std::uint64_t all) {
  if (!text.ends_with('%')) { return sizeOf(flag, text); }
  unsigned part = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), part);
  const bool is_part =
      read.ec == std::errc{} && read.ptr + 1 == text.data() + text.size() && part >= 1 && part <= 100;
  if (is_part) { return all / 100 * part; }
  return fail(Code::Invalid, fmt::format("{}={} is no part of a file system: write 1% to 100%", flag, text));
}

Result<cacherim::Room> quotasOf(const CacheNodeFlags& flags) {
  cacherim::FileSystem all;
  if (flags.quota.ends_with('%') || flags.inodes.ends_with('%')) {
    const auto seen = cacherim::fileSystemOf(flags.store);
    if (!seen) {
      return fail(seen.error().code,
                  fmt::format("--cache-quota, --cache-inodes: cannot see how large the file system is: {}",
                              seen.error().message));
    }
    all = *seen;
  }
  const auto bytes = quotaOf("--cache-quota", flags.quota, all.bytes);
  if (!bytes) { return tl::unexpected(bytes.error()); }
  const auto inodes = quotaOf("--cache-inodes", flags.inodes, all.inodes);
  if (!inodes) { return tl::unexpected(inodes.error()); }
  return cacherim::Room{*bytes, *inodes};
}

}  // namespace

void addCacheNode(process::Command command, CacheNodeFlags& f) {
  command.topic("Caches")
      .text("--node-name", "NAME", f.node_name,
            "The Node that this machine is; without it KUBE_NODE_NAME of the environment")
      .name("--store", f.store, "Folder of the extracted caches; gkm-csi has to have the same")
      .name("--usage", f.usage, "Folder in which gkm-csi says which volumes have a cache mounted")
      .name("--mount-path", f.mount_path,
            "Where pods mount caches: paths inside of Triton's and vLLM's files are written for it")
      .text("--cache-quota", "SIZE", f.quota,
            "Bytes of all caches, or such a part of the file system (25%): what no cache names and no "
            "pod has goes when there are more, and no namespace gets more than its share then; 0: no limit")
      .text("--cache-inodes", "NUMBER", f.inodes,
            "Files and folders of all caches, or such a part of those that the file system can have (25%), "
            "shared like --cache-quota; 0: no limit")
      .duration("--cache-age", f.age, "What no cache names and no pod has goes after this time")
      .text(
          "--verify-rate", "SIZE", f.verify_rate,
          "Bytes per second of the caches that are read again to see whether the disk still has them as they "
          "were; what is damaged is fetched again; 0: none");
  command.topic("Registries")
      .number("--concurrency", "N", 1, 32, f.concurrency,
              "How many images are fetched at once; a namespace has half of that")
      .text("--bandwidth", "SIZE", f.bandwidth, "Bytes per second of all of them together; 0: no limit")
      .text("--authfile", "FILE", f.authfile,
            "Who to be at which registry, as docker and podman write it; without it REGISTRY_AUTH_FILE and "
            "their usual places")
      .text("--ca-file", "FILE", f.ca_file, "Certificates to trust besides the system's (PEM)")
      .text("--registry-mirror", "REGISTRY=URL", f.mirrors,
            "Asked before that registry; several with ',' between them, in this order");
  command.topic("GPUs")
      .name("--nvml-library", f.nvml_library, "The library of NVIDIA's driver, by its name or its path")
      .text("--rocm-library", "NAME", f.rocm_library,
            "AMD's rocm_smi, by its name or its path; without it librocm_smi64.so of ROCm 5 to 7")
      .text("--simulate", "FILE", f.simulate,
            "GPUs of the node of that name in a node file, in place of a driver's");
}

Result<model::NodeName> CacheNodeFlags::node(const k8s::Surroundings& surroundings) const {
  const std::string name = node_name.empty() ? surroundings.env("KUBE_NODE_NAME").value_or("") : node_name;
  if (name.empty()) {
    return fail(Code::Invalid,
                "which node is this? Set --node-name, or KUBE_NODE_NAME by fieldRef spec.nodeName");
  }
  const auto node = nodeNameOfHost(name);
  if (!node) { return fail(Code::Invalid, "--node-name: " + node.error().message); }
  return model::NodeName{*node};
}

Result<cacherim::Keeper::Options> CacheNodeFlags::keeper() const {
  const auto most = quotasOf(*this);
  if (!most) { return tl::unexpected(most.error()); }
  const auto rate = sizeOf("--bandwidth", bandwidth);
  if (!rate) { return tl::unexpected(rate.error()); }
  const auto verify = sizeOf("--verify-rate", verify_rate);
  if (!verify) { return tl::unexpected(verify.error()); }
  for (const auto& [flag, path] :
       {std::pair{"--store", store}, {"--usage", usage}, {"--mount-path", mount_path}}) {
    if (!isCleanPath(path)) {
      return fail(Code::Invalid,
                  fmt::format("{}={} has to be an absolute path, without '/' at its end", flag, path));
    }
  }
  return cacherim::Keeper::Options{
      .reconciler = {.root = store,
                     .usage_folder = usage,
                     .sweep = {.quota = most->bytes, .inode_quota = most->inodes, .most_age = age}},
      .workers = concurrency,
      .bytes_per_second = *rate,
      .quota = *most,
      .verify_rate = *verify,
      .architecture = kcache::kArchitecture,
      .mount_path = mount_path};
}

Result<std::unique_ptr<noderim::GpuSource>> CacheNodeFlags::gpus(
    const model::NodeName& node, const k8s::Surroundings& surroundings) const {
  if (surroundings.env("NO_GPU").value_or("") == "true") { return std::unique_ptr<noderim::GpuSource>{}; }
  if (simulate.empty()) { return noderim::gpusOfBothVendors(nvml_library, rocm_library); }
  auto source = std::make_unique<noderim::SimulatedGpus>(simulate, node);
  if (const auto read = source->read(); !read) {
    return fail(read.error().code, "--simulate: " + read.error().message);
  }
  return std::unique_ptr<noderim::GpuSource>{std::move(source)};
}

}  // namespace gs::serve
