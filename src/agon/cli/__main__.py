"""`python -m agon.cli`: how the supervisor starts its children, with no need for a script on the path."""

import sys

from agon.cli import main

sys.exit(main())
