"""A signed release is read only as it was signed: every change of a file, a key or a name is refused."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import run
from tests.release.days import day_release

import privroute as pr
from privroute.errors import InputError, PrivrouteError, ReleaseError
from privroute.release.signing import KEY_VARIABLE, fingerprint, make_keys, signed_by

CASES = int(os.environ.get("PRIVROUTE_SIGNED_CASES", "1000"))
NETWORK = pr.Network([0, 1, 2, 0], [1, 2, 0, 2], pr.Latency.affine([1.0, 1.0, 1.0, 3.0], 5.0), "abc")
DEMAND = pr.Demand(pr.Pairs([0, 0, 1], [1, 2, 2]), np.array([3.0, 4.0, 5.0]))


def a_release(seed: int) -> pr.Release:
    return pr.learn(NETWORK, pr.simulate_days(DEMAND, days=3, seed=seed), pr.Guarantee(1.0, 1e-6))


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("keys") / "key"
    make_keys(place)
    return place


@pytest.fixture(scope="module")
def public(key: Path) -> Path:
    return key.with_name("key.pub")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Path:
    place = tmp_path_factory.mktemp("signed") / "release"
    a_release(1).save(place)
    pr.sign_release(place, key)
    return place


@pytest.fixture
def copy(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / "copy"))


def test_every_file_of_every_period_is_checked(key: Path, public: Path, tmp_path: Path) -> None:
    """Periods are read when they are asked for; a signature covers them before."""
    place = tmp_path / "day"
    day_release(quality_share=0.0).save(place)
    pr.sign_release(place, key)
    assert pr.load_release(place, trusted=public).parts
    for name in sorted(json.loads((place / "release.json").read_text())["sha256"]):
        original = (place / name).read_bytes()
        for changed in (original[:-1] + bytes([original[-1] ^ 1]), None):
            (place / name).unlink()
            if changed is not None:
                (place / name).write_bytes(changed)
            with pytest.raises(ReleaseError, match=name):
                pr.load_release(place, trusted=public)
            with pytest.raises(ReleaseError, match=name):
                pr.load_release(place, whole=True)
            (place / name).write_bytes(original)
    broken = next(place.glob("policy_weekend_*"))
    broken.write_bytes(broken.read_bytes()[:-1])
    for words in (("verify", place, "--trusted", public), ("sign", place, "--key", key), ("serve", place, "--port", 0)):
        done = run(*words)
        assert (done.code, broken.name in done.err) == (1, True)


def test_what_happens_to_the_folder_later_changes_nothing(key: Path, public: Path, tmp_path: Path) -> None:
    """Nor to the files of periods that nobody has asked for."""
    place = tmp_path / "day"
    made = day_release(quality_share=0.0)
    made.save(place)
    pr.sign_release(place, key)
    found = pr.load_release(place, trusted=public)
    assert found.policy == made.policy
    for path in place.iterdir():
        with path.open("r+b") as stream:  # the same file, not another in its place
            stream.write(bytes(path.stat().st_size))
    assert found.policy == made.policy
    shutil.rmtree(place)
    for one, other in zip(found.each(), made.each(), strict=True):
        assert one.policy == other.policy
        assert one.noisy_counts is not None
        assert other.noisy_counts is not None
        assert np.array_equal(one.noisy_counts, other.noisy_counts)


def test_what_was_signed_is_read(signed: Path, public: Path) -> None:
    assert pr.load_release(signed, trusted=public).policy == pr.load_release(signed).policy
    assert len(signed_by(signed) or "") == 16


def test_the_private_key_is_its_owners_alone_and_no_key_is_replaced(key: Path, public: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(InputError, match="never replaced"):
        make_keys(key)
    shutil.copy(key, tmp_path / "alone")
    with pytest.raises(InputError, match="never replaced"):
        make_keys(tmp_path / "alone")
    assert key.read_bytes() == before
    assert "PRIVATE" not in public.read_text()


def test_no_private_key_is_in_a_release(signed: Path, key: Path) -> None:
    secret = key.read_text().splitlines()[1]
    assert not any(secret.encode() in path.read_bytes() for path in signed.iterdir())


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory, key: Path) -> list[Path]:
    """Other releases of the same network by the same owner."""
    places = [tmp_path_factory.mktemp("others") / str(seed) for seed in (2, 3, 4)]
    for seed, place in enumerate(places, 2):
        a_release(seed).save(place)
        pr.sign_release(place, key)
    return places


@pytest.mark.slow
def test_whatever_is_tampered_with_swapped_or_signed_by_another_key_is_refused(
    copy: Path, public: Path, others: list[Path], tmp_path: Path
) -> None:
    """Half of the cases change bytes, a quarter swap certificates or files, a quarter are signed with another key."""
    chance = np.random.default_rng(5)
    strangers = [tmp_path / f"stranger-{number}" for number in range(8)]
    for stranger in strangers:
        make_keys(stranger)
    whole = {path.name: path.read_bytes() for path in copy.iterdir()}
    refused, harmless = Counter[str](), 0
    for case in range(CASES):
        if case % 4 < 2:
            kind, names = "tampered", [change_bytes(copy, sorted(whole)[case // 2 % len(whole)], chance)]
        elif case % 4 == 2:
            kind, names = "swapped", swap(copy, others[int(chance.integers(len(others)))], chance)
        else:
            kind, names = "other key", sign_otherwise(copy, strangers[int(chance.integers(len(strangers)))], chance)
        if (
            kind == "tampered"
            and names == ["signature.json"]
            and _means_the_same((copy / names[0]).read_bytes(), whole)
        ):
            pr.load_release(copy, trusted=public)  # blanks between the entries, or bits of base64 that mean nothing
            harmless += 1
        else:
            with pytest.raises(PrivrouteError):
                pr.load_release(copy, trusted=public)
            refused[kind] += 1
        for name in names:
            (copy / name).write_bytes(whole[name])
    assert refused["swapped"] == refused["other key"] == CASES // 4
    assert refused["tampered"] == CASES // 2 - harmless
    assert harmless < CASES / 50
    pr.load_release(copy, trusted=public)  # every change was undone


def change_bytes(folder: Path, name: str, chance: np.random.Generator) -> str:
    """Change, remove or add bytes of a file, or replace them all."""
    data = bytearray((folder / name).read_bytes())
    spot = int(chance.integers(len(data)))
    kind = int(chance.integers(4))
    if kind == 0:
        data[spot] ^= 1 << int(chance.integers(8))
    elif kind == 1:
        del data[spot : spot + int(chance.integers(1, 40))]
    elif kind == 2:
        data[spot:spot] = chance.bytes(int(chance.integers(1, 40)))
    else:
        data = bytearray(chance.bytes(len(data)))
    (folder / name).write_bytes(data)
    return name


def swap(folder: Path, other: Path, chance: np.random.Generator) -> list[str]:
    """Take the certificate of another release, alone, with its list of files, with its signature, or another file."""
    kind = int(chance.integers(4))
    if kind == 0:
        mine, theirs = (json.loads((place / "release.json").read_text()) for place in (folder, other))
        (folder / "release.json").write_text(json.dumps({**mine, "certificate": theirs["certificate"]}))
        return ["release.json"]
    different = [
        path.name for path in sorted(other.iterdir()) if path.read_bytes() != (folder / path.name).read_bytes()
    ]
    names = [["release.json"], ["release.json", "signature.json"], [different[int(chance.integers(len(different)))]]]
    for name in names[kind - 1]:
        shutil.copy(other / name, folder)
    return names[kind - 1]


def sign_otherwise(folder: Path, stranger: Path, chance: np.random.Generator) -> list[str]:
    """Sign with another key; half of the times the signature claims to be of the trusted one."""
    claimed = json.loads((folder / "signature.json").read_text())["public_key"]
    pr.sign_release(folder, stranger)
    if chance.integers(2):
        forged = json.loads((folder / "signature.json").read_text())
        (folder / "signature.json").write_text(json.dumps({**forged, "public_key": claimed}))
    return ["signature.json"]


def _means_the_same(data: bytes, whole: dict[str, bytes]) -> bool:
    try:
        found, before = json.loads(data), json.loads(whole["signature.json"])
        return bool(
            found.keys() == before.keys() and all(_meaning(found[name]) == _meaning(before[name]) for name in before)
        )
    except (AttributeError, TypeError, ValueError):
        return False


def _meaning(text: str) -> bytes | str:
    return text if text == "ed25519" else base64.b64decode(text, validate=True)


def test_a_certificate_of_another_release_is_refused(copy: Path, public: Path, key: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    a_release(2).save(other)
    pr.sign_release(other, key)
    mine, theirs = (json.loads((place / "release.json").read_text()) for place in (copy, other))
    (copy / "release.json").write_text(json.dumps({**mine, "certificate": theirs["certificate"]}))
    with pytest.raises(ReleaseError, match="not one of the trusted key"):
        pr.load_release(copy, trusted=public)
    shutil.copy(other / "release.json", copy)
    shutil.copy(other / "signature.json", copy)
    with pytest.raises(ReleaseError, match="not the file that was released"):
        pr.load_release(copy, trusted=public)


def test_a_release_of_another_key_is_refused_and_named(copy: Path, public: Path, tmp_path: Path) -> None:
    make_keys(tmp_path / "other")
    pr.sign_release(copy, tmp_path / "other")
    with pytest.raises(ReleaseError, match=f"signed with the key {signed_by(copy)}, as it says"):
        pr.load_release(copy, trusted=public)
    pr.load_release(copy, trusted=tmp_path / "other.pub")


def test_a_signature_that_claims_the_trusted_key_is_refused(copy: Path, public: Path, tmp_path: Path) -> None:
    claimed = json.loads((copy / "signature.json").read_text())["public_key"]
    make_keys(tmp_path / "other")
    pr.sign_release(copy, tmp_path / "other")
    forged = json.loads((copy / "signature.json").read_text())
    (copy / "signature.json").write_text(json.dumps({**forged, "public_key": claimed}))
    with pytest.raises(ReleaseError, match="not one of the trusted key"):
        pr.load_release(copy, trusted=public)


def test_files_that_nobody_signed_are_refused(copy: Path, public: Path) -> None:
    (copy / "zones.parquet").write_bytes(b"")
    with pytest.raises(ReleaseError, match="no signature covers"):
        pr.load_release(copy, trusted=public)


def test_a_key_in_the_folder_is_never_signed_with_it(copy: Path, key: Path, public: Path) -> None:
    shutil.copy(key, copy / "agency")
    for signing in (key, copy / "agency"):
        with pytest.raises(ReleaseError, match="no signature covers: 'agency'; remove it"):
            pr.sign_release(copy, signing)
    with pytest.raises(ReleaseError, match="no signature covers"):
        pr.load_release(copy, trusted=public)


def test_links_to_other_files_are_refused(copy: Path, public: Path, key: Path, tmp_path: Path) -> None:
    """A link is what it leads to: the right bytes, or none of this release."""
    other = tmp_path / "other"
    a_release(2).save(other)
    pr.sign_release(other, key)
    for path in sorted(copy.iterdir()):
        if path.read_bytes() == (other / path.name).read_bytes():
            continue  # the network is the same
        aside = path.rename(tmp_path / path.name)
        for target in (other / path.name, tmp_path / "gone", tmp_path, Path("/dev/zero")):
            path.symlink_to(target)
            with pytest.raises(PrivrouteError):
                pr.load_release(copy, trusted=public)
            path.unlink()
        aside.rename(path)
    pr.load_release(copy, trusted=public)


def test_unsigned_releases_are_read_unless_a_key_is_given(copy: Path, public: Path) -> None:
    (copy / "signature.json").unlink()
    assert pr.load_release(copy).certificate.private
    assert signed_by(copy) is None
    with pytest.raises(ReleaseError, match="is not signed"):
        pr.load_release(copy, trusted=public)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"algorithm": "none"}', b"[" * 3000])
def test_a_damaged_signature_is_refused(copy: Path, public: Path, content: bytes) -> None:
    (copy / "signature.json").write_bytes(content)
    with pytest.raises(PrivrouteError):
        pr.load_release(copy, trusted=public)


@pytest.mark.parametrize(
    "content", [b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", b"\x00" * 99]
)
def test_what_is_no_key_is_refused(signed: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(InputError, match="no public Ed25519 key"):
        pr.load_release(signed, trusted=tmp_path / "key")
    with pytest.raises(InputError, match="no private Ed25519 key"):
        pr.sign_release(signed, tmp_path / "key")


def test_a_private_key_is_no_trusted_key(signed: Path, key: Path) -> None:
    with pytest.raises(InputError, match="no public Ed25519 key"):
        pr.load_release(signed, trusted=key)


def test_the_key_may_come_from_the_environment(
    copy: Path, key: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy / "signature.json").unlink()
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(InputError, match=KEY_VARIABLE):
        pr.sign_release(copy)
    monkeypatch.setenv(KEY_VARIABLE, key.read_text())
    assert pr.sign_release(copy) == signed_by(copy)
    pr.load_release(copy, trusted=public)


def test_replacing_a_release_removes_its_signature(copy: Path) -> None:
    a_release(3).save(copy, overwrite=True)
    assert signed_by(copy) is None


def test_commands_make_keys_sign_and_refuse(tmp_path: Path) -> None:
    a_release(1).save(tmp_path / "release")
    key, release = str(tmp_path / "key"), str(tmp_path / "release")
    assert "public: give it" in run("keys", key).text
    assert "Not signed" in run("inspect", release).text
    assert "Signed" in run("sign", release, "--key", key).text
    assert "whole and signed" in run("verify", release, "--trusted", f"{key}.pub").text
    assert "to check it, pass --trusted" in run("inspect", release).text
    assert "Signed with the trusted key" in run("inspect", release, "--trusted", f"{key}.pub").text
    (tmp_path / "release" / "demand.parquet").write_bytes(b"")
    for command in (["verify", release], ["route", release, "a", "b"], ["serve", release], ["report", release]):
        failed = run(*command, "--trusted", f"{key}.pub")
        assert failed.code == 1
        assert "demand.parquet is not the file that was released" in failed.text


def test_fingerprints_tell_keys_apart() -> None:
    assert len({fingerprint(bytes([number]) * 32) for number in range(200)}) == 200
