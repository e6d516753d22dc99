"""The Merkle tree of a log (RFC 9162, section 2.1; RFC 6962): root hashes, inclusion and consistency proofs.

A tree of n leaves has one hash for every n. An inclusion proof shows that a leaf stands at an index of the tree with a
root; a consistency proof shows that the first m leaves of a tree are the leaves of an earlier one: nothing was removed,
changed or reordered. Both have at most about 2 log2(n) hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

_BYTES = 32
EMPTY_ROOT = hashlib.sha256().digest()
"""The root of the tree without leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf.

    Examples
    --------
    >>> leaf_hash(b"").hex()[:16]
    '6e340b9cffb37a98'
    """
    return hashlib.sha256(b"\0" + entry).digest()


def _node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


class Tree:
    r"""A tree that grows by hashes of leaves; it keeps the root of every complete subtree, 64 bytes for each leaf.

    Examples
    --------
    >>> tree = Tree(leaf_hash(bytes([n])) for n in range(5))
    >>> path = tree.inclusion(3, 5)
    >>> verify_inclusion(3, 5, leaf_hash(b"\x03"), path, tree.root())
    True
    >>> verify_consistency(2, 5, tree.root(2), tree.root(), tree.consistency(2, 5))
    True
    """

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels = [bytearray()]  # of level k: the roots of complete subtrees of 2^k leaves
        self.extend(leaves)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self._levels[0]) // _BYTES

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add hashes of leaves."""
        for leaf in leaves:
            node = leaf
            for level in self._levels:
                level.extend(node)
                if len(level) % (2 * _BYTES):
                    break
                node = hashlib.sha256(b"\1" + level[-2 * _BYTES :]).digest()
            else:
                self._levels.append(bytearray(node))

    def leaf(self, index: int) -> bytes:
        """Return the hash of a leaf, counted from 0."""
        return self._hash(index, index + 1)

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the tree, or of its first `size` leaves."""
        size = self.size if size is None else size
        self._check(0, size)
        return self._hash(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the proof that leaf `index` is in the tree of the first `size` leaves."""
        self._check(index, size - 1)
        return self._beside(index, size, lambda start, end: end - start == 1)[0]

    def consistency(self, first: int, size: int) -> list[bytes]:
        """Return the proof that the tree of the first `size` leaves begins with that of the first `first`."""
        self._check(first, size)
        if first in (0, size):
            return []
        path, start = self._beside(first - 1, size, lambda _, end: end == first)
        return [self._hash(start, first), *path] if start else path

    def _beside(self, index: int, size: int, is_reached: Callable[[int, int], bool]) -> tuple[list[bytes], int]:
        """Go from the root down to leaf `index`, as far as the wanted subtree.

        Returns the hashes beside the way, from the bottom up, and where the subtree starts.
        """
        start, end, found = 0, size, []
        while not is_reached(start, end):
            middle = start + _split(end - start)
            if index < middle:
                found.append(self._hash(middle, end))
                end = middle
            else:
                found.append(self._hash(start, middle))
                start = middle
        return found[::-1], start

    def _hash(self, start: int, end: int) -> bytes:
        """Root of the subtree over leaves from `start` to `end`, as the recursion of the RFC meets them."""
        length = end - start
        if not length & (length - 1):
            level = length.bit_length() - 1
            place = (start >> level) * _BYTES
            return bytes(self._levels[level][place : place + _BYTES])
        middle = start + _split(length)
        return _node_hash(self._hash(start, middle), self._hash(middle, end))

    def _check(self, inside: int, size: int) -> None:
        if not 0 <= inside <= size <= self.size:
            raise IndexError("the tree has no such leaves")


def _split(length: int) -> int:
    """The largest power of two below `length`, which is at least 2."""
    return 1 << ((length - 1).bit_length() - 1)


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Return whether a proof shows that a leaf is at `index` of the tree of `size` leaves (RFC 9162, 2.1.3.2).

    Parameters
    ----------
    index
        Counted from 0.
    """
    if not 0 <= index < size or any(len(node) != _BYTES for node in (leaf, root, *proof)):
        return False
    return _climbed(index, size - 1, leaf, leaf, proof)[1:] == (True, root)


def verify_consistency(first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether a proof shows that one tree begins with another (RFC 9162, 2.1.4.2).

    Parameters
    ----------
    first, second
        Numbers of leaves of the earlier and of the later tree.
    proof
        Hashes, from the bottom up; none for trees of one size, and for an earlier one without leaves.
    """
    if any(len(node) != _BYTES for node in (first_root, second_root, *proof)) or not 0 <= first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    if not first:
        return not proof and first_root == EMPTY_ROOT
    nodes = list(proof)
    if not first & (first - 1):
        nodes.insert(0, first_root)
    if not nodes:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    return _climbed(place, last, nodes[0], nodes[0], nodes[1:]) == (first_root, True, second_root)


def _climbed(place: int, last: int, old: bytes, new: bytes, nodes: Sequence[bytes]) -> tuple[bytes, bool, bytes]:
    """Hash up to the root, from node `place` of a level whose last node is `last`.

    The first result counts only nodes to the left, as the tree that ended at `place` had them; the second tells
    whether the nodes were as many as there are.
    """
    for node in nodes:
        if not last:
            return old, False, new
        if place & 1 or place == last:
            old, new = _node_hash(node, old), _node_hash(node, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = _node_hash(new, node)
        place, last = place >> 1, last >> 1
    return old, not last, new
