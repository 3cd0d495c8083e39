"""What a Chinese value has to be: each kind is a function that tidies a text, or says None."""

from collections.abc import Mapping
from types import MappingProxyType

from memgraph.llm.offline import chinese_likes, chinese_people
from memgraph.llm.offline.chinese_text import plain, short
from memgraph.llm.offline.finding import Kind

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": plain,
        "short": short,
        "name": chinese_people.name,
        "surnamed": chinese_people.surnamed,
        "pet_name": chinese_people.pet_name,
        "place": chinese_people.place,
        "homeland": chinese_people.homeland,
        "organisation": chinese_people.organisation,
        "city": chinese_people.city,
        "school": chinese_people.school,
        "business": chinese_people.business,
        "job": chinese_people.job,
        "self": chinese_people.self,
        "possession": chinese_people.possession,
        "relation": chinese_people.relation,
        "pet": chinese_people.pet,
        "thing": chinese_likes.thing,
        "named": chinese_likes.named,
        "label": chinese_likes.label,
        "languages": chinese_likes.languages,
        "tools": chinese_likes.tools,
        "pastime": chinese_likes.pastime,
        "aim": chinese_likes.aim,
        "aim_said": chinese_likes.aim_said,
        "lesson": chinese_likes.lesson,
        "project": chinese_likes.project,
        "habit": chinese_likes.habit,
    }
)
"""A rule names a kind for each of its values."""
