// For tests: CDI files in the shape in which the vendors' tools write them, of a node with two or three GPUs.
// The words are ours, and all UUIDs are invented.
#pragma once

namespace gs::enforce::cdi {

inline constexpr const char* kUuid0 = "GPU-11111111-2222-3333-4444-000000000000";
inline constexpr const char* kUuid1 = "GPU-11111111-2222-3333-4444-000000000001";
inline constexpr const char* kMigUuid = "MIG-99999999-8888-7777-6666-000000000001";

/// nvidia-ctk 1.17, `cdi generate --output=nvidia.yaml`: GPU 0 is whole, GPU 1 (/dev/nvidia2: minor numbers
/// are not indices) split by MIG.
inline constexpr const char* kNvidiaCtkYaml = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/dri/card1
    - path: /dev/dri/renderD128
    - path: /dev/nvidia0
    hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args:
      - nvidia-cdi-hook
      - create-symlinks
      - --link
      - ../card1::/dev/dri/by-path/pci-0000:1b:00.0-card
- name: GPU-11111111-2222-3333-4444-000000000000
  containerEdits:
    deviceNodes:
    - path: /dev/dri/card1
    - path: /dev/dri/renderD128
    - path: /dev/nvidia0
- name: "0:1"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia2
    - path: /dev/nvidia-caps/nvidia-cap84
    - path: /dev/nvidia-caps/nvidia-cap85
- name: MIG-99999999-8888-7777-6666-000000000001
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia2
    - path: /dev/nvidia-caps/nvidia-cap84
    - path: /dev/nvidia-caps/nvidia-cap85
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia2
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidia-modeset
  - path: /dev/nvidia-uvm
  - path: /dev/nvidia-uvm-tools
  - path: /dev/nvidiactl
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, enable-cuda-compat, --host-driver-version=570.133.20]
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib/x86_64-linux-gnu]
  mounts:
  - hostPath: /usr/bin/nvidia-smi
    containerPath: /usr/bin/nvidia-smi
    options: [ro, nosuid, nodev, rbind, rprivate]
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20
    options: [ro, nosuid, nodev, rbind, rprivate]
)";

/// nvidia-ctk 1.18 with the driver in a container of its own: numbers and modes are in the file, hooks have
/// an environment, and who gets a GPU joins the group of its render node.
inline constexpr const char* kNvidiaCtkJson = R"({
    "cdiVersion": "0.7.0",
    "kind": "nvidia.com/gpu",
    "devices": [
        {
            "name": "1",
            "containerEdits": {
                "deviceNodes": [
                    {"path": "/dev/nvidia1", "hostPath": "/run/nvidia/driver/dev/nvidia1", "type": "c",
                     "major": 195, "minor": 1, "fileMode": 438, "permissions": "rw", "uid": 0, "gid": 0},
                    {"path": "/dev/dri/renderD129", "hostPath": "/run/nvidia/driver/dev/dri/renderD129"}
                ],
                "additionalGids": [110]
            }
        }
    ],
    "containerEdits": {
        "env": ["NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64", "NVIDIA_VISIBLE_DEVICES=void"],
        "hooks": [
            {"hookName": "createContainer", "path": "/usr/local/nvidia/toolkit/nvidia-cdi-hook",
             "args": ["nvidia-cdi-hook", "disable-device-node-modification"],
             "env": ["NVIDIA_CTK_DEBUG=false"], "timeout": 30}
        ],
        "mounts": [
            {"hostPath": "/run/nvidia/driver/usr/lib64/libcuda.so.1", "containerPath": "/usr/lib64/libcuda.so.1",
             "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"], "type": "bind"}
        ]
    }
})";

/// NVIDIA's device plugin with one of its CDI strategies.
inline constexpr const char* kDevicePluginJson =
    R"({"cdiVersion":"0.5.0","kind":"k8s.device-plugin.nvidia.com/gpu","devices":[
{"name":"GPU-11111111-2222-3333-4444-000000000000","containerEdits":{"deviceNodes":[
  {"path":"/dev/nvidia0","hostPath":"/dev/nvidia0"}]}},
{"name":"GPU-11111111-2222-3333-4444-000000000001","containerEdits":{"deviceNodes":[
  {"path":"/dev/nvidia1","hostPath":"/dev/nvidia1"}]}}],
"containerEdits":{"deviceNodes":[{"path":"/dev/nvidiactl","hostPath":"/dev/nvidiactl"},
  {"path":"/dev/nvidia-uvm","hostPath":"/dev/nvidia-uvm"}]}})";

/// What NVIDIA's operator lets its own containers have: everything.
inline constexpr const char* kManagementYaml = R"(cdiVersion: 0.5.0
kind: management.nvidia.com/gpu
devices:
- name: all
  containerEdits:
    deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia1}, {path: /dev/nvidiactl}]
)";

/// amd-ctk, `cdi generate`.
inline constexpr const char* kAmdJson = R"({
  "cdiVersion": "0.6.0",
  "kind": "amd.com/gpu",
  "containerEdits": {},
  "devices": [
    {"name": "0", "containerEdits": {"deviceNodes": [
      {"path": "/dev/kfd", "hostPath": "/dev/kfd", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/card1", "hostPath": "/dev/dri/card1", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/renderD128", "hostPath": "/dev/dri/renderD128", "type": "c", "permissions": "rw"}]}},
    {"name": "1", "containerEdits": {"deviceNodes": [
      {"path": "/dev/kfd", "hostPath": "/dev/kfd", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/card2", "hostPath": "/dev/dri/card2", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/renderD136", "hostPath": "/dev/dri/renderD136", "type": "c", "permissions": "rw"}]}},
    {"name": "all", "containerEdits": {"deviceNodes": [
      {"path": "/dev/kfd", "hostPath": "/dev/kfd", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/renderD128", "hostPath": "/dev/dri/renderD128", "type": "c", "permissions": "rw"},
      {"path": "/dev/dri/renderD136", "hostPath": "/dev/dri/renderD136", "type": "c", "permissions": "rw"}]}}
  ]
})";

}  // namespace gs::enforce::cdi
