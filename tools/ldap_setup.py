"""Install what the LDAP resolver and its tests need; what cannot be had is said in one line.

The library is built from source against headers of the operating system, and the tests talk to
a real server, so `make setup` leaves both out. On Debian and Ubuntu, as root, missing packages
are installed; the server is neither configured nor started. Everywhere else the work goes on
without them: the program runs, and the tests that need them are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from tools.debian_packages import has_library, install_packages

LIBRARY: Final = "bonsai"
ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "requirements-ldap.lock"

# Where Debian puts programs of administrators, which is not on everybody's path.
SERVER_PATH: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))

# The server is installed without configuration, so that it does not start.
_UNCONFIGURED: Final = "slapd slapd/no_configuration boolean true\n"

# Debian's name of a package, and what is there when it is installed.
HEADERS: Final = {
    "libldap2-dev": Path("/usr/include/ldap.h"),
    "libsasl2-dev": Path("/usr/include/sasl/sasl.h"),
    "python3-dev": Path(sysconfig.get_paths()["include"]) / "Python.h",
}


def missing_packages() -> list[str]:
    """Debian packages without which the library cannot be built or the tests cannot run."""
    missing = [] if shutil.which("slapd", path=SERVER_PATH) else ["slapd"]
    if not has_library(LIBRARY):
        missing += [] if shutil.which("cc") else ["gcc", "libc6-dev"]
        missing += [name for name, file in HEADERS.items() if not file.exists()]
    return missing


def install_library() -> bool:
    """Build and install the library by the lock."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command = [*pip, "--require-hashes", "--no-build-isolation", f"--requirement={LOCK}"]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Install what is missing; 0 also when it cannot be had."""
    missing = missing_packages()
    if missing and install_packages("ldap", missing, _UNCONFIGURED):
        missing = missing_packages()
    if missing and missing != ["slapd"]:
        print(f"ldap: not installed, for want of the Debian packages {', '.join(missing)}")
        return 0
    if not has_library(LIBRARY) and not install_library():
        print("ldap: the library could not be installed; see the lines above")
        return 0
    print("ldap: the library is ready" + ("; its tests need slapd" if missing else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
