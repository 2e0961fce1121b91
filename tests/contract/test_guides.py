"""The examples of the guides run as they stand, as scripts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from escapade.certificate import bounded, certifier, rules, scale
from escapade.curvature import finding
from escapade.derivatives import measure
from escapade.methods.auto import through_noise

DOCS = Path(__file__).parents[2] / "docs"


def examples(guide):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / guide).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


SAYS = {
    "workers.md": "success     True",
    "failures.md": "ArithmeticError",
    "lockstep.md": "32, 32 certified",
    "ask_tell.md": "success     True",
    "journal.md": "journal     ",
    "certificates.md": "verdict     minimum",
    "auto.md": "success     True",
    "bounds.md": "strongly active",
    "gradients.md": "no certificate was asked for",
    "scale.md": "no gradient below",
    "noisy.md": "noise",
    "cost.md": "lets the search go on",
    "methods.md": "",
    "samples.md": "",
    "least_squares.md": "known to",
    "multistart.md": "distinct point",
    "promises.md": "too few digits",
    "integrations.md": "verdict     minimum",
    "structured.md": "[",
    "start.md": "verdict     saddle",
    "undecided.md": "no gradient below",
    "results.md": "escapade.run: auto ended after",
    "choosing.md": "queries without a certificate",
    "any_solver.md": "verdict     saddle",
    "molecules.md": "along 6 directions",
    "many_variables.md": "gradients and",
    "complexities.md": "ZO-SPIDER-NCF",
}


def test_no_guide_is_left_out():
    """That of the command line runs in test_cli.py."""
    assert {path.name for path in DOCS.glob("*.md") if examples(path.name)} - {"command_line.md"} == set(SAYS)


@pytest.mark.parametrize(("guide", "says"), SAYS.items())
def test_the_examples_of_a_guide_run(guide, says, tmp_path):
    text = "\n".join(examples(guide))  # each goes on where the one before ended
    assert text
    script = tmp_path / "example.py"
    script.write_text(text)
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


REASONS = [
    *(finding.CONSTANT, finding.ROUGH, certifier.TOO_DEAR, measure.TOO_DEAR),
    *(rules.HESSIAN_JUMPS, scale.KINKED, scale.ROUGH),
    *(bounded.OUTWARD, bounded.UNCONFIRMED, bounded.INEXACT, bounded.LOST, through_noise.HIDDEN),
]


@pytest.mark.parametrize("reason", REASONS)
def test_the_page_on_undecided_has_every_reason(reason):
    page = " ".join((DOCS / "undecided.md").read_text(encoding="utf-8").split())
    known = re.split(r"[:,{(]", reason)[0].strip()
    assert known[:40] in page
