"""The standards' own vectors: RFC 6962 and RFC 9162 trees and proofs, DSSE, signed notes, checkpoints, cosignatures."""

# ruff: noqa: E501

from __future__ import annotations

import base64
import hashlib
import json
from itertools import product
from typing import Any

import pytest

from dpdb.receipts.merkle import EMPTY_ROOT, Tree, leaf_hash, verify_consistency, verify_inclusion
from dpdb.receipts.notes import (
    COSIGNATURE,
    Checkpoint,
    NoteError,
    NoteKey,
    cosign,
    cosigned_at,
    open_checkpoint,
    open_note,
    parse_checkpoint,
    parse_vkey,
    public_of,
    sign_checkpoint,
    sign_note,
    signature,
)
from dpdb.receipts.statement import EnvelopeError, accepted_keys, envelope, pae

# Numbers of certificate-transparency's reference trees, as in transparency-dev/merkle, proof/verify_test.go.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
A, B, C, D, E, F, G, H, I_ = (
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
    ROOTS[1],
    ROOTS[0],
)
INCLUSION = [
    (1, 1, []),
    (1, 8, [A, B, C]),
    (6, 8, [D, E, ROOTS[3]]),
    (3, 3, [H]),
    (2, 5, [I_, B, D]),
]  # leaf from 1, size, proof
CONSISTENCY = [
    (1, 1, []),
    (1, 8, [A, B, C]),
    (6, 8, [F, E, ROOTS[3]]),
    (2, 5, [B, D]),
    (6, 7, [F, G, ROOTS[3]]),
]
SOME = bytes.fromhex("abacaba000000000000000000000000000000000000000000060061e00123456")

# RFC 8032, section 7.1, tests 1 and 2: the keys of DSSE's testvectors/vectors.json.
SEEDS = {
    "A": "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "B": "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
}
TYPE = "application/vnd.in-toto+json"
STATED = "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ=="
BY_A = "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA=="
BY_B = "c1+67/aT0yqEpwx8PsVY3MLHsj9D0CZ014/Fv/QlG59P+9CobUZ7xECJ/V3USG0Ob9CiE5LjReEZUzNF2l7eBw=="
SAFE = "P-_KHICeR7tI6S_YyejJTRtrXhcQyQ2LYPaL8h90KjC9qN8HU_svOQ6TuDOT1HIrsGW886DbWNWcCmX5twLrAw=="
OF_NON_ASCII = "xmSk/ug66ysT7ayhkCIjhAq42zgZXSsEWuzUaNL7w2eGAdF/NU6/fRXPtmfN+5DNSAs5/i2lUnHjbbjPsu0tAw=="
OF_EMPTY = "gSggCAaTLTYyRH6FIDBem6meyIynsYy8RTHVzwx9tnTb7Bg/1jMWnuVgI/gffqmbsC2VX5/jHfkkDqsj7CDbDg=="
DSSE: list[tuple[str, str, list[tuple[str, str | None]], list[str]]] = [
    (TYPE, STATED, [(BY_A, "A")], ["A"]),
    (TYPE, "-_-_Pj8=", [(SAFE, "A")], ["A"]),
    ("application/vnd.example.other+json", STATED, [(BY_A, "A")], []),
    ("application/vnd.exämple+json", STATED, [(OF_NON_ASCII, "A")], ["A"]),
    (TYPE, "", [(OF_EMPTY, "A")], ["A"]),
    (TYPE, STATED, [(BY_A, "A"), (BY_B, "B")], ["A", "B"]),
    (TYPE, STATED, [(BY_A, "A"), (BY_A, "A")], ["A"]),
    (TYPE, STATED, [(BY_A, None), (BY_B, None)], ["A", "B"]),
]

# golang.org/x/mod, sumdb/note/note_test.go.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
BY_PETER = (
    "\N{EM DASH} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    "\n"
)
BY_ENOCH = "\N{EM DASH} EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
# C2SP, tlog-cosignature.md: the checkpoint of tlog-checkpoint.md with a cosignature (its keys are not published).
COSIGNED = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""
# C2SP, signed-note.md.
ITALIAN = """\
Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
"""


@pytest.fixture
def tree() -> Tree:
    return Tree(leaf_hash(bytes.fromhex(leaf)) for leaf in LEAVES)


def unhexed(nodes: list[str]) -> list[bytes]:
    return [bytes.fromhex(node) for node in nodes]


def test_roots_are_those_of_the_reference(tree: Tree) -> None:
    assert [tree.root(size).hex() for size in range(9)] == [hashlib.sha256(b"").hexdigest(), *ROOTS]
    assert leaf_hash(b"L123456").hex() == "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"


@pytest.mark.parametrize(("leaf", "size", "proof"), INCLUSION)
def test_inclusion_proofs_are_those_of_the_reference(tree: Tree, leaf: int, size: int, proof: list[str]) -> None:
    hashed, root = leaf_hash(bytes.fromhex(LEAVES[leaf - 1])), bytes.fromhex(ROOTS[size - 1])
    assert tree.inclusion(leaf - 1, size) == unhexed(proof)
    assert verify_inclusion(leaf - 1, size, hashed, unhexed(proof), root)
    index, nodes = leaf - 1, unhexed(proof)
    corrupted: list[tuple[int, int, bytes, list[bytes], bytes]] = [
        *((other, size, hashed, nodes, root) for other in (index - 1, index + 1, index ^ 2)),
        *((index, other, hashed, nodes, root) for other in (size * 2, size // 2)),
        (index, size, b"WrongLeaf", nodes, root),
        *((index, size, hashed, nodes, other) for other in (EMPTY_ROOT, SOME)),
        *((index, size, hashed, [*nodes, other], root) for other in (b"", root)),
        *((index, size, hashed, [other, *nodes], root) for other in (b"", root)),
        *((index, size, hashed, flipped(nodes, place), root) for place in range(len(nodes))),
        *((index, size, hashed, nodes[:-1], root) for _ in nodes[:1]),
        *((index, size, hashed, [nodes[0], SOME, *nodes[1:]], root) for _ in nodes[1:2]),
    ]
    assert [case for case in corrupted if verify_inclusion(*case)] == []


@pytest.mark.parametrize(("first", "second", "proof"), CONSISTENCY)
def test_consistency_proofs_are_those_of_the_reference(tree: Tree, first: int, second: int, proof: list[str]) -> None:
    old, new, nodes = *unhexed([ROOTS[first - 1], ROOTS[second - 1]]), unhexed(proof)
    assert tree.consistency(first, second) == nodes
    assert verify_consistency(first, second, old, new, nodes)
    if not nodes:
        return
    corrupted: list[tuple[int, int, bytes, bytes, list[bytes]]] = [
        *((other, second, old, new, nodes) for other in (first - 1, first + 1, first ^ 2)),
        *((first, other, old, new, nodes) for other in (second * 2, second // 2)),
        (first, second, b"WrongRoot", new, nodes),
        (first, second, old, b"WrongRoot", nodes),
        (first, second, new, old, nodes),
        (first, second, old, new, []),
        *((first, second, old, new, [*nodes, other]) for other in (b"", old, new)),
        *((first, second, old, new, [other, *nodes]) for other in (b"", old, new, nodes[0])),
        (first, second, old, new, nodes[:-1]),
        *((first, second, old, new, flipped(nodes, place)) for place in range(len(nodes))),
    ]
    assert [case for case in corrupted if verify_consistency(*case)] == []


def flipped(nodes: list[bytes], place: int) -> list[bytes]:
    return [bytes([node[0] ^ 8, *node[1:]]) if each == place else node for each, node in enumerate(nodes)]


def plain_root(leaves: list[bytes]) -> bytes:
    """The definition of RFC 9162, 2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = max(2**power for power in range(10) if 2**power < len(leaves))
    return hashlib.sha256(b"\1" + plain_root(leaves[:split]) + plain_root(leaves[split:])).digest()


def test_every_proof_of_every_tree_holds_and_proves_nothing_else() -> None:
    """All trees up to 33 leaves: each inclusion at each other index and size, each consistency with each other tree."""
    leaves = [leaf_hash(bytes([number])) for number in range(33)]
    tree, wrong = Tree(leaves), 0
    roots = [plain_root(leaves[:size]) for size in range(34)]
    assert [tree.root(size) for size in range(34)] == roots
    for size in range(1, 34):
        for index in range(size):
            proof = tree.inclusion(index, size)
            assert verify_inclusion(index, size, leaves[index], proof, roots[size])
            wrong += sum(verify_inclusion(other, size, leaves[index], proof, roots[size]) for other in range(33))
            wrong -= 1
            wrong += sum(
                verify_inclusion(index, size, leaves[index], proof, roots[other])
                for other in range(34)
                if other != size
            )
    for first, second in product(range(34), repeat=2):
        if first <= second:
            proof = tree.consistency(first, second)
            assert verify_consistency(first, second, roots[first], roots[second], proof)
            wrong += sum(
                verify_consistency(first, second, roots[other], roots[second], proof)
                for other in range(34)
                if other != first
            )
    assert wrong == 0


def test_a_removed_or_moved_leaf_is_refused_by_every_later_proof() -> None:
    """Whoever rewrites a log of 20 lines can prove it consistent with no checkpoint behind the first changed line."""
    leaves = [leaf_hash(bytes([number])) for number in range(20)]
    true, refused = Tree(leaves), 0
    removed = [[*leaves[:at], *leaves[at + 1 :]] for at in range(20)]
    moved = []
    for a, b in product(range(20), repeat=2):
        if a < b:
            other = list(leaves)
            other[a], other[b] = other[b], other[a]
            moved.append(other)
    for rewritten in [*removed, *moved]:
        changed = next((at for at, (old, new) in enumerate(zip(leaves, rewritten, strict=False)) if old != new), 19)
        other = Tree([*rewritten, *leaves])
        for size in range(1, 21):
            proof = other.consistency(size, other.size)
            is_old = verify_consistency(size, other.size, true.root(size), other.root(), proof)
            assert is_old == (size <= changed)
            refused += not is_old
    print(f"{len(removed)} removed leaves and {len(moved)} exchanged ones: {refused} checkpoints refuse them")


def test_dsse_signs_what_the_protocol_says() -> None:
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@pytest.mark.parametrize(("kind", "payload", "signatures", "accepted"), DSSE)
def test_dsse_vectors(kind: str, payload: str, signatures: list[tuple[str, str | None]], accepted: list[str]) -> None:
    publics = {name: public_of(bytes.fromhex(seed)) for name, seed in SEEDS.items()}
    signed: list[dict[str, Any]] = [
        {"sig": sig} | ({} if name is None else {"keyid": name}) for sig, name in signatures
    ]
    found = accepted_keys({"payload": payload, "payloadType": kind, "signatures": signed}, publics)
    assert sorted(found[2]) == accepted
    assert found[0] == kind
    assert found[1] == base64.urlsafe_b64decode(payload.replace("+", "-").replace("/", "_"))


def test_our_envelope_is_that_of_dsse() -> None:
    payload = base64.b64decode(STATED)
    made = envelope(TYPE, payload, signature(bytes.fromhex(SEEDS["A"]), pae(TYPE, payload)), "A")
    assert made == {"payload": STATED, "payloadType": TYPE, "signatures": [{"keyid": "A", "sig": BY_A}]}


@pytest.mark.parametrize("found", [None, [], {}, {"signatures": []}, {"signatures": [{"sig": "!"}], "payload": ""}])
def test_what_is_no_envelope_is_refused(found: object) -> None:
    with pytest.raises(EnvelopeError):
        accepted_keys(found, {})


def test_notes_are_signed_as_go_signs_them() -> None:
    key = parse_vkey(PETER)
    assert key.vkey == PETER
    assert sign_note(TEXT, key, PETER_SEED) == f"{TEXT}\n{BY_PETER}"


def test_a_key_is_read_whole_or_not_at_all() -> None:
    parts = {PETER[start:end] for start in range(len(PETER) + 1) for end in range(start + 1, len(PETER) + 1)} - {PETER}
    changed = {f"{PETER[:at]}{chr(ord(PETER[at]) + 1)}{PETER[at + 1 :]}" for at in range(len(PETER))}
    changed |= {
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    }
    for text in parts | changed:
        with pytest.raises(NoteError):
            parse_vkey(text)


def test_notes_are_opened_as_go_opens_them() -> None:
    peter, enoch, both = parse_vkey(PETER), parse_vkey(ENOCH), f"{TEXT}\n{BY_PETER}{BY_ENOCH}"
    text, verified, unknown = open_note(both, [peter])
    assert (text, [one.name for one in verified], [one.name for one in unknown]) == (TEXT, [peter.name], [enoch.name])
    assert [one.line for one in (*verified, *unknown)] == [BY_PETER, BY_ENOCH]
    assert len(open_note(both, [peter, enoch])[1]) == 2
    assert open_note(both, [])[1] == []
    assert len(open_note(f"{TEXT}\n{BY_PETER}{BY_PETER}{BY_ENOCH}", [peter])[1]) == 1


@pytest.mark.parametrize(
    "note",
    [
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{BY_PETER[:-1]}",
        f"\x01{TEXT}\n{BY_PETER}",
        f"{TEXT}\n— Bad Name x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
        f"{TEXT}\n{BY_PETER}Unexpected line.\n",
        f"{TEXT}\n{BY_PETER * 101}",
        f"{TEXT}\n{BY_PETER[:60]}ABCD{BY_PETER[60:]}",
    ],
)
def test_malformed_notes_and_wrong_signatures_are_refused(note: str) -> None:
    with pytest.raises(NoteError):
        open_note(note, [parse_vkey(PETER)])


def test_the_examples_of_c2sp_are_read() -> None:
    text, _, unknown = open_note(COSIGNED, [])
    assert [one.name for one in unknown] == ["example.com/behind-the-sofa", "witness.example.com/w1"]
    assert int.from_bytes(unknown[1].signature[:8], "big") == 1679315147
    assert len(unknown[1].signature) == 72
    checkpoint = parse_checkpoint(text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.text == text
    poem, _, [signed] = open_note(ITALIAN, [])
    assert poem.count("\n") == 4
    assert signed.name == "quasimodo.example/salvatore"


@pytest.mark.parametrize(
    "text",
    [
        "", "log\n", "log\n1\n", f"\n1\n{base64.b64encode(SOME).decode()}\n", f"log\n01\n{base64.b64encode(SOME).decode()}\n",
        f"log\n-1\n{base64.b64encode(SOME).decode()}\n", "log\n1\nAAAA\n", f"log\n1\n{base64.b64encode(SOME).decode()}",
        f"log\n1\n{base64.b64encode(SOME).decode()}\n\nmore\n", f"log\n{2**63}\n{base64.b64encode(SOME).decode()}\n",
        f"log\n1\n{base64.b64encode(SOME).decode()[:-2]}B=\n",
    ],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        parse_checkpoint(text)


def test_a_checkpoint_is_signed_as_its_log_and_cosigned_by_a_witness() -> None:
    seed, his = bytes.fromhex(SEEDS["A"]), bytes.fromhex(SEEDS["B"])
    checkpoint = Checkpoint("example.org/log", 7, SOME)
    note = sign_checkpoint(checkpoint, seed, public_of(seed))
    witness = NoteKey("witness.example.org", public_of(his), COSIGNATURE)
    cosigned = cosign(note, witness, his, 1_700_000_000)
    for each in (note, cosigned):
        assert open_checkpoint(each, [public_of(seed)]) == checkpoint
        with pytest.raises(NoteError):
            open_checkpoint(each, [public_of(his)])
    assert cosigned_at(note, witness) is None
    assert cosigned_at(cosigned, witness) == 1_700_000_000
    # The signed message of tlog-cosignature.md, by its text.
    signed = base64.b64decode(cosigned.splitlines()[-1].rpartition(" ")[2])[12:]
    message = f"cosignature/v1\ntime 1700000000\n{checkpoint.text}".encode()
    assert signed == signature(his, message)
    assert NoteKey(checkpoint.origin, public_of(seed)).name == checkpoint.origin
    for later in (1_700_000_001, 0):
        line = base64.b64decode(cosigned.splitlines()[-1].rpartition(" ")[2])
        forged = base64.b64encode(line[:4] + later.to_bytes(8, "big") + line[12:]).decode()
        with pytest.raises(NoteError):
            cosigned_at(f"{note}— {witness.name} {forged}\n", witness)


def test_the_vectors_are_json_of_dsse() -> None:
    """An envelope as `json` writes it is read back as it was."""
    made = envelope(TYPE, b"{}", b"x" * 64, "A")
    assert accepted_keys(json.loads(json.dumps(made)), {}) == (TYPE, b"{}", [])
