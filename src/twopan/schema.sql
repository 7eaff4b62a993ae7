-- A twopan ledger: every call ever made to a judge, and what was made of the replies.
-- Append-only but for the columns that say how something ended. Read it with sqlite3 or datasette;
-- `request` and `reply` are JSON, compressed with zstd (`twopan ledger show KEY` prints them).

create table if not exists meta (
    name  text primary key,
    value text not null
) strict;

-- One command, with all that it was told.
create table if not exists runs (
    id         text primary key,
    started_at text not null,
    ended_at   text,
    state      text not null,          -- running | finished | interrupted | failed | budget
    host       text not null,
    pid        integer not null,
    version    text not null,          -- of twopan
    command    text not null,          -- json: the words of the command line
    config     text not null,          -- json: every setting in force, secrets excepted
    signature  text not null           -- json: one signature a judge
) strict;

-- One distinct question: everything that can change the answer is in the key, nothing else is.
create table if not exists calls (
    key      text primary key,         -- sha256 of the canonical request
    endpoint text not null,
    model    text not null,
    request  blob not null             -- zstd(json)
) strict, without rowid;

-- One attempt to have it answered: written before it is sent, settled after.
create table if not exists attempts (
    id            integer primary key,
    key           text not null references calls (key),
    run           text not null references runs (id),
    started_at    text not null,
    ended_at      text,
    outcome       text not null,       -- pending | answered | unknown | unreachable | rate_limited | ...
    error         text,
    request_id    text,
    input_tokens  integer,
    cached_tokens integer,
    output_tokens integer,
    cost_usd      real                 -- null: unknown, or the model has no price
) strict;
create index if not exists attempts_by_key on attempts (key);
create index if not exists attempts_by_run on attempts (run);
create index if not exists attempts_open on attempts (run) where outcome = 'pending';

-- What came back, word for word, so that a better parser costs nothing.
create table if not exists replies (
    attempt       integer primary key references attempts (id),
    key           text not null references calls (key),
    model_served  text,
    finish_reason text not null,
    reply         blob not null,       -- zstd(json)
    checksum      text not null        -- sha256 of `reply` as stored, first 16 hex digits
) strict;
create index if not exists replies_by_key on replies (key);

-- What a run made of the replies. Derived: it can be made again from the rest.
create table if not exists verdicts (
    run        text not null references runs (id),
    place      integer not null,       -- of the pair in the data, from 0
    item       text not null,
    a          text not null,
    b          text not null,
    choice     text,                   -- a | b | tie; null where unjudged
    a_score    real,
    consistent integer,
    unjudged   text,                   -- the reason, where there is no verdict
    line       text not null,          -- the verdict line, json
    primary key (run, item, a, b)
) strict, without rowid;

create view if not exists run_costs as
select run, model, endpoint,
       count(*)                                  as attempts,
       sum(outcome = 'answered')                 as answered,
       sum(outcome in ('pending', 'unknown'))    as unknown,
       sum(input_tokens)                         as input_tokens,
       sum(cached_tokens)                        as cached_tokens,
       sum(output_tokens)                        as output_tokens,
       sum(cost_usd)                             as cost_usd,
       sum(outcome = 'answered' and cost_usd is null) as unpriced
from attempts join calls using (key)
group by run, model, endpoint;

create view if not exists run_results as
select runs.id as run, started_at, state,
       count(item)                 as pairs,
       count(choice)               as judged,
       sum(unjudged is not null)   as unjudged,
       avg(case choice when 'a' then 1.0 when 'tie' then 0.5 when 'b' then 0.0 end) as win_rate,
       avg(a_score)                as mean_a_score,
       avg(consistent)             as consistent
from runs left join verdicts on verdicts.run = runs.id
group by runs.id;
