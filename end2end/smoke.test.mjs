// A browser against a running Unstuck: that pages come to life, and that they are complete without JavaScript.
//
//   UNSTUCK_URL=http://127.0.0.1:8080 npm test
//
// UNSTUCK_URL        the server; it looks at a cluster that answers
// CHROMIUM           the browser, default /usr/bin/chromium
// UNSTUCK_SCREENS    where screenshots go, default test-results
// UNSTUCK_GROUP      a group id to look up, default one with awkward characters
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { fits, open, screens, url } from "./browser.mjs";

const group = process.env.UNSTUCK_GROUP ?? "a group+with 100%41 </title><b>&é\u{1F600}";
const hydrated = (page) => page.waitForSelector("html[data-hydrated]", { state: "attached" });
const seenAt = (page) => page.locator(".since .soft").first().innerText();

/** The cluster that the first page looks into. */
const cluster = async (page) => (await page.locator("form.find").getAttribute("action")).split("/")[2];

test("the page comes to life, without a complaint, and updates", async () => {
  const { context, page, complaints } = await open("/");
  await hydrated(page);
  await page.waitForSelector('.live[data-state="live"]');
  const first = await seenAt(page);
  await page.waitForFunction((first) => document.querySelector(".since .soft").innerText !== first, first);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the box has the focus, and a lookup needs no mouse", async () => {
  const { context, page, complaints } = await open("/");
  await hydrated(page);
  assert.equal(await page.evaluate(() => document.activeElement.id), "group");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "group");
  await page.keyboard.insertText(group);
  await page.keyboard.press("Enter");
  await page.waitForURL((address) => address.pathname.endsWith("/g"));
  assert.equal(new URL(page.url()).searchParams.get("group"), group);
  await page.waitForSelector(".chain .link");
  await hydrated(page);
  assert.match(await page.locator(".link-note").first().innerText(), new RegExp(`^${group.length} UTF-16 units$`));
  await page.goBack();
  await page.waitForURL(url.endsWith("/") ? url : `${url}/`);
  await page.waitForSelector(".headline h1");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what is typed and what has the focus survives news", async () => {
  const { context, page } = await open("/");
  await hydrated(page);
  await page.keyboard.insertText("half an id");
  for (let update = 0; update < 2; update += 1) {
    const before = await seenAt(page);
    await page.waitForFunction((before) => document.querySelector(".since .soft").innerText !== before, before);
  }
  assert.equal(await page.inputValue("#group"), "half an id");
  assert.equal(await page.evaluate(() => document.activeElement.id), "group");
  await context.close();
});

test("links lead to partition and broker and back without loading a document", async () => {
  const { context, page, complaints } = await open("/");
  await hydrated(page);
  const name = await cluster(page);
  await page.evaluate(() => (window.sameDocument = true));
  await page.locator(".cell[href]").first().click();
  await page.waitForURL((address) => address.pathname.startsWith(`/c/${name}/p/`));
  await page.waitForFunction(() => /[Pp]artition \d/.test(document.querySelector(".headline h1")?.innerText ?? ""));
  await page.locator('.card a[href*="/b/"]').first().click();
  await page.waitForURL((address) => address.pathname.startsWith(`/c/${name}/b/`));
  await page.waitForFunction(() => /^Broker \d/.test(document.querySelector(".headline h1")?.innerText ?? ""));
  await page.goBack();
  await page.waitForFunction(() => /[Pp]artition \d/.test(document.querySelector(".headline h1")?.innerText ?? ""));
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("without JavaScript the page is complete, and the box works", async () => {
  const { context, page, response } = await open("/", { javaScriptEnabled: false });
  assert.equal(response.status(), 200);
  assert.ok((await page.locator(".headline h1").innerText()).length > 0);
  assert.match(await seenAt(page), /Seen at \d\d:\d\d:\d\d UTC/);
  assert.equal(await page.locator(".js-only:visible, .copy:visible").count(), 0);
  await page.fill("#group", group);
  await page.press("#group", "Enter");
  await page.waitForURL((address) => address.searchParams.get("group") === group);
  assert.equal(await page.locator(".chain .link").count(), 5);
  await context.close();
});

test("an id too long for an address is found by its digest", async () => {
  const { context, page } = await open("/");
  await hydrated(page);
  await page.evaluate(() => (document.querySelector("#group").value = "x".repeat(32_767)));
  await page.press("#group", "Enter");
  await page.waitForURL((address) => /^[0-9a-f]{32}$/.test(address.searchParams.get("digest") ?? ""));
  assert.match(await page.locator(".link-note").first().innerText(), /^32,767 UTF-16 units$/);
  assert.ok(await fits(page));
  await context.close();
});

test("what does not exist is said with status 404", async () => {
  const { context, page, response } = await open("/c/no-such-cluster");
  assert.equal(response.status(), 404);
  assert.match(await page.locator("h1").innerText(), /no-such-cluster/);
  await context.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1300, 320]) {
    test(`nothing is cut off at ${width} px in ${colorScheme}`, async () => {
      const options = { colorScheme, viewport: { width, height: 900 } };
      const { context, page, complaints } = await open("/", options);
      await hydrated(page);
      await page.waitForSelector('.live[data-state="live"]');
      const name = await cluster(page);
      const pages = { dashboard: `/c/${name}`, group: `/c/${name}/g?group=${encodeURIComponent(group)}`, partition: `/c/${name}/p/0` };
      for (const [label, path] of Object.entries(pages)) {
        await page.goto(new URL(path, url).href);
        await hydrated(page);
        await page.waitForSelector('.live[data-state="live"]');
        await page.screenshot({ path: join(screens, `${label}-${colorScheme}-${width}.png`), fullPage: true });
        assert.ok(await fits(page), `${path} scrolls sideways`);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
}
