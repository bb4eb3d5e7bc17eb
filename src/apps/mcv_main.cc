// mcv: kernel caches into images and out of them. Which flags, and what they are about; what is done is
// mcv/run.h.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "base/log.h"
#include "base/system_clock.h"
#include "mcv/run.h"
#include "noderim/all_gpus.h"
#include "process/process.h"
#include "process/program.h"

namespace gs {
namespace {

void describe(process::Command root, mcv::Options& o) {
  root.topic("What to do")
      .flag("-c,--create", o.create, "Make an image of the cache in a folder")
      .flag("-e,--extract", o.extract, "Bring an image's cache into a folder")
      .flag("--inspect", o.inspect, "Say what an image has: its cache, layers, labels")
      .flag("--check-compat", o.check_compat, "Say which GPUs here can use an image's cache")
      .flag("--gpu-info", o.gpu_info, "Say which GPUs are here");
  root.topic("With what")
      .text("-i,--image", "NAME", o.image, "The image, with its registry and its tag or digest")
      .text("-d,--dir", "FOLDER", o.dir,
            "The cache; to extract without it: where Triton or vLLM itself looks")
      .text("--from", "PLACE", o.from,
            "Where the image is: oci:FOLDER or docker-archive:FILE; without it the registry in its name")
      .text("--to", "PLACE", o.to,
            "Where it goes: oci:FOLDER or docker-archive:FILE; without it a file here, <name>-<tag>.tar")
      .text("--mount-path", "FOLDER", o.mount_path,
            "Where the cache will be for who uses it, if not in --dir: paths in it are made for that");
  root.topic("Registries")
      .flag("--push", o.push, "Bring the image that is made to the registry in its name")
      .text("--authfile", "FILE", o.authfile,
            "Who to be there; without it REGISTRY_AUTH_FILE, or what podman and docker log in to")
      .text("--ca-file", "FILE", o.ca_file, "Certificates to trust besides the system's")
      .text("--registry-mirror", "REGISTRY=URL", o.mirrors,
            "Asked before that registry for images; several with ',' between them")
      .flag("--plain-http", o.plain_http, "The registry speaks no TLS");
  root.topic("Signatures")
      .text("--sign", "FILE", o.sign,
            "Sign what is pushed by this private key; the password of one that has one is COSIGN_PASSWORD")
      .flag("--verify", o.verify, "Go on only if the image is signed; alone: say whether it is, and by whom")
      .text("--key", "FILE", o.key, "The public key by which it has to be")
      .text("--certificate-identity", "NAME", o.identity,
            "Who has to have signed it: a mail address, or the URI of a workflow")
      .text("--certificate-identity-regexp", "PATTERN", o.identity_pattern, "The same, as all of a pattern")
      .text("--certificate-oidc-issuer", "URL", o.issuer, "Who has to say who it is")
      .text("--certificate-oidc-issuer-regexp", "PATTERN", o.issuer_pattern, "The same, as all of a pattern")
      .text("--trusted-root", "FILE", o.trusted_root, "The keys of that Sigstore: its trusted_root.json");
  root.topic("GPUs")
      .flag("-b,--baremetal", o.baremetal,
            "Compare what is in the image, and not only its label, with the GPUs")
      .flag("--no-gpu", o.no_gpu, "Ask no GPU whether it can use the cache")
      .flag("--stub", o.stub, "Two GPUs that are not there, for --gpu-info")
      .text("--nvml-library", "FILE", o.nvml_library, "The library of NVIDIA's driver")
      .text("--rocm-library", "FILE", o.rocm_library,
            "AMD's rocm_smi; without it librocm_smi64.so of ROCm 5 to 7");
  root.topic("Output")
      .choice("--output", {"text", "json"}, o.output, "For people or for programs")
      .choice("-l,--log-level", {"debug", "info", "warning", "error"}, o.log_level,
              "Lines on stderr from this level");
  root.topic("Taken without meaning")
      .choice("--builder", {"auto", "buildah", "docker"}, o.builder, "No other program builds the image")
      .number("-t,--timeout", "MINUTES", 0, 1'000'000, o.timeout, "Nothing is remembered of GPUs");
}

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

int run(const mcv::Options& o) {
  log::setLevel(log::levelNamed(o.log_level == "warning" ? "warn" : o.log_level));
  const auto gpus = noderim::gpusOfBothVendors(o.nvml_library, o.rocm_library);
  const SystemClock clock;
  cacherim::RealPause pause{clock};
  std::ostream* const terminal = ::isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr;
  return mcv::run(o,
                  {*gpus, environment, clock, pause, process::randomSeed(), std::cout, std::cerr, terminal});
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) {
  gs::process::Program program{
      "mcv",
      "Model Cache Vault: puts caches of compiled GPU kernels, of Triton and vLLM, into "
      "images, and brings them back."};
  program.refusesWith(gs::mcv::kWrong);
  gs::mcv::Options options;
  gs::describe(program.root(), options);
  program.root().does([&] { return gs::run(options); });
  return program.run(argc, argv);
}
