// How to reach an API server and as whom, as a value. Made by load_access.cc;
// used by Api (api.h).
#pragma once

#include <string>

#include "net/tls.h"

namespace gs::k8s {

struct Access {
  std::string server;  // "https://10.0.0.1:6443", without a slash at the end
  net::ClientTls tls;
  std::string proxy;       // "" : the environment's
  std::string token;       // "" : none
  std::string token_file;  // wins over `token` while it can be read; read again as it changes
  std::string ns;          // the default namespace, never ""
  std::string origin;      // for messages: "context kind of ~/.kube/config", "the pod's service account"
};

}  // namespace gs::k8s
