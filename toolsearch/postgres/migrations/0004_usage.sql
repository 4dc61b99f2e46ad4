CREATE TABLE usage_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    embedder_id text NOT NULL,
    tool text NOT NULL,
    document bytea NOT NULL,
    outcome text NOT NULL,
    session_id text NOT NULL,
    vector bytea NOT NULL
);
CREATE INDEX usage_events_by_tenant ON usage_events (tenant);
CREATE INDEX usage_events_by_age ON usage_events (at);
CREATE INDEX feedback_by_age ON feedback (at);
