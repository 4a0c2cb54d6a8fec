"""The verbs of the hot path as database functions: a batch of steps in one statement (orchestrator/store/batch.py).

Revision ID: 0002
Revises: 0001
Create Date: 2026-11-29
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# A function's statements are planned once a session, without their values. So the plan must not be the one that is
# best for the small table a young installation has: every row is to be found by an index, and by that of its key.
# That a claimed step runs is therefore read from its lease (set while it runs, by a CHECK of the table): the planner
# takes `status = 'running'` for an invitation to walk the index of all that run.
PLANNED = """
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
"""
# And where the best of a queue are wanted, the index that is in their order: not all that are ready, sorted.
IN_ORDER = PLANNED + "SET enable_sort = off"

DEFAULT_QUEUE = "default"

# The run's input comes along when it is small: what most steps need of their run.
SMALL = "CASE WHEN octet_length(run.input::text) <= 2000 THEN run.input::text END"
SMALL_R = SMALL.replace("run.", "r.")

# The same for what an item is (0006).
ITEM = "CASE WHEN octet_length(s.item::text) <= 2000 THEN s.item::text END"

# A step that waited without a worker goes on with the attempt it waited in.
BEGUN = "started_at = CASE WHEN s.wait IS NULL THEN orchestrator_now() ELSE s.started_at END"

# Of runs whose steps may start.
OPEN_RUN = "run.status IN ('running', 'canceling') AND run.halting IS NULL"

# Who has slots of a pool, also between the halves of an attempt that waits, and who waits for some.
HOLDS_SLOTS = "(s.status IN ('queued', 'running', 'waiting') OR (s.status = 'ready' AND s.wait IS NOT NULL))"
WAITS_FOR_SLOTS = "s.status = 'ready' AND s.next_attempt_at IS NULL AND s.pool IS NOT NULL AND s.wait IS NULL"

# The end of settling: `held` steps were claimed for the worker already. Few more are not worth a look. Nothing is waited
# for after it. What a look leaves was locked, and a dispatcher may have passed it over: the queue is told.
LOOK_FOR_MORE = """
  IF (look AND held <= take / 2) OR (take_any AND held = 0 AND take > 0) THEN
    RETURN QUERY SELECT CASE WHEN t.id IS NULL THEN 'ready' ELSE 'taken' END, t.id, t.claim_token, t.run_id,
      t.revision_id, t.position, t.attempt, t.queue, t.input, t.item, t.waited
    FROM orchestrator_take_best(take_queue, worker, lease, least(more, take - held), take_functions,
      NOT (take_any AND held = 0)) t;
  END IF;
""".strip()

# Attempts that succeeded, and what follows, where that is plain: docs/adr/0014 says what that means. A step that is
# not plain after all is left alone and returned as 'hard'. An attempt whose claim no longer holds is 'stale'.
# `owners`: for an item the position of its step, which counts it (0006).
# `take`: how many of the steps that become ready are claimed at once for the worker ('continued'); others become ready.
# With `look`, and when it would be left with nothing (`take_any`), as many as `more` of the queue's best besides ('taken').
SETTLE = f"""
CREATE FUNCTION orchestrator_settle(
  ids uuid[], tokens uuid[], runs uuid[], positions int[], owners int[], leaves bool[], outputs text[], inputs text[],
  took float8[], ago float8[],
  edge_from int[], edge_position int[], edge_queue text[],
  line_of int[], line_at timestamptz[], line_stream text[], line_level text[], line_message text[],
  worker text, lease float8, take int, take_queue text, take_functions text[], take_any bool, more int, look bool,
  output_limit int
) RETURNS TABLE (kind text, id uuid, claim_token uuid, run_id uuid, revision_id uuid, "position" int, attempt int,
  queue text, input text, item text, waited float8)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  hard int[] := '{{}}';
  moved int[];
  over uuid[];
  made text[];
  odd text;
  held int := 0;
  counted bool := array_remove(owners, NULL) <> '{{}}';
BEGIN
  -- The one lock order: by run, then by position (docs/adr/0003). A dependant that has met anything but satisfied
  -- sources is decided by the engine's rules, not here; so is the end of an item whose step has ended. A lone attempt
  -- without dependants is locked by its update.
  IF cardinality(ids) > 1 OR cardinality(edge_from) > 0 OR counted THEN
    WITH locked AS MATERIALIZED (
      SELECT k.sources, CASE WHEN k.owns THEN s.finished_at IS NOT NULL
        ELSE s.status <> 'pending' OR s.edge_errors > 0
          OR s.satisfied_sources + s.remaining_sources <> s.source_count END AS is_hard
      FROM (
        SELECT o.run_id, o.position, array_agg(o.i) AS sources, bool_or(o.owns) AS owns FROM (
          SELECT unnest(runs) AS run_id, unnest(positions) AS position, NULL::int AS i, false AS owns
          UNION ALL SELECT runs[e.i], e.p, e.i, false FROM unnest(edge_from, edge_position) AS e (i, p)
          UNION ALL SELECT runs[t.i], t.p, t.i::int, true FROM unnest(owners) WITH ORDINALITY AS t (p, i)
            WHERE t.p IS NOT NULL
        ) o GROUP BY o.run_id, o.position
      ) k JOIN workflow_run_steps s ON s.run_id = k.run_id AND s.position = k.position
      ORDER BY s.run_id, s.position FOR UPDATE OF s
    )
    SELECT coalesce(array_agg(DISTINCT source.i) FILTER (WHERE source.i IS NOT NULL), '{{}}') INTO hard
    FROM locked d CROSS JOIN LATERAL unnest(CASE WHEN d.is_hard THEN d.sources ELSE '{{}}' END) AS source (i);
  END IF;

  WITH done AS (
    UPDATE workflow_run_steps s SET status = 'succeeded', output = CAST(a.output AS json), error = NULL, reason = NULL,
      input = coalesce(CAST(a.input AS json), s.input),
      finished_at = orchestrator_now() - make_interval(secs => a.ago),
      started_at = CASE WHEN s.wait IS NULL OR s.wait ->> 'for' = 'rate'
        THEN greatest(s.started_at, orchestrator_now() - make_interval(secs => a.ago + a.took)) ELSE s.started_at END,
      claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL, total_deadline_at = NULL
    FROM unnest(ids, tokens, outputs, inputs, took, ago) WITH ORDINALITY AS a (id, token, output, input, took, ago, i)
    WHERE s.id = a.id AND s.claim_token = a.token AND s.lease_expires_at IS NOT NULL AND a.i <> ALL (hard)
    RETURNING s.id, a.i::int AS i, s.attempt, s.worker_id, s.started_at, s.finished_at, s.next_attempt_at
  ), tried AS (
    INSERT INTO workflow_step_attempts (step_id, number, outcome, worker_id, started_at, finished_at)
    SELECT d.id, d.attempt, 'succeeded', d.worker_id, d.started_at, d.finished_at FROM done d
  )
  SELECT coalesce(array_agg(d.i), '{{}}') INTO moved FROM done d;

  IF cardinality(line_of) > 0 THEN
    INSERT INTO step_logs (run_id, step_id, attempt, at, stream, level, message)
    SELECT s.run_id, s.id, s.attempt, l.at, l.stream, l.level, l.message
    FROM unnest(line_of, line_at, line_stream, line_level, line_message) WITH ORDINALITY
      AS l (i, at, stream, level, message, place)
    JOIN workflow_run_steps s ON s.id = ids[l.i]
    WHERE l.i = ANY (moved) ORDER BY l.place;
  END IF;

  IF cardinality(moved) < cardinality(ids) THEN
    RETURN QUERY SELECT CASE WHEN a.i = ANY (hard) THEN 'hard' ELSE 'stale' END, a.id, a.token,
      NULL::uuid, NULL::uuid, NULL::int, NULL::int, NULL::text, NULL::text, NULL::text, NULL::float8
    FROM unnest(ids, tokens) WITH ORDINALITY AS a (id, token, i) WHERE a.i <> ALL (moved);
  END IF;

  IF counted THEN
    RETURN QUERY SELECT 'ready', NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::int, NULL::int, e.queue,
      NULL::text, NULL::text, NULL::float8
    FROM (SELECT runs[m.i] AS run_id, owners[m.i] AS owner, count(*)::int AS n FROM unnest(moved) AS m (i)
      WHERE owners[m.i] IS NOT NULL GROUP BY 1, 2) r
    CROSS JOIN LATERAL orchestrator_items_ended(r.run_id, r.owner, r.n, 0) e;
  END IF;

  IF cardinality(edge_from) > 0 THEN
    FOR kind, id, claim_token, run_id, revision_id, "position", attempt, queue, input IN
    WITH hit AS (
      SELECT runs[e.i] AS run_id, e.p AS position, min(e.q) AS queue, count(*)::int AS n
      FROM unnest(edge_from, edge_position, edge_queue) AS e (i, p, q) WHERE e.i = ANY (moved) GROUP BY 1, 2
    ), due AS (
      SELECT s.id, h.queue, h.n, run.revision_id, s.remaining_sources = h.n AS starts, s.priority,
        s.function = ANY (take_functions) AS short,
        s.remaining_sources = h.n AND h.queue = take_queue AND {OPEN_RUN}
          AND s.held_at IS NULL AS mine
      FROM hit h JOIN workflow_run_steps s ON s.run_id = h.run_id AND s.position = h.position
      JOIN workflow_runs run ON run.id = h.run_id
    ), ranked AS (
      SELECT d.*, row_number() OVER (PARTITION BY d.mine ORDER BY d.short DESC NULLS LAST, d.priority DESC, d.id) AS k
      FROM due d
    ), chosen AS (
      SELECT c.*, c.mine AND c.k <= take AND (coalesce(c.short, false) OR (take_any AND c.k = 1)) AS taken FROM ranked c
    ), told AS (
      UPDATE workflow_run_steps s SET remaining_sources = s.remaining_sources - c.n,
        satisfied_sources = s.satisfied_sources + c.n,
        status = CASE WHEN c.taken THEN 'running' WHEN c.starts THEN 'ready' ELSE s.status END,
        queue = CASE WHEN c.starts THEN c.queue ELSE s.queue END,
        ready_at = CASE WHEN c.starts THEN orchestrator_now() END,
        queued_at = CASE WHEN c.taken THEN orchestrator_now() END,
        started_at = CASE WHEN c.taken THEN orchestrator_now() END,
        claim_token = CASE WHEN c.taken THEN gen_random_uuid() END,
        worker_id = CASE WHEN c.taken THEN worker END,
        attempt = s.attempt + c.taken::int,
        lease_expires_at = CASE WHEN c.taken THEN orchestrator_now() + make_interval(secs => lease) END
      FROM chosen c WHERE s.id = c.id
      RETURNING s.status, s.id, s.claim_token, s.run_id, c.revision_id, s.position, s.attempt, s.queue
    )
    SELECT 'continued', t.id, t.claim_token, t.run_id, t.revision_id, t.position, t.attempt, t.queue, {SMALL}
    FROM told t JOIN workflow_runs run ON run.id = t.run_id WHERE t.status = 'running'
    UNION ALL
    SELECT DISTINCT 'ready', NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::int, NULL::int, t.queue, NULL::text
    FROM told t WHERE t.status = 'ready'
    LOOP
      held := held + (kind = 'continued')::int;
      RETURN NEXT;
    END LOOP;
  END IF;

  -- A step without dependants looks whether its run is over (docs/adr/0004): in a statement of its own, which sees what
  -- others had done until we had the runs' locks.
  SELECT array_agg(DISTINCT runs[i]) INTO over FROM unnest(moved) AS m (i) WHERE leaves[i];
  IF over IS NOT NULL THEN
    PERFORM FROM workflow_runs run WHERE run.id = ANY (over) ORDER BY run.id FOR NO KEY UPDATE;
    SELECT array_agg(c.id), array_agg(c.made), min(c.id::text) FILTER (WHERE c.odd OR octet_length(c.made) > output_limit)
    INTO over, made, odd
    FROM (
      SELECT run.id, run.status <> 'running' OR run.final_status IS NOT NULL
          OR EXISTS (SELECT 1 FROM workflow_run_steps s WHERE s.run_id = run.id AND s.status = 'failed') AS odd,
        (SELECT '{{' || coalesce(string_agg(to_json(s.name)::text || ':' || coalesce(s.output::text, 'null'), ','
          ORDER BY s.position), '') || '}}' FROM workflow_run_steps s WHERE s.run_id = run.id AND s.leaf) AS made
      FROM workflow_runs run WHERE run.id = ANY (over) AND run.status <> 'paused' AND run.halting IS NULL
        -- From the far end, where what is open is likely to lie: what has ended leaves dead index entries.
        AND (SELECT s.position FROM workflow_run_steps s WHERE s.run_id = run.id
          AND s.status IN ('pending', 'ready', 'queued', 'running', 'waiting')
          ORDER BY s.position DESC LIMIT 1) IS NULL
    ) c;
    IF odd IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'OR001', MESSAGE = 'a run does not end plainly: ' || odd;
    END IF;
  END IF;
  IF over IS NOT NULL THEN
    RETURN QUERY
    WITH ended AS (
      UPDATE workflow_runs run SET status = 'succeeded', final_status = 'succeeded', output = CAST(o.made AS json),
        finished_at = orchestrator_now()
      FROM unnest(over, made) AS o (id, made) WHERE run.id = o.id
      RETURNING run.id, run.parent_waits
    ), told AS (
      INSERT INTO run_events (run_id, kind) SELECT e.id, 'run.succeeded' FROM ended e
    )
    SELECT 'child_over', e.id, NULL::uuid, NULL::uuid, NULL::uuid, NULL::int, NULL::int, NULL::text, NULL::text,
      NULL::text, NULL::float8
    FROM ended e WHERE e.parent_waits;
  END IF;

  {LOOK_FOR_MORE}
END $$;
"""


# The same for one attempt with one dependant, which chains are made of: no arrays to join, half the work. The step comes
# before its dependant in the lock order, so it is settled before that is looked at; when that is not plain, the error
# undoes all, and the caller settles by the other function.
SETTLE_LINK = f"""
CREATE FUNCTION orchestrator_settle_link(
  step uuid, token uuid, run uuid, output_made text, input_made text, took float8, ago float8,
  next_position int, next_queue text,
  worker text, lease float8, take int, take_queue text, take_functions text[], take_any bool, more int, look bool
) RETURNS TABLE (kind text, id uuid, claim_token uuid, run_id uuid, revision_id uuid, "position" int, attempt int,
  queue text, input text, item text, waited float8)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := orchestrator_now();
  own record;
  next record;
  starts bool;
  taken bool;
  held int;
BEGIN
  UPDATE workflow_run_steps s SET status = 'succeeded', output = CAST(output_made AS json), error = NULL, reason = NULL,
    input = coalesce(CAST(input_made AS json), s.input), finished_at = moment - make_interval(secs => ago),
    started_at = CASE WHEN s.wait IS NULL OR s.wait ->> 'for' = 'rate'
      THEN greatest(s.started_at, moment - make_interval(secs => ago + took)) ELSE s.started_at END,
    claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL, total_deadline_at = NULL
  WHERE s.id = step AND s.claim_token = token AND s.lease_expires_at IS NOT NULL
  RETURNING s.attempt, s.worker_id, s.started_at, s.finished_at INTO own;
  IF NOT FOUND THEN
    RETURN QUERY VALUES ('stale', step, token, NULL::uuid, NULL::uuid, NULL::int, NULL::int, NULL::text, NULL::text,
      NULL::text, NULL::float8);
    RETURN;
  END IF;
  INSERT INTO workflow_step_attempts (step_id, number, outcome, worker_id, started_at, finished_at)
  VALUES (step, own.attempt, 'succeeded', own.worker_id, own.started_at, own.finished_at);

  SELECT s.id, s.remaining_sources, s.status <> 'pending' OR s.edge_errors > 0
      OR s.satisfied_sources + s.remaining_sources <> s.source_count AS is_hard,
    coalesce(s.function = ANY (take_functions), false) AS short, s.held_at IS NULL AS goes
  INTO next FROM workflow_run_steps s WHERE s.run_id = run AND s.position = next_position FOR UPDATE;
  IF next.is_hard THEN
    RAISE EXCEPTION USING ERRCODE = 'OR001', MESSAGE = 'a dependant is not plain';
  END IF;
  starts := next.remaining_sources = 1;
  taken := starts AND next.goes AND take > 0 AND next_queue = take_queue AND (next.short OR take_any);
  IF taken THEN
    -- In a statement of its own: whoever had the dependant's row locked may have stopped the run meanwhile.
    SELECT r.status IN ('running', 'canceling') AND r.halting IS NULL AS goes, r.revision_id, {SMALL_R} AS input
    INTO own FROM workflow_runs r WHERE r.id = run;
    taken := own.goes;
  ELSE
    SELECT NULL::uuid AS revision_id, NULL::text AS input INTO own;
  END IF;
  RETURN QUERY
  UPDATE workflow_run_steps s SET remaining_sources = s.remaining_sources - 1,
    satisfied_sources = s.satisfied_sources + 1,
    status = CASE WHEN taken THEN 'running' WHEN starts THEN 'ready' ELSE s.status END,
    queue = CASE WHEN starts THEN next_queue ELSE s.queue END,
    ready_at = CASE WHEN starts THEN moment END,
    queued_at = CASE WHEN taken THEN moment END, started_at = CASE WHEN taken THEN moment END,
    claim_token = CASE WHEN taken THEN gen_random_uuid() END, worker_id = CASE WHEN taken THEN worker END,
    attempt = s.attempt + taken::int,
    lease_expires_at = CASE WHEN taken THEN moment + make_interval(secs => lease) END
  WHERE s.id = next.id
  RETURNING CASE s.status WHEN 'running' THEN 'continued' ELSE s.status END, s.id, s.claim_token, s.run_id,
    own.revision_id, s.position, s.attempt, s.queue, own.input, NULL::text, NULL::float8;
  held := taken::int;
  {LOOK_FOR_MORE}
END $$;
"""


# The ids of the ready steps that are next, best first, locked; those another dispatcher has locked are passed over.
# To be called in a statement of its own: the one that goes on with them must see them as they are now.
# Highest priority first. Among equals an app is next the sooner the less of it is under way, so that the backlog of one
# never keeps the others waiting; within an app what has been ready longest (docs/adr/0020). `lanes` steps from one
# (priority, app) that has ready steps to the next, by the index. Of one app no more is asked for than that index tells.
def _next(name: str, ready: str, eligible: str, under_way: str) -> str:
    lanes = f"""lanes AS (
    (SELECT s.priority, s.app_id FROM workflow_run_steps s WHERE {ready}
      ORDER BY s.priority DESC, s.app_id LIMIT 1)
    UNION ALL
    SELECT n.priority, n.app_id FROM lanes l CROSS JOIN LATERAL (
      (SELECT s.priority, s.app_id FROM workflow_run_steps s
        WHERE {ready} AND s.priority = l.priority AND s.app_id > l.app_id ORDER BY s.priority DESC, s.app_id LIMIT 1)
      UNION ALL
      (SELECT s.priority, s.app_id FROM workflow_run_steps s
        WHERE {ready} AND s.priority < l.priority ORDER BY s.priority DESC, s.app_id LIMIT 1)
      LIMIT 1) n
  )"""
    found = f"""FROM workflow_run_steps s JOIN workflow_runs run ON run.id = s.run_id
    WHERE {ready}{eligible} AND {OPEN_RUN}"""
    return f"""
CREATE FUNCTION orchestrator_{name}(wanted text, room int) RETURNS uuid[]
LANGUAGE plpgsql {IN_ORDER} AS $$
BEGIN
  IF NOT EXISTS (WITH RECURSIVE {lanes}
    SELECT FROM lanes other WHERE other.app_id <> (SELECT l.app_id FROM lanes l LIMIT 1)) THEN
    RETURN ARRAY(SELECT s.id {found}
      ORDER BY s.priority DESC, s.app_id, s.ready_at, s.id LIMIT room FOR UPDATE OF s SKIP LOCKED);
  END IF;
  RETURN ARRAY(WITH RECURSIVE {lanes}, under_way AS (
    SELECT u.app_id, count(*) AS n FROM ({under_way}) u GROUP BY u.app_id
  ), places AS (
    SELECT l.priority, l.app_id, row_number() OVER (ORDER BY l.priority DESC, coalesce(u.n, 0) + h.k, h.ready_at) AS k
    FROM lanes l LEFT JOIN under_way u ON u.app_id = l.app_id CROSS JOIN LATERAL (
      SELECT o.ready_at, row_number() OVER (ORDER BY o.ready_at, o.id) AS k FROM (
        SELECT s.ready_at, s.id {found} AND s.priority = l.priority AND s.app_id = l.app_id
        ORDER BY s.ready_at, s.id LIMIT room) o) h
    ORDER BY k LIMIT room
  ), shares AS (
    SELECT p.priority, p.app_id, count(*) AS n, min(p.k) AS k FROM places p GROUP BY p.priority, p.app_id
  )
  SELECT m.id FROM shares h CROSS JOIN LATERAL (
    SELECT s.id, s.ready_at {found} AND s.priority = h.priority AND s.app_id = h.app_id
    ORDER BY s.ready_at, s.id LIMIT h.n FOR UPDATE OF s SKIP LOCKED) m
  ORDER BY h.priority DESC, h.k, m.ready_at, m.id);
END $$;
"""


NEXT = _next(
    "next",
    "s.queue = wanted AND (s.pool IS NULL OR s.wait IS NOT NULL) AND s.status = 'ready'"
    " AND s.next_attempt_at IS NULL AND s.held_at IS NULL",
    "",
    "SELECT s.app_id FROM workflow_run_steps s WHERE s.status = 'queued' AND s.queue = wanted UNION ALL"
    " SELECT s.app_id FROM workflow_run_steps s WHERE s.status = 'running' AND s.queue = wanted",
)

NEXT_OF_POOL = _next(
    "next_of_pool",
    f"s.pool = wanted AND {WAITS_FOR_SLOTS}",
    " AND s.held_at IS NULL AND s.slots <= (SELECT p.slots FROM pools p WHERE p.name = wanted)",
    f"SELECT s.app_id FROM workflow_run_steps s WHERE s.pool = wanted AND s.pool IS NOT NULL AND {HOLDS_SLOTS}",
)

# The best of the ready steps of a queue, claimed for the worker: the first, and if that is of one of `functions`,
# which are known to be short, up to `room` of their kind with it. A row of nothing but the queue says that some were left.
TAKE_BEST = f"""
CREATE FUNCTION orchestrator_take_best(wanted text, worker text, lease float8, room int, functions text[], mixed bool)
RETURNS TABLE (id uuid, claim_token uuid, run_id uuid, revision_id uuid, "position" int, attempt int, queue text,
  input text, item text, waited float8)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  best uuid[];
  chosen int;
BEGIN
  best := orchestrator_next(wanted, room);
  IF cardinality(best) = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY
  WITH ranked AS (
    SELECT s.id, run.revision_id, {SMALL} AS input, coalesce(s.function = ANY (functions), false) AS short, b.k
    FROM unnest(best) WITH ORDINALITY AS b (id, k) JOIN workflow_run_steps s ON s.id = b.id
    JOIN workflow_runs run ON run.id = s.run_id
  ), chosen AS (
    SELECT c.id, c.revision_id, c.input FROM ranked c
    WHERE (c.k = 1 AND NOT mixed) OR (c.short AND (mixed OR (SELECT f.short FROM ranked f WHERE f.k = 1)))
  )
  UPDATE workflow_run_steps s SET status = 'running', claim_token = gen_random_uuid(), worker_id = worker,
    attempt = s.attempt + 1, {BEGUN}, queued_at = orchestrator_now(),
    lease_expires_at = orchestrator_now() + make_interval(secs => lease), error = NULL, progress = NULL
  FROM chosen c WHERE s.id = c.id
  RETURNING s.id, s.claim_token, s.run_id, c.revision_id, s.position, s.attempt, s.queue, c.input, {ITEM},
    CAST(extract(epoch FROM s.queued_at - s.ready_at) AS float8);
  GET DIAGNOSTICS chosen = ROW_COUNT;
  IF chosen < cardinality(best) THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid, NULL::uuid, NULL::uuid, NULL::int, NULL::int, wanted, NULL::text,
      NULL::text, NULL::float8;
  END IF;
END $$;
"""

# The same, where that is all: losing the commit loses nothing.
TAKE = """
CREATE FUNCTION orchestrator_take(wanted text, worker text, lease float8, room int, functions text[], mixed bool)
RETURNS TABLE (id uuid, claim_token uuid, run_id uuid, revision_id uuid, "position" int, attempt int, queue text,
  input text, item text, waited float8)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY SELECT t.* FROM orchestrator_take_best(wanted, worker, lease, room, functions, mixed) t
  WHERE t.id IS NOT NULL;
END $$;
"""

# The same for steps whose message has come. Of both: how long each was ready before it was sent, and on its way then.
CLAIM = f"""
CREATE FUNCTION orchestrator_claim(ids uuid[], tokens uuid[], worker text, lease float8)
RETURNS TABLE (id uuid, claim_token uuid, run_id uuid, revision_id uuid, "position" int, attempt int, queue text,
  input text, item text, waited float8, fetched float8)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
  WITH mine AS (
    SELECT s.id, run.revision_id, {SMALL} AS input FROM unnest(ids, tokens) AS c (id, token)
    JOIN workflow_run_steps s ON s.id = c.id AND s.claim_token = c.token AND s.lease_expires_at IS NULL
    JOIN workflow_runs run ON run.id = s.run_id AND {OPEN_RUN}
    ORDER BY s.run_id, s.position FOR UPDATE OF s
  )
  UPDATE workflow_run_steps s SET status = 'running', worker_id = worker, attempt = s.attempt + 1,
    {BEGUN}, lease_expires_at = orchestrator_now() + make_interval(secs => lease),
    error = NULL, progress = NULL
  FROM mine m WHERE s.id = m.id
  RETURNING s.id, s.claim_token, s.run_id, m.revision_id, s.position, s.attempt, s.queue, m.input, {ITEM},
    CAST(extract(epoch FROM s.queued_at - s.ready_at) AS float8),
    CAST(extract(epoch FROM orchestrator_now() - s.queued_at) AS float8);
END $$;
"""

# The best ready steps of a queue get a token and go to the broker, while fewer than `most` are there; with `patience` those
# that have been ready for as many seconds: a worker may take the others by itself. A row of nothing says that there are
# such others. And of each pool that a ready step of the queue waits for, the best ready steps that its slots have room
# for, whatever their queues. Who gives slots away holds the pool's row: how many are taken is counted, so that what dies
# gives its own back.
QUEUE = f"""
CREATE FUNCTION orchestrator_queue(wanted text, most int, patience float8)
RETURNS TABLE (id uuid, claim_token uuid, queue text)
LANGUAGE plpgsql {IN_ORDER} AS $$
#variable_conflict use_column
DECLARE
  room int;
  size int;
  sent int;
  gate text := '';
  best uuid[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  LOOP
    gate := (SELECT s.pool FROM workflow_run_steps s WHERE s.queue = wanted AND s.pool > gate AND {WAITS_FOR_SLOTS}
      AND s.held_at IS NULL
      ORDER BY s.pool LIMIT 1);
    EXIT WHEN gate IS NULL;
    SELECT p.slots INTO size FROM pools p WHERE p.name = gate FOR UPDATE;
    room := coalesce(size, 0) - (SELECT coalesce(sum(s.slots), 0) FROM workflow_run_steps s WHERE s.pool = gate
      AND s.pool IS NOT NULL AND {HOLDS_SLOTS});
    CONTINUE WHEN room <= 0;
    best := orchestrator_next_of_pool(gate, room);
    RETURN QUERY
    WITH fitting AS (
      SELECT b.id, b.k, sum(s.slots) OVER (ORDER BY b.k) AS taken
      FROM unnest(best) WITH ORDINALITY AS b (id, k)
      JOIN workflow_run_steps s ON s.id = b.id
    ), sent AS (
      UPDATE workflow_run_steps s SET status = 'queued', claim_token = gen_random_uuid(), queued_at = orchestrator_now()
      FROM fitting f WHERE s.id = f.id AND f.taken <= room
      RETURNING s.id, s.claim_token, s.queue, f.k
    )
    SELECT s.id, s.claim_token, s.queue FROM sent s ORDER BY s.k;
  END LOOP;

  SELECT most - count(*) INTO room FROM workflow_run_steps s WHERE s.status = 'queued' AND s.queue = wanted;
  IF room <= 0 THEN
    RETURN;
  END IF;
  best := orchestrator_next(wanted, room);
  RETURN QUERY
  WITH chosen AS (
    SELECT b.id, b.k FROM unnest(best) WITH ORDINALITY AS b (id, k)
    JOIN workflow_run_steps s ON s.id = b.id
    WHERE patience = 0 OR s.ready_at <= orchestrator_now() - make_interval(secs => patience)
  ), sent AS (
    UPDATE workflow_run_steps s SET status = 'queued', claim_token = gen_random_uuid(), queued_at = orchestrator_now()
    FROM chosen c WHERE s.id = c.id
    RETURNING s.id, s.claim_token, s.queue, c.k
  )
  SELECT s.id, s.claim_token, s.queue FROM sent s ORDER BY s.k;
  GET DIAGNOSTICS sent = ROW_COUNT;
  IF sent < cardinality(best) THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid, wanted;
  END IF;
END $$;
"""

# Claimed attempts that were never begun go back: nothing of them is counted.
RELEASE = f"""
CREATE FUNCTION orchestrator_release(ids uuid[], tokens uuid[]) RETURNS TABLE (queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
  WITH mine AS (
    SELECT s.id FROM unnest(ids, tokens) AS c (id, token)
    JOIN workflow_run_steps s ON s.id = c.id AND s.claim_token = c.token AND s.lease_expires_at IS NOT NULL
    ORDER BY s.run_id, s.position FOR UPDATE OF s
  )
  UPDATE workflow_run_steps s SET status = 'ready', attempt = s.attempt - 1, claim_token = NULL,
    lease_expires_at = NULL, started_at = CASE WHEN s.wait IS NOT NULL THEN s.started_at END, queued_at = NULL,
    attempt_deadline_at = CASE WHEN s.wait IS NOT NULL THEN s.attempt_deadline_at END, worker_id = NULL
  FROM mine m WHERE s.id = m.id
  RETURNING s.queue;
END $$;
"""

# The revision an app sees under a workflow's name: its own workflow hides its group's. `number` NULL is the latest.
FIND = f"""
CREATE FUNCTION orchestrator_find(app_key text, wanted text, number int)
RETURNS TABLE (revision_id uuid, workflow_id uuid, app_id uuid)
LANGUAGE plpgsql STABLE {PLANNED} AS $$
#variable_conflict use_variable
BEGIN
  RETURN QUERY SELECT found.revision, found.workflow, a.id FROM apps a CROSS JOIN LATERAL (
    SELECT v.id AS revision, w.id AS workflow, 1 AS place
    FROM workflows w JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = coalesce(number, w.latest_revision)
    WHERE w.app_id = a.id AND w.name_key = wanted AND w.deleted_at IS NULL
    UNION ALL
    SELECT v.id, w.id, 2
    FROM workflows w JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = coalesce(number, w.latest_revision)
    WHERE w.group_id = a.group_id AND w.name_key = wanted AND w.deleted_at IS NULL
  ) AS found WHERE a.name_key = app_key ORDER BY found.place LIMIT 1;
END $$;
"""

# Runs of one revision that differ in their input only, with all their steps: `ids` holds the steps' ids, run by run.
# The ids of the runs come back, and the queues with first steps. A run whose idempotency key is taken is not made, and
# none is when the app sees another revision now than the starter knows.
START = f"""
CREATE FUNCTION orchestrator_start(
  app_key text, workflow_key text, number int, run_ids uuid[], inputs text[], workflow uuid, revision uuid, app uuid, tags text[], key text, timeout float8,
  event json, ids uuid[], names text[], functions text[], leaves bool[], queues text[], priorities smallint[],
  sources int[], most_attempts int[]
) RETURNS TABLE (id uuid, ready text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH made AS (
    INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, input, vars, tags, idempotency_key,
      root_id, step_count, created_at, started_at, deadline_at)
    SELECT r.id, workflow, revision, app, 'running', CAST(r.input AS json), '{{}}', tags, key, r.id, cardinality(names),
      orchestrator_now(), orchestrator_now(), orchestrator_now() + make_interval(secs => timeout)
    FROM unnest(run_ids, inputs) AS r (id, input)
    -- A workflow of the app's own is looked at by its primary key; only for one of its group is all looked up.
    WHERE EXISTS (SELECT FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id JOIN apps a ON a.id = w.app_id
        WHERE v.id = revision AND v.number = coalesce(orchestrator_start.number, w.latest_revision) AND w.id = workflow
          AND a.id = app AND w.name_key = workflow_key AND a.name_key = app_key AND w.deleted_at IS NULL)
      OR EXISTS (SELECT FROM orchestrator_find(app_key, workflow_key, number) f
        WHERE f.revision_id = revision AND f.workflow_id = workflow AND f.app_id = app)
    ON CONFLICT (workflow_id, app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING workflow_runs.id
  ), told AS (
    INSERT INTO run_events (run_id, kind, data) SELECT m.id, 'run.started', event FROM made m
  ), steps AS (
    INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, function, leaf, status, queue, priority,
      source_count, remaining_sources, max_attempts, ready_at)
    SELECT ids[(r.i - 1) * cardinality(names) + t.i], r.id, app, t.i - 1, t.name, t.function, t.leaf,
      CASE WHEN t.sources = 0 THEN 'ready' ELSE 'pending' END,
      CASE WHEN t.sources = 0 THEN coalesce(t.queue, (SELECT f.queue FROM functions f WHERE f.name = t.function),
        '{DEFAULT_QUEUE}') END, t.priority, t.sources, t.sources, t.most,
      CASE WHEN t.sources = 0 THEN orchestrator_now() END
    FROM made m JOIN unnest(run_ids) WITH ORDINALITY AS r (id, i) ON r.id = m.id
    CROSS JOIN unnest(names, functions, leaves, queues, priorities, sources, most_attempts) WITH ORDINALITY
      AS t (name, function, leaf, queue, priority, sources, most, i)
    ORDER BY r.i, t.i
    RETURNING queue
  )
  SELECT m.id, NULL::text FROM made m
  UNION ALL SELECT DISTINCT NULL::uuid, s.queue FROM steps s WHERE s.queue IS NOT NULL;
END $$;
"""

# What most templates read of their run: its variables (in a row without a name), and how some of its steps stand.
VIEW = f"""
CREATE FUNCTION orchestrator_view(run uuid, positions int[])
RETURNS TABLE (name text, status text, output json, error json, attempt int, items json)
LANGUAGE plpgsql STABLE {PLANNED} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT NULL::text, NULL::text, r.vars, NULL::json, NULL::int, NULL::json
  FROM workflow_runs r WHERE r.id = run;
  RETURN QUERY SELECT s.name, s.status, s.output, s.error, s.attempt, s.items FROM workflow_run_steps s
  WHERE s.run_id = run AND s.position = ANY (positions);
END $$;
"""

# What the coordinator has to do, by the names of its duties (orchestrator/services/coordinate.py): one probe of an index
# for each, so that a coordinator with nothing to do costs next to nothing. It may say so of a duty that finds nothing.
DUE = f"""
CREATE FUNCTION orchestrator_due(grace float8, resend float8) RETURNS TABLE (duty text, due bool)
LANGUAGE plpgsql STABLE {PLANNED} AS $$
BEGIN
  RETURN QUERY VALUES
    ('promote_retries', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status = 'ready' AND s.next_attempt_at <= orchestrator_now())),
    ('wake_waiting', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status = 'waiting' AND s.wake_at <= orchestrator_now())),
    ('reclaim', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status = 'running' AND (s.lease_expires_at <= orchestrator_now()
        OR s.attempt_deadline_at + make_interval(secs => grace) <= orchestrator_now()))),
    ('expire_totals', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status IN ('ready', 'queued') AND s.total_deadline_at <= orchestrator_now())),
    ('stop_noted_items', EXISTS (SELECT FROM workflow_run_steps s WHERE s.items_stop IS NOT NULL)),
    ('expire_runs', EXISTS (SELECT FROM workflow_runs r
      WHERE r.status IN ('pending', 'running', 'paused', 'canceling') AND r.deadline_at <= orchestrator_now()
        AND r.halting IS NULL)),
    ('carry_out_halts', EXISTS (SELECT FROM workflow_runs r WHERE r.halting IS NOT NULL)),
    -- The run's status as a value, not joined: what is queued is little, and runs that are open may be many.
    ('withdraw_paused', EXISTS (SELECT FROM workflow_run_steps s WHERE s.status = 'queued'
      AND (SELECT r.status FROM workflow_runs r WHERE r.id = s.run_id) = 'paused')),
    ('tell_parents', EXISTS (SELECT FROM workflow_runs r
      WHERE r.parent_waits AND r.status IN ('canceled', 'failed', 'succeeded'))),
    ('pass_on', EXISTS (SELECT FROM workflow_runs r
      WHERE r.parent_waits AND r.status IN ('canceling', 'paused', 'pending', 'running'))),
    ('admit_pending', EXISTS (SELECT FROM workflow_runs r WHERE r.status = 'pending' AND r.limit_key IS NOT NULL)),
    ('fire_schedules', EXISTS (SELECT FROM schedules s WHERE s.due_at <= orchestrator_now())),
    -- Whose run has ended; what may begin, as no other is open; what waits for a run that is to be canceled.
    ('follow_fires', EXISTS (SELECT FROM schedule_fires f WHERE f.status = 'started'
        AND coalesce((SELECT r.status FROM workflow_runs r WHERE r.id = f.run_id), 'canceled')
          IN ('canceled', 'failed', 'succeeded'))
      OR EXISTS (SELECT FROM schedule_fires w JOIN schedules s ON s.id = w.schedule_id
        WHERE w.status = 'waiting' AND s.paused_at IS NULL AND (s.overlap = 'cancel_running' OR NOT EXISTS (
          SELECT FROM schedule_fires f WHERE f.schedule_id = w.schedule_id AND f.status = 'started'
            AND (f.cause = 'backfill') = (w.cause = 'backfill'))))),
    ('forget_results', EXISTS (SELECT FROM function_results f WHERE f.expires_at <= orchestrator_now())),
    ('resend', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status = 'queued' AND s.queued_at <= orchestrator_now() - make_interval(secs => resend))),
    ('find_ready', EXISTS (SELECT FROM workflow_run_steps s
      WHERE s.status = 'ready' AND s.next_attempt_at IS NULL AND s.held_at IS NULL));
END $$;
"""

FUNCTIONS = (SETTLE, SETTLE_LINK, NEXT, NEXT_OF_POOL, TAKE_BEST, TAKE, CLAIM, QUEUE, RELEASE, FIND, START, VIEW, DUE)


def upgrade() -> None:
    for script in FUNCTIONS:
        op.get_bind().exec_driver_sql(script)


def downgrade() -> None:
    for name in (
        "settle",
        "settle_link",
        "next",
        "next_of_pool",
        "take_best",
        "take",
        "claim",
        "queue",
        "release",
        "start",
        "find",
        "view",
        "due",
    ):
        op.get_bind().exec_driver_sql(f"DROP FUNCTION orchestrator_{name}")
