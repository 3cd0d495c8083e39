"""What an English value has to be: each kind is a function that tidies a text, or says None."""

from collections.abc import Mapping
from types import MappingProxyType

from memgraph.llm.offline import english_aims, english_likes, english_people, english_places
from memgraph.llm.offline.english_text import plain, short
from memgraph.llm.offline.finding import Kind

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": plain,
        "short": short,
        "rest": str,
        "name": english_people.name,
        "proper_name": english_people.proper_name,
        "job": english_people.job,
        "self": english_people.self,
        "possession": english_people.possession,
        "new_pet": english_people.new_pet,
        "relation": english_people.relation,
        "pet": english_people.pet,
        "date": english_people.date,
        "span": english_people.span,
        "place": english_places.place,
        "place_or_date": english_places.place_or_date,
        "organisation": english_places.organisation,
        "firm": english_places.firm,
        "team": english_places.team,
        "business": english_places.business,
        "field": english_places.field,
        "subject": english_places.subject,
        "thing": english_likes.thing,
        "wish": english_likes.wish,
        "allergen": english_likes.allergen,
        "illness": english_likes.illness,
        "choice": english_likes.choice,
        "named": english_likes.named,
        "label": english_likes.label,
        "pastime": english_likes.pastime,
        "languages": english_likes.languages,
        "tools": english_likes.tools,
        "skill": english_likes.skill,
        "products": english_likes.products,
        "fandom": english_likes.fandom,
        "aim": english_aims.aim,
        "aim_said": english_aims.aim_said,
        "occasion": english_aims.occasion,
        "lesson": english_aims.lesson,
        "project": english_aims.project,
        "habit": english_aims.habit,
        "third": english_aims.third,
    }
)
"""A rule names a kind for each of its values; `rest` is read on as a clause of its own."""
