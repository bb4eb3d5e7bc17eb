# bin/previous: programs of a version before this one, for tests of upgrades and rollbacks. Its leases have another format, and
# its CRDs have less in them: their text is previous/crds.yaml of the build folder. All else is as in this version.
function(gs_previous_version crds)
  foreach(later IN ITEMS
          "    gpu.scheduling/schema-version: \"[0-9]+\"\n"
          "    - name: Waiting\n      type: string\n      priority: 1\n      description: [^\n]*\n      jsonPath: [^\n]*\n"
          "              gangRef:\n                type: string\n                description: >-\n[^\n]*\n[^\n]*\n                maxLength: 253\n")
    string(REGEX REPLACE "${later}" "" earlier "${crds}")
    if(earlier STREQUAL crds)
      message(FATAL_ERROR "the CRDs of a previous version: nothing is like ${later}")
    endif()
    set(crds "${earlier}")
  endforeach()
  set(GS_CRDS_YAML "${crds}")
  set(generated "${CMAKE_BINARY_DIR}/previous")
  configure_file(src/crds/crds_text.cc.in "${generated}/crds_text.cc" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/crds.yaml" CONTENT "${crds}" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/lease_format.cc" CONTENT
       "#include \"kapi/lease_format.h\"\n\nint gs::kapi::leaseFormat() { return 2; }\n" @ONLY)
  set(bin "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/previous")
  foreach(app IN ITEMS gpu_scheduler gpu_scheduler_webhook gpu_scheduler_agent)
    string(REPLACE "_" "-" name "${app}")
    # First their objects, so that nothing is taken from the libraries for what they define.
    add_executable(previous-${name} "src/apps/${app}_main.cc" "${generated}/lease_format.cc" "${generated}/crds_text.cc")
    target_link_libraries(previous-${name} PRIVATE gs_options serve)
    set_target_properties(previous-${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${bin}" UNITY_BUILD OFF)
  endforeach()
endfunction()
