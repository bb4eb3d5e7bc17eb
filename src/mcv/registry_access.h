// How mcv asks registries: who it is there, by the files that docker, podman and skopeo keep, and whom it
// trusts. And an image that lies in an OCI layout brought to one.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cacherim/image/oci_layout.h"
#include "cacherim/registry/registry_options.h"
#include "cacherim/registry/registry_writer.h"
#include "mcv/extract.h"
#include "mcv/options.h"
#include "mcv/progress.h"

namespace gs::mcv {

/// For the registry of `image`. Credentials and errors are those of cacherim::readAuthFiles().
[[nodiscard]] Result<cacherim::RegistryOptions> registryOptions(const Options& options,
                                                                const kcache::Reference& image,
                                                                const Environment& environment);

/// Brings the image of that digest, with all that its manifest names, under its name to the registry.
/// Errors as those of RegistryWriter and OciLayout.
[[nodiscard]] Status push(cacherim::OciLayout& from, const kcache::Digest& digest,
                          const kcache::Reference& name, cacherim::RegistryWriter& to, Progress& progress);

}  // namespace gs::mcv
