// A browser at the door: who has no token reads nothing, a viewer reads, an editor also presses buttons.
//
//   unstuck token new --name vera --role viewer; unstuck token new --name ada --role editor
//   unstuck drill broker-lost --access token --tokens-file FILE &
//   UNSTUCK_URL=… UNSTUCK_TOKENS_FILE=FILE UNSTUCK_VIEWER=… UNSTUCK_EDITOR=… npm run access
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";

import { PATIENCE, fits, headline, live, open, screens, tell, url } from "./browser.mjs";

const { UNSTUCK_VIEWER: viewer, UNSTUCK_EDITOR: editor, UNSTUCK_TOKENS_FILE: tokens } = process.env;
const PAGE = "/c/broker-lost";

beforeEach(() => tell({ restart: true }));

const logIn = async (page, token) => {
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
};

/** Waits until the server has read the file of tokens again: until it answers a viewer in this way. */
const answers = async (wanted) => {
  const headers = { Authorization: `Bearer ${viewer}` };
  for (const until = Date.now() + PATIENCE; ; await new Promise((later) => setTimeout(later, 100))) {
    const { status } = await fetch(new URL("/api/v1/clusters", url), { headers });
    if (status === wanted) return;
    assert.ok(Date.now() < until, `still ${status}`);
  }
};

test("without JavaScript, on a small screen: a wrong token, a viewer's, out again, and back shows nothing", async () => {
  const { context, page } = await open(PAGE, { javaScriptEnabled: false, viewport: { width: 320, height: 700 } });
  assert.equal(new URL(page.url()).pathname, "/login");
  assert.equal(await fits(page), true);
  assert.doesNotMatch(await page.content(), /checkout|Broker 1|broker-lost<\/h1>/, "nothing is told to a stranger");
  await logIn(page, "uns_wrong");
  assert.match(await page.getByRole("alert").innerText(), /token/i);
  await page.screenshot({ path: join(screens, "login.png") });
  await logIn(page, viewer);
  await page.getByText("Here as vera, viewer.").waitFor();
  assert.equal(new URL(page.url()).pathname, PAGE, "the page that was wanted");
  assert.equal(await fits(page), true);
  assert.equal(await page.getByRole("button", { name: /^Next/ }).count(), 0, "a viewer has no switches");
  assert.equal(await page.evaluate(() => document.cookie).catch(() => ""), "", "scripts cannot read the session");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("You are logged out.").waitFor();
  await page.goBack();
  await page.getByLabel("Token").waitFor();
  await context.close();
});

test("an editor logs in with the keyboard alone, and the page is live", async () => {
  const { context, page, complaints } = await open(PAGE);
  await page.waitForFunction(() => document.activeElement?.id === "token");
  await page.keyboard.type(editor);
  await page.keyboard.press("Enter");
  await page.getByText("Here as ada, editor.").waitFor();
  await live(page);
  await page.getByRole("button", { name: /^Next/ }).click();
  await headline(page, "^Broker 1 is down");
  assert.deepEqual(complaints.filter((said) => !/401/.test(said)), []);
  await context.close();
});

test("whose token is taken back while a page is open is led to the form, and then back to the page", async () => {
  const { context, page } = await open(PAGE);
  await logIn(page, viewer);
  await live(page);
  const all = readFileSync(tokens, "utf8");
  writeFileSync(tokens, all.split("\n").filter((line) => !line.startsWith("vera ")).join("\n"));
  await answers(401);
  // What the page wants to know next is refused: by itself when something happens in the drill, or because of a click.
  await page.getByRole("link", { name: /Incidents/i }).first().click({ timeout: 1_000 }).catch(() => {});
  await page.getByText("The login of this page has ended. Load it again to log in.").waitFor();
  await page.screenshot({ path: join(screens, "login-ended.png") });
  const { pathname } = new URL(page.url());
  await page.locator("main").getByRole("button", { name: "Load it again" }).click();
  await page.getByLabel("Token").waitFor();
  writeFileSync(tokens, all);
  await answers(200);
  await logIn(page, viewer);
  await page.getByText("Here as vera, viewer.").waitFor();
  assert.equal(new URL(page.url()).pathname, pathname);
  await context.close();
});
