CREATE TABLE session_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    facts json NOT NULL
);
CREATE INDEX session_events_by_session ON session_events (tenant, session_id, id);
CREATE INDEX session_events_by_age ON session_events (at);
