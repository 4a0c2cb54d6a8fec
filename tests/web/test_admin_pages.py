"""Approvals, pools and queues, workers, the audit log and tokens in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.domain.roles import Role
from orchestrator.services.decide import decide
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.tokens import create_token, verify_token
from orchestrator.store.db import Database
from orchestrator.store.reads import get_pool, list_audit, list_tokens
from orchestrator.store.workers import announce, announce_functions, mark_stopped
from tests.web.browser import PHONE, Reader
from tests.web.stage import MARKUP, Stage
from tests.web.test_home import worker

POOLED = {
    "name": "pooled",
    "steps": [
        {"name": "first", "function": "shop.reserve", "pool": "bank", "queue": "money"},
        {"name": "second", "function": "shop.reserve", "pool": "bank", "queue": "money"},
    ],
}


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    hands = stage.hands
    set_pool(hands.engine, "bank", 1, description=MARKUP, actor="cli:ana")
    register(hands.engine, POOLED, actor="cli:ana")
    start(hands.engine, "pooled")
    with hands.db.transaction() as conn:
        for name in ("hand", "gone"):
            announce(conn, worker(name))
        mark_stopped(conn, "gone")
        known = {"name": "shop.charge", "module": "shop", "queue": None, "description": MARKUP}
        announce_functions(conn, [known])
    one = Reader(browser, address, stage.tokens["admin"])
    yield one
    one.close()


def test_an_approval_is_decided_by_its_form_and_who_comes_later_is_told(reader: Reader, stage: Stage) -> None:
    page = reader.open("/approvals")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").first).to_contain_text(f"Refund {MARKUP}?")
    reader.check_access()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Approve").click()
    expect(dialog.locator("[id='f-v.0-error']")).to_have_text("Is required")
    dialog.get_by_label("limit").fill("5")
    dialog.get_by_label("Reason").fill("seen")
    reader.check_access()
    dialog.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").first).to_contain_text("is approved")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Decide…").click()
    expect(dialog.get_by_label("limit")).to_be_visible()
    decide(stage.hands.engine, stage.paused, "agree", False, actor="cli:bob")
    dialog.get_by_role("button", name="Reject").click()
    expect(dialog).to_contain_text("Somebody was faster: cli:bob has decided this")
    reader.complaints.clear()  # the browser tells of every 422
    page.goto("/approvals")
    expect(page.get_by_text("Nobody is asked")).to_be_visible()


def test_queues_and_pools_show_who_waits_and_an_author_sets_slots(reader: Reader, stage: Stage) -> None:
    page = reader.open("/pools")
    queue = page.get_by_role("region", name="Queues").locator("tr", has_text="money")
    expect(queue).to_contain_text("nobody listens")
    pool = page.get_by_role("region", name="Pools", exact=True).locator("tr", has_text="bank")
    expect(pool).to_contain_text("1 of 1")
    expect(pool).to_contain_text(MARKUP)
    reader.check_access()
    page.get_by_role("link", name="bank").click()
    expect(page.get_by_role("region", name="Holders").get_by_role("link", name="first")).to_be_visible()
    expect(page.get_by_role("region", name="Next to get one").get_by_role("link", name="second")).to_be_visible()
    reader.check_access()
    page.get_by_role("link", name="Remove…").click()
    page.get_by_role("button", name="Remove the pool").click()
    expect(page.get_by_role("alert")).to_contain_text("steps hold slots of pool 'bank'")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Set slots…").click()
    page.get_by_label("Slots").fill("0")
    page.get_by_label("Reason").fill("the bank is closed")
    reader.check_access()
    page.get_by_role("button", name="Set slots").click()
    expect(page.get_by_text("1 of 0 slots are taken")).to_be_visible()
    with stage.hands.db.transaction() as conn:
        assert get_pool(conn, "bank")["slots"] == 0
    reader.never_scripted()
    reader.complaints.clear()


def test_workers_show_what_they_run_and_what_they_know(reader: Reader, stage: Stage) -> None:
    with stage.hands.db.transaction() as conn:
        announce(conn, worker("hand"))  # now, for it counts as alive for half a minute
    page = reader.open("/workers")
    row = page.locator("tr[data-id=hand]")
    expect(row).to_contain_text("alive")
    expect(row.get_by_role("link", name="reserve")).to_be_visible()
    page.get_by_text("1 stopped").click()
    expect(page.locator("tr[data-id=gone]")).to_be_visible()
    reader.look_again("#workers-list")
    expect(page.locator("tr[data-id=gone]")).to_be_visible()
    reader.check_access()
    page.get_by_role("link", name="Functions").click()
    expect(page.locator("tbody tr")).to_contain_text("shop.charge")
    reader.check_access()


def test_the_audit_log_is_narrowed_by_who_act_and_target(reader: Reader, stage: Stage) -> None:
    page = reader.open("/audit")
    expect(page.locator("tr", has_text="not wanted any more")).to_be_visible()
    expect(page.locator("tr", has_text="lunch")).to_contain_text(MARKUP)
    reader.check_access()
    page.get_by_label("Who").fill("cli:ana")
    page.get_by_label("Act", exact=True).select_option("set_pool")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="All acts on bank").click()
    page.get_by_role("link", name="bank", exact=True).first.click()
    expect(page.get_by_role("heading", name="Pool bank")).to_be_visible()
    page.goto("/audit?since=2099-01-01T00:00")
    expect(page.get_by_text("No act fits these filters")).to_be_visible()
    page.goto("/audit?after=x&actor=nobody&bulk=y&until=nonsense")
    expect(page.get_by_text("Nothing here")).to_be_visible()
    reader.never_scripted()


def test_a_token_is_shown_once_used_and_revoked(reader: Reader, stage: Stage) -> None:
    page = reader.open("/tokens")
    reader.check_access()
    page.get_by_role("link", name="New token…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("admin")
    dialog.get_by_role("button", name="Make the token").click()
    expect(dialog.get_by_role("alert")).to_contain_text("there is a token 'admin' already")
    dialog.get_by_label("Name").fill("ci <b>")
    dialog.get_by_label("operator").check()
    dialog.get_by_label("Password").fill("short")
    dialog.get_by_role("button", name="Make the token").click()
    expect(dialog.locator("#f-password-error")).to_be_visible()
    reader.check_access()
    dialog.get_by_label("Password").fill("")
    dialog.get_by_role("button", name="Make the token").click()
    made = dialog.get_by_role("region", name="The token").inner_text()
    verified = verify_token(stage.hands.db, made)
    assert verified is not None
    assert (verified.identity.name, verified.identity.role) == ("ci <b>", Role.OPERATOR)
    dialog.get_by_role("link", name="Done").click()
    expect(page.locator("main")).not_to_contain_text(made)
    page.locator("tr", has_text="ci <b>").get_by_role("link", name="Revoke…").click()
    expect(dialog.get_by_label("Reason")).to_be_visible()
    reader.check_access()
    dialog.get_by_role("button", name="Revoke the token").click()
    expect(page.get_by_text("'ci <b>' opens nothing any more")).to_be_visible()
    assert verify_token(stage.hands.db, made) is None
    reader.complaints.clear()


def test_a_password_is_set(reader: Reader, stage: Stage) -> None:
    page = reader.open("/tokens")
    page.locator("tr", has_text="viewer").get_by_role("link", name="Password…").click()
    page.get_by_label("New password").fill("a new password")
    reader.check_access()
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_text("'viewer' signs in with the new password")).to_be_visible()
    with stage.hands.db.transaction() as conn:
        (entry,) = [one for one in list_audit(conn, "viewer").items if one["action"] == "set_password"]
    assert entry["actor"] == "web:admin"


def test_who_looks_only_sees_no_acts_and_fits_a_phone(
    browser: Browser, address: str, reader: Reader, stage: Stage
) -> None:
    looker = Reader(browser, address, stage.tokens["viewer"], viewport=PHONE)
    for path in ("/approvals", "/pools", "/pools/pool?name=bank", "/workers", "/audit"):
        page = looker.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path
        for act in ("Decide…", "New pool…", "Set slots…", "Remove…"):
            expect(page.get_by_role("link", name=act)).to_have_count(0)
    expect(looker.page.locator("tbody")).not_to_contain_text("create_token")
    looker.close()


def test_an_administrator_of_one_app_sees_its_own(
    browser: Browser, address: str, reader: Reader, stage: Stage, module_db: Database
) -> None:
    register(stage.hands.engine, {"name": "own", "steps": [{"name": "a", "pass": True}]}, app="other", actor="cli:zoe")
    token = create_token(module_db, "zoe", Role.ADMIN, app="other").token
    zoe = Reader(browser, address, token)
    page = zoe.open("/tokens")
    expect(page.locator("tbody tr")).to_have_count(1)
    page = zoe.open("/audit")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("cli:zoe")
    page = zoe.open("/pools/pool?name=bank")
    expect(page.get_by_text("a step of another app").first).to_be_visible()
    expect(page.get_by_role("link", name="Set slots…")).to_have_count(0)
    page = zoe.open("/workers")
    expect(page.locator("tr[data-id=hand]")).to_contain_text("a step of another app")
    zoe.close()
    with module_db.transaction() as conn:
        assert len(list_tokens(conn, app="other").items) == 1
