"""The wait that all tests of living programs share."""
import time


def wait_for(condition, seconds, what, more=None):
    """What the condition gives once it is true; `more`: a function that says what else to tell when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}" + (more() if more else ""))
