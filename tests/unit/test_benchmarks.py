"""Seeds for tuning, for benchmarks and for tests are disjoint; every tuned number tells where it is from."""

import importlib.util
import re
import runpy
from itertools import combinations
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_seeds_of_tests_benchmarks_and_tuning_are_disjoint():
    ranges = {name: value for name, value in vars(loaded("seeds")).items() if isinstance(value, range)}
    assert {"TESTS", "GOLDEN", "ABLATION", "AUTO"} <= set(ranges)
    for a, b in combinations(ranges, 2):
        assert not set(ranges[a]) & set(ranges[b]), (a, b)


@pytest.mark.parametrize(
    "name", ["ablation", "auto", "auto_truth", "golden", "methods", "missing", "ordinary", "s2mpj", "truth"]
)
def test_a_benchmark_takes_its_seeds_from_the_table(name):
    assert re.search(r"^from seeds import [A-Z]+$", (BENCHMARKS / f"{name}.py").read_text(), re.MULTILINE)


def test_only_the_ablation_takes_the_seeds_of_tuning():
    users = [path.stem for path in BENCHMARKS.glob("*.py") if "import ABLATION" in path.read_text()]
    assert users == ["ablation"]


def test_every_tuned_number_has_a_unit_a_reason_and_an_origin():
    listed = [one for _, one in loaded("tuned_numbers").settings()]
    assert len(listed) > 100
    for one in listed:
        assert one.unit, one
        assert one.reason, one
        assert one.origin, one


def test_every_other_number_is_exempt_for_a_reason():
    script = loaded("tuned_numbers")
    found = {(path, what) for path, _, what in script.elsewhere()}
    assert found == set(script.EXEMPT)
    assert all(script.EXEMPT.values())


def test_every_switch_of_the_ablation_finds_what_it_switches_off(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    switches = runpy.run_path(str(BENCHMARKS / "ablation.py"))["SWITCHES"]
    assert len(switches) > 10
    for switch in switches.values():
        with switch():
            pass
