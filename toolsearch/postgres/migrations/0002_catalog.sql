-- Said, as it would go into the schema of these tables, where no other program looks for it.
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

-- One row, or none while the catalog is empty. Each change of the catalog raises the version.
CREATE TABLE catalog (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    version bigint NOT NULL,
    -- Removals up to this version are no longer known.
    pruned bigint NOT NULL DEFAULT 0,
    fingerprint text NOT NULL,
    embedder_id text NOT NULL,
    dim integer NOT NULL,
    document_version integer NOT NULL,
    calibration json
);
CREATE TRIGGER tell_of_catalog AFTER INSERT OR UPDATE OR DELETE ON catalog
    FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();

-- json and not jsonb: a definition is kept to the byte. The vector is a unit row, or zero.
CREATE TABLE tools (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    definition json NOT NULL,
    vector vector NOT NULL
);
CREATE INDEX tools_by_version ON tools (version);

CREATE TABLE removed_tools (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX removed_tools_by_version ON removed_tools (version);
