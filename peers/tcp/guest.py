"""Real TCP of a kernel in virtual time: boots qemu with the wires and the applications, and returns what its runs left."""

import pathlib
import shutil
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "target" / "peers"
sys.path.insert(0, str(HERE.parent / "linux"))

import virtual  # noqa: E402

PROGRAMS = ("tc", "ip", "nstat", "dash")
FAMILIES = ("sch_fq_codel", "sch_codel", "sch_pie", "sch_htb", "sch_tbf", "sch_cake", "tcp_bbr", "virtio_pci", "virtio_console")


def boot(lines, seconds, out):
    """Runs the lines in the guest, and leaves the files of each run in the folder `out`."""
    with tempfile.TemporaryDirectory(prefix="roundelay-tcp-") as directory:
        work = pathlib.Path(directory)
        results, console = work / "results", work / "console"
        root = virtual.file_system(work, PROGRAMS, FAMILIES, [BUILT / "wire.ko"], HERE / "init.sh")
        for folder in ("run", "etc"):
            (root / folder).mkdir(exist_ok=True)
        shutil.copy(BUILT / "traffic", root / "bin" / "traffic")
        (root / "runs").write_text(lines)
        port = ["-device", "virtio-serial", "-chardev", f"file,id=results,path={results}", "-device", "virtserialport,chardev=results,name=results"]
        virtual.run_guest(root, 0, 1024, console, port, seconds)
        said = console.read_text(errors="replace")
        try:
            with tarfile.open(results) as files:
                files.extractall(out, filter="data")
        except tarfile.TarError:
            sys.exit(f"the guest left no results:\n{said[-3000:]}")
        messages = (pathlib.Path(out) / "messages").read_text()
        if messages or "traffic:" in said:
            print(f"the guest said:\n{messages}{said[-3000:]}", file=sys.stderr)
