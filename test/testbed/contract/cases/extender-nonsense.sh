# shellcheck shell=bash
# What no scheduler should send to the extender: crowds of connections, slow senders, bodies that are wrong in every way. Others
# are served meanwhile, and its threads and memory stay bounded.
# Real server only: little of it reaches an API server, so once is enough.
# shellcheck source=../extender.sh
source "$CONTRACT/extender.sh"

torment() {
  speak nonsense "$1" "$(url_of extender)" "${SCHEDULER_PID[extender]}" | while read -r figure; do note "$figure"; done
}

step "a control plane and an extender"
provider_up 2>>"$CASE_DIR/up.log"
extender_account rbac.yaml
run_extender extender

step "ten thousand idle connections; one more than it keeps closes the longest idle"
torment crowd

step "slow senders"
torment slow

step "the wrong type at every place of every body, numbers that do not fit"
torment types

step "every body cut at every byte"
torment cut

step "a hundred MB of brackets, texts, keys, nodes and names"
torment large

step "32 clients at once, each with a hundred MB of brackets"
torment many_large

step "it still decides, and ends as it should"
expect_ready extender
stop_scheduler extender
