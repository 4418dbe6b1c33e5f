"""No two owners share a key or the beginning of one, whatever characters their names have."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Key
from mcp_memory_server.domain.kernel.scope import MAX_ID_BYTES, Owner, OwnerKind, Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.user_versions import bump_version

FINGERPRINT = "0123456789ab"
JOINTS = st.sampled_from(["~", "#", "%", "/", "%7E", "%23", "~agent~", "~project~", "~team~", "~shared~", "USER#"])
IDS = (
    st.lists(
        st.one_of(JOINTS, st.sampled_from(["a", "ana", "bot", " ", "\x00", "é", "🦊"]), st.characters(codec="utf-8"))
    )
    .map("".join)
    .filter(lambda text: bool(text.strip()) and len(text.encode()) <= MAX_ID_BYTES)
)
OWNERS = st.one_of(
    IDS.map(Owner.user),
    IDS.map(Owner.team),
    IDS.map(Owner.shared),
    st.builds(Owner.agent, IDS, IDS),
    st.builds(Owner.project, IDS, IDS),
)


def keys_of(owner: Owner, topic: str = "work") -> list[Key]:
    """Return the keys of everything that an owner may have."""
    scope = Scope(owner.private_to or "somebody", remember_in=owner)
    return [
        keys.profile_key(scope),
        keys.fact_key(scope, FINGERPRINT),
        keys.legacy_fact_key(scope, topic),
        keys.possible_fact_key(scope, FINGERPRINT),
        keys.tombstone_key(scope, FINGERPRINT),
        Key(keys.topic_index(scope, topic), "index"),
    ]


@given(OWNERS, OWNERS)
def test_two_owners_share_no_key(one: Owner, other: Owner) -> None:
    partitions = {key.pk for key in keys_of(one)}

    assert one == other or partitions.isdisjoint(key.pk for key in keys_of(other))


@given(OWNERS, OWNERS, IDS)
def test_no_key_of_an_owner_begins_with_the_parts_of_another(one: Owner, other: Owner, topic: str) -> None:
    """What continues a key begins with "#", and names of agents and projects with "~"."""
    scope = Scope(one.private_to or "somebody", remember_in=one)
    start = keys.partition_of(scope)

    others = [key.pk for key in keys_of(other, topic)]

    assert one == other or not any(pk.startswith((f"{start}#", f"{start}~")) for pk in others)


@given(st.tuples(IDS, IDS, IDS))
def test_parts_that_are_shifted_from_one_name_into_the_next_name_another_owner(parts: tuple[str, str, str]) -> None:
    user, joint, name = parts
    shifted = {Owner.agent(user, f"{joint}{name}"[:40]), Owner.agent(f"{user}{joint}"[:40], name)}

    assert len({keys.owner_part(owner) for owner in shifted}) == len(shifted)


@given(IDS)
def test_a_user_has_the_keys_of_earlier_releases(user: str) -> None:
    scope = Scope(user)

    assert keys.partition_of(scope) == keys.user_partition(user) == f"USER#{keys.encoded(user)}"
    assert keys.topic_index(scope, "work") == f"TOPIC#{keys.encoded(user)}#work"
    assert INDEX_PARTITION not in bump_version(scope).set


@given(IDS, IDS, IDS)
def test_what_belongs_to_a_user_is_listed_for_that_user_alone(user: str, other: str, name: str) -> None:
    listed = bump_version(Scope(user, remember_in=Owner.agent(user, name))).set

    assert (listed[INDEX_PARTITION] == keys.owned_index(other)) == (user == other)
    assert listed[INDEX_SORT] == keys.owner_part(Owner.agent(user, name))


@given(OWNERS, IDS)
def test_a_scope_of_one_user_never_names_what_belongs_to_another(owner: Owner, user: str) -> None:
    try:
        scope = Scope(user, reads=(owner,))
    except InvalidRequestError:
        assert owner.private_to not in (None, user)
    else:
        assert owner.private_to in (None, user)
        assert (owner in scope.writable) == (owner.private_to == user)


@given(OWNERS)
def test_only_a_scope_of_its_own_writes_to_what_is_shared(owner: Owner) -> None:
    scope = Scope(owner.private_to or "ana", remember_in=owner)

    assert scope.writable == (owner,)
    assert (scope.remember_in is None) == (owner.kind is OwnerKind.USER)
