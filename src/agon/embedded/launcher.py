"""Run a command that dies with its parent: `python -S -E launcher.py PPID SIGNAL IDENTITY DIR COMMAND…`.

The parent-death signal must be set after the last change of credentials, which clears it, and just before the exec,
which keeps it. IDENTITY is `same`, `uid:N`, or `userns`: root shows as `nobody` inside a user namespace of its own, so
that a program that refuses to run as root runs with root's files. DIR must then be usable, or the exit code is 71.
"""

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
NOBODY = 65534
PR_SET_PDEATHSIG = 1
EXIT_UNUSABLE = 71


def main() -> None:
    parent, signal_number, identity, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    command = sys.argv[5:]
    try:
        become(identity)
    except OSError as error:
        sys.exit(refuse(f"cannot run as {identity}: {error}"))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        sys.exit(refuse(f"cannot use {folder} as {identity}"))
    die_with(parent, signal_number)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(refuse(f"cannot run {command[0]} as {identity}: {error}"))


def become(identity: str) -> None:
    if identity == "userns":
        enter_user_namespace()
    elif identity.startswith("uid:"):
        number = int(identity.removeprefix("uid:"))
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)


def enter_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    write("/proc/self/gid_map", f"{NOBODY} {group} 1")


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib would double this script's start time
        file.write(text)


def die_with(parent: int, signal_number: int) -> None:
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(0)  # the parent died before the signal was armed


def refuse(reason: str) -> int:
    sys.stderr.write(f"launcher: {reason}\n")
    return EXIT_UNUSABLE


if __name__ == "__main__":
    main()
