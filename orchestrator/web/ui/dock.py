"""What stands below a page and stays as it is while the page is drawn anew: forms in which somebody is typing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orchestrator.web.ui import kit

Draw = Callable[[bool], None]
"""Makes a part's elements; whether it is to be open already."""


class Dock:
    """Parts by key. A page names those it wants each time it is drawn; one of a key that is there already is left alone.

    Nothing is made before it may be shown: at the present of an office that runs here things can be done, otherwise not.
    """

    def __init__(self) -> None:
        self._box = kit.box("dock", test="dock")
        self._wanted: dict[str, Draw] = {}
        self._parts: dict[str, kit.Tag] = {}
        self._open = False
        self.kept: dict[str, str] = {}
        """What was chosen last, for the next time: as whom, say."""
        self._show()

    def put(self, key: str, draw: Draw) -> None:
        """Want a part; `draw` makes its elements where it is not there yet. Within `filled` only."""
        self._wanted[key] = draw

    @contextmanager
    def filled(self) -> Iterator[None]:
        """While a page is drawn: what it did not want goes afterwards."""
        self._wanted = {}
        yield
        for key in self._parts.keys() - self._wanted.keys():
            self._parts.pop(key).delete()
        self._show()

    def clear(self) -> None:
        """Have nothing in it."""
        with self.filled():
            pass

    def again(self, key: str) -> None:
        """Make a part's elements anew, open: what was typed has been handed over, and more may follow."""
        part, draw = self._parts.get(key), self._wanted.get(key)
        if part is not None and draw is not None:
            part.clear()
            with part:
                draw(True)

    def let(self, may: bool) -> None:
        """Show it, or not."""
        if may != self._open:
            self._open = may
            self._show()

    def _show(self) -> None:
        shown = self._open and bool(self._wanted)
        self._box.set_visibility(shown)
        if not shown:
            return
        for key, draw in self._wanted.items():
            if key not in self._parts:
                with self._box:
                    self._parts[key] = kit.box("dock-part")
                with self._parts[key]:
                    draw(False)
