"""What nobody should send, and what people do send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.convert.airflow_python import read_dags
from orchestrator.convert.bring import bring
from orchestrator.convert.finish import NotImported
from orchestrator.convert.guess import Engine
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from tests.support import soaked

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "bomb.yaml": (BOMB, "larger than"),
    "itself.yaml": ("tasks: &t [*t]", "holds itself"),
    "deep.yaml": ("tasks: " + "[" * 5000, "nesting"),
    "large.yaml": ("x" * 2_000_000, "larger than"),
    "tag.yaml": ("tasks: !!python/object/apply:os.system ['true']", "tags"),
    "bytes.yaml": (b"tasks: \xff", "UTF-8"),
    "empty.yaml": ("", "empty"),
    "list.yaml": ("- 1", "not clear"),
    "other.yaml": ("services: {web: {image: x}}", "not clear"),
    "broken.py": ("def (:", "not valid Python"),
    "deep.py": ("(" * 5000 + ")" * 5000, "Python"),
    "large.py": ("#" * 2_000_000, "larger than"),
    "nothing.py": ("import os\nos.system('exit 1')", "no DAG"),
}


@pytest.mark.parametrize("file", REFUSED)
def test_a_file_that_cannot_be_imported_is_told_why(file: str) -> None:
    content, told = REFUSED[file]
    [one] = bring([(file, content)])
    assert one.workflows == ()
    assert told in " ".join(map(str, one.problems))


def test_loops_within_loops_end() -> None:
    loops = "".join(f"{'  ' * n}for a{n} in range(200):\n" for n in range(6)) + "  " * 6 + "x = 1"
    with pytest.raises(NotImported, match="statements"):
        read_dags(loops)


def test_a_file_of_airflow_is_not_run(tmp_path: Any) -> None:
    mark = tmp_path / "ran"
    opens = f"open({str(mark)!r}, 'w')"
    source = f"{opens}\nfrom airflow import DAG\nwith DAG('d'):\n    EmptyOperator(task_id={opens}.name)"
    [one] = bring([("d.py", source)])
    assert one.lost
    assert not mark.exists()


WORDS = st.sampled_from(
    [
        "tasks",
        "name",
        "action",
        "input",
        "next",
        "when",
        "do",
        "publish",
        "with",
        "items",
        "concurrency",
        "retry",
        "count",
        "delay",
        "join",
        "type",
        "group",
        "hooks",
        "queue",
        "schema",
        "periodic",
        "interval",
        "crontab",
        "payload",
        "dag_id",
        "task_id",
        "operator",
        "upstream",
        "depends_on",
        "trigger_rule",
        "retries",
        "default_args",
        "schedule",
        "params",
        "vars",
        "output",
        "output_map",
        "parameters",
        "with_items",
        "wait_for",
        "on_success",
        "decision",
        "a",
        "b",
    ]
)
TEXTS = st.one_of(
    WORDS,
    st.text(max_size=8),
    st.sampled_from(
        [
            "<% succeeded() %>",
            "<% failed() and ctx().a %>",
            "{{ result().x }}",
            "all",
            "a, b",
            "fail",
            "<% ctx(",
            "a=1 b=<% 2 %>",
        ]
        + ["EmptyOperator", "group", "{{ ds }}", "@daily", "core.ask", "core.noop", "core.local cmd=x", "{% x %}"]
    ),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 12), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, st.text(max_size=3)), inner, max_size=4)
    ),
    max_leaves=20,
)
TASKS = st.dictionaries(st.sampled_from(["a", "b", "a.b", ""]), st.dictionaries(WORDS, VALUES, max_size=5), max_size=3)


@pytest.mark.parametrize("engine", Engine)
@settings(max_examples=soaked(30, 1000), deadline=None)
@given(data=st.data())
def test_whatever_a_document_holds_it_is_imported_valid_or_refused_with_a_reason(
    engine: Engine, data: st.DataObject
) -> None:
    named = st.builds(lambda tasks: [{"name": k, "task_id": k, **v} for k, v in tasks.items()], TASKS)
    tasks = data.draw(st.one_of(TASKS, named, VALUES))
    document = data.draw(st.dictionaries(WORDS, VALUES, max_size=3)) | {"tasks": tasks}
    if engine is Engine.DIRECTOR:
        document = {"w.W": document}
    [one] = bring([("w.json", json.dumps(document))], engine)
    assert one.problems or one.workflows
    for workflow in one.workflows:
        assert load_text(workflow.text) == workflow.document
        parse(workflow.document)


@settings(max_examples=soaked(50, 2000), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "with",
                "DAG('d')",
                ":",
                "\n",
                "    ",
                "a",
                "=",
                "EmptyOperator(",
                "task_id=",
                "'a'",
                ")",
                ">>",
                "[",
                "]",
                "@task",
                "def f(x):",
                "f(",
                "return",
                ",",
                ".expand(",
                "x=",
                "1",
                "chain(",
            ]
        ),
        max_size=25,
    )
)
def test_whatever_a_python_file_holds_it_is_read_or_refused(words: list[str]) -> None:
    [one] = bring([("d.py", " ".join(words))])
    assert one.problems or one.workflows


def test_every_key_that_is_not_known_is_told_of() -> None:
    document = {
        "version": 1.0,
        "extra": 1,
        "tasks": {
            "a": {"action": "f", "odd": 1, "next": [{"do": "b", "strange": 2}], "retry": {"tries": 1}},
            "b": None,
        },
    }
    [one] = bring([("w.json", json.dumps(document))], Engine.ORQUESTA)
    told = {finding.path for finding in one.workflows[0].findings if finding.kind == "lost"}
    assert told == {"extra", "tasks.a.odd", "tasks.a.next[0].strange", "tasks.a.retry.tries"}


GROWING = {
    "text.py": "x = 'ab'\n" + "x = x + x\n" * 60 + "with DAG('d'):\n    BashOperator(task_id='a', bash_command=x)",
    "format.py": "x = 'ab'\n"
    + "x = f'{x}{x}'\n" * 60
    + "with DAG('d'):\n    BashOperator(task_id='a', bash_command=x)",
    "list.py": "x = [1]\n"
    + "x = [x, x]\n" * 60
    + "with DAG('d'):\n    PythonOperator(task_id='a', python_callable=f, op_kwargs=x)",
    "names.py": "with DAG('d'):\n" + "    EmptyOperator(task_id='a')\n" * 1000,
    "sum.py": "with DAG('d'):\n    PythonOperator(task_id='a', python_callable='f', op_kwargs={'x': "
    + "1+" * 3000
    + "1})",
    "vars.yaml": "vars:\n  - v0: <% ctx().i %>\n"
    + "".join(f"  - v{n + 1}: <% ctx().v{n} + ctx().v{n} %>\n" for n in range(60))
    + "input: [i]\ntasks: {a: {action: f, next: []}}",
    "chain.yaml": "input: [i]\ntasks: {a: {action: f, input: {x: <% " + "ctx().i + " * 3000 + "1 %>}}}",
    "not.yaml": "input: [i]\ntasks: {a: {action: f, input: {x: <% " + "not " * 250 + "1 %>}}}",
    "wide.yaml": "tasks:\n"
    + "".join(f"  t{n}: {{action: f, next: [{{do: z}}, {{do: z}}]}}\n" for n in range(500))
    + "  z: {action: f}",
    "inline.yaml": "tasks: {a: {action: f " + "a=1 " * 20_000 + "}, b: {action: g}}",
    "many.yml": "w.W:\n  tasks:\n" + "    - A\n" * 500,
}


@pytest.mark.parametrize("file", GROWING)
def test_what_grows_while_it_is_read_is_given_up_and_told(file: str) -> None:
    [one] = bring([(file, GROWING[file])])
    assert one.lost or one.problems or file in ("names.py", "inline.yaml", "many.yml")
    assert all(len(workflow.text) < 1_000_000 for workflow in one.workflows)
