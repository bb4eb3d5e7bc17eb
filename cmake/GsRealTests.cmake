# Tests that need no more than kubectl and our programs (label `sandbox`), and those that need a real Kubernetes, or programs
# that Go compiles (label `real`). Every line of `test/testbed/run-contract --list` is a case that runs on the real server;
# docs/inside/testing.md says what each is about.

# These are played on the sandbox too: in them a server's own behaviour counts most. The others that can run there
# (GS_CONTRACT_PROVIDER=sandbox test/testbed/run-contract --list) gain little from a second server.
set(GS_CASES_ON_SANDBOX churn claims contention devices guide leases names outage)

# Seconds of those that take longest, on a quiet machine of two cores: they are begun first. The others count as 30.
set(GS_CASE_SECONDS everything=400 enforcement=180 upgrade=150 faults=110 failover=70 extender=70 extender-nonsense=60 token=60 kubectl=60 conformance=50 conformance-newest=45 extender-protocol=50
                    kube-scheduler-churn=90 kubelets=70 kube-scheduler=40 webhook=50 argocd=60 autoscaler=40 chart-map=190 gkm-chart=110 kube-scheduler-newest=40
                    lease-namespace=50 outage=50 gkm-csi=35 pending-texts=45 any-pod=60 gkm-nodes=290 gkm-faults=105 gkm-operator=150 dra=85)

# Most of its time a real case waits, so two of them run at a time beside other tests: one of each lane.
set_property(GLOBAL PROPERTY GS_LANE_1 0)
set_property(GLOBAL PROPERTY GS_LANE_2 0)

# gs_cluster_test(NAME LABEL FIXTURE COST COMMAND...)
function(gs_cluster_test name label fixture cost)
  add_test(NAME ${label}/${name} COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${label}/${name} PROPERTIES LABELS ${label} TIMEOUT 900 COST ${cost} FIXTURES_REQUIRED ${fixture}
                       ENVIRONMENT "GS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# On the real server.
function(gs_real_test name)
  set(seconds 30)
  foreach(known IN LISTS GS_CASE_SECONDS)
    if(known MATCHES "^${name}=(.*)$")
      set(seconds ${CMAKE_MATCH_1})
    endif()
  endforeach()
  get_property(first GLOBAL PROPERTY GS_LANE_1)
  get_property(second GLOBAL PROPERTY GS_LANE_2)
  set(lane 1)
  set(sum ${first})
  if(second LESS first)
    set(lane 2)
    set(sum ${second})
  endif()
  math(EXPR sum "${sum} + ${seconds}")
  set_property(GLOBAL PROPERTY GS_LANE_${lane} ${sum})
  # Before all others, since they are the longest chain.
  math(EXPR cost "1000 + ${seconds}")
  gs_cluster_test(${name} real testbed ${cost} ${ARGN})
  set_tests_properties(real/${name} PROPERTIES RESOURCE_LOCK "lane-${lane}")
endfunction()

# What is built outside the tree, as tests that others wait for. (Quick when it is there.)
function(gs_real_setup name label fixture)
  add_test(NAME setup/${name} COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(setup/${name} PROPERTIES LABELS ${label} TIMEOUT 3600 COST 9999 FIXTURES_SETUP ${fixture})
endfunction()

function(gs_real_tests)
  set(testbed "${CMAKE_SOURCE_DIR}/test/testbed")
  set(runner "${testbed}/run-contract")
  if(GS_FUZZ)
    return()
  endif()
  add_test(NAME contract_docs COMMAND "${testbed}/check-docs")
  add_test(NAME contract_watcher COMMAND "${testbed}/contract/extender/watcher_test.py")
  add_test(NAME contract_judge COMMAND "${testbed}/contract/enforcement/judge_test.py")
  add_test(NAME contract_harness COMMAND "${testbed}/contract/run-case" harness)
  set_tests_properties(contract_docs contract_watcher contract_judge contract_harness PROPERTIES LABELS unit
                       ENVIRONMENT "GS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};CONTRACT_CASES=${testbed}/contract/self-test")

  # The programs as somebody sees them who types, and the page that shows what they say.
  add_test(NAME programs COMMAND "${CMAKE_SOURCE_DIR}/test/programs/programs_test.py")
  add_test(NAME programs_docs COMMAND "${CMAKE_SOURCE_DIR}/docs/make-help" --check)
  add_test(NAME programs_mcv COMMAND "${CMAKE_SOURCE_DIR}/test/programs/mcv_test.py")
  add_test(NAME programs_golden COMMAND "${CMAKE_SOURCE_DIR}/test/programs/golden_test.py")
  add_test(NAME programs_gkm_deploy COMMAND "${CMAKE_SOURCE_DIR}/test/programs/gkm_deploy_test.py")
  set_tests_properties(programs programs_mcv programs_golden programs_docs programs_gkm_deploy PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "GS_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")

  gs_real_setup(kubectl sandbox kubectl "${testbed}/kubectl-for-sandbox" --build)
  set(with_kubectl bash -c "export KUBECTL && KUBECTL=$(test/testbed/kubectl-for-sandbox) && exec $0")
  gs_cluster_test(demo sandbox kubectl 100 ${with_kubectl} tools/demo)
  gs_cluster_test(tour sandbox kubectl 200 ${with_kubectl} test/testbed/sandbox-tour)

  gs_real_setup(testbed real testbed "${testbed}/build" all)
  gs_cluster_test(charts-on-sandbox real testbed 300 "${testbed}/sandbox-charts")
  gs_cluster_test(chart-oddities real testbed 50 "${testbed}/chart-oddities")
  gs_cluster_test(dra-selectors real testbed 60 "${CMAKE_SOURCE_DIR}/test/dra/compare-selectors" 20000 1)
  gs_cluster_test(dra-allocations real testbed 60 "${CMAKE_SOURCE_DIR}/test/dra/compare-allocations" 20000 1)
  gs_cluster_test(filters real testbed 60 "${CMAKE_SOURCE_DIR}/test/filters/compare-filters" --all)
  gs_cluster_test(filters-newest real testbed 60 "${CMAKE_SOURCE_DIR}/test/filters/compare-filters" --newest --all)
  gs_cluster_test(filter-mutants real testbed 10 "${CMAKE_SOURCE_DIR}/test/filters/compare-filters" --mutants)
  gs_cluster_test(filter-mutants-newest real testbed 10 "${CMAKE_SOURCE_DIR}/test/filters/compare-filters" --mutants --newest)
  foreach(case IN LISTS GS_CASES_ON_SANDBOX)
    gs_cluster_test(${case}-on-sandbox real testbed 300 "${CMAKE_COMMAND}" -E env GS_CONTRACT_PROVIDER=sandbox "${runner}" ${case})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${runner}")
  execute_process(COMMAND "${runner}" --list OUTPUT_VARIABLE cases OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" cases "${cases}")
  # The longest first, so that the lanes come out even.
  foreach(known IN LISTS GS_CASE_SECONDS)
    string(REGEX REPLACE "=.*" "" case "${known}")
    if(case IN_LIST cases)
      list(REMOVE_ITEM cases ${case})
      list(APPEND sorted ${case})
    elseif(case STREQUAL "conformance")
      gs_real_test(conformance "${CMAKE_SOURCE_DIR}/test/conformance/with-real" bash -c
                   "$<TARGET_FILE:conformance> compare $REAL $SANDBOX && $<TARGET_FILE:conformance> drawn $REAL $SANDBOX")
    elseif(case STREQUAL "conformance-newest")
      gs_real_test(conformance-newest "${CMAKE_COMMAND}" -E env GS_KUBERNETES=newest "${CMAKE_SOURCE_DIR}/test/conformance/with-real"
                   bash -c "$<TARGET_FILE:conformance> --newest compare $REAL $SANDBOX")
    elseif(case STREQUAL "kubectl")
      gs_real_test(kubectl "${CMAKE_COMMAND}" -E env GS_CONTROLLERS=1 "${CMAKE_SOURCE_DIR}/test/conformance/with-real" bash -c "test/conformance/kubectl-compare $REAL $SANDBOX")
    endif()
  endforeach()
  foreach(case IN LISTS sorted cases)
    gs_real_test(${case} "${runner}" ${case})
  endforeach()
endfunction()
