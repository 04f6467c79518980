from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest

from bunrui.datasets import archives
from bunrui.datasets.archives import members
from bunrui.documents.sources import Progress
from bunrui.errors import DataError

FILES = {"top/a/one.txt": b"one", "top/b/two.txt": b"two " * 5000, "top/readme": b""}


def found(path: Path) -> dict[str, bytes]:
    return {"/".join(member.parts): member.read() for member in members(path)}


@pytest.fixture
def packed(tmp_path: Path):
    def call(data: bytes, name: str = "corpus.tar.gz") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return call


def hostile(*infos: tarfile.TarInfo, data: bytes = b"boo") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info in infos:
            if info.isfile():
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue())


def test_archives_and_folders_have_the_same_members(tar, zipped, packed, tmp_path: Path) -> None:
    plain = gzip.decompress(tar(FILES))
    assert found(packed(tar(FILES))) == FILES
    assert found(packed(plain, "corpus.tar")) == FILES
    assert found(packed(lzma.compress(plain), "copy.tar.xz")) == FILES
    assert found(packed(tar(FILES), "copy")) == FILES, "by its content"
    assert found(packed(zipped(FILES), "corpus.zip")) == FILES
    for name, data in FILES.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    assert found(tmp_path / "folder" / "top") == FILES
    assert found(tmp_path / "folder") == {f"folder/{name}": data for name, data in FILES.items()}


def test_members_that_are_not_read_are_passed_over(tar, packed) -> None:
    path = packed(tar({f"{n}.txt": bytes([n]) * 3000 for n in range(100)}))
    assert [m.read()[:1] for m in members(path) if m.name in ("7.txt", "70.txt")] == [b"\x07", b"F"]
    progress = Progress()
    assert sum(1 for _ in members(path, progress)) == 100
    assert progress.bytes_read == path.stat().st_size


def test_a_tar_without_magic(tar, packed) -> None:
    """As of the nineties: only the name tells."""
    plain = bytearray(gzip.decompress(tar({"reut2-000.sgm": b"<REUTERS>"})))
    plain[257:265] = bytes(8)
    plain[148:156] = b" " * 8
    plain[148:156] = b"%06o\0 " % sum(plain[:512])
    assert found(packed(gzip.compress(plain), "reuters21578.tar.gz")) == {"reut2-000.sgm": b"<REUTERS>"}


def test_a_plain_file(packed) -> None:
    assert found(packed(b"id\tdocument\n", "ratings_train.txt")) == {"ratings_train.txt": b"id\tdocument\n"}
    assert found(packed(gzip.compress(b"id\tdocument\n"), "ratings_train.txt")) == {
        "ratings_train.txt": b"id\tdocument\n"
    }


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "a\\..\\..\\evil", "C:/evil"])
def test_names_that_lead_out_are_refused(packed, zipped, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.parent.rglob("*"))
    for data, suffix in ((hostile(tarfile.TarInfo(name)), "tar.gz"), (zipped({name: b"boo"}), "zip")):
        path = packed(data, f"corpus.{suffix}")
        with pytest.raises(DataError, match=r"is outside of the archive: this is not the official file"):
            found(path)
        path.unlink()
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_links_and_devices_are_passed_over(packed) -> None:
    kinds = {tarfile.SYMTYPE: "link", tarfile.LNKTYPE: "hard", tarfile.CHRTYPE: "device", tarfile.FIFOTYPE: "pipe"}
    infos = [tarfile.TarInfo("good.txt")]
    for kind, name in kinds.items():
        infos.append(tarfile.TarInfo(name))
        infos[-1].type, infos[-1].linkname = kind, "/etc/passwd"
    assert found(packed(hostile(*infos))) == {"good.txt": b"boo"}


@pytest.mark.parametrize("limit", ["MAX_MEMBER", "MAX_UNPACKED", "MAX_MEMBERS"])
def test_bombs(packed, tar, zipped, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    bomb = {f"{n}.txt": bytes(40_000) for n in range(30)}
    monkeypatch.setattr(archives, limit, 20 if limit == "MAX_MEMBERS" else 30_000)
    for data, name in ((tar(bomb), "corpus.tar.gz"), (zipped(bomb), "corpus.zip")):
        with pytest.raises(DataError, match=r"unpacks to more than a corpus can have"):
            found(packed(data, name))


def test_a_bomb_in_a_header(packed, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tarfile.TarInfo("good.txt")
    info.pax_headers = {"comment": "x" * 1_000_000}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    path = packed(gzip.compress(buffer.getvalue()))
    assert found(path) == {"good.txt": b""}
    monkeypatch.setattr(archives, "MAX_UNPACKED", 100_000)
    with pytest.raises(DataError, match=r"unpacks to more than a corpus can have"):
        found(path)


def test_every_way_to_cut_an_archive_is_found(tar, zipped, packed) -> None:
    for data, name in ((tar(FILES), "corpus.tar.gz"), (zipped(FILES), "corpus.zip")):
        for end in range(10, len(data), 13):
            with pytest.raises(DataError, match=r"corpus.* is damaged or cut short"):
                found(packed(data[:end], name))


def test_every_changed_byte_of_what_is_packed_is_found(tar, packed) -> None:
    data = tar(FILES)
    for at in range(10, len(data)):  # behind the header, whose time and name of a file say nothing
        changed = bytearray(data)
        changed[at] ^= 0x55
        with pytest.raises(DataError, match=r"is damaged or cut short"):
            found(packed(bytes(changed)))


def test_an_encrypted_zip(zipped, packed) -> None:
    data = bytearray(zipped({"a.txt": b"boo"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DataError, match=r"is encrypted: unpack it, and give the folder"):
        found(packed(bytes(data), "corpus.zip"))


def test_a_page_in_place_of_an_archive(packed) -> None:
    with pytest.raises(DataError, match=r"corpus.tar.gz: this is damaged or cut short"):
        found(packed(b"<html>Sorry</html>" * 100))
