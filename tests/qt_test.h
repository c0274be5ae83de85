// SPDX-License-Identifier: MIT
#pragma once
// Qt Test whose QTRY_… macros wait as long as all tests do, instead of five seconds.
#include <QtTest>

#include "tests/hang_limit.h"

#undef QTRY_VERIFY
#define QTRY_VERIFY(expr) QTRY_VERIFY_WITH_TIMEOUT(expr, lockstep::test::hangLimitMs)
#undef QTRY_VERIFY2
#define QTRY_VERIFY2(expr, message) QTRY_VERIFY2_WITH_TIMEOUT(expr, message, lockstep::test::hangLimitMs)
#undef QTRY_COMPARE
#define QTRY_COMPARE(expr, expected) QTRY_COMPARE_WITH_TIMEOUT(expr, expected, lockstep::test::hangLimitMs)
