// A browser on a drill: an incident from the dashboard to its link, with notes, keyboard only and without JavaScript.
//
//   unstuck drill broker-lost & UNSTUCK_URL=http://127.0.0.1:8080 npm run incidents
//
// UNSTUCK_URL        the drill `broker-lost`; it is started again from the beginning before each test
// CHROMIUM           the browser, default /usr/bin/chromium
// UNSTUCK_SCREENS    where screenshots go, default test-results
import assert from "node:assert/strict";
import { join } from "node:path";
import { beforeEach, test } from "node:test";

import { PATIENCE, fits, headline, live, open, screens, tell, url } from "./browser.mjs";

beforeEach(() => tell({ restart: true }));

/** The newest incident that is so, once there is one. */
const incident = async (wanted = (one) => one.closed === null && one.calm_since === null) => {
  for (const until = Date.now() + PATIENCE; Date.now() < until; await new Promise((later) => setTimeout(later, 100))) {
    const { incidents } = await (await fetch(new URL("/api/v1/incidents", url))).json();
    const found = incidents.find(wanted);
    if (found) return found;
  }
  throw new Error("no such incident");
};

test("the dashboard leads to the incident, and its link shows then beside now", async () => {
  const { context, page, complaints } = await open("/c/broker-lost");
  await live(page);
  await headline(page, "^Everything works");
  await tell({ next: true });
  await headline(page, "^Broker 1 is down: 22 groups are stuck");
  const { id } = await incident();
  await page.locator(`a[href="/i/${id}"]`).first().click();
  await page.waitForURL((address) => address.pathname === `/i/${id}`);
  await page.getByRole("heading", { name: "Then" }).waitFor();
  await tell({ apply: { start: 1 } });
  await incident((one) => one.id === id && one.calm_since !== null);
  await page.reload();
  const text = await page.locator("main").innerText();
  assert.match(text, /Broker 1 is down: 22 groups are stuck/, "what was seen then stays");
  assert.match(text, /checkout/, "the groups are named");
  assert.match(text, /remembered, last listed at/, "from memory");
  assert.ok(await page.locator('meta[property="og:title"]').getAttribute("content"));
  await page.screenshot({ path: join(screens, "incident.png"), fullPage: true });
  assert.deepEqual(complaints, []);
  await page.goBack();
  await live(page);
  await context.close();
});

test("notes are written without JavaScript, on a small screen, and nothing in them runs", async () => {
  await tell({ next: true });
  const { id } = await incident();
  const { context, page } = await open(`/i/${id}`, { javaScriptEnabled: false, viewport: { width: 320, height: 700 } });
  assert.equal(await fits(page), true);
  await page.getByLabel("Your name").first().fill("Ada");
  await page.getByLabel(/What you found/).fill("**Disk** full <script>alert(1)</script> [x](javascript:alert(1)) https://example.org/runbook");
  await page.getByRole("button", { name: "Write it down" }).click();
  await page.waitForURL((address) => address.hash === "#notes");
  const notes = page.locator("#notes");
  assert.match(await notes.innerText(), /Ada/);
  assert.equal(await notes.locator("strong", { hasText: "Disk" }).count(), 1);
  assert.equal(await page.locator("main script").count(), 0);
  assert.equal(await page.locator('main a[href^="javascript"]').count(), 0);
  assert.equal(await fits(page), true);
  await context.close();
});

test("with the keyboard alone somebody takes the incident over", async () => {
  await tell({ next: true });
  const { id } = await incident();
  const { context, page, complaints } = await open(`/i/${id}`);
  await live(page);
  await page.locator('form[action$="/acknowledge"] input[name="by"]').focus();
  await page.keyboard.type("Grace");
  await page.keyboard.press("Enter");
  await page.getByText(/Grace looks after it/).first().waitFor();
  await page.goBack();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a link to no incident is a 404 that says what may have happened", async () => {
  const { context, page, response } = await open("/i/0123456789abcdef0123456789abcdef");
  assert.equal(response.status(), 404);
  assert.match(await page.locator("main").innerText(), /dropped/);
  await context.close();
});
