"""A kernel in virtual time: qemu counts instructions in place of seconds, so that a qdisc decides some microseconds after the ideal time, whatever else the host does."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "target" / "peers"
# Folders of kernels below BUILT: Debian's of the machine's own release, and the newest of its backports.
KERNEL, NEWEST = "kernel", "newest"
# Programs of the guest beside busybox, whose own shell and tc are others.
PROGRAMS = ("tc", "ip", "dash")
# Modules that a qdisc needs are found by depmod; these are loaded if the kernel has them.
FAMILIES = ("sch_", "cls_", "act_gact", "act_mirred", "ifb", "dummy")


def modules(image, families):
    """The paths of the modules of some families in an order in which each comes after those that it needs."""
    [folder] = (image / "lib" / "modules").iterdir()
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        module, _, others = line.partition(":")
        needs[module] = others.split()
    order = []
    for module in sorted(needs):
        if pathlib.Path(module).name.startswith(families):
            order += [path for path in [*reversed(needs[module]), module] if path not in order]
    return [folder / path for path in order]


def copy_program(program, root):
    """A program and the libraries that it is linked with."""
    found = shutil.which(program)
    if not found:
        sys.exit(f"{program} is missing: make setup-qemu")
    shutil.copy(found, root / "bin" / program)
    listed = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
    for word in listed.split():
        if word.startswith("/"):
            (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, root / word[1:])


def release(kernel):
    """The release of one of the kernels."""
    [folder] = (BUILT / kernel / "lib" / "modules").iterdir()
    return folder.name


def file_system(work, programs, families, own_modules, init, kernel=KERNEL):
    """A guest's file system: busybox and other programs, modules with the order in which they are loaded, and its init process. Modules of our own are loaded last, or in the place of those of their names."""
    root = work / "root"
    for folder in ("bin", "dev", "proc", "sys", "modules", "tmp"):
        (root / folder).mkdir(parents=True)
    for program in programs:
        copy_program(program, root)
    shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
    applets = subprocess.run([root / "bin" / "busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet not in ("busybox", "sh", *programs):
            (root / "bin" / applet).symlink_to("busybox")
    (root / "bin" / "sh").symlink_to("dash")
    own = {module.name: module for module in own_modules}
    order = [own.pop(module.name, module) for module in modules(BUILT / kernel, families)]
    order += own.values()
    for module in order:
        shutil.copy(module, root / "modules" / module.name)
    (root / "modules" / "order").write_text("".join(f"{module.name}\n" for module in order))
    shutil.copy(init, root / "init")
    (root / "init").chmod(0o755)
    return root


def archive(root):
    """The archive of a file system, beside it."""
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    path = root.parent / "root.cpio"
    with path.open("wb") as file:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=root, input=names.encode(), stdout=file, stderr=subprocess.DEVNULL, check=True)
    return path


def run_guest(root, shift, memory, console, more, seconds, kernel=KERNEL, seed=1):
    """Runs a guest to its end: an instruction takes 2^shift ns. Its random numbers follow from the seed. On a busy host it may take ten times as long as `seconds`, those of an idle one."""
    [image] = (BUILT / kernel / "boot").glob("vmlinuz-*")
    run = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-icount", f"shift={shift},sleep=off", "-cpu", "max", "-machine", "q35", "-m", str(memory), "-smp", "1", "-rtc", "base=2026-01-01,clock=vm", "-seed", str(seed)]
    run += ["-display", "none", "-no-reboot", "-nic", "none", "-kernel", image, "-initrd", archive(root)]
    run += ["-append", "console=ttyS0 panic=-1 mitigations=off ipv6.disable=1 quiet", "-serial", f"file:{console}", *more]
    try:
        subprocess.run(run, stdin=subprocess.DEVNULL, timeout=10 * seconds, check=True)
    except subprocess.TimeoutExpired:
        sys.exit(f"the guest did not end within {10 * seconds} s:\n{console.read_text(errors='replace')[-3000:]}")


def boot(cases, seconds, files=None, kernel=KERNEL, known=False, seed=1):
    """Runs cases in the guest, with files in its folder `files` by name, and returns the lines of their results. With `known` the random numbers of PIE are a known sequence."""
    built = BUILT / "modules" / kernel
    own = [built / "link.ko", *([built / "sch_pie.ko"] if known else [])]
    with tempfile.TemporaryDirectory(prefix="roundelay-virtual-") as directory:
        work = pathlib.Path(directory)
        results, console = work / "results", work / "console"
        root = file_system(work, PROGRAMS, FAMILIES, own, HERE / "virtual" / "init.sh", kernel)
        (root / "files").mkdir()
        for name, text in (files or {}).items():
            (root / "files" / name).write_text(text)
        # Scripts name tc by its path.
        (root / "usr").mkdir(exist_ok=True)
        (root / "usr" / "sbin").symlink_to("/bin")
        shutil.copy(BUILT / "timed", root / "bin" / "timed")
        (root / "cases").write_text(cases)
        run_guest(root, 1, 512, console, ["-serial", f"file:{results}"], seconds, kernel, seed)
        lines = results.read_text(errors="replace").splitlines()
        if not lines or lines[-1] != "status 0":
            last = "\n".join(lines[-20:])
            sys.exit(f"the guest's work failed:\n{last}\n{console.read_text(errors='replace')[-3000:]}")
        return [line for line in lines if not line.startswith(("message ", "kernel ", "status "))]


if __name__ == "__main__":
    print("\n".join(boot(pathlib.Path(sys.argv[1]).read_text(), int(os.environ.get("SECONDS_OF_HOST", "600")))))
