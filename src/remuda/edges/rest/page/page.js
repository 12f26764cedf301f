"use strict";

// Answers may have hundreds of megabytes; a page needs no more than this.
const SHOWN_CHARACTERS = 200000;

// Where the API is: this page may be served below a prefix of a proxy.
const BASE = location.pathname.replace(/\/ws\/v1\/docs\/?$/, "");

let api = null;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((each) => each !== null));
  return made;
}

function resolved(thing) {
  let found = thing;
  while (found && found.$ref) {
    found = found.$ref.slice(2).split("/").reduce((at, part) => at[part], api);
  }
  return found || {};
}

// ---------------------------------------------------------------------------------- schemas

function typeName(schema) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return element("a", { href: "#schema-" + name }, name);
  }
  const choice = schema.oneOf || schema.anyOf;
  if (choice) {
    const parts = element("span");
    choice.forEach((each, at) => parts.append(at ? " or " : "", typeName(each)));
    return parts;
  }
  if (schema.type === "array") return element("span", {}, "list of ", typeName(schema.items || {}));
  if (schema.type === "object" && schema.additionalProperties) {
    return element("span", {}, "map to ", typeName(schema.additionalProperties));
  }
  const kind = [].concat(schema.type || "any").join(" or ");
  return document.createTextNode(kind + (schema.format ? ` (${schema.format})` : ""));
}

function schemaTable(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, each]) => {
    const words = [each.description || ""];
    if (each.enum) words.push("One of " + each.enum.join(", ") + ".");
    const always = (schema.required || []).includes(name) ? "always" : "";
    return element("tr", {},
      element("td", {}, element("code", {}, name)),
      element("td", {}, typeName(each)),
      element("td", {}, always),
      element("td", {}, words.join(" ").trim()));
  });
  if (!rows.length) {
    return element("p", {}, typeName({ ...schema, $ref: undefined }), schema.enum ? ": " + schema.enum.join(", ") : "");
  }
  const head = ["key", "type", "there", "meaning"].map((text) => element("th", { scope: "col" }, text));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function schemaPanel([name, schema]) {
  const panel = element("details", { id: "schema-" + name },
    element("summary", {}, element("code", {}, name), element("span", { className: "words" }, schema.description || "")));
  const fill = () => {
    if (panel.open && panel.children.length === 1) {
      panel.append(element("div", { className: "inner" }, schemaTable(schema)));
    }
  };
  panel.addEventListener("toggle", fill);
  return panel;
}

// ---------------------------------------------------------------------------------- answers

// Indents JSON without parsing it: numbers may have more digits than JavaScript keeps.
function indented(text) {
  let out = "";
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      out += sign;
      if (sign === "\\") { at += 1; out += text[at] || ""; }
      else if (sign === "\"") quoted = false;
    } else if (sign === "\"") { quoted = true; out += sign; }
    else if (sign === "{" || sign === "[") {
      const close = sign === "{" ? "}" : "]";
      if (text[at + 1] === close) { out += sign + close; at += 1; }
      else { depth += 1; out += sign + "\n" + "  ".repeat(depth); }
    } else if (sign === "}" || sign === "]") { depth -= 1; out += "\n" + "  ".repeat(Math.max(depth, 0)) + sign; }
    else if (sign === ",") out += ",\n" + "  ".repeat(depth);
    else if (sign === ":") out += ": ";
    else if (sign === "\n" || !/\s/.test(sign)) out += sign;
  }
  return out;
}

async function show(reader, type, pre) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value || new Uint8Array(), { stream: !done });
    const cut = text.length > SHOWN_CHARACTERS;
    const part = text.slice(0, SHOWN_CHARACTERS);
    if (done || cut) {
      pre.textContent = type.includes("json") ? indented(part) : part;
      if (cut) pre.append("\n… the rest is not shown");
      return cut;
    }
    pre.textContent = part;
  }
}

// What somebody typed, percent-encoded once: it may be that already, copied from an address.
function encoded(text) {
  try {
    return encodeURIComponent(decodeURIComponent(text));
  } catch (error) {
    return encodeURIComponent(text);
  }
}

function address(path, fields) {
  const query = [];
  let filled = path;
  for (const { parameter, input } of fields) {
    if (parameter.in === "path") {
      filled = filled.replace(`{${parameter.name}}`, encoded(input.value));
    } else if (input.value !== "") query.push(parameter.name + "=" + encoded(input.value));
  }
  const tail = query.join("&");
  return BASE + filled + (tail ? "?" + tail : "");
}

function headers(accept) {
  const token = document.getElementById("token").value;
  const found = { Accept: accept };
  if (token) found.Authorization = "Bearer " + token;
  return found;
}

async function send(method, url, accept, parts) {
  const { line, pre, go, stop, body } = parts;
  const controller = new AbortController();
  stop.onclick = () => controller.abort();
  go.disabled = true;
  stop.hidden = false;
  pre.hidden = true;
  line.className = "";
  line.textContent = method + " " + url;
  const before = performance.now();
  try {
    const answer = await fetch(url, {
      method, headers: headers(accept), body: body ? body.value : undefined, signal: controller.signal, credentials: "omit",
    });
    const type = answer.headers.get("Content-Type") || "";
    line.className = answer.ok ? "good" : "bad";
    line.textContent = `${answer.status} ${answer.statusText} · ${type} · ${Math.round(performance.now() - before)} ms · ${method} ${url}`;
    pre.hidden = false;
    pre.textContent = "";
    if (await show(answer.body.getReader(), type, pre)) controller.abort();
  } catch (error) {
    if (error.name !== "AbortError") {
      line.className = "bad";
      line.textContent = "No answer: " + error.message;
    }
  } finally {
    go.disabled = false;
    stop.hidden = true;
  }
}

// ----------------------------------------------------------------------------------- routes

function field(parameter) {
  const schema = resolved(parameter.schema);
  const label = { "aria-label": parameter.name, name: parameter.name };
  if (schema.enum) {
    const choices = schema.enum.map((each) => element("option", { value: each }, each));
    if (!parameter.required) choices.unshift(element("option", { value: "" }, ""));
    return element("select", label, ...choices);
  }
  const usual = parameter.name === "partition" ? "default" : parameter.example;
  const input = element("input", { ...label, type: "text", required: Boolean(parameter.required) });
  if (parameter.in === "path" && usual !== undefined) input.value = usual;
  else if (schema.default !== undefined) input.placeholder = String(schema.default);
  return input;
}

function bodyField(request) {
  return element("textarea", {
    "aria-label": "body", name: "body", rows: 8, spellcheck: false, placeholder: request.description || "",
  });
}

function parameterTable(fields) {
  const rows = fields.map(({ parameter, input }) => element("tr", {},
    element("td", {}, element("code", {}, parameter.name)),
    element("td", {}, input || parameter.in),
    element("td", {}, parameter.description || "")));
  return element("table", {}, element("tbody", {}, ...rows));
}

function form(path, method, operation, parameters) {
  const fields = parameters.map((parameter) => ({ parameter, input: field(parameter) }));
  const accept = Object.keys(resolved(operation.responses["200"]).content || { "*/*": {} });
  const choice = element("select", { "aria-label": "Accept" }, ...accept.map((each) => element("option", { value: each }, each)));
  const parts = {
    line: element("p", { role: "status" }),
    pre: element("pre", { hidden: true, tabIndex: 0 }),
    go: element("button", { type: "submit" }, "Send"),
    stop: element("button", { type: "button", hidden: true }, "Stop"),
    body: operation.requestBody ? bodyField(resolved(operation.requestBody)) : null,
  };
  const made = element("form", {},
    fields.length ? parameterTable(fields) : null,
    parts.body,
    element("div", { className: "buttons" }, parts.go, parts.stop, accept.length > 1 ? choice : null),
    parts.line, parts.pre);
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    send(method.toUpperCase(), address(path, fields), choice.value, parts);
  });
  return made;
}

function answers(operation) {
  const rows = Object.entries(operation.responses).map(([status, thing]) => {
    const answer = resolved(thing);
    const kinds = element("td");
    for (const [type, content] of Object.entries(answer.content || {})) {
      kinds.append(element("div", {}, element("code", {}, type), " ", typeName(content.schema || {})));
    }
    return element("tr", {}, element("td", {}, status), element("td", {}, answer.description || ""), kinds);
  });
  return element("table", {}, element("tbody", {}, ...rows));
}

function inside(path, method, operation, parameters) {
  const text = operation.description ? element("p", {}, operation.description) : null;
  const body = [text, element("h3", {}, "Try it"), form(path, method, operation, parameters)];
  body.push(element("h3", {}, "Answers"), answers(operation));
  return element("div", { className: "inner" }, ...body);
}

function route(path, method, operation, shared) {
  const parameters = [...shared, ...(operation.parameters || [])].map(resolved);
  const marks = [];
  if (operation.deprecated) marks.push("deprecated");
  if (operation["x-since"]) marks.push("since " + operation["x-since"]);
  const panel = element("details", { className: "route", id: operation.operationId || "" },
    element("summary", {},
      element("span", { className: "method " + method }, method.toUpperCase()),
      element("span", { className: "path" }, path),
      element("span", { className: "words" }, operation.summary || ""),
      ...marks.map((each) => element("span", { className: "mark" }, each))));
  panel.dataset.words = [path, operation.summary, operation.description].join(" ").toLowerCase();
  panel.addEventListener("toggle", () => {
    if (panel.open && panel.children.length === 1) panel.append(inside(path, method, operation, parameters));
  });
  return panel;
}

function sections() {
  const byTag = new Map((api.tags || []).map((tag) => [tag.name, { title: tag.description || tag.name, panels: [] }]));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of ["get", "post"].filter((each) => methods[each])) {
      const operation = methods[method];
      const tag = (operation.tags || ["other"])[0];
      if (!byTag.has(tag)) byTag.set(tag, { title: tag, panels: [] });
      byTag.get(tag).panels.push(route(path, method, operation, methods.parameters || []));
    }
  }
  return [...byTag.values()].filter((each) => each.panels.length).map(({ title, panels }) =>
    element("section", {}, element("h2", {}, title), ...panels));
}

function filter() {
  const wanted = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const panel of document.querySelectorAll(".route")) {
    panel.hidden = !wanted.every((word) => panel.dataset.words.includes(word));
    if (!panel.hidden) shown += 1;
  }
  for (const section of document.querySelectorAll("main section")) {
    section.hidden = !section.querySelector(".route:not([hidden])");
  }
  document.getElementById("count").textContent = `${shown} routes`;
}

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

async function start() {
  const about = document.getElementById("about");
  try {
    const answer = await fetch(BASE + "/ws/v1/openapi.json", { credentials: "omit" });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    api = await answer.json();
  } catch (error) {
    about.textContent = "The description of the API cannot be loaded: " + error.message;
    return;
  }
  about.replaceChildren(`${api.info.title}. ${api.info.description || ""} `,
    element("a", { href: BASE + "/ws/v1/openapi.json" }, "openapi.json"));
  document.getElementById("routes").replaceChildren(...sections());
  document.getElementById("schemas").replaceChildren(...Object.entries(api.components.schemas).map(schemaPanel));
  document.getElementById("filter").addEventListener("input", filter);
  window.addEventListener("hashchange", openTarget);
  filter();
  openTarget();
}

start();
