#!/usr/bin/env python3
"""The files of a release: checks before, packages around the binary, and tests of what was built.

`make release` calls this. Nothing is published. All files lie in one folder (FILES in the Makefile):

    release.py check            version, changelog, semantic versioning
    release.py pack FOLDER      archive and .deb around FOLDER/roundelay, and SHA256SUMS
    release.py verify FOLDER    tests of all files in FOLDER
"""

import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import notices

ROOT = Path(__file__).resolve().parent.parent
#: Parts of glibc: what the binary may need of the system.
LIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
#: The oldest glibc with which everything works.
GLIBC = "2.28"
#: Most bytes of the stripped binary.
MOST_BYTES = 29_000_000
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]
#: Licences of others' works in what we ship, in each package.
NOTICES = "THIRD-PARTY-NOTICES.txt"
#: Shells with their completions: the file within usr/share.
COMPLETIONS = {
    "bash": "bash-completion/completions/roundelay",
    "zsh": "zsh/vendor-completions/_roundelay",
    "fish": "fish/vendor_completions.d/roundelay.fish",
}


def fail(message: str) -> None:
    sys.exit(f"release: {message}")


def run(*words: str | Path) -> str:
    """The output of a command, which must not fail."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        fail(f"{' '.join(str(word) for word in words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if found is None:
        fail("Cargo.toml: no version in [workspace.package]")
    return found.group(1)


def machine() -> str:
    return os.uname().machine


# Checks before a release.


def check() -> None:
    number = version()
    print("tree: " + tree())
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is None or cited.group(1) != number:
        fail(f"CITATION.cff: expected version: {number}, as in Cargo.toml")
    for use in re.findall(r'^roundelay[a-z-]* = \{ path = .*version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE):
        if use != number:
            fail(f"Cargo.toml: a crate of ours is used with version {use}: expected {number}")
    print(f"version: {number}, the same in all files")
    print("changelog: " + changelog((ROOT / "CHANGELOG.md").read_text(), number))
    print("semantic versioning: " + semver())
    print("advisories: " + advisories())


def tree() -> str:
    """Whether the files are those of the commit: a file that nobody committed may end up in a package, or change its build."""
    odd = [line for line in run("git", "status", "--porcelain", "-z").split("\0") if line]
    if not odd:
        return "as committed"
    if os.environ.get("TREE") != "uncommitted":
        fail(f"tree: {len(odd)} files are changed or not committed, as {odd[0]!r}. To go on with them: make release TREE=uncommitted")
    return f"NOT AS COMMITTED, as asked for by TREE=uncommitted: {len(odd)} files, as {odd[0]!r}"


def schemas(out: Path) -> None:
    """The schemas in the commit, and no other file that lies beside them."""
    out.mkdir(parents=True)
    for name in run("git", "ls-files", "-z", "docs/schemas").split("\0"):
        if name:
            shutil.copy(ROOT / name, out)


def changelog(text: str, number: str) -> str:
    """What the changelog says of this version. The newest section is that of the version, or has no version yet."""
    sections = re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    if not sections:
        fail("CHANGELOG.md: no section '## VERSION'")
    heading, body = sections[0]
    entries = len(re.findall(r"^- ", body, re.MULTILINE))
    if entries == 0:
        fail(f"CHANGELOG.md: '## {heading}' lists nothing")
    if heading == "Unreleased":
        if any(other.split()[0] == number for other, _ in sections[1:]):
            fail(f"CHANGELOG.md: {number} is released: raise the version in Cargo.toml and CITATION.cff")
        return f"{entries} entries, Unreleased. Before you publish, write '## {number} - DATE' above them"
    if heading.split()[0] != number:
        fail(f"CHANGELOG.md: the newest section is '## {heading}': expected '## {number} - DATE' or '## Unreleased'")
    return f"{entries} entries of {heading}"


def semver() -> str:
    """The Rust API against that of the last release, by cargo-semver-checks."""
    tags = run("git", "tag", "--list", "v*", "--sort=-v:refname").split()
    if not tags:
        return "NOT checked, because there is no earlier release (no tag 'v*') to compare with"
    tools = ROOT / ".tools/semver"
    program = shutil.which("cargo-semver-checks", path=f"{tools / 'bin'}:{os.environ['PATH']}")
    if program is None:
        return f"NOT checked against {tags[0]}, because cargo-semver-checks is missing: cargo install --locked --root {tools.relative_to(ROOT)} cargo-semver-checks"
    run(program, "semver-checks", "check-release", "--workspace", "--baseline-rev", tags[0])
    return f"the Rust API fits the step from {tags[0]}"


def advisories() -> str:
    """Whether a dependency has a known hole, by cargo-deny. A release that could not be checked says so on purpose."""
    tools = ROOT / ".tools/deny/bin"
    program = shutil.which("cargo-deny", path=f"{tools}:{os.environ['PATH']}")
    why = "cargo-deny is missing: make setup-deny"
    if program is not None:
        fetched = subprocess.run([program, "--locked", "fetch", "db"], capture_output=True, text=True, cwd=ROOT, timeout=120)
        if fetched.returncode == 0:
            run(program, "--locked", "--all-features", "check", "--disable-fetch", "advisories")
            return "no dependency has a known one"
        why = "the database https://github.com/rustsec/advisory-db cannot be had here"
    if os.environ.get("ADVISORIES") != "unchecked":
        fail(f"advisories: NOT CHECKED, because {why}. To go on without: make release ADVISORIES=unchecked")
    return f"NOT CHECKED, as asked for by ADVISORIES=unchecked: {why}"


# Packages.


def epoch() -> int:
    """The time of all packed files: that of the commit, so that a commit gives the same packages again."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))


def glibc(binary: Path) -> str:
    """The oldest glibc that has all symbols of a binary."""
    found = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", run("readelf", "--version-info", "--wide", binary))
    return max(found, key=lambda number: [int(part) for part in number.split(".")])


def needed(binary: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", binary)))


def staged(binary: Path, folder: Path) -> None:
    """The files of the .deb, as installed."""
    share = folder / "usr/share"
    (folder / "usr/bin").mkdir(parents=True)
    shutil.copy(binary, folder / "usr/bin/roundelay")
    (folder / "usr/bin/roundelay").chmod(0o755)
    pages = folder / "pages"
    run(binary, "man", "--out", pages)
    (share / "man/man1").mkdir(parents=True)
    for page in sorted(pages.iterdir()):
        (share / "man/man1" / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
    shutil.rmtree(pages)
    for shell, name in COMPLETIONS.items():
        (share / name).parent.mkdir(parents=True)
        (share / name).write_text(run(binary, "completions", shell))
    documents = share / "doc/roundelay"
    documents.mkdir(parents=True)
    schemas(documents / "schemas")
    shutil.copy(ROOT / "README.md", documents)
    (documents / "changelog.gz").write_bytes(gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), 9, mtime=0))
    licences = [(ROOT / name).read_text() for name in ["LICENSE-MIT", "LICENSE-APACHE"]]
    both = "Roundelay may be used under the MIT License or the Apache License 2.0, as you choose.\n"
    (documents / "copyright").write_text("\n".join([both, *licences]))
    (documents / NOTICES).write_text(notices.notices(["roundelay-cli"]))
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        elif path.parent != folder / "usr/bin":
            path.chmod(0o644)


def control(number: str, binary: Path, installed: int) -> str:
    names = {"x86_64": "amd64", "aarch64": "arm64"}
    return (
        f"Package: roundelay\nVersion: {number}\nArchitecture: {names.get(machine(), machine())}\n"
        "Maintainer: The Roundelay authors <maintainers@roundelay.invalid>\n"
        f"Installed-Size: {installed // 1024}\nDepends: libc6 (>= {glibc(binary)})\nSection: net\nPriority: optional\n"
        "Description: compare queue disciplines on captures and in simulated networks\n"
        " Which queue discipline serves a link and its traffic best? Roundelay replays a\n"
        " capture through packet schedulers and AQMs, simulates networks, prints proven\n"
        " bounds, and puts a discipline between two interfaces.\n"
    )


def deb(binary: Path, out: Path) -> None:
    number = version()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "package"
        folder.mkdir()
        staged(binary, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files)
        installed = sum(path.stat().st_size for path in files)
        (folder / "DEBIAN").mkdir()
        (folder / "DEBIAN").chmod(0o755)
        (folder / "DEBIAN/control").write_text(control(number, binary, installed))
        (folder / "DEBIAN/md5sums").write_text(sums)
        os.environ["SOURCE_DATE_EPOCH"] = str(epoch())
        name = f"roundelay_{number}_{'amd64' if machine() == 'x86_64' else machine()}.deb"
        run("dpkg-deb", "--build", "--root-owner-group", folder, out / name)


def archive(binary: Path, out: Path) -> None:
    """The binary with pages, completions, schemas and licences, for any Linux with that glibc."""
    name = f"roundelay-{version()}-{machine()}-linux"
    time = epoch()
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(fileobj=packed, mode="w") as tar:
        folder = Path(temporary) / name
        (folder / "completions").mkdir(parents=True)
        shutil.copy(binary, folder / "roundelay")
        run(binary, "man", "--out", folder / "man")
        for shell in COMPLETIONS:
            (folder / "completions" / f"roundelay.{shell}").write_text(run(binary, "completions", shell))
        schemas(folder / "schemas")
        for document in DOCUMENTS:
            shutil.copy(ROOT / document, folder)
        (folder / NOTICES).write_text(notices.notices(["roundelay-cli"]))
        for path in [folder, *sorted(folder.rglob("*"))]:
            entry = tar.gettarinfo(path, str(path.relative_to(temporary)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = time
            is_program = path.is_dir() or path == folder / "roundelay"
            entry.mode = 0o755 if is_program else 0o644
            with path.open("rb") if path.is_file() else io.BytesIO() as file:
                tar.addfile(entry, file)
    (out / f"{name}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=time))


def with_notices(wheel: Path) -> None:
    """Adds the notices to a wheel, and to its list of files."""
    text = notices.notices(["roundelay-python"]).encode()
    with zipfile.ZipFile(wheel) as file:
        entries = [(entry, file.read(entry)) for entry in file.infolist()]
    (record,) = [entry.filename for entry, _ in entries if entry.filename.endswith(".dist-info/RECORD")]
    name = record.removesuffix("RECORD") + f"licenses/{NOTICES}"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for entry, content in entries:
            if entry.filename == record:
                added = zipfile.ZipInfo(name, entry.date_time)
                added.external_attr = entry.external_attr
                file.writestr(added, text, zipfile.ZIP_DEFLATED)
                content += f"{name},sha256={digest},{len(text)}\n".encode()
            file.writestr(entry, content, zipfile.ZIP_DEFLATED)


def pack(out: Path) -> None:
    binary = out / "roundelay"
    for wheel in sorted(out.glob("*.whl")):
        with_notices(wheel)
    deb(binary, out)
    archive(binary, out)
    lines = ""
    for path in sorted(out.iterdir()):
        if path.is_file() and path.name != "SHA256SUMS":
            lines += f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
    (out / "SHA256SUMS").write_text(lines)


# Tests of the files.


def verify(out: Path) -> None:
    verify_binary(out / "roundelay")
    with tempfile.TemporaryDirectory() as temporary:
        verify_deb(one(out, "*.deb"), Path(temporary) / "root")
        verify_archive(one(out, "*.tar.gz"), Path(temporary))
        for wheel in sorted(out.glob("*.whl")):
            verify_wheel(wheel, Path(temporary) / wheel.stem)
    one(out, "*manylinux*.whl")
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=out)
    listed = {line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    files = {path.name for path in out.iterdir()} - {"SHA256SUMS"}
    if done.returncode != 0 or listed != files:
        fail(f"SHA256SUMS: wrong, or not of {sorted(listed ^ files)}")
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")


def verify_notices(package: Path, text: str, root: str) -> None:
    """Each crate in the build is there, with uPlot and Rust's library, and the texts that they ask for."""
    wanted = [notices.heading(crate) + " (" for crate in notices.crates([root])]
    wanted += ["uPlot, in pages (", "Rust's standard library (", "Permission is hereby granted, free of charge", "Apache License"]
    missing = [part for part in wanted if part not in text]
    if missing:
        fail(f"{package}: {NOTICES} lacks {missing[:5]}")


def one(out: Path, pattern: str) -> Path:
    found = sorted(out.glob(pattern))
    if len(found) != 1:
        fail(f"{out}: expected one file {pattern}, found {[path.name for path in found]}")
    return found[0]


def verify_binary(binary: Path) -> None:
    others = needed(binary) - LIBC
    if others:
        fail(f"{binary}: needs {sorted(others)}: expected libraries of glibc alone")
    if glibc(binary) != GLIBC:
        fail(f"{binary}: needs glibc {glibc(binary)}: expected {GLIBC}")
    if ".symtab" in run("readelf", "--sections", "--wide", binary):
        fail(f"{binary}: has symbols: expected a stripped binary")
    size = binary.stat().st_size
    if size > MOST_BYTES:
        fail(f"{binary}: {size} bytes: expected at most {MOST_BYTES}")
    if run(binary, "--version") != f"roundelay {version()}\n":
        fail(f"{binary}: another version than {version()}")
    print(f"binary: {size / 1e6:.1f} MB, needs {', '.join(sorted(needed(binary)))} of glibc {glibc(binary)} or newer")


def verify_deb(package: Path, root: Path) -> None:
    """Installs the package into an empty system of its own, looks, and removes it again."""
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"]:
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--force-script-chrootless", "--log=/dev/null"]
    run(*dpkg, "--install", package)
    binary = root / "usr/bin/roundelay"
    if run(binary, "--version") != f"roundelay {version()}\n":
        fail(f"{package}: another version")
    help_pages = {"roundelay.1.gz", "roundelay-live-set.1.gz"}
    for name in re.findall(r"^  ([a-z]+)  ", run(binary, "--help").split("Options:")[0], re.MULTILINE):
        help_pages.add(f"roundelay-{name}.1.gz")
    pages = {path.name for path in (root / "usr/share/man/man1").iterdir()}
    if pages != help_pages:
        fail(f"{package}: man pages {sorted(pages ^ help_pages)} are too many or missing")
    for shell, name in COMPLETIONS.items():
        if (root / "usr/share" / name).read_text() != run(binary, "completions", shell):
            fail(f"{package}: other completions for {shell} than the binary's")
    for line in (root / "var/lib/dpkg/info/roundelay.md5sums").read_text().splitlines():
        digest, name = line.split(maxsplit=1)
        if hashlib.md5((root / name).read_bytes()).hexdigest() != digest:
            fail(f"{package}: {name} is damaged")
    documents = {path.name for path in (root / "usr/share/doc/roundelay").iterdir()}
    if not {"copyright", "changelog.gz", "schemas", NOTICES} <= documents:
        fail(f"{package}: documents are missing: {sorted(documents)}")
    verify_notices(package, (root / "usr/share/doc/roundelay" / NOTICES).read_text(), "roundelay-cli")
    run(*dpkg, "--purge", "roundelay")
    left = [path for path in (root / "usr").rglob("*") if path.is_file()]
    if left:
        fail(f"{package}: leaves {left} behind")
    print(f"{package.name}: installs, runs and goes without a trace; {len(pages)} man pages, {len(COMPLETIONS)} completions")


def verify_archive(package: Path, folder: Path) -> None:
    run("tar", "--extract", "--gzip", "--file", package, "--directory", folder)
    unpacked = folder / package.name.removesuffix(".tar.gz")
    if run(unpacked / "roundelay", "--version") != f"roundelay {version()}\n":
        fail(f"{package}: another version")
    missing = [name for name in [*DOCUMENTS, NOTICES] if not (unpacked / name).is_file()]
    if missing:
        fail(f"{package}: lacks {missing}")
    verify_notices(package, (unpacked / NOTICES).read_text(), "roundelay-cli")
    print(f"{package.name}: runs where it is unpacked")


def verify_wheel(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        (module,) = [name for name in names if name.endswith(".so")]
        file.extract(module, folder)
        texts = [file.read(name).decode() for name in names if name.endswith(f"licenses/{NOTICES}")]
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
        if not any(name.endswith(f"licenses/{licence}") for name in names):
            fail(f"{wheel}: lacks {licence}")
    verify_notices(wheel, "".join(texts), "roundelay-python")
    allowed = LIBC
    if "musllinux" in wheel.name:
        allowed = {"libc.so", f"libc.musl-{machine()}.so.1"}
    others = needed(folder / module) - allowed
    if others:
        fail(f"{wheel}: its module needs {sorted(others)}")
    print(f"{wheel.name}: needs {', '.join(sorted(needed(folder / module)))}")
    if "manylinux" in wheel.name:
        use(wheel, folder / "environment")


#: What a first user of the package does.
FIRST_USE = """
import roundelay as rd
print(rd.__version__, rd.compare("examples/captures/home-downlink.pcap", "5mbit", ["fifo", "fq_codel"]).best)
"""


def use(wheel: Path, environment: Path) -> None:
    """Installs the wheel by itself and compares two disciplines with it."""
    run(sys.executable, "-m", "venv", environment)
    run(environment / "bin" / "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    said = run(environment / "bin" / "python", "-c", FIRST_USE)
    if said != f"{version()} fq_codel\n":
        fail(f"{wheel}: installed, it says {said!r}")
    print(f"{wheel.name}: installs and compares")


def main() -> None:
    match sys.argv[1:]:
        case ["check"]:
            check()
        case ["pack", folder]:
            pack(Path(folder).resolve())
        case ["verify", folder]:
            verify(Path(folder).resolve())
        case _:
            fail(f"expected check, pack FOLDER or verify FOLDER\n{__doc__}")


if __name__ == "__main__":
    main()
