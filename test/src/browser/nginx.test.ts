/// <reference lib="dom" />
// The page behind a real nginx, below a path, with the configuration that docs/dashboard.md gives.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { serveYard } from "../end-to-end/served-yard.js";
import { skipReason } from "../interop/foreign.js";
import { patience } from "../patience.js";
import { goTo, openPage, startBrowser, withoutChromium } from "./chromium.js";

const guide = fileURLToPath(new URL("../../../docs/dashboard.md", import.meta.url));
const hasNginx = spawnSync("nginx", ["-v"], { stdio: "ignore" }).status === 0;

/**
 * nginx cannot report which port it got. So it listens on a socket in the folder, and a port of
 * ours forwards to it.
 */
async function startNginx(
  folder: string,
  dispatcher: string,
): Promise<{ child: ChildProcess; address: string; close(): void }> {
  const location = /```nginx\n([\s\S]*?)```/.exec(readFileSync(guide, "utf8"))?.[1] ?? "";
  const socket = join(folder, "nginx.sock");
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {} http { access_log off; ` +
      `${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")} ` +
      `server { listen unix:${socket}; ${location.replaceAll("127.0.0.1:7420", dispatcher)} } }`,
  );
  const child = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  while (!existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 20));
  const door = createServer((incoming) => {
    const onward = connect(socket);
    incoming.pipe(onward).pipe(incoming);
    for (const one of [incoming, onward])
      one.on("error", () => [incoming, onward].map((end) => end.destroy()));
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  return {
    child,
    address: `http://127.0.0.1:${(door.address() as AddressInfo).port}/yard/`,
    close: () => door.close(),
  };
}

test("every view works behind nginx, below a path and with a token", {
  ...patience,
  skip: withoutChromium || (hasNginx ? false : skipReason("nginx", ["-v"])),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "yard-nginx-"));
  const yard = await serveYard({ engine: "memory", doors: { http: { token: "a-token-behind-a-proxy" } } });
  const nginx = await startNginx(folder, yard.url.replace("http://", ""));
  const browser = await startBrowser();
  try {
    const { page, faults } = await openPage(browser, nginx.address);
    await page.getByLabel("Token").fill("a-token-behind-a-proxy");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { name: "The yard is open, and empty." }).waitFor();
    await page.locator(".live-word").getByText("Live").waitFor();
    await goTo(page, "#/try?queue=behind");
    await page.getByRole("button", { name: /^Submit/ }).click();
    await page.getByRole("link", { name: /^Task 1 is waiting/ }).waitFor();
    await goTo(page, "#/queues");
    await page
      .getByRole("row", { name: /behind/ })
      .getByRole("button", { name: "Pause" })
      .click();
    await page
      .getByRole("row", { name: /behind/ })
      .getByRole("img", { name: "paused" })
      .waitFor();
    for (const view of ["", "stream", "tasks", "task/1", "failures", "workers", "wire"]) {
      await goTo(page, `#/${view}`);
      await page.locator("main").getByText(/\S/).first().waitFor();
    }
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
    nginx.close();
    const ended = once(nginx.child, "exit");
    nginx.child.kill("SIGTERM");
    await ended;
    await yard.stop();
    rmSync(folder, { recursive: true });
  }
});
