// How docs/ becomes a site: static pages with a search of their own. Nothing is loaded from another
// host: system fonts, no analytics.
import { defineConfig } from "vitepress";

const dialects = ["pingpong", "pulse", "udp", "monique", "scaler", "bridging"];
const page = (text, link) => ({ text, link });

export default defineConfig({
  title: "Yardmaster",
  description: "A durable job queue and dispatcher without a server beside it.",
  srcDir: "./pages",
  outDir: "./dist",
  cacheDir: "./.cache",
  // Pages work below any path, and as files.
  base: process.env.DOCS_BASE ?? "/",
  cleanUrls: false,
  lastUpdated: false,
  // Files beside the pages, which VitePress does not know. build.js checks every link afterwards.
  ignoreDeadLinks: [/^\/deploy\//, /localhost|127\.0\.0\.1/],
  // A tag in prose, such as <data>, is text and no component.
  markdown: { html: false },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      {
        text: "Use",
        items: [
          page("First steps", "/repository/README"),
          page("Recipes", "/recipes"),
          page("The http door", "/http"),
          page("The command line", "/command-line"),
          page("The SDK", "/sdk"),
          page("Schedules", "/schedules"),
          page("Dependencies", "/dependencies"),
          page("Limits of a queue", "/queue-limits"),
          page("The page", "/dashboard"),
          page("Errors", "/errors"),
        ],
      },
      {
        text: "Run",
        items: [
          page("Operations", "/operations"),
          page("Security", "/security"),
          page("Beyond one machine: Postgres", "/cluster"),
          page("Troubleshooting", "/troubleshooting"),
          page("Limits", "/limits"),
          page("Guarantees", "/guarantees"),
          page("What is installed", "/packages"),
          page("Benchmarks", "/benchmarks"),
          page("Sources of the comparison", "/comparison"),
        ],
      },
      { text: "Dialects", items: dialects.map((name) => page(name, `/dialects/${name}`)) },
      {
        text: "Change",
        items: [
          page("How it is built", "/repository/ARCHITECTURE"),
          page("Working on it", "/repository/CONTRIBUTING"),
          page("Adding a dialect", "/adding-a-dialect"),
          page("Decisions", "/decisions/README"),
          page("Changelog", "/repository/CHANGELOG"),
        ],
      },
    ],
  },
});
