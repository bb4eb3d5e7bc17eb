// The shipped webhook as the API server's admission asks it: pods to /mutate, GpuClaims to /validate, a
// review in JSON each way, and its patch applied. What is refused reads as a real server words it.
// As the chart has it, only pods with an annotation of ours are sent: others never wait for it. Pure.
#pragma once

#include <memory>

#include "apiserver/admission/admission.h"
#include "webhook/handler.h"

namespace gs::sandbox {

[[nodiscard]] std::unique_ptr<apiserver::AdmissionPlugin> webhookPlugin(webhook::Handler handler);

}  // namespace gs::sandbox
