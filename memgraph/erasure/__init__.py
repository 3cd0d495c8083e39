"""Erasing a user: everything that is kept of one, in all places, with a receipt of what was removed where."""

from memgraph.erasure.erase import ErasedPlace, ErasureReceipt, erase_user, open_places

__all__ = ["ErasedPlace", "ErasureReceipt", "erase_user", "open_places"]
