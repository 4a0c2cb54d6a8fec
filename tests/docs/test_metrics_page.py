"""docs/metrics.md and the dashboard name the metrics there are."""

from __future__ import annotations

import json
import re
import runpy

import yaml
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.config import Config
from tests.architecture.source import ROOT
from web.app import create_app

PAGE = (ROOT / "docs" / "metrics.md").read_text()
RULES = (ROOT / "docs" / "prometheus" / "alerts.yaml").read_text()
DASHBOARD = json.loads((ROOT / "docs" / "grafana" / "orchestrator.json").read_text())


def documented() -> dict[str, set[str]]:
    """Labels by metric."""
    rows = re.findall(r"^\| `(orchestrator_\w+)` \| \w+ \| (.*?) ?\| ", PAGE, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def test_the_page_is_what_the_code_makes() -> None:
    assert runpy.run_path(str(ROOT / "docs" / "generate_metrics.py"))["page"]() == PAGE, "run `make docs`"


def test_the_page_names_what_a_scrape_tells(orchestrator_module_database_url: str) -> None:
    app = create_app(Config(database_url=orchestrator_module_database_url, metrics_open=True))
    told = app.test_client().get("/metrics").text
    families = list(text_string_to_metric_families(told))
    names = {f"{f.name}_total" if f.type == "counter" else f.name for f in families}
    app.extensions["orchestrator.database"].close()
    assert names == set(documented())


def test_every_query_of_the_dashboard_is_of_metrics_and_labels_there_are() -> None:
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert len(queries) > 15
    for query in queries:
        check(query)


def check(query: str) -> set[str]:
    """A query is of metrics and labels there are; the labels it groups by."""
    labels = documented()
    used = re.findall(r"\borchestrator_\w+", query)
    assert used
    names = [re.sub(r"_(?:bucket|count|sum)$", "", name) for name in used]
    assert set(names) <= set(labels), query
    known = {"le"}.union(*(labels[name] for name in names))
    grouped = {word for group in re.findall(r"by \(([^)]*)\)", query) for word in group.split(", ")}
    matched = set(re.findall(r"(\w+)!?=", query))
    assert grouped | matched <= known, query
    assert [query.count(sign) for sign in "({["] == [query.count(sign) for sign in ")}]"]
    return grouped


def test_the_rules_to_alert_by_are_such_as_prometheus_takes_of_metrics_there_are() -> None:
    (group,) = yaml.safe_load(RULES)["groups"]
    assert set(group) == {"name", "rules"}
    rules = group["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        assert (
            {"alert", "expr", "labels", "annotations"} <= set(rule) <= {"for", "alert", "expr", "labels", "annotations"}
        )
        assert re.fullmatch(r"[a-zA-Z_]\w*", rule["alert"])
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        named = set(re.findall(r"{{ \$labels\.(\w+) }}", rule["annotations"]["summary"]))
        assert named <= check(rule["expr"]), rule["alert"]


def test_the_dashboard_shows_every_metric_but_those_of_the_scrape_itself() -> None:
    shown = json.dumps(DASHBOARD)
    missing = {name for name in documented() if name not in shown}
    assert missing == {"orchestrator_info", "orchestrator_read_seconds"}
