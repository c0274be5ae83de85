// SPDX-License-Identifier: MIT
// Holds the header that the tests of this room have read for them (CMakeLists.txt).
