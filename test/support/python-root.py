"""Copies Python and some programs of this machine into a folder, as the root of an image."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig

ROOT, *PROGRAMS = sys.argv[1:]
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
LEFT_OUT = shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__", "*.a")


def put(path: str, place: str) -> None:
    """Copies a file with what it links to."""
    os.makedirs(os.path.dirname(ROOT + place), exist_ok=True)
    shutil.copy2(os.path.realpath(path), ROOT + place)


def libraries(path: str) -> list[str]:
    """Lists the shared libraries that a program is loaded with."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


python = os.path.realpath(sys.executable)
library = sysconfig.get_path("stdlib")
shutil.copytree(library, ROOT + library, ignore=LEFT_OUT)
put(python, python)
put(python, "/usr/bin/python3")
found = {program: shutil.which(program) or sys.exit(f"no {program}") for program in PROGRAMS}
for path in found.values():
    put(path, f"/usr/bin/{os.path.basename(path)}")
os.symlink("usr/bin", f"{ROOT}/bin")
modules = [
    os.path.join(folder, file)
    for folder, _, files in os.walk(ROOT + library)
    for file in files
    if file.endswith(".so")
]
for needed in {one for file in (python, *found.values(), *modules) for one in libraries(file)}:
    put(needed, needed)
if os.path.exists(AUTHORITIES):
    put(AUTHORITIES, AUTHORITIES)
os.makedirs(f"{ROOT}/tmp")
os.chmod(f"{ROOT}/tmp", 0o1777)
