# SPDX-License-Identifier: MIT
# Finds LibTorch inside a PyTorch wheel. TorchConfig.cmake of the wheel wants a whole CUDA toolkit; the wheel and its
# nvidia packages hold everything a C++ program needs, so this module needs none.
#
# Looks, in this order, for a torch folder of a supported version (LOCKSTEP_TORCH_LINES):
#   1. -DLOCKSTEP_TORCH_DIR=DIR or the environment's LOCKSTEP_TORCH: a site-packages folder or the torch folder in it.
#      Nothing else is tried when it is given.
#   2. .venv of this project (what ./run makes)
#   3. the torch that `python3` would import
# Defines:
#   lockstep::torch       torch_cpu, c10; USE_C10D_GLOO (with Debian's Gloo headers, libgloo itself is never linked);
#                         its property LOCKSTEP_LINE is "2.11", LOCKSTEP_LINE_NUMBER 0 of the newest
#   lockstep::torch_cuda  only with LOCKSTEP_CUDA: torch_cuda, c10_cuda, cudart; USE_C10D_NCCL
#   LockstepTorch_FOUND, LockstepTorch_VERSION, LockstepTorch_DIR (the torch folder)
# CUDA's headers and libraries are the nvidia packages beside torch; where torch came without them (conda, a vendor's
# container), a toolkit under LOCKSTEP_CUDA_ROOT, CUDA_HOME or /usr/local/cuda and the system's nccl.h are taken.

set(LOCKSTEP_TORCH_LINES 2.11 2.7) # major.minor; what differs between them stands in trainer/comm/torch_compat.h
set(LOCKSTEP_TORCH_DIR "" CACHE PATH "site-packages folder, or the torch folder in it, of the PyTorch to build against")
set(LOCKSTEP_CUDA_ROOT "" CACHE PATH "CUDA toolkit to take when PyTorch came without its nvidia packages")

# Sets `out` to the torch folder at or in `dir`, or to nothing.
function(_lockstep_torch_folder dir out)
  set(${out} "" PARENT_SCOPE)
  foreach(candidate "${dir}" "${dir}/torch")
    if(EXISTS "${candidate}/lib/libtorch_cpu.so" AND EXISTS "${candidate}/include/ATen/ATen.h")
      file(REAL_PATH "${candidate}" real)
      set(${out} "${real}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(_lockstep_torch_version dir out)
  set(version unknown)
  if(EXISTS "${dir}/version.py")
    file(STRINGS "${dir}/version.py" line REGEX "^__version__ *=" LIMIT_COUNT 1)
    if(line MATCHES "['\"]([^'\"]+)['\"]")
      set(version "${CMAKE_MATCH_1}")
    endif()
  elseif(EXISTS "${dir}/build-version") # the LibTorch archive
    file(STRINGS "${dir}/build-version" version LIMIT_COUNT 1)
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

function(_lockstep_find_torch)
  set(given "${LOCKSTEP_TORCH_DIR}")
  if(NOT given)
    set(given "$ENV{LOCKSTEP_TORCH}")
  endif()
  set(places)
  if(given)
    set(places "${given}")
  else()
    file(GLOB places "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages")
    find_program(_lockstep_python python3)
    mark_as_advanced(_lockstep_python)
    if(_lockstep_python)
      execute_process(COMMAND "${_lockstep_python}" -c
          "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
        OUTPUT_VARIABLE imported ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      list(APPEND places ${imported})
    endif()
  endif()
  set(why "no PyTorch in ${CMAKE_SOURCE_DIR}/.venv and none that python3 imports")
  if(given)
    set(why "no PyTorch with C++ headers in ${given}")
  endif()
  foreach(place ${places})
    _lockstep_torch_folder("${place}" dir)
    if(NOT dir)
      continue()
    endif()
    _lockstep_torch_version("${dir}" version)
    string(REGEX MATCH "^[0-9]+\\.[0-9]+" line "${version}")
    if(line IN_LIST LOCKSTEP_TORCH_LINES)
      set(LockstepTorch_DIR "${dir}" PARENT_SCOPE)
      set(LockstepTorch_VERSION "${version}" PARENT_SCOPE)
      return()
    endif()
    list(JOIN LOCKSTEP_TORCH_LINES " or " lines)
    set(why "PyTorch ${version} in ${dir}, but this source needs ${lines}")
  endforeach()
  set(LockstepTorch_DIR "" PARENT_SCOPE)
  set(LockstepTorch_NOT_FOUND_MESSAGE "${why}: run ./run, which installs it into .venv, or give the folder of another \
one with -DLOCKSTEP_TORCH_DIR=…/site-packages, or build without the trainer with -DLOCKSTEP_TRAINER=OFF" PARENT_SCOPE)
endfunction()

# Adds to `out` the -rpath-link options of all folders in which libtorch's own dependencies lie.
function(_lockstep_rpath_links out)
  file(GLOB folders "${_lockstep_nvidia}/*/lib")
  set(options)
  foreach(folder ${folders} ${ARGN})
    list(APPEND options "LINKER:-rpath-link,${folder}")
  endforeach()
  set(${out} ${options} PARENT_SCOPE)
endfunction()

function(_lockstep_define_torch)
  find_path(LOCKSTEP_GLOO_INCLUDE gloo/algorithm.h)
  mark_as_advanced(LOCKSTEP_GLOO_INCLUDE)
  if(NOT LOCKSTEP_GLOO_INCLUDE)
    message(FATAL_ERROR "Gloo's headers (gloo/algorithm.h), which PyTorch's wheel leaves out, are missing: apt install libgloo-dev")
  endif()
  set(dir "${LockstepTorch_DIR}")
  _lockstep_rpath_links(links "${dir}/lib")
  add_library(lockstep::torch INTERFACE IMPORTED GLOBAL)
  set_target_properties(lockstep::torch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${dir}/include;${dir}/include/torch/csrc/api/include;${LOCKSTEP_GLOO_INCLUDE}"
    INTERFACE_COMPILE_DEFINITIONS "USE_C10D_GLOO"
    INTERFACE_LINK_LIBRARIES "${dir}/lib/libtorch_cpu.so;${dir}/lib/libc10.so"
    INTERFACE_LINK_OPTIONS "${links}"
    # No path of this machine in a released binary, which names its sources in messages.
    INTERFACE_COMPILE_OPTIONS "$<$<CONFIG:Release>:-ffile-prefix-map=${dir}=torch>"
    LOCKSTEP_LIBRARY_FOLDERS "${dir}/lib")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" line "${LockstepTorch_VERSION}")
  list(FIND LOCKSTEP_TORCH_LINES "${line}" which)
  set_target_properties(lockstep::torch PROPERTIES LOCKSTEP_LINE "${line}" LOCKSTEP_LINE_NUMBER "${which}")
endfunction()

function(_lockstep_define_torch_cuda)
  set(dir "${LockstepTorch_DIR}")
  if(NOT EXISTS "${dir}/lib/libtorch_cuda.so")
    message(FATAL_ERROR "PyTorch ${LockstepTorch_VERSION} in ${dir} was built without CUDA: configure with "
                        "-DLOCKSTEP_CUDA=OFF, or give a PyTorch with CUDA by -DLOCKSTEP_TORCH_DIR=…/site-packages")
  endif()
  set(roots ${LOCKSTEP_CUDA_ROOT} $ENV{CUDA_HOME} /usr/local/cuda)
  file(GLOB packages LIST_DIRECTORIES true "${_lockstep_nvidia}/cu[0-9]*" "${_lockstep_nvidia}/cuda_runtime")
  set(parts)
  if(EXISTS "${_lockstep_nvidia}/cuda_runtime") # CUDA 12: a folder a part, and none may come from another CUDA
    file(GLOB parts LIST_DIRECTORIES true "${_lockstep_nvidia}/*/include")
  endif()
  find_path(LOCKSTEP_CUDA_INCLUDE cuda_runtime_api.h HINTS ${packages} ${roots} PATH_SUFFIXES include)
  find_path(LOCKSTEP_NCCL_INCLUDE nccl.h HINTS "${_lockstep_nvidia}/nccl" ${roots} PATH_SUFFIXES include)
  file(GLOB cudart "${_lockstep_nvidia}/cu[0-9]*/lib/libcudart.so.*" "${_lockstep_nvidia}/cuda_runtime/lib/libcudart.so.*")
  if(NOT cudart)
    find_library(LOCKSTEP_CUDART cudart HINTS ${roots} PATH_SUFFIXES lib64 lib)
    mark_as_advanced(LOCKSTEP_CUDART)
    set(cudart ${LOCKSTEP_CUDART})
    message(STATUS "LibTorch has no nvidia packages beside it: CUDA from ${LOCKSTEP_CUDA_INCLUDE}, NCCL's header from "
                   "${LOCKSTEP_NCCL_INCLUDE}; they must be the versions that PyTorch was built with")
  endif()
  mark_as_advanced(LOCKSTEP_CUDA_INCLUDE LOCKSTEP_NCCL_INCLUDE)
  if(NOT cudart OR NOT LOCKSTEP_CUDA_INCLUDE OR NOT LOCKSTEP_NCCL_INCLUDE)
    message(FATAL_ERROR "PyTorch in ${dir} has CUDA, but its CUDA runtime, headers or nccl.h were found neither in "
                        "${_lockstep_nvidia} nor in a toolkit: install the nvidia-* packages that PyTorch's wheel names "
                        "(pip install torch==${LockstepTorch_VERSION}), give a toolkit by -DLOCKSTEP_CUDA_ROOT=DIR, or "
                        "configure with -DLOCKSTEP_CUDA=OFF")
  endif()
  list(GET cudart 0 cudart)
  get_filename_component(cudart_dir "${cudart}" DIRECTORY)
  add_library(lockstep::torch_cuda INTERFACE IMPORTED GLOBAL)
  # CUDA's kernels register themselves when libtorch_cuda is loaded, which no symbol of ours may ask for.
  set_target_properties(lockstep::torch_cuda PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LOCKSTEP_CUDA_INCLUDE};${LOCKSTEP_NCCL_INCLUDE};${parts}"
    INTERFACE_COMPILE_DEFINITIONS "USE_C10D_NCCL"
    INTERFACE_LINK_LIBRARIES
      "${dir}/lib/libtorch.so;${dir}/lib/libtorch_cuda.so;${dir}/lib/libc10_cuda.so;${cudart};lockstep::torch"
    INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed")
  set_property(TARGET lockstep::torch APPEND PROPERTY LOCKSTEP_LIBRARY_FOLDERS "${cudart_dir}")
endfunction()

_lockstep_find_torch()
include(FindPackageHandleStandardArgs)
if(LockstepTorch_DIR)
  get_filename_component(_lockstep_nvidia "${LockstepTorch_DIR}/../nvidia" ABSOLUTE)
  if(NOT TARGET lockstep::torch)
    _lockstep_define_torch()
    if(LOCKSTEP_CUDA)
      _lockstep_define_torch_cuda()
    endif()
  endif()
endif()
find_package_handle_standard_args(LockstepTorch
  REQUIRED_VARS LockstepTorch_DIR VERSION_VAR LockstepTorch_VERSION
  REASON_FAILURE_MESSAGE "${LockstepTorch_NOT_FOUND_MESSAGE}") # no semicolon in it: CMake would split it
