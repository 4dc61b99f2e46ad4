// What a program in TypeScript does with the service, by types that are made of its OpenAPI document alone: search,
// send a session's tools to a model, carry out its call of tool_search, and change the catalog.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });

function checked<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const found: components["schemas"]["SearchAnswer"] = checked(
  await client.POST("/v1/search", { body: { queries: ["send an email"], k: 2, form: "openai_chat" } }),
);
const names: string[] = (found.hits ?? []).map((hit) => hit.name);

const both = checked(
  await client.POST("/v1/search/batch", { body: { searches: [{ queries: ["mail"] }, { queries: ["weather"] }] } }),
);
const batched: number = both.items.length;

const session = checked(await client.POST("/v1/sessions", { body: { id: "typescript" } }));
const path = { session_id: session.id };
const result = checked(
  await client.POST("/v1/sessions/{session_id}/search", {
    params: { path },
    body: { arguments: { queries: ["send an email"] } },
  }),
);
const next = checked(
  await client.GET("/v1/sessions/{session_id}/tools", { params: { path, query: { form: "anthropic" } } }),
);
const entry = checked(await client.GET("/v1/sessions/{session_id}", { params: { path } }));

const put = checked(
  await client.PUT("/v1/tools/{name}", {
    params: { path: { name: "net__ping" } },
    body: { name: "ping", server: "net", description: "Ping a host." },
  }),
);
const page = checked(await client.GET("/v1/tools", { params: { query: { limit: 3 } } }));
const removed = await client.DELETE("/v1/tools/{name}", { params: { path: { name: put.name } } });
const gone = await client.GET("/v1/tools/{name}", { params: { path: { name: put.name } } });
const ended = await client.DELETE("/v1/sessions/{session_id}", { params: { path } });

console.log(
  JSON.stringify({
    names,
    batched,
    text: result.text,
    discovered: entry.discovered,
    sent: next.tools,
    listed: page.tools.length,
    more: page.next_cursor != null,
    removed: removed.response.status,
    gone: gone.response.status,
    ended: ended.response.status,
  }),
);
