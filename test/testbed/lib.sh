# Shared by the scripts of this folder; sourced, never run. Callers have set -euo pipefail.
# shellcheck shell=bash

KUBERNETES_VERSION=v1.33.13
ETCD_VERSION=v3.6.16
KWOK_VERSION=v0.7.0

TESTBED=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(cd "$TESTBED/../.." && pwd)
# Outside the tree, so that every checkout shares the compiled programs.
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/gpu-scheduler-testbed

say() { echo "testbed: $*" >&2; }
die() { say "$*"; exit 1; }

# usage SCRIPT: the comment block at a script's top, without the #!.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"; }

# tool NAME: the path of a compiled program; build makes what is missing.
tool() {
  case $1 in
    etcd) echo "$CACHE/etcd-$ETCD_VERSION/etcd" ;;
    kwok) echo "$CACHE/kwok-$KWOK_VERSION/kwok" ;;
    load) echo "$CACHE/load-$(load_version)/load" ;;
    *) echo "$CACHE/kubernetes-$KUBERNETES_VERSION/$1" ;;
  esac
}

# load is ours and has no version: its sources' hash is one.
load_version() { cat "$TESTBED"/modules/load/{go.mod,go.sum,*.go} | sha256sum | cut -c1-12; }
