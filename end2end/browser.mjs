// What the browser tests share: the browser, a page with everything that its console complains about, and what to wait for.
//
// UNSTUCK_URL        the server
// UNSTUCK_EDITOR     a token, where the drill wants one
// CHROMIUM           the browser, default /usr/bin/chromium
// UNSTUCK_SCREENS    where screenshots go, default test-results
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const url = process.env.UNSTUCK_URL ?? "http://127.0.0.1:8080";
export const screens = process.env.UNSTUCK_SCREENS ?? "test-results";
export const PATIENCE = 30_000;

let browser;

before(async () => {
  mkdirSync(screens, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
});

after(() => browser?.close());

/** A page of its own, and everything that its console complained about. */
export const open = async (path, options = {}) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  const response = await page.goto(new URL(path, url).href);
  return { context, page, complaints, response };
};

/** Tells the drill something, past the page. */
export const tell = async (wish) => {
  const body = JSON.stringify(wish);
  const token = process.env.UNSTUCK_EDITOR;
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(new URL("/api/v1/drill", url), { method: "POST", headers, body });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
};

export const live = (page) => page.waitForSelector('.live[data-state="live"]');
export const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
export const headline = (page, pattern) =>
  page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector(".headline h1")?.innerText ?? ""), pattern);
