// The one test program: every tests/*_test.cpp is linked to the main function that doctest brings.
// CTest runs each case as a process of its own, so no case can lean on another.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
