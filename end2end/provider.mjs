// An identity provider for tests: it lets in whoever presses a button, and signs tokens as a real one does.
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const CLIENT = "unstuck";
const PEOPLE = { ada: ["sre"], vera: ["support"] };

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts it. `secret` is what its client has to show. */
export const provider = async (port, secret) => {
  const issuer = `http://127.0.0.1:${port}`;
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map();

  const idToken = ({ person, nonce }) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: CLIENT, sub: person, iat: now, exp: now + 300, nonce, preferred_username: person, groups: PEOPLE[person] };
    const signed = `${part({ alg: "RS256", kid: "one", typ: "JWT" })}.${part(claims)}`;
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(privateKey, "base64url")}`;
  };

  const routes = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    }),
    "/jwks": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "one" }] }),
    "/token": (_, form, headers) => {
      const asked = codes.get(form.get("code"));
      codes.delete(form.get("code"));
      const known = headers.authorization === `Basic ${Buffer.from(`${CLIENT}:${secret}`).toString("base64")}`;
      const proved = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url") === asked?.challenge;
      if (!known || !proved || asked.back !== form.get("redirect_uri")) return null;
      return { access_token: randomUUID(), token_type: "Bearer", id_token: idToken(asked) };
    },
  };

  /** Where a browser goes from here, for each that somebody may press. */
  const leave = (query, person) => {
    const back = new URL(query.get("redirect_uri"));
    back.searchParams.set("state", query.get("state"));
    if (!person) {
      back.searchParams.set("error", "access_denied");
      return back.href;
    }
    const code = randomUUID();
    codes.set(code, { person, nonce: query.get("nonce"), challenge: query.get("code_challenge"), back: query.get("redirect_uri") });
    back.searchParams.set("code", code);
    return back.href;
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url, issuer);
    const body = [];
    for await (const piece of request) body.push(piece);
    if (pathname === "/authorize") {
      const choices = [...Object.keys(PEOPLE), ""].map(
        (person) => `<p><a href="${leave(query, person).replaceAll("&", "&amp;")}">${person ? `I am ${person}` : "Refuse"}</a></p>`,
      );
      response.setHeader("Content-Type", "text/html");
      response.end(`<!DOCTYPE html><title>Provider</title>${choices.join("")}`);
      return;
    }
    const answer = routes[pathname]?.(query, new URLSearchParams(Buffer.concat(body).toString()), request.headers);
    response.statusCode = answer ? 200 : 400;
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(answer ?? { error: "invalid_grant" }));
  });
  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  return { close: () => server.closeAllConnections() ?? server.close() };
};
