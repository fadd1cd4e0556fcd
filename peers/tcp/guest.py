"""Real TCP of a kernel in virtual time: boots qemu with the wires and the applications, and returns what its runs left."""

import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "target" / "peers"
sys.path.insert(0, str(HERE.parent / "linux"))

import virtual  # noqa: E402

PROGRAMS = ("tc", "ip", "nstat", "dash")
FAMILIES = ("sch_fq_codel", "sch_pie", "sch_htb", "sch_tbf", "sch_cake", "tcp_bbr", "virtio_pci", "virtio_console")


def pack(lines, work):
    """The guest's file system, with the list of runs."""
    root = work / "root"
    for folder in ("bin", "dev", "proc", "sys", "modules", "tmp", "run", "etc"):
        (root / folder).mkdir(parents=True)
    for program in PROGRAMS:
        virtual.copy_program(program, root)
    shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
    applets = subprocess.run([root / "bin" / "busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet not in ("busybox", "sh", *PROGRAMS):
            (root / "bin" / applet).symlink_to("busybox")
    (root / "bin" / "sh").symlink_to("dash")
    order = [*virtual.modules(BUILT / "kernel", FAMILIES), BUILT / "wire.ko"]
    for module in order:
        shutil.copy(module, root / "modules" / module.name)
    (root / "modules" / "order").write_text("".join(f"{module.name}\n" for module in order))
    shutil.copy(BUILT / "traffic", root / "bin" / "traffic")
    (root / "runs").write_text(lines)
    shutil.copy(HERE / "init.sh", root / "init")
    (root / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    archive = work / "root.cpio"
    with archive.open("wb") as file:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=root, input=names.encode(), stdout=file, stderr=subprocess.DEVNULL, check=True)
    return archive


def boot(lines, seconds, out):
    """Runs the lines in the guest, and leaves the files of each run in the folder `out`."""
    [kernel] = (BUILT / "kernel" / "boot").glob("vmlinuz-*")
    with tempfile.TemporaryDirectory(prefix="roundelay-tcp-") as directory:
        work = pathlib.Path(directory)
        archive, results, console = pack(lines, work), work / "results", work / "console"
        run = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "max", "-machine", "q35", "-m", "1024", "-smp", "1", "-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]
        run += ["-display", "none", "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", archive]
        run += ["-append", "console=ttyS0 panic=-1 mitigations=off ipv6.disable=1 quiet", "-serial", f"file:{console}"]
        run += ["-device", "virtio-serial", "-chardev", f"file,id=results,path={results}", "-device", "virtserialport,chardev=results,name=results"]
        try:
            subprocess.run(run, stdin=subprocess.DEVNULL, timeout=seconds, check=True)
        except subprocess.TimeoutExpired:
            sys.exit(f"the guest did not end within {seconds} s:\n{console.read_text(errors='replace')[-3000:]}")
        said = console.read_text(errors="replace")
        try:
            with tarfile.open(results) as files:
                files.extractall(out, filter="data")
        except tarfile.TarError:
            sys.exit(f"the guest left no results:\n{said[-3000:]}")
        messages = (pathlib.Path(out) / "messages").read_text()
        if messages or "traffic:" in said:
            print(f"the guest said:\n{messages}{said[-3000:]}", file=sys.stderr)
