# shellcheck shell=bash
# Real server only: the case kube-scheduler, with the newest control plane and kube-scheduler that can be compiled.
# Kubernetes: newest
# Needs: kube-scheduler
# shellcheck source=kube-scheduler.sh
source "$CONTRACT/cases/kube-scheduler.sh"
