// A client that is made of the OpenAPI document alone: a function for each operation, by its id.
// It calls each with the examples of the document, and prints what came back as JSON Lines.

const [base] = process.argv.slice(2);
const api = await (await fetch(`${base}/openapi.json`)).json();

const resolve = (schema) => schema.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema;

const exampleOf = (schema) => {
  const known = resolve(schema);
  if (known.examples) return known.examples[0];
  return known.anyOf ? exampleOf(known.anyOf[0]) : undefined;
};

const bodyOf = (operation) => {
  const content = operation.requestBody?.content?.["application/json"];
  if (!content) return undefined;
  return content.example ?? exampleOf(content.schema);
};

const client = {};
for (const [path, operations] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    client[operation.operationId] = (parameters, body) => {
      const url = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(parameters[name]));
      const json = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
      return fetch(base + url, { method: method.toUpperCase(), ...json });
    };
    client[operation.operationId].body = bodyOf(operation);
  }
}

// What destroys comes last.
const order = (id) => ["delete_tool", "delete_source", "put_catalog", "create_key"].indexOf(id);
const values = { name: "mail__send_email", catalog: "default", source: "mail", session_id: "s", key_id: "none" };
for (const id of Object.keys(client).sort((a, b) => order(a) - order(b))) {
  const response = await client[id](values, client[id].body);
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  console.log(JSON.stringify({ id, status: response.status, type, json: type.includes("json") ? JSON.parse(text) : null }));
}
