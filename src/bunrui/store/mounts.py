"""Is a file on another machine?  SQLite's locks do not reach there."""

from __future__ import annotations

import logging
import os
import re
from functools import cache

__all__ = ["network_kind", "warn_of_network"]

_log = logging.getLogger("bunrui")

_NETWORK = {"9p", "afs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
_OVER_FUSE = ("sshfs", "glusterfs", "s3fs", "rclone", "gcsfuse", "smbnetfs", "cephfs")


def network_kind(path: str, mountinfo: str) -> str | None:
    """The file system of a path if it is one of another machine; `mountinfo` as Linux tells it.

    >>> table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\\n40 22 0:40 / /mnt/my\\\\040share rw - nfs4 host:/x rw"
    >>> network_kind("/mnt/my share/mail.bunrui", table)
    'nfs4'
    >>> network_kind("/mnt/other/mail.bunrui", table)
    """
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if len(fields) < 5:
            continue
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, rest[0]
    is_network = kind in _NETWORK or (kind.startswith("fuse") and kind.endswith(_OVER_FUSE))
    return kind if is_network else None


def warn_of_network(path: str) -> None:
    """Say once for each file that lies on another machine what must not be done with it."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = network_kind(os.path.realpath(path), file.read())
    except OSError:  # not Linux
        return
    if kind is not None:
        _warn_once(path, kind)


@cache
def _warn_once(path: str, kind: str) -> None:
    _log.warning(
        "%s is on a network file system (%s), where locks are not reliable: let only one machine use it at a time",
        path,
        kind,
    )
