"""The command ``roundelay``."""

import sys

from . import _native


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit status."""
    return _native.main(_native.__file__, ["roundelay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
