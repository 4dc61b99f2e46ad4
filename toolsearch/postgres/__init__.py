"""A PostgreSQL database: its address, connections, schema and news. What is kept in it is said elsewhere."""
