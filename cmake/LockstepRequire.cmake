# SPDX-License-Identifier: MIT
# lockstep_require(NAME "apt packages" [arguments of find_package...])
# find_package that says in one sentence what is missing and how to get it. Called from the root, so that what it finds
# is visible in every room and to the link rules.
macro(lockstep_require name packages)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    set(_lockstep_why "")
    if(${name}_CONSIDERED_VERSIONS)
      set(_lockstep_why " (found only version ${${name}_CONSIDERED_VERSIONS})")
    elseif(${name}_NOT_FOUND_MESSAGE)
      set(_lockstep_why " (${${name}_NOT_FOUND_MESSAGE})")
    endif()
    message(FATAL_ERROR "${name} ${ARGN} was not found${_lockstep_why}: apt install ${packages}, or start ./run, "
                        "which installs what is missing")
  endif()
endmacro()
