# SPDX-License-Identifier: MIT
"""Python environments with pip in no time: one is made by venv, others are copies of it."""
import atexit
import functools
import pathlib
import shutil
import subprocess
import tempfile

# A python3 for the front of a PATH: `-m venv [OPTION...] FOLDER` copies the environment that is made already.
PYTHON_WITH_COPIES = r"""[ "$1 $2" = "-m venv" ] || exec /usr/bin/python3 "$@"
folder="${{!#}}"
rm -rf "$folder" && mkdir -p "${{folder%/*}}" && cp -al "{made}" "$folder" """


@functools.cache
def made_environment():
    """The folder of an environment that venv made; it goes with the program."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-venv-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder / "made"], check=True)
    return folder / "made"
