#include "sandbox/world/classes.h"

#include "sandbox/controllers/provisioner.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

Value priorityClass(const char* name, int value, const char* description) {
  return Object{{"apiVersion", "scheduling.k8s.io/v1"},
                {"kind", "PriorityClass"},
                {"metadata", Object{{"name", name}}},
                {"value", value},
                {"description", description}};
}

}  // namespace

std::vector<json::Value> firstClasses() {
  Value standard = Object{
      {"apiVersion", "storage.k8s.io/v1"},
      {"kind", "StorageClass"},
      {"metadata", Object{{"name", "standard"},
                          {"annotations", Object{{"storageclass.kubernetes.io/is-default-class", "true"}}}}},
      {"provisioner", controllers::kProvisioner},
      {"volumeBindingMode", "WaitForFirstConsumer"}};
  return {std::move(standard), priorityClass("high", 1000, "What does not wait: others go for it."),
          priorityClass("low", -1000, "What may go for others.")};
}

}  // namespace gs::sandbox
