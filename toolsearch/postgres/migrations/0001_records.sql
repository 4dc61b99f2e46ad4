CREATE TABLE sessions (
    tenant text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    used_at double precision NOT NULL,
    choice text,
    PRIMARY KEY (tenant, session_id)
);
CREATE INDEX sessions_by_use ON sessions (used_at);

CREATE TABLE discovered (
    position bigint GENERATED ALWAYS AS IDENTITY,
    tenant text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session_id, name),
    FOREIGN KEY (tenant, session_id) REFERENCES sessions ON DELETE CASCADE
);

CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    digest bytea NOT NULL,
    entry json NOT NULL,
    created_at double precision NOT NULL
);

-- json and not text: a query may hold the character NUL, which only an escape can carry.
CREATE TABLE feedback (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    entry json NOT NULL
);
CREATE INDEX feedback_by_tenant ON feedback (tenant, id);

CREATE TABLE usage (
    tenant text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    searches bigint NOT NULL,
    nothing_fits bigint NOT NULL,
    returned_tokens bigint NOT NULL,
    spared_tokens bigint NOT NULL,
    calls bigint NOT NULL,
    PRIMARY KEY (tenant, day)
);

CREATE TABLE answers (
    owner text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    at double precision NOT NULL,
    status integer NOT NULL,
    content_type text NOT NULL,
    etag text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX answers_by_age ON answers (at);

CREATE FUNCTION tell_of_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('toolsearch', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TRIGGER tell_of_keys AFTER INSERT OR UPDATE OR DELETE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();
