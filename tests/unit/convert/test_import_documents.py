"""Documents of other engines and what they become, whole."""

from __future__ import annotations

import textwrap

import pytest

from orchestrator.convert.bring import Brought, bring
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse

DIRECTOR = (
    "shop.yml",
    """
    shop.ORDER:
      tasks:
        - CHECK
        - SHIPPING:
            type: group
            tasks: [PACK, LABEL]
        - CHECK
      hooks: {success: THANK, failure: CALL}
      queue: {default: shop, customs: {LABEL: printer}}
      schema: order
      periodic: {crontab: "0 */3 * * *", payload: {all: true}}
    """,
    """
    # Imported from shop.yml.
    # Schedule: orchestrator schedule set shop.ORDER --workflow shop.ORDER --cron '0 */3 * * *' --input '{"all": true}'
    name: shop.ORDER
    input_schema:
      type: object
      required: [user]

    steps:
      - name: CHECK
        function: celery:CHECK
        input: {payload: "{{ input }}"}
        queue: shop

      - name: PACK
        function: celery:PACK
        input:
          payload: "{{ input }}"
          results: ["{{ steps.CHECK.output }}"]
        depends_on: [CHECK]
        queue: shop

      - name: LABEL
        function: celery:LABEL
        input:
          payload: "{{ input }}"
          results: ["{{ steps.CHECK.output }}"]
        depends_on: [CHECK]
        queue: printer

      - name: CHECK_2
        function: celery:CHECK
        input:
          payload: "{{ input }}"
          results: ["{{ steps.PACK.output }}", "{{ steps.LABEL.output }}"]
        depends_on: [PACK, LABEL]
        queue: shop

    on_success:
      function: celery:THANK
      input: {payload: "{{ input }}"}
      queue: shop
    on_failure:
      function: celery:CALL
      input: {payload: "{{ input }}"}
      queue: shop
    """,
)

ORQUESTA = (
    "bill.yaml",
    """
    version: 1.0
    description: Bills a customer.
    input:
      - customer
      - months: 1
    vars:
      - total: 0
    tasks:
      usage:
        action: billing.usage customer=<% ctx().customer %> months=<% ctx("months") %>
        retry: {count: 2, delay: 5}
        next:
          - when: <% succeeded() and result().rows > 0 %>
            publish: total=<% result().sum %>
            do: charge, tell
          - when: <% succeeded() and result().rows = 0 %>
            do: noop
          - when: <% failed() %>
            publish:
              - why: <% result() %>
            do: tell_why
      charge:
        action: bank.charge
        delay: 10
        input:
          amount: <% ctx().total %>
      tell:
        with:
          items: to, note in <% zip(result_of(), ctx().customer) %>
          concurrency: 2
        action: mail.send to=<% item(to) %>
      both:
        join: all
        action: core.noop
      tell_why:
        action: mail.send
        input: {text: "<% ctx().customer %>: <% ctx(why) %>"}
        next:
          - do: fail
    output:
      - total: <% ctx().total %>
      - bank: <% task(charge).result.id %>
    """,
    """
    # Imported from bill.yaml.
    name: bill
    description: Bills a customer.
    input_schema:
      type: object
      required: [customer]
      properties:
        customer: {}
        months: {default: 1}
    vars: {total: 0, why: null}

    steps:
      - name: usage
        function: billing.usage
        input: {customer: "{{ input.customer }}", months: "{{ input.months }}"}
        retry: {max_attempts: 3, delay: 5}
        publish_on_failure: {why: "{{ error }}"}

      - name: usage_next
        pass: true
        depends_on: [{step: usage, when: result.rows > 0}]
        publish: {total: "{{ steps.usage.output.sum }}"}

      - name: charge_delay
        sleep: 10
        depends_on: [usage_next]

      - name: charge
        function: bank.charge
        input: {amount: "{{ vars.total }}"}
        depends_on: [charge_delay]

      # Not carried over: tasks.tell.with.items: `<% zip(result_of(), ctx().customer) %>`: there is no function \
'result_of' here
      - name: tell
        function: mail.send
        with_items:
          items: "{{ config['not carried over: <% zip(result_of(), ctx().customer) %>'] }}"
          concurrency: 2
        input: {to: "{{ item.to }}"}
        depends_on: [usage_next]

      - name: both
        pass: true

      - name: tell_why
        function: mail.send
        input: {text: "{{ input.customer }}: {{ vars.why }}"}
        depends_on: [{step: usage, on: failure}]

      - name: tell_why_fail
        pass: true
        input: "{{ config['tell_why asks the run to fail'] }}"
        depends_on: [{step: tell_why, on: complete}]

    output: {total: "{{ vars.total }}", bank: "{{ steps.charge.output.id }}"}
    """,
)

ATTUNE = (
    "ship.workflow.yaml",
    """
    ref: shop.ship
    label: Ship an order
    version: "1.2"
    parameters:
      order: {type: string, required: true}
      token: {type: string, secret: true}
    vars: {parcel: null}
    tasks:
      - name: pack
        action: shop.pack
        with_items: "{{ parameters.order.lines }}"
        batch_size: 10
        concurrency: 2
        input: {lines: "{{ item }}", key: "{{ keystore.shop_key }}"}
        timeout: 60
        retry: {count: 2, delay: 5, backoff: exponential, max_delay: 60}
        next:
          - when: "{{ succeeded() }}"
            publish: [{parcel: "{{ result() }}"}]
            do: [ask]
          - when: "{{ timed_out() }}"
            do: [call]
      - name: ask
        action: core.ask
        input:
          prompt: "Ship {{ parameters.order }}?"
          response_schema: {weight: {type: number, required: true}}
        next:
          - when: "{{ succeeded() and result().response.weight < 30 }}"
            do: [send]
      - name: send
        action: shop.send
        input: {parcel: "{{ workflow.parcel }}", weight: "{{ task.ask.response.weight }}"}
        permission_set_refs: [standard]
      - name: call
        action: shop.call
    output_map: {parcel: "{{ workflow.parcel }}"}
    """,
    """
    # Imported from ship.workflow.yaml.
    name: shop.ship
    version: "1.2"
    label: Ship an order
    input_schema:
      type: object
      required: [order]
      properties:
        order: {type: string}
        token: {type: string, writeOnly: true}
    vars: {parcel: null}

    steps:
      - name: pack
        function: shop.pack
        with_items: {items: "{{ input.order.lines }}", batch_size: 10, concurrency: 2}
        input: {lines: "{{ item }}", key: "{{ secrets.shop_key }}"}
        timeout: 60
        retry: {max_attempts: 3, delay: 5, max_delay: 60, backoff: exponential}
        publish: {parcel: "{{ result }}"}

      - name: ask
        wait_for:
          approval:
            title: "Ship {{ input.order }}?"
            fields:
              weight: {type: number}
        depends_on: [pack]

      # Not carried over: tasks[2].permission_set_refs: there is nothing like it here (a function has the rights of \
its worker)
      - name: send
        function: shop.send
        input: {parcel: "{{ vars.parcel }}", weight: "{{ steps.ask.output.fields.weight }}"}
        depends_on: [{step: ask, when: result.fields.weight < 30}]

      - name: call
        function: shop.call
        depends_on: [{step: pack, on: failure, when: error.type == 'Timeout'}]

    output: {parcel: "{{ vars.parcel }}"}
    """,
)

TASK_LIST = (
    "etl.json",
    """
    {"dag_id": "etl", "schedule": "@daily", "max_active_runs": 1, "dagrun_timeout": 3600,
     "default_args": {"retries": 2, "retry_delay": {"minutes": 1}, "owner": "data"},
     "tasks": [
       {"task_id": "extract", "operator": "airflow.operators.python.PythonOperator", "pool": "db",
        "priority_weight": 12, "python_callable": "extract", "op_kwargs": {"day": "{{ params.day }}"}},
       {"task_id": "load", "operator": "PythonOperator", "python_callable": "load", "retries": 0,
        "upstream": ["extract"], "op_kwargs": {"rows": "{{ ti.xcom_pull(task_ids='extract') }}", "on": "{{ ds }}"}},
       {"task_id": "tidy", "operator": "EmptyOperator", "upstream": ["extract", "load"], "trigger_rule": "all_done"}]}
    """,
    """
    # Imported from etl.json.
    # Schedule: orchestrator schedule set etl --workflow etl --cron '0 0 * * *'
    name: etl
    timeout: 3600
    max_active_runs: 1
    defaults:
      retry: {max_attempts: 3, delay: 60}

    steps:
      - name: extract
        function: extract
        input: {day: "{{ input.day }}"}
        priority: 9
        pool: db

      # Not carried over: tasks[1].op_kwargs.on: `{{ ds }}`: a run has no 'ds': let its schedule give it as input, \
from 'fire_at'
      - name: load
        function: load
        input: {rows: "{{ steps.extract.output }}", on: "{{ config['not carried over: {{ ds }}'] }}"}
        depends_on: [extract]
        retry: null

      - name: tidy
        pass: true
        depends_on: [extract, load]
        trigger_rule: all_done
    """,
)

PYTHON = (
    "orders.py",
    '''
    """Reads orders."""
    from datetime import timedelta
    from airflow.sdk import DAG, chain, task
    from airflow.providers.standard.operators.bash import BashOperator

    def load(rows): ...

    with DAG("orders", schedule=timedelta(hours=6), tags=["shop"], default_args={"retries": 1}) as dag:
        @task
        def extract(day, limit=10): return []

        @task.branch
        def choose(rows): return "big"

        rows = extract("{{ params.day }}", limit=5)
        picked = choose(rows)
        big = PythonOperator(task_id="big", python_callable=load, op_kwargs={"rows": rows})
        with TaskGroup("more") as more:
            ends = [BashOperator(task_id=f"part_{n}", bash_command=f"part {n}") for n in range(2)]
        picked >> [big, more]
        done = EmptyOperator(task_id="done", trigger_rule="none_failed_min_one_success")
        chain([big, more], done)
        send.expand(to=rows)
        for name in requests.get("https://shop.example/names"):
            BashOperator(task_id=name, bash_command="true") >> done
    ''',
    """
    # Imported from orders.py.
    # Not carried over: `send.expand(to=rows)` is done when the program runs (write it in the workflow)
    # Not carried over: `for name in requests.get('https://shop.example/names'):` is a loop over what only running it \
would tell (write it in the workflow)
    # Schedule: orchestrator schedule set orders --workflow orders --every 21600s
    name: orders
    tags: [shop]
    defaults:
      retry: {max_attempts: 2, delay: 300}

    steps:
      - name: extract
        function: extract
        input: {day: "{{ input.day }}", limit: 5}

      - name: choose
        function: choose
        input: {rows: "{{ steps.extract.output }}"}
        depends_on: [extract]

      - name: big
        function: load
        input: {rows: "{{ steps.extract.output }}"}
        depends_on: [extract, choose]
        when: "'big' in ([steps.choose.output] if steps.choose.output is string else steps.choose.output or [])"

      - name: more.part_0
        function: shell.run
        input:
          argv: [bash, "-c", part 0]
        depends_on: [choose]
        when: "'more.part_0' in ([steps.choose.output] if steps.choose.output is string else steps.choose.output or [])"

      - name: more.part_1
        function: shell.run
        input:
          argv: [bash, "-c", part 1]
        depends_on: [choose]
        when: "'more.part_1' in ([steps.choose.output] if steps.choose.output is string else steps.choose.output or [])"

      - name: done
        pass: true
        depends_on: [big, more.part_0, more.part_1]
        trigger_rule: none_failed_min_one_success
    """,
)
ALL = {
    "celery-director": DIRECTOR,
    "orquesta": ORQUESTA,
    "attune": ATTUNE,
    "airflow list": TASK_LIST,
    "airflow file": PYTHON,
}


def brought(file: str, source: str) -> Brought:
    schemas = {"order": {"type": "object", "required": ["user"]}}
    [one] = bring([(file, textwrap.dedent(source))], read_schema=lambda _, name: schemas.get(name))
    assert one.problems == ()
    return one


@pytest.mark.parametrize("engine", ALL)
def test_a_document_becomes_what_a_person_would_write(engine: str) -> None:
    file, source, expected = ALL[engine]
    one = brought(file, source)
    [workflow] = one.workflows
    assert one.engine == engine.split()[0]
    assert workflow.text == textwrap.dedent(expected).lstrip("\n")
    assert load_text(workflow.text) == workflow.document
    assert parse(workflow.document).name == workflow.name


def test_findings_of_a_python_file_have_lines() -> None:
    [workflow] = brought(*PYTHON[:2]).workflows
    lost = [finding for finding in workflow.findings if finding.kind == "lost"]
    lines = textwrap.dedent(PYTHON[1]).split("\n")
    assert [lines[(finding.line or 0) - 1].strip().split("(")[0] for finding in lost] == [
        "send.expand",
        "for name in requests.get",
    ]


def test_metadata_names_a_workflow_and_says_what_its_input_is() -> None:
    metadata = """
    name: bill
    pack: shop
    runner_type: orquesta
    entry_point: workflows/bill.yaml
    enabled: true
    parameters:
      customer: {type: string, required: true, position: 0}
    """
    document = """
    version: 1.0
    input: [customer]
    tasks:
      again: {action: shop.bill customer=<% ctx().customer %>}
    """
    files = [("bill.meta.yaml", textwrap.dedent(metadata)), ("workflows/bill.yaml", textwrap.dedent(document))]
    [alone] = bring(files[:1])
    assert "'workflows/bill.yaml', which is not among the files" in str(alone.problems)
    about, one = bring(files)
    assert (about.workflows, about.problems) == ((), ())
    [workflow] = one.workflows
    assert workflow.document == {
        "name": "shop.bill",
        "input_schema": {"type": "object", "required": ["customer"], "properties": {"customer": {"type": "string"}}},
        "steps": [{"name": "again", "workflow": "shop.bill", "input": {"customer": "{{ input.customer }}"}}],
    }
    assert [f.path for f in workflow.findings if f.kind == "ignored"] == ["version", "parameters.customer.position"]


def test_a_variable_that_tasks_side_by_side_set_is_noted_and_one_set_in_turn_is_not() -> None:
    document = """
    version: 1.0
    tasks:
      a: {action: f, next: [{when: <% succeeded() %>, publish: x=1 y=1, do: "b, c"}]}
      b: {action: f, next: [{when: <% succeeded() %>, publish: x=2 z=1}]}
      c: {action: f, next: [{when: <% succeeded() %>, publish: y=2 z=2}]}
    """
    [workflow] = brought("w.yaml", document).workflows
    assert [f.path for f in workflow.findings if f.kind == "note"] == ["vars.z"]


def test_what_cannot_fail_is_followed_on_success_and_a_result_is_looked_at_where_there_is_one() -> None:
    document = """
    version: 1.0
    input: [loud]
    tasks:
      a: {action: core.noop, next: [{publish: n=1, do: b}]}
      b: {action: f, next: [{when: <% result().x %>, do: c}, {when: <% ctx().loud %>, do: d}]}
      c: {action: g}
      d: {action: g}
    """
    [workflow] = brought("w.yaml", document).workflows
    assert workflow.document["steps"] == [
        {"name": "a", "pass": True, "publish": {"n": 1}},
        {"name": "b", "function": "f", "depends_on": ["a"]},
        {"name": "c", "function": "g", "depends_on": [{"step": "b", "when": "result.x"}]},
        {
            "name": "d",
            "function": "g",
            "depends_on": [{"step": "b", "when": "input.loud"}, {"step": "b", "on": "failure", "when": "input.loud"}],
        },
    ]
    assert [finding.path for finding in workflow.findings if finding.kind == "note"] == ["tasks.b.next[0].when"]
