// A browser on a drill: that every page says so, that its switches work with a mouse, by keyboard, without JavaScript
// and on a small screen, and that the page shows at once what happens.
//
//   unstuck drill broker-lost & UNSTUCK_URL=http://127.0.0.1:8080 npm run drill
//
// UNSTUCK_URL        the drill `broker-lost`; it is started again from the beginning before each test
// CHROMIUM           the browser, default /usr/bin/chromium
// UNSTUCK_SCREENS    where screenshots go, default test-results
import assert from "node:assert/strict";
import { join } from "node:path";
import { beforeEach, test } from "node:test";

import { fits, headline, live, open, screens, tell } from "./browser.mjs";

beforeEach(() => tell({ restart: true }));

const button = (page, name) => page.getByRole("button", { name, exact: true });
const now = (page, step) =>
  page.waitForFunction((step) => document.querySelector(".drill-now .next-title")?.innerText === step, step);
test("every page says that this is a drill; the dashboard alone has its switches", async () => {
  for (const [path, panels] of [["/", 1], ["/c/broker-lost", 1], ["/c/broker-lost/g?group=orders", 0], ["/c/broker-lost/b/1", 0], ["/no/such/page", 0]]) {
    const { context, page } = await open(path);
    await page.waitForSelector("html[data-hydrated]", { state: "attached" });
    assert.match(await page.locator(".drill-banner").innerText(), /not a real cluster/, path);
    assert.equal(await page.locator("#drill").count(), panels, path);
    await context.close();
  }
});

test("a broker dies and comes back at the press of a button, without loading the page again", async () => {
  const { context, page, complaints } = await open("/");
  await live(page);
  await headline(page, "^Everything works");
  await page.evaluate(() => (window.sameDocument = true));
  await button(page, "Next step now").click();
  await now(page, "broker 1 dies");
  await headline(page, "^Broker 1 is down: 22 groups are stuck");
  await page.screenshot({ path: join(screens, "drill-stuck.png") });
  await button(page, "Start broker 1").click();
  await now(page, "start broker 1");
  await page.waitForFunction(() => !/stuck/.test(document.querySelector(".headline h1").innerText));
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  await page.reload();
  await live(page);
  await now(page, "start broker 1");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what happens elsewhere is shown within a second", async () => {
  const { context, page, complaints } = await open("/");
  await live(page);
  for (const [wish, step] of [[{ next: true }, "broker 1 dies"], [{ restart: true }, "It begins"], [{ next: true }, "broker 1 dies"]]) {
    await tell(wish);
    const told = Date.now();
    await now(page, step);
    assert.ok(Date.now() - told < 1_500, `${step} after ${Date.now() - told} ms`);
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test("by keyboard alone, and the focus stays where it was", async () => {
  const { context, page, complaints } = await open("/#drill");
  await live(page);
  const focused = () => page.evaluate(() => document.activeElement.innerText.replace(/\s+/g, " ").trim());
  let presses = 0;
  while ((await focused()) !== "Stop broker 3") {
    await page.keyboard.press("Tab");
    presses += 1;
    assert.ok(presses < 60, `the button is out of reach; the focus is on ${await focused()}`);
  }
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.innerText.replace(/\s+/g, " ").trim() === "Start broker 3");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.innerText.replace(/\s+/g, " ").trim() === "Stop broker 3");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what is not done is said", async () => {
  const { context, page } = await open("/");
  await live(page);
  await page.route("**/api/v1/drill", (route) => route.abort());
  await button(page, "Pause broker 2").click();
  await page.waitForFunction(() => /did not answer, so nothing was done/.test(document.querySelector('#drill [role="alert"]').innerText));
  await page.unroute("**/api/v1/drill");
  await button(page, "Pause broker 2").click();
  await button(page, "Resume broker 2").waitFor();
  assert.equal(await page.locator('#drill [role="alert"]').isVisible(), false);
  await context.close();
});

test("without JavaScript the switches work, and lead back", async () => {
  const { context, page } = await open("/c/broker-lost", { javaScriptEnabled: false });
  await button(page, "Stop broker 2").click();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).hash, "/c/broker-lost#drill");
  await button(page, "Start broker 2").click();
  await button(page, "Next step now").click();
  assert.equal(await page.locator(".drill-now .next-title").innerText(), "broker 1 dies");
  await page.locator("summary", { hasText: "The story" }).click();
  assert.match(await page.locator(".story").innerText(), /A small shop runs three brokers/);
  await button(page, "Start again from the beginning").click();
  assert.equal(await page.locator(".drill-now .next-title").innerText(), "It begins");
  await page.goBack();
  assert.ok(await page.locator("#drill").isVisible());
  await context.close();
});

test("links lead away from the panel and back to it", async () => {
  const { context, page, complaints } = await open("/");
  await live(page);
  await page.evaluate(() => (window.sameDocument = true));
  await page.locator('.card a[href$="/b/1"]').first().click();
  await page.waitForURL((address) => address.pathname.endsWith("/b/1"));
  await page.getByRole("link", { name: "Go to the controls" }).click();
  await page.waitForSelector("#drill");
  await page.goBack();
  await page.waitForURL((address) => address.pathname.endsWith("/b/1"));
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(complaints, []);
  await context.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1300, 320]) {
    test(`nothing of the panel is cut off at ${width} px in ${colorScheme}`, async () => {
      const { context, page, complaints } = await open("/", { colorScheme, viewport: { width, height: 900 } });
      await live(page);
      assert.ok(await fits(page), "at the beginning");
      for (const wish of [{ next: true }, { apply: { pause: 2 } }, { apply: { "cut-off": 3 } }]) await tell(wish);
      await button(page, "Reconnect broker 3").waitFor();
      for (const summary of await page.locator("#drill summary").all()) {
        if (!(await summary.evaluate((summary) => summary.parentElement.open))) await summary.click();
      }
      await page.screenshot({ path: join(screens, `drill-${colorScheme}-${width}.png`), fullPage: true });
      assert.ok(await fits(page), "with everything unfolded");
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
}
