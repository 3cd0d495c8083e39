"""Manual edits in any order with loads, saves, deletions and removals, by two FileStorages: nothing is ever lost."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from memgraph.errors import ForgottenError, RevisionConflictError, StorageError
from memgraph.models import MemoryDocument, Scope
from memgraph.storage.file import FileStorage

ADA = Scope("ada")
writers = st.sampled_from([0, 1])


class ManualEdits(RuleBasedStateMachine):
    """Every save and edit writes a unique note; a successful save is always based on the current note."""

    loaded = Bundle("loaded")

    @initialize()
    def start(self) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.document = self.base / "users" / "ada" / "memory.json"
        self.document.parent.mkdir(parents=True)
        self.instances = [FileStorage(self.base), FileStorage(self.base)]
        self.notes = itertools.count(1)
        self.pasted: list[bytes] = [b"{}"]
        self.deletions = self.fence = 0

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    def note_on_disk(self) -> object:
        return json.loads(self.document.read_bytes()).get("note") if self.document.exists() else None

    @rule(target=loaded, who=writers)
    def load(self, who: int) -> tuple[MemoryDocument, int]:
        memory = self.instances[who].load(ADA)
        assert (memory.model_extra or {}).get("note") == self.note_on_disk()
        return memory, self.deletions

    @rule(who=writers, given=loaded)
    def save(self, who: int, given: tuple[MemoryDocument, int]) -> None:
        memory, deletions = given
        there, note = self.note_on_disk(), next(self.notes)

        refusal = self.try_to_save(who, memory.model_copy(update={"note": note}))

        assert self.note_on_disk() == (there if refusal else note)
        assert refusal or there == (memory.model_extra or {}).get("note")
        if deletions < self.fence:
            assert refusal is ForgottenError

    def try_to_save(self, who: int, memory: MemoryDocument) -> type[StorageError] | None:
        try:
            self.instances[who].save(ADA, memory)
        except (ForgottenError, RevisionConflictError) as error:
            return type(error)
        return None

    @rule(who=writers)
    def load_and_save(self, who: int) -> None:
        """In any state, the next attempt succeeds."""
        note = next(self.notes)
        loaded = self.instances[who].load(ADA)
        self.instances[1 - who].save(ADA, loaded.model_copy(update={"note": note}))
        assert self.note_on_disk() == note
        self.pasted.append(self.document.read_bytes())

    @rule(who=writers)
    def delete(self, who: int) -> None:
        self.instances[who].delete(ADA)
        self.deletions += 1
        self.fence = self.deletions
        assert self.note_on_disk() is None

    @rule(revision=st.none() | st.integers(0, 12))
    def edit(self, revision: int | None) -> None:
        data = json.loads(self.document.read_bytes()) if self.document.exists() else {}
        changes = {"note": next(self.notes)} | ({} if revision is None else {"revision": revision})
        self.document.write_text(json.dumps(data | changes))

    @rule(data=st.data())
    def paste_an_older_one(self, data: st.DataObject) -> None:
        self.document.write_bytes(data.draw(st.sampled_from(self.pasted)))

    @rule()
    def remove(self) -> None:
        """This also removes the tombstone and its deletion."""
        self.document.unlink(missing_ok=True)
        self.fence = 0


ManualEdits.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestManualEdits = ManualEdits.TestCase
