// A browser that logs in at an identity provider, which is here for that alone.
//
// UNSTUCK_URL              a server with --access oidc and a client secret
// UNSTUCK_PROVIDER_PORT    where it expects the provider on this machine
// UNSTUCK_CLIENT_SECRET    the secret
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { fits, open, screens } from "./browser.mjs";
import { provider } from "./provider.mjs";

let running;
before(async () => {
  running = await provider(Number(process.env.UNSTUCK_PROVIDER_PORT), process.env.UNSTUCK_CLIENT_SECRET);
});
after(() => running?.close());

for (const javaScriptEnabled of [true, false]) {
  test(`somebody logs in and out, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    const viewport = { width: 320, height: 700 };
    const { context, page } = await open("/c/production/g?group=my-group", { javaScriptEnabled, viewport });
    assert.equal(new URL(page.url()).pathname, "/login");
    assert.equal(await fits(page), true);
    await page.screenshot({ path: join(screens, "login-at-provider.png") });
    await page.getByRole("link", { name: "Log in at 127.0.0.1" }).click();
    await page.getByRole("link", { name: "I am ada" }).click();
    await page.getByText("Here as ada, editor.").waitFor();
    assert.match(page.url(), /\/c\/production\/g\?group=my-group$/, "the page that was wanted, without the code");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    await page.getByRole("link", { name: "Log in at 127.0.0.1" }).click();
    await page.getByRole("link", { name: "I am vera" }).click();
    await page.getByText("Here as vera, viewer.").waitFor();
    await context.close();
  });
}

test("who refuses at the provider is told so, and may try again", async () => {
  const { context, page } = await open("/");
  await page.getByRole("link", { name: "Log in at 127.0.0.1" }).click();
  await page.getByRole("link", { name: "Refuse" }).click();
  assert.match(await page.getByRole("alert").innerText(), /the identity provider says: access_denied/);
  await page.getByRole("link", { name: "Log in at 127.0.0.1" }).click();
  await page.getByRole("link", { name: "I am vera" }).click();
  await page.getByText("Here as vera, viewer.").waitFor();
  await context.close();
});
