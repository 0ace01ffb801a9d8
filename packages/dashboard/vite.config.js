// How the page is built: static files with hashed names, and only relative addresses, so that it
// works below any path.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../server/assets/page",
    emptyOutDir: true,
    target: "es2022",
    // Data addresses would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { checks: { pluginTimings: false, bundlerTimings: false } },
  },
});
