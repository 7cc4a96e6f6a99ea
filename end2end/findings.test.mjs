// A browser on a drill: from a finding to its chapter and back, what a way out says, and what stops with a broker.
//
//   unstuck drill broker-lost & UNSTUCK_URL=http://127.0.0.1:8080 npm run findings
//
// UNSTUCK_URL        the drill `broker-lost`; it is started again from the beginning before each test
// CHROMIUM           the browser, default /usr/bin/chromium
// UNSTUCK_SCREENS    where screenshots go, default test-results
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";

import { fits, headline, live, open, screens, tell, url } from "./browser.mjs";

beforeEach(() => tell({ restart: true }));

const WARNING = "replication-factor-1";

test("a finding leads to its chapter, from there to another, and back", async () => {
  const { context, page, complaints } = await open("/");
  await live(page);
  await page.evaluate(() => (window.sameDocument = true));
  await page.locator(`.finding a[href="/docs/findings/${WARNING}"]`).first().click();
  await page.waitForURL((address) => address.pathname === `/docs/findings/${WARNING}`);
  await page.getByRole("heading", { name: "It opens when" }).waitFor();
  await page.getByRole("link", { name: "All findings" }).click();
  await page.waitForURL((address) => address.pathname === "/docs/findings");
  await page.getByRole("link", { name: "leader-lost", exact: true }).first().click();
  await page.waitForURL((address) => address.pathname === "/docs/findings/leader-lost");
  await page.getByRole("heading", { name: "It closes when" }).waitFor();
  for (let back = 0; back < 3; back += 1) await page.goBack();
  await headline(page, "^Everything works");
  await live(page);
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a chapter that is open stays open and quiet while the cluster changes", async () => {
  const { context, page, complaints } = await open(`/docs/findings/${WARNING}`);
  await live(page);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await tell({ next: true });
  await page.waitForTimeout(6_000);
  assert.deepEqual(asked.filter((address) => address.includes("/_page/")), []);
  assert.equal(await page.locator(".old-banner").isVisible(), false);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a slug that nobody has is a 404 that names those like it", async () => {
  const { context, page, response } = await open("/docs/findings/leader-los");
  assert.equal(response.status(), 404);
  assert.equal(await page.locator('a[href="/docs/findings/leader-lost"]').count(), 1);
  await context.close();
});

test("a way out says what it costs", async () => {
  const { context, page, complaints } = await open("/");
  await live(page);
  const next = page.locator(".card.next");
  assert.ok((await next.locator(".why .tag").count()) > 0, "what it costs");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("before a broker is stopped its page says what stops, and has a plan", async () => {
  const { context, page, complaints } = await open("/c/broker-lost/b/1");
  await live(page);
  const before = page.locator(".card", { hasText: "Before you stop this broker" });
  assert.match(await before.innerText(), /If broker 1 stops now/);
  assert.match(await before.innerText(), /lose their leader/);
  await before.getByRole("link", { name: /A plan that moves/ }).click();
  await page.waitForURL((address) => address.pathname.endsWith("/plans/evacuate") && address.search === "?broker=1");
  await headline(page, "^Move __consumer_offsets off broker 1");
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator('a[download="evacuate-1.json"]').first().click()]);
  const plan = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.ok(plan.partitions.length > 0);
  assert.ok(plan.partitions.every((partition) => !partition.replicas.includes(1)));
  await page.goBack();
  await headline(page, "^Broker 1");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what was unfolded stays so when there is news", async () => {
  const { context, page } = await open("/");
  await live(page);
  const summary = page.locator(".finding summary").first();
  await summary.focus();
  await page.keyboard.press("Enter");
  const isOpen = () => summary.evaluate((summary) => summary.parentElement.open);
  assert.equal(await isOpen(), true);
  const seen = () => page.locator(".since .soft").first().innerText();
  const before = await seen();
  await page.waitForFunction((before) => document.querySelector(".since .soft").innerText !== before, before);
  assert.equal(await isOpen(), true);
  await context.close();
});

test("without JavaScript chapters and ways out can be read", async () => {
  const { context, page, response } = await open("/", { javaScriptEnabled: false });
  assert.equal(response.status(), 200);
  const summary = page.locator(".finding summary").first();
  await summary.click();
  assert.ok(await page.locator(".finding .remedies").first().isVisible());
  await page.locator(`.finding a[href="/docs/findings/${WARNING}"]`).first().click();
  assert.match(await page.locator("h1").innerText(), /\w/);
  await page.getByRole("link", { name: "All findings" }).click();
  assert.ok((await page.locator("table a").count()) > 15);
  await context.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1300, 320]) {
    test(`findings, chapters and ways out fit ${width} px in ${colorScheme}`, async () => {
      const { context, page, complaints } = await open("/", { colorScheme, viewport: { width, height: 900 } });
      await live(page);
      await tell({ next: true });
      await headline(page, "stuck");
      for (const [label, path] of [["unfolded", "/"], ["broker", "/c/broker-lost/b/2"], ["plan", "/c/broker-lost/plans/raise"], ["handbook", "/docs/findings"], ["chapter", "/docs/findings/no-leader-no-live-replica"]]) {
        await page.goto(new URL(path, url).href);
        await live(page);
        for (const summary of await page.locator("main .card:not(.drill) summary").all()) {
          if (!(await summary.evaluate((summary) => summary.parentElement.open))) await summary.click();
        }
        await page.screenshot({ path: join(screens, `findings-${label}-${colorScheme}-${width}.png`), fullPage: true });
        assert.ok(await fits(page), `${path} scrolls sideways`);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
}
