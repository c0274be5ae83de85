# SPDX-License-Identifier: MIT
"""The version of Lockstep that this package is part of."""

VERSION = "0.1.0"  # as in CMakeLists.txt
