"""docs/paper.md tells what docs/paper.json says, and the records are what both are made from."""

import copy
import json
import re
from pathlib import Path

import pytest

from escapade.experiments import run
from escapade.experiments.page_md import PARTS, main, refreshed

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
SUMMARY = json.loads((DOCS / "paper.json").read_text(encoding="utf-8"))
RESULTS = PAGE[PAGE.index("## What was found") :]


def changed(value):
    """The same summary with every number of a median's triple, and every verdict, another one."""
    if isinstance(value, dict):
        return {name: changed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [changed(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    return value + 1 if isinstance(value, int | float) else value


def test_the_page_is_the_one_made_from_the_summary():
    assert refreshed(PAGE, SUMMARY) == PAGE
    assert set(re.findall(r"<!-- made: ([\w-]+) -->", PAGE)) == set(PARTS)


def test_what_is_told_of_results_outside_the_made_parts_has_no_number_and_no_verdict():
    prose = re.sub(r"<!-- made: ([\w-]+) -->.*?<!-- end: \1 -->", "", RESULTS, flags=re.DOTALL)
    prose = prose.replace("Neon2", "")
    assert not re.search(r"\d", prose), re.findall(r".*\d.*", prose)
    assert not re.search(r"does not hold|holds only|never", prose)


@pytest.mark.parametrize("name", sorted(set(PARTS) - {"claims", "failures", "finders"}))
def test_another_number_in_the_summary_is_another_page(name):
    assert PARTS[name](changed(SUMMARY)) != PARTS[name](SUMMARY)


def test_a_finder_that_is_first_is_told():
    other = copy.deepcopy(SUMMARY)
    for panel in other["panels"]:
        for label, curve in panel["curves"].items():
            if "ZO-NCF-Online" in label:
                curve["reached"] = [1, 1, 1]
    assert "Of 15 comparisons" in PARTS["finders"](other)
    assert "ZO-NCF-Online: 15; the minibatch finder: 0; neither: 0" in PARTS["finders"](other)


def test_another_verdict_in_the_summary_is_another_page():
    other = copy.deepcopy(SUMMARY)
    other["claims"][0]["verdict"] = "depends"
    other["failures"][0]["happened"] = "nothing"
    assert PARTS["claims"](other) != PARTS["claims"](SUMMARY)
    assert PARTS["failures"](other) != PARTS["failures"](SUMMARY)


def test_the_committed_summary_is_small_and_says_what_run_it_is_of():
    assert (DOCS / "paper.json").stat().st_size < 200_000
    assert isinstance(SUMMARY["quick"], bool)
    assert ("A quick run" in RESULTS) == SUMMARY["quick"]
    figures = {panel["figure"] for panel in SUMMARY["panels"]}
    assert figures == {"octopus", "neon2", "cubic", "least-squares"}


def test_every_verdict_of_the_summary_agrees_with_its_cases():
    for one in SUMMARY["claims"]:
        kept = [case[1] for case in one["cases"]]
        assert (one["answer"] == "does not hold") == (not any(kept))
        if one["answer"] == "holds":
            assert all(kept)


def test_a_run_writes_the_summary_that_the_page_is_made_from(tmp_path):
    outcome = run("neon2", quick=True, seeds=2, workers=1, budget=1500, out=tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    first = next(panel for panel in summary["panels"] if panel["panel"] == "d = 6")["curves"]["ZO-GD-NCF"]
    runs = [record for record in outcome.records if (record.panel, record.curve) == ("d = 6", "ZO-GD-NCF")]
    assert first["runs"] == len(runs) == 2
    assert first["nfev"][0] == sum(record.nfev for record in runs) / 2
    assert [one["verdict"] for one in summary["claims"]] == [one.verdict for one in outcome.verdicts]
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "paper.md").write_text("<!-- made: neon2 -->\n<!-- end: neon2 -->\n")
    main(str(tmp_path / "out"), str(docs))
    assert "ZO-GD-NCF" in (docs / "paper.md").read_text()
    assert json.loads((docs / "paper.json").read_text()) == summary


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="asks for a part 'moon'"):
        refreshed("<!-- made: moon -->\n<!-- end: moon -->", SUMMARY)
