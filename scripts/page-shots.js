// Takes pictures of the page with the yard of the drawings: those of the README into docs/images,
// or with a folder as argument every view in both themes. Needs Chromium.
import { mkdirSync } from "node:fs";
import { goTo, openPage, startBrowser, withoutChromium } from "../test/dist/browser/chromium.js";
import { PictureYard } from "../test/dist/browser/picture-yard.js";

if (withoutChromium) {
  console.error(withoutChromium);
  process.exit(1);
}
const readme = [
  ["overview", "", "dark", ".yard-drawing"],
  ["stream", "stream", "dark", ".stream-canvas canvas"],
  ["task", "task/776907", "light", ".ladder svg"],
];
const all = ["overview", "stream", "task", "tasks", "failures", "workers", "queues", "wire", "try"];
const folder = process.argv[2] ?? "docs/images";
mkdirSync(folder, { recursive: true });
const wanted = process.argv[2]
  ? ["dark", "light"].flatMap((theme) =>
      all.map((name) => [
        `${name}-${theme}`,
        name === "overview" ? "" : name === "task" ? "task/776907" : name,
        theme,
        "main *",
      ]),
    )
  : readme;
const yard = await new PictureYard().open();
const browser = await startBrowser();
for (const [name, hash, colorScheme, ready] of wanted) {
  const { page } = await openPage(browser, yard.base, {
    colorScheme,
    viewport: { width: 1440, height: 1000 },
  });
  await goTo(page, `#/${hash}`);
  await page.locator(ready).first().waitFor();
  // After this time, plots and the stream have content.
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: `${folder}/${name}.png` });
  await page.context().close();
}
await browser.close();
await yard.close();
