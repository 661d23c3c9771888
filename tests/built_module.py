"""The Python module over a library that was built, wherever that is."""

import pathlib
import shutil
import sys
import tempfile


def importable(source, library):
    """Lets `import sgdsim` find it; the folder that holds it, which is gone when this is."""
    folder = tempfile.TemporaryDirectory()
    package = pathlib.Path(folder.name) / "sgdsim"
    shutil.copytree(pathlib.Path(source) / "python/sgdsim", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "libsgdsim.so").symlink_to(library)
    sys.path.insert(0, folder.name)
    sys.dont_write_bytecode = True
    return folder
