"""A command in a process of its own. If it fails, the last line of standard error is the failure as JSON."""

import json
import sys

from . import _native
from ._errors import RoundelayError


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit status."""
    try:
        return _native.attempt(_native.__file__, ["roundelay", *sys.argv[1:]])
    except RoundelayError as error:
        print(json.dumps(error.told), file=sys.stderr)
        return error.status


if __name__ == "__main__":
    sys.exit(main())
