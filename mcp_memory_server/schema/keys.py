"""The keys of all items in the table.

=========================  ===============  ===============================  =====================================
what                       pk               sk                               lives
=========================  ===============  ===============================  =====================================
version of a user          USER#<user>      PROFILE                          for ever; raised by every write
fact, current              USER#<user>      FACT#~<fingerprint>              for ever
fact, only possible        USER#<user>      FACT?#~<fp.>#<fingerprint>       for ever
fact, earlier versions     USER#<user>      PAST#~<fingerprint>#<valid_to>   for ever
forgotten                  USER#<user>      GONE#<fingerprint>               for ever
preference                 USER#<user>      PREF#<key, in lower case>        for ever
feedback, pattern          USER#<user>      NOTE#<kind>#<id>                 180 and 30 days
summary, folded by level   USER#<user>      SUM#<level>#<id>                 90 days; the profile for ever
spent on models in a day   USER#<user>      SPENT#<day>                      2 days
active chat                USER#<user>      #ACTIVE#<agent>                  for ever; empty between two chats
past chats                 USER#<user>      CHAT#<agent>#<ulid>              for ever
times each was returned    USER#<user>      USED                             90 days after the last
tool call                  TOOLS#<user>     <ulid>                           30 days
snapshot, of a framework   SNAP#<user>      see `snapshot_records`           90 days
state shared by agents     STATES#<user>    <session>                        a day after it was last written
epoch of cached sessions   COPIES           EPOCH                            for ever; one item of no user
spent by all in a day      SPENDING         <day>                            90 days; of no user
=========================  ===============  ===============================  =====================================

Facts, notes and the version above also belong to other owners: an agent or a project of a user, a team, shared
knowledge. Their partitions have the same items under ``USER#~agent~<user>~<name>``, ``USER#~project~<user>~<name>``,
``USER#~team~<name>`` and ``USER#~shared~<name>``, which no id of a user leads to: encoded ids have no ``~``. Sessions,
chats, summaries, preferences and costs are always a user's.

The key of a fact holds the fingerprint of its text, because a topic may have many facts. Releases up to 0.2 stored one
fact per topic, under ``FACT#<topic>``, ``FACT?#<topic>#<fingerprint>`` and ``PAST#<topic>#<valid_to>``. Those items
keep their keys and ids, and their history is stored beside them.

Ids may hold any characters. Each is encoded so that the separators of a key (``#``, ``/``, ``~``) never come from an
id: two different ids can share neither a key nor a key prefix.

The index lists a chat by its id (``CHAT#<user>#<chat id>``) and the tool calls of a session in the order of time
(``TOOLS#<user>#<session>``). The user is part of both, so that an id alone gives access to nothing. It lists summaries
by the day on which they are due to be folded (``FOLD#<day>``), and the current facts of a topic in the order in which
they were learned (``TOPIC#<user>#<topic, in lower case>``), except those stored by earlier releases. The versions of
a user's agents and projects are listed under ``OWNED#<user>``, so that they are erased with the user.
"""

import re
from datetime import UTC, date, datetime
from urllib.parse import unquote

from mcp_memory_server.domain.facts.fact import Standing
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.domain.kernel.scope import Owner, OwnerKind, Scope
from mcp_memory_server.domain.recall.memories import PREFERENCE_ID_PREFIX, SUMMARY_ID_PREFIX, Kind, StoredMemory

ACCESS = "USED"
ACTIVE_CHATS = "#ACTIVE#"
ANY_FACTS = "FACT"
CURRENT_FACTS = "FACT#"
POSSIBLE_FACTS = "FACT?#"
PAST_CHATS = "CHAT#"
PAST_FACTS = "PAST#"
FORGOTTEN = "GONE#"
NOTES = "NOTE#"
PREFERENCES = "PREF#"
PROFILE = "PROFILE"
SPENT = "SPENT#"
SUMMARIES = "SUM#"

COPIES_EPOCH = Key("COPIES", "EPOCH")

# All memories of a user lie in one key range, history included, so that one query reads all of them.
# "$" sorts right after "#". The range also holds some bookkeeping items.
USER_KEY_RANGE = (CURRENT_FACTS, "SUM$")
# Current facts stored under a topic sort before those under a fingerprint, or after them if the
# topic is in another script.
LEGACY_KEY_RANGES = ((CURRENT_FACTS, f"{CURRENT_FACTS}~"), (f"{CURRENT_FACTS}\x7f", "FACT$"))
BOOKKEEPING = (FORGOTTEN, PROFILE, SPENT)

_LEGACY_FACTS = (CURRENT_FACTS, POSSIBLE_FACTS, PAST_FACTS)
_FACTS_BY_FINGERPRINT = tuple(f"{place}~" for place in _LEGACY_FACTS)
_JOINING_SIGNS = re.compile(r"[\x00-\x20%#/~\x7f]")


def is_in_user_key_range(sk: str) -> bool:
    """Check whether the sort key is in the range that one query of a user's memories reads, tombstones included."""
    first, last = USER_KEY_RANGE
    return first <= sk <= last


def is_legacy_fact(sk: str) -> bool:
    """Check whether the sort key is that of a fact stored under its topic by an earlier release."""
    return sk.startswith(_LEGACY_FACTS) and not sk.startswith(_FACTS_BY_FINGERPRINT)


def holds_memory(sk: str) -> bool:
    """Check whether the sort key is that of a fact, preference or note, current or past."""
    return sk.startswith((CURRENT_FACTS, POSSIBLE_FACTS, PAST_FACTS, PREFERENCES, NOTES))


def user_partition(user_id: str) -> str:
    """Return the partition that holds the memories of one user, and what else belongs to the user."""
    return f"USER#{encoded(user_id)}"


def partition_of(scope: Scope) -> str:
    """Return the partition of the memories of the scope's owner."""
    return f"USER#{owner_part(scope.owner)}"


def owner_part(owner: Owner) -> str:
    """Return the part of a key that names an owner. That of a user is the encoded id, which never begins with "~"."""
    if owner.kind is OwnerKind.USER:
        return encoded(owner.name)
    names = [owner.name] if owner.user_id is None else [owner.user_id, owner.name]
    return "~".join(["", owner.kind.value, *map(encoded, names)])


def owned_index(user_id: str) -> str:
    """Return the index partition that lists the profiles of the agents and projects of a user."""
    return f"OWNED#{encoded(user_id)}"


def profile_key(scope: Scope) -> Key:
    """Return the key of the item with the user's version."""
    return Key(partition_of(scope), PROFILE)


def fact_key(scope: Scope, fingerprint: str) -> Key:
    """Return the key of the current fact with this fingerprint."""
    return Key(partition_of(scope), fact_place(fingerprint))


def fact_place(fingerprint: str) -> str:
    """Return the sort key of the current fact with this fingerprint."""
    return f"{CURRENT_FACTS}~{fingerprint}"


def legacy_fact_key(scope: Scope, topic: str) -> Key:
    """Return the key under which earlier releases stored the current fact of a topic."""
    return Key(partition_of(scope), CURRENT_FACTS + _topic_place(topic))


def possible_fact_key(scope: Scope, fingerprint: str) -> Key:
    """Return the key of a candidate: a statement that may be true."""
    return Key(partition_of(scope), possible_fact_place(fingerprint))


def possible_fact_place(fingerprint: str) -> str:
    """Return the sort key of a candidate: a statement that may be true."""
    return f"{POSSIBLE_FACTS}~{fingerprint}#{fingerprint}"


def past_fact_key(current: Key, valid_to: datetime) -> Key:
    """Return the key, as history until this moment, of the fact that is stored as current under the given key."""
    return Key(current.pk, f"{past_facts_prefix(current.sk)}{timestamp(valid_to)}")


def past_facts_prefix(current: str) -> str:
    """Return the prefix of the sort keys of all earlier versions of the fact with this sort key."""
    return f"{PAST_FACTS}{current.removeprefix(CURRENT_FACTS)}#"


def legacy_place_of(sk: str) -> str | None:
    """Return the sort key that an earlier release gave the current version of this fact; None for other items."""
    if not is_legacy_fact(sk) or sk.startswith(POSSIBLE_FACTS):
        return None
    return sk if sk.startswith(CURRENT_FACTS) else CURRENT_FACTS + sk.removeprefix(PAST_FACTS).rpartition("#")[0]


def memory_key(scope: Scope, memory: StoredMemory) -> Key:
    """Return the key under which a new memory is stored. Items of earlier releases may have another key."""
    fact = memory.fact
    if memory.kind is Kind.PREFERENCE:
        return preference_key(scope, memory.id.removeprefix(PREFERENCE_ID_PREFIX))
    if memory.kind is Kind.SUMMARY:
        level, _, name = memory.id.removeprefix(SUMMARY_ID_PREFIX).partition(":")
        return summary_key(scope, level, name)
    if fact is None:
        return note_key(scope, NoteKind(memory.kind.value), memory.id)
    if fact.standing is Standing.CANDIDATE:
        return possible_fact_key(scope, fact.fingerprint)
    current = fact_key(scope, fact.fingerprint)
    return current if fact.standing is Standing.CURRENT else past_fact_key(current, fact.valid_to or fact.valid_from)


def tombstone_key(scope: Scope, fingerprint: str) -> Key:
    """Return the key of the tombstone of a forgotten statement."""
    return Key(partition_of(scope), FORGOTTEN + fingerprint)


def preference_key(scope: Scope, key: str) -> Key:
    """Return the key of a preference. Keys that differ only in case name the same preference.

    Releases up to 0.2 stored each key as it was written.
    """
    return Key(user_partition(scope.user_id), PREFERENCES + encoded(key.casefold()))


def note_key(scope: Scope, kind: NoteKind, note_id: str) -> Key:
    """Return the key of a note."""
    return Key(partition_of(scope), f"{NOTES}{kind}#{encoded(note_id)}")


def summary_key(scope: Scope, level: str, summary_id: str) -> Key:
    """Return the key of a summary."""
    return Key(user_partition(scope.user_id), f"{SUMMARIES}{level}#{encoded(summary_id)}")


def topic_index(scope: Scope, topic: str) -> str:
    """Return the index partition that lists the current facts of a topic, whatever its case."""
    return f"TOPIC#{owner_part(scope.owner)}#{encoded(topic.casefold())}"


def fold_index(day: date) -> str:
    """Return the index partition that lists the summaries to fold on this day."""
    return f"FOLD#{day.isoformat()}"


def spent_key(scope: Scope | None, day: date) -> Key:
    """Return the key of the item that counts the cost of models on this day, for one user or for all together."""
    if scope is None:
        return Key("SPENDING", day.isoformat())
    return Key(user_partition(scope.user_id), f"{SPENT}{day.isoformat()}")


def active_chat_key(scope: Scope, agent: str) -> Key:
    """Return the key of the active chat of the user with the agent."""
    return Key(user_partition(scope.user_id), ACTIVE_CHATS + encoded(agent))


def past_chat_key(scope: Scope, agent: str, chat_id: str) -> Key:
    """Return the key of a past chat."""
    return Key(user_partition(scope.user_id), past_chats_prefix(agent) + encoded(chat_id))


def past_chats_prefix(agent: str) -> str:
    """Return the prefix of the sort keys of all past chats with an agent."""
    return f"{PAST_CHATS}{encoded(agent)}#"


def chat_index(scope: Scope, chat_id: str) -> str:
    """Return the index partition that lists a chat."""
    return f"CHAT#{encoded(scope.user_id)}#{encoded(chat_id)}"


def access_key(scope: Scope) -> Key:
    """Return the key of the item that counts how often memories of the user were returned."""
    return Key(user_partition(scope.user_id), ACCESS)


def tools_partition(user_id: str) -> str:
    """Return the partition that holds the tool calls made for a user."""
    return f"TOOLS#{encoded(user_id)}"


def tool_call_key(scope: Scope, call_id: str) -> Key:
    """Return the key of a tool call."""
    return Key(tools_partition(scope.user_id), encoded(call_id))


def tools_index(scope: Scope, session_id: str) -> str:
    """Return the index partition that lists the tool calls of a session."""
    return f"{tools_partition(scope.user_id)}#{encoded(session_id)}"


def snapshots_partition(user_id: str) -> str:
    """Return the partition that holds the snapshots of agent frameworks for a user."""
    return f"SNAP#{encoded(user_id)}"


def states_partition(user_id: str) -> str:
    """Return the partition that holds the states that agents share in the sessions of a user."""
    return f"STATES#{encoded(user_id)}"


def encoded(part: str) -> str:
    """Return the part with every separator of a key percent-encoded."""
    return _JOINING_SIGNS.sub(lambda sign: f"%{ord(sign.group()):02X}", part)


def decoded(part: str) -> str:
    """Return the original of an encoded part."""
    return unquote(part)


def user_of_partition(pk: str) -> str | None:
    """Return the user whose items a partition holds, None if they are nobody's."""
    _, separator, rest = pk.partition("#")
    part = rest.partition("#")[0]
    if part.startswith("~"):  # of an agent or a project of a user, or of a team and of nobody
        *user, _ = part.split("~")[2:]
        return decoded(user[0]) if user else None
    return decoded(part) if separator else None


def timestamp(moment: datetime) -> str:
    """Return the moment as text of a fixed width, so that text order is time order."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _topic_place(topic: str) -> str:
    return "/".join(encoded(part) for part in topic.split("/"))
