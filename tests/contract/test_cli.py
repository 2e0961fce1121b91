"""The command line, called as users call it: results, exit codes, and one clear line for every error."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_array, save_npz

import escapade
from escapade.cli.app import run
from escapade.cli.catalogue import CATALOGUE
from escapade.cli.points import join_numbers, read_point
from escapade.theory import SINCE, TABLE, Constants

MODEL = '''
import sys
import numpy as np

def loss(x):
    return 0.5 * x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4

def rows(X):
    return 0.5 * X[:, 0] ** 2 - X[:, 1] ** 2 + 0.25 * X[:, 1] ** 4

def sampled(x, ids):
    return loss(x) + 0.1 * float(np.mean(np.sin(ids))) * x[0]

def noisy(x):
    return loss(x) + 1e-3 * np.random.default_rng().normal()

def chatty(x):
    print("a line from the function")
    return loss(x)

def raises(x):
    raise RuntimeError("the solver\\ndid not converge")

def far(x):
    if abs(x[1]) > 0.5:
        raise ValueError("too far")
    return loss(x)

def three(x):
    return float(x @ np.eye(3) @ x)

def leaves(x):
    sys.exit(0)

def nan(x):
    return float("nan")

def same(x):
    return x

def speaks(x):
    raise ValueError("pass gtol=3 and vectorized=True")

def words(x):
    return "much"

value = 3
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    files = {
        "model.py": MODEL,
        "syntax.py": "def f(x:\n",
        "imports.py": "import nothing_of_that_name\n",
        "leaves.py": "import sys\nsys.exit(0)\n",
        "x.csv": "0,0\n",
        "column.csv": "0\n0\n",
        "words.csv": "a,b\n1,2\n",
        "ragged.csv": "1,2\n3\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    np.save(folder / "x.npy", np.zeros(2))
    np.save(folder / "square.npy", np.zeros((2, 2)))
    return folder


@pytest.fixture
def command(folder):
    def call(*arguments, program=(sys.executable, "-m", "escapade"), **environment):
        return subprocess.run(
            [*program, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        )

    return call


# minimize and certify


def test_a_pattern_of_the_hessian_comes_from_a_file(command, folder):
    save_npz(folder / "pattern.npz", csc_array(np.eye(2)))
    np.savetxt(folder / "pattern.csv", np.ones((2, 2)), delimiter=",")
    done = command("certify", "model.py:loss", "--x", "0,1.41421356237", "--hess-sparsity", "pattern.npz")
    assert "sparse: second differences of" in done.stdout, done.stderr
    left = command("minimize", "model.py:loss", "--x0", "0,0", "--hess-sparsity", "pattern.csv", "--seed", "0")
    assert left.returncode == 0, left.stderr
    refused = command("certify", "model.py:loss", "--x", "1,0", "--hess-sparsity", "no.npz")
    assert refused.returncode == 2
    assert "is no file" in refused.stderr


def test_minimize_leaves_a_saddle_and_certify_says_what_both_points_are(command, folder):
    done = command(
        *("minimize", "model.py:loss", "--x0", "0,0", "--seed", "0", "-o", "result.json", "--plot", "run.png")
    )
    assert done.returncode == 0, done.stderr
    assert "success     True" in done.stdout
    saved = json.loads((folder / "result.json").read_text())
    assert saved["success"]
    assert saved["fun"] == pytest.approx(-1, abs=1e-6)
    assert (folder / "run.png").read_bytes().startswith(b"\x89PNG")
    end = command("certify", "model.py:loss", "--x", "result.json")
    assert end.returncode == 0
    assert "minimum" in end.stdout
    start = command("certify", "model.py:loss", "--x", "0", "0")
    assert start.returncode == 1
    assert "saddle" in start.stdout


def test_fit_says_how_well_parameters_are_known(command, folder):
    (folder / "fits.py").write_text(
        "import numpy as np\nt = np.linspace(0, 1, 9)\ny = 2 + 3 * t + 0.1 * np.sin(40 * t)\n"
        "def line(p):\n    return p[0] + p[1] * t - y\n"
    )
    done = command("fit", "fits.py:line", "--x0", "1", "1", "--seed", "0", "-o", "fit.json")
    assert done.returncode == 0, done.stderr
    assert re.search(r"x\[1\] +[23]\.\d+ \+- 0\.\d+", done.stdout)
    assert "known to" in done.stdout
    saved = json.loads((folder / "fit.json").read_text())
    assert len(saved["fun"]) == 9
    held = command("fit", "fits.py:line", "--x0", "1", "1", "--upper", "5", "1.5", "--loss", "huber", "--json")
    assert json.loads(held.stdout)["x"][1] == 1.5
    again = command("certify", "fits.py:line", "--x", "fit.json", "--residuals")
    assert again.returncode == 0, again.stderr
    assert "minimum" in again.stdout


def test_the_same_seed_gives_the_result_of_the_library(command):
    done = command("minimize", "model:loss", "--x0", "0", "0", "--method", "zo-gd-ncf", "--seed", "3", "--json")
    space = {}
    exec(MODEL, space)
    expected = json.loads(escapade.minimize(space["loss"], np.zeros(2), method="zo-gd-ncf", rng=3).to_json())
    found = json.loads(done.stdout)
    assert found["x"] == expected["x"]
    assert found["nfev_by_purpose"] == expected["nfev_by_purpose"]


def test_options_reach_the_library(command):
    done = command(
        *("minimize", "model.py:rows", "--vectorized", "--x0", "1e-1", "-1e-1", "--gtol", "1e-3", "--curvtol", "0.1"),
        *("--failure", "0.01", "--x-scale", "1", "2", "--noise", "auto", "--seed", "0", "--json"),
    )
    certificate = json.loads(done.stdout)["certificate"]
    assert [certificate[name] for name in ("gtol", "curvtol", "failure")] == pytest.approx([1e-3, 0.1, 0.01])
    assert certificate["scaled"]


@pytest.mark.parametrize(
    "limit", [("--maxfev", "20"), ("--maxiter", "1", "-m", "pagd"), ("--maxtime", "1e-9")], ids=lambda limit: limit[0]
)
def test_a_run_without_a_certificate_exits_with_one(command, limit):
    done = command("minimize", "model.py:loss", "--x0", "0.3,0.3", *limit)
    assert done.returncode == 1
    assert "success     False" in done.stdout


def test_a_sampled_function_is_minimised_and_drawn(command, folder):
    done = command(
        *("minimize", "model.py:sampled", "--x0", "0,0", "--samples", "100", "--gtol", "0.05", "--curvtol", "0.2"),
        *("--seed", "0", "--plot", "sampled.svg"),
    )
    assert done.returncode == 0, done.stderr
    assert "<svg" in (folder / "sampled.svg").read_text()


def test_a_certificate_rests_on_samples_or_on_the_whole_sum(command):
    line = ("certify", "model.py:sampled", "--x", "0,1.4142", "--samples", "4000", "--gtol", "0.05", "--curvtol", "0.2")
    kinds = {}
    for evidence in ("sampled", "whole"):
        seen = json.loads(command(*line, "--seed", "0", "--json", "--evidence", evidence).stdout)
        kinds[evidence] = "samples" in seen["trusted"]
    assert kinds == {"sampled": True, "whole": False}


def test_json_is_alone_on_stdout_whatever_the_function_prints(command):
    done = command("certify", "model.py:chatty", "--x", "0", "1.4142135623730951", "--json")
    assert json.loads(done.stdout)["verdict"] == "minimum"
    assert "a line from the function" in done.stderr


@pytest.mark.parametrize("point", ["x.csv", "column.csv", "x.npy", "0,0", "0 0", "[0, 0]"])
def test_points_come_from_the_line_or_a_file(folder, monkeypatch, point):
    monkeypatch.chdir(folder)
    assert np.array_equal(read_point(point, "--x"), np.zeros(2))


def test_numbers_after_the_option_are_its_own():
    line = ["minimize", "f.py:f", "--x0", "1", "-2", "3e-1", "--gtol", "1", "--x-scale", "1,", "2", "-q"]
    joined = ["minimize", "f.py:f", "--x0", "1,-2,3e-1", "--gtol", "1", "--x-scale", "1,,2", "-q"]
    assert join_numbers(line) == joined
    assert np.array_equal(read_point("1,,2", "--x-scale"), [1, 2])


def test_check_says_what_is_wrong_with_a_function(command):
    good = command("check", "model.py:loss", "--x0", "0.3,0.2", "--seed", "0")
    assert good.returncode == 0, good.stderr
    assert "the same point gives the same bits" in good.stdout
    bad = command("check", "model.py:noisy", "--x0", "0.3,0.2", "--seed", "0", "--json")
    assert bad.returncode == 1
    faults = [remark["topic"] for remark in json.loads(bad.stdout)["remarks"] if not remark["good"]]
    assert "repeats" in faults
    assert "or pass --noise auto." in bad.stdout


def test_problems_of_the_library_have_names_and_starts(command):
    done = command("minimize", "problem:rotated_octopus", "--seed", "0", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["fun"] == pytest.approx(escapade.problems.get("rotated_octopus").minimum)


def test_problems_of_samples_are_run_on_them(command):
    line = ("minimize", "problem:stochastic_cubic", "--method", "zo-sgd-ncf", "--maxfev", "100000", "--json")
    result = json.loads(command(*line, "--samples", "64").stdout)
    assert result["constants"]["sigma"] > 0
    assert "pass --samples" in command(*line).stderr


def test_a_function_that_fails_late_keeps_what_was_found(command, folder):
    done = command("minimize", "model.py:far", "--x0", "0,0", "--seed", "0", "-o", "far.json")
    assert done.returncode == 2
    assert "too far" in done.stderr
    assert json.loads((folder / "far.json").read_text())["stop"] == "USER_ERROR"


def test_a_function_that_fails_late_shows_what_was_found(command):
    done = command("minimize", "model.py:far", "--x0", "0,0", "--seed", "0")
    assert done.returncode == 2
    assert re.search(r"^x           \[.+\]$", done.stdout, re.MULTILINE)
    assert "The function failed; the best point is kept." in done.stdout
    assert done.stderr.startswith("error: the function raised ValueError: too far")
    assert len(done.stderr.splitlines()) == 1
    found = json.loads(command("minimize", "model.py:far", "--x0", "0,0", "--seed", "0", "--json").stdout)
    assert found["stop"] == "USER_ERROR"
    assert found["fun"] < 0


def test_a_journal_is_kept_gone_on_with_and_shown(command, folder):
    line = ("minimize", "problem:off_axis", "--seed", "0", "--journal", "run.db", "--json")
    cut = command(*line, "--maxfev", "40")
    assert cut.returncode == 1, cut.stderr
    done = command(*line)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["x"] == json.loads(command(*line[:4], "--json").stdout)["x"]
    shown = command("journal", "show", "run.db", "--plot", "journal.png")
    assert f"queries     {json.loads(done.stdout)['nfev']}" in shown.stdout
    assert (folder / "journal.png").read_bytes().startswith(b"\x89PNG")


def test_workers_find_a_function_in_another_folder(command, folder, tmp_path):
    (tmp_path / "elsewhere.py").write_text(MODEL)
    line = ("minimize", f"{tmp_path}/elsewhere.py:loss", "--x0", "0,0", "--seed", "0", "--json")
    there, here = (json.loads(command(*line, *more).stdout) for more in (("--workers", "2"), ()))
    assert there["x"] == here["x"]


def test_progress_is_shown_on_a_terminal(folder):
    line = [sys.executable, "-m", "escapade", "minimize", "model.py:loss", "--x0", "0,0", "--seed", "0"]
    ours, theirs = pty.openpty()
    shown, environment = b"", {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment):
        os.close(theirs)
        with contextlib.suppress(OSError):  # how a terminal ends
            while chunk := os.read(ours, 4096):
                shown += chunk
    os.close(ours)
    assert b"auto: 1 iterate, " in shown


# Errors: one line, exit code 2, no traceback

ERRORS = {
    "missing file": ("minimize nothing.py:f --x0 1", "nothing.py is no file"),
    "missing module": ("minimize nothing:f --x0 1", "no module 'nothing'"),
    "no function named": ("minimize model.py --x0 1", "names no function"),
    "no such function": ("minimize model.py:nothing --x0 1", "has no 'nothing'; it has loss, rows"),
    "not a function": ("minimize model.py:value --x0 1", "no function but int"),
    "syntax error": ("minimize syntax.py:f --x0 1", "syntax.py, line 1"),
    "import error": ("minimize imports.py:f --x0 1", "No module named 'nothing_of_that_name'"),
    "file that exits": ("minimize leaves.py:f --x0 1", "SystemExit"),
    "function that raises": ("minimize model.py:raises --x0 1,1", "the solver did not converge"),
    "its line": ("certify model.py:raises --x 1,1", "model.py, line 22"),
    "function that exits": ("minimize model.py:leaves --x0 1", "SystemExit"),
    "not a number": ("minimize model.py:nan --x0 1", "returned nan"),
    "not real": ("certify model.py:words --x 1", "must return one real number"),
    "wrong dimension": ("minimize model.py:three --x0 1,2", "ValueError: matmul"),
    "too few variables": ("certify model.py:loss --x 1", "IndexError"),
    "wrong dimension of a problem": ("minimize problem:octopus --x0 1,2", "x has shape (2,)"),
    "no such problem": ("minimize problem:nothing", "choose from cubic"),
    "no such method": ("minimize model.py:loss --x0 0,0 --method nothing", "--method nothing must be one of auto"),
    "no such finder": ("certify model.py:loss --x 0,0 --finder nothing", "--finder nothing must be"),
    "method for samples": ("minimize model.py:loss --x0 0,0 --method zo-sgd-ncf", "--samples N or --samples stream"),
    "method for gradients": ("minimize model.py:loss --x0 0,0 --method neon2-gd", "pass it by --jac"),
    "rows for a point": ("minimize model.py:rows --x0 0,0", "IndexError"),
    "point for rows": ("certify model.py:three --vectorized --x 0,0,0", "leave out --vectorized"),
    "a vector for a value": ("certify model.py:same --x 0,0", "or pass --vectorized if it maps"),
    "words of the function": ("certify model.py:speaks --x 0,0", "pass gtol=3 and vectorized=True at x"),
    "tag without a journal": ("minimize model.py:loss --x0 0,0 --tag v1", "--tag v1 goes into a journal"),
    "rounds without auto": (
        "minimize model.py:loss --x0 0,0 -m pagd --prefer rounds",
        "--prefer rounds is for --method auto alone, not for 'pagd'",
    ),
    "no point": ("minimize model.py:loss", "--x0 is missing"),
    "bad point": ("minimize model.py:loss --x0 1,much", "'much' is no number"),
    "infinite point": ("minimize model.py:loss --x0 inf,1", "x0 must be finite"),
    "missing point file": ("certify model.py:loss --x nothing.npy", "nothing.npy is no file"),
    "words for a point": ("certify model.py:loss --x words.csv", "words.csv, line 1: 'a' is no number"),
    "matrix for a point": ("certify model.py:loss --x square.npy", "shape (2, 2)"),
    "ragged file": ("certify model.py:loss --x ragged.csv", "differ in length"),
    "bad number": ("minimize model.py:loss --x0 0,0 --gtol much", "'much'"),
    "negative tolerance": ("minimize model.py:loss --x0 0,0 --gtol -1", "--gtol -1.0 must be positive"),
    "bad noise": ("minimize model.py:loss --x0 0,0 --noise much", "--noise: 'much'"),
    "bad samples": ("minimize model.py:loss --x0 0,0 --samples much", "--samples: 'much'"),
    "bad evidence": ("minimize model.py:loss --x0 0,0 --evidence much", "--evidence much must be 'sampled' or"),
    "bad scale": ("minimize model.py:loss --x0 0,0 --x-scale 1,2,3", "--x-scale [1., 2., 3.] must be"),
    "no such option": ("minimize model.py:loss --x0 0,0 --nothing", "--nothing"),
    "no such command": ("nothing", "No such command 'nothing'"),
    "no argument": ("minimize", "Missing argument"),
    "no picture": ("minimize model.py:loss --x0 0,0 --plot run.xyz", "names no picture"),
    "no folder": ("minimize model.py:loss --x0 0,0 -o nowhere/result.json", "no folder nowhere"),
    "no journal": ("journal show nothing.db", "there is no journal nothing.db"),
    "not a journal": ("journal show model.py", "model.py"),
    "bad policy": ("minimize model.py:loss --x0 0,0 --on-error nothing", "--on-error nothing must be one of"),
    "no workers": ("minimize model.py:loss --x0 0,0 --workers 0", "--workers 0 must be"),
    "no figure": ("paper nothing", "choose from octopus"),
    "no data": ("paper least-squares --data nothing", "nothing is no file"),
    "no constants": ("methods -d 10", "needs -d and --epsilon"),
    "bad constants": ("methods -d 10 --epsilon -1", "epsilon=-1.0 must be positive"),
    "overflow": ("methods -d 10 --epsilon 1e-300", "overflow"),
    "demo too small": ("demo -d 1", "--dimension"),
}


@pytest.fixture
def here(folder, monkeypatch):
    """This process as a command finds it, put right afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        if name in ("model", "syntax", "imports", "leaves"):
            del sys.modules[name]


def is_one_line(code, out, err, words):
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("error: ")
    assert words in err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("line", "words"), ERRORS.values(), ids=ERRORS)
def test_every_error_is_one_clear_line_and_exit_code_2(capsys, line, words):
    is_one_line(run(line.split()), *capsys.readouterr(), words)


@pytest.mark.parametrize(
    "name",
    [
        "missing file",
        "syntax error",
        "function that raises",
        "function that exits",
        "wrong dimension",
        "no such method",
        "bad number",
        "no such option",
    ],
)
def test_errors_of_the_real_command(command, name):
    line, words = ERRORS[name]
    done = command(*line.split())
    is_one_line(done.returncode, done.stdout, done.stderr, words)


def test_without_typer_the_extra_is_named(command, folder):
    code = "import sys; sys.modules['typer'] = None; from escapade.cli import main; sys.exit(main())"
    done = command(program=(sys.executable, "-c", code))
    assert done.returncode == 2
    assert done.stderr == "error: the command line needs typer: pip install 'escapade[cli]'\n"


def test_a_traceback_is_shown_on_request(command):
    done = command("minimize", "model.py:raises", "--x0", "1", ESCAPADE_TRACEBACK="1")
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_a_reader_that_leaves_early_sees_no_error(folder):
    line = f"{sys.executable} -m escapade problems | true"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""


# The lists


def test_methods_lists_every_method_and_its_complexity(command):
    assert set(CATALOGUE) == set(escapade.methods.PRESETS)
    assert {entry.row for entry in CATALOGUE.values()} - {None} == set(TABLE | SINCE)
    rows = {row["name"]: row for row in json.loads(command("methods", "--json").stdout)}
    assert rows["zo-gd-ncf"]["query complexity"] == "d/epsilon^2 + d log(d)/delta^3.5"
    assert rows["zo-agd-ncf"]["query complexity"] == "d log(d)/epsilon^1.75"
    shown = command("methods").stdout
    assert "Give yours" in shown
    assert all(name in shown for name in escapade.methods.PRESETS)


def test_methods_evaluates_the_papers_table(command):
    line = ("methods", "-d", "100", "--epsilon", "1e-3", "--ell", "10", "--rho", "5", "--sigma", "2", "--delta-f", "3")
    found = json.loads(command(*line, "--json").stdout)["queries"]
    constants = Constants(d=100, epsilon=1e-3, delta=1e-3**0.5, ell=10.0, rho=5.0, sigma=2.0, Delta_f=3.0)
    assert found == {name: row.queries(constants) for name, row in (TABLE | SINCE).items()}
    shown = command(*line).stdout
    assert f"{found['ZO-SPIDER-NCF']:.2e}" in shown


def test_problems_lists_every_problem(command):
    rows = json.loads(command("problems", "--json").stdout)
    assert [row["name"] for row in rows] == list(escapade.problems.REGISTRY)
    octopus = next(row for row in rows if row["name"] == "octopus")
    assert (octopus["d"], octopus["saddles"], octopus["least value"]) == (5, 5, pytest.approx(-5 * 139.870432574))


def test_the_console_script_says_its_version(command):
    script = Path(sys.executable).with_name("escapade")
    assert command("--version", program=(str(script),)).stdout == f"escapade {escapade.__version__}\n"
    assert json.loads(command("version", "--json").stdout)["numpy"] == np.__version__


@pytest.mark.parametrize("name", ["", "demo", "minimize", "fit", "certify", "check", "methods", "problems", "paper"])
def test_help_is_there(capsys, name):
    assert run([*name.split(), "--help"]) == 0
    assert f"Usage: escapade {name}" in capsys.readouterr().out


def test_no_arguments_show_the_help(command):
    done = command()
    assert done.returncode == 0
    assert "minimize" in done.stdout


# The guide and the paper


def test_the_examples_of_the_guide_do_what_it_says(folder):
    guide = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
    model, lines = re.search(r"```python\n# model.py\n(.*?)```\n\n```sh\n(.*?)```", guide, re.DOTALL).groups()
    home = folder / "guide"
    home.mkdir()
    (home / "model.py").write_text(model)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    options = {"cwd": home, "env": {**os.environ, "PATH": path}, "capture_output": True, "text": True}
    for line in lines.splitlines():
        done = subprocess.run(["bash", "-c", line], **options, timeout=300)
        says, code = re.search(r"# (.*); exit code (\d)", line).groups()
        assert done.returncode == int(code), done.stderr
        assert re.search(r"saddle|minimum", says)[0] in done.stdout


def test_a_figure_of_the_paper_is_run_and_its_claim_judged(command, folder):
    line = ("paper", "neon2", "--quick", "--seeds", "1", "--workers", "1", "--out", "results", "--json")
    done = command(*line)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert [claim["figure"] for claim in outcome["claims"]] == ["neon2"]
    assert (folder / outcome["report"]).read_text().startswith("<!")
    assert "seed 0" in done.stderr


# The demonstration


def test_the_demonstration_tells_saddles_from_minima(command, folder):
    done = command("demo", "-d", "4", "--json", "--plot", "demo.png")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    answers = {answer["solver"]: answer for answer in shown["answers"]}
    assert list(answers) == ["BFGS", "L-BFGS-B", "Nelder-Mead", "Powell", "auto", "zo-gd-ncf"]
    for answer in answers.values():
        false = {"saddle": answer["curvature"] > 0, "minimum": answer["curvature"] < 0}
        assert not false.get(answer["verdict"], False), answer
    assert answers["BFGS"]["success"]
    assert answers["BFGS"]["verdict"] == "saddle"
    assert answers["auto"]["fun"] == pytest.approx(shown["minimum"], abs=1e-3)
    assert answers["auto"]["verdict"] == "minimum"
    assert (folder / "demo.png").stat().st_size > 20_000


@pytest.mark.usefixtures("here")
def test_the_demonstration_is_readable(capsys):
    assert run(["demo", "-d", "2", "--plot", "small.svg"]) == 0
    out, err = capsys.readouterr()
    for words in ("it reports", "certify says", "saddle", "minimum", "auto: A minimum was certified"):
        assert words in out
    assert "small.svg" in err
