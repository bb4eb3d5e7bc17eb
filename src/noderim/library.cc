#include "noderim/library.h"

#include <dlfcn.h>

namespace gs::noderim {

Result<Library> Library::open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) { return Library{handle}; }
  const char* const why = dlerror();
  return fail(Code::NotFound, why == nullptr ? "cannot be loaded" : why);
}

Library::~Library() {
  if (handle_ != nullptr) { dlclose(handle_); }
}

void* Library::symbolNamed(const char* name) const { return dlsym(handle_, name); }

}  // namespace gs::noderim
