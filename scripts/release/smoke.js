// A stranger's first minute, from tarballs: installs them into an empty folder, starts a
// dispatcher, submits a task, works it, reads the result and the page, and stops. Everything is
// called as a stranger would, with npx, on the Node that is given.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const freePorts = {
  http: { listen: "127.0.0.1:0" },
  pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0" },
  pulse: { dir: "./controller" },
  udp: { client_address: { port: 0 } },
  monique: { in: "127.0.0.1:0", out: "127.0.0.1:0", techIn: "127.0.0.1:0", techOut: "127.0.0.1:0" },
  scaler: { listen: "127.0.0.1:0" },
};

/** Installs the tarballs. Answers with the size, the number of packages and npm's complaints. */
export function install(folder, tarballs, nodeFolder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "empty", private: true }));
  const { status, stdout, stderr } = run(folder, nodeFolder, "npm", [
    "install",
    "--no-audit",
    "--no-fund",
    ...tarballs,
  ]);
  if (status !== 0) throw new Error(`npm install failed:\n${stdout}${stderr}`);
  const listed = run(folder, nodeFolder, "npm", ["ls", "--all", "--parseable"]).stdout.trim().split("\n");
  return {
    megabytes: bytesIn(join(folder, "node_modules")) / 1e6,
    packages: listed.length - 1,
    engineWarnings: stderr.split("\n").filter((line) => line.includes("EBADENGINE")),
  };
}

/** Throws at the first thing that is not as it should be. */
export async function firstMinute(folder, nodeFolder, version) {
  writeFileSync(join(folder, "yardmaster.json"), JSON.stringify({ doors: freePorts, drainSeconds: 1 }));
  expect(npx(["--version"]), version);
  const dispatcher = spawn("npx", ["--no-install", "yardmaster", "serve", "--json"], {
    cwd: folder,
    env: environment(nodeFolder),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(dispatcher, "exit");
  try {
    const [line] = await Promise.race([
      once(createInterface({ input: dispatcher.stdout }), "line"),
      exit.then(([code]) => Promise.reject(new Error(`serve ended with ${code}`))),
    ]);
    const { pid, engine, doors } = JSON.parse(line);
    expect(engine, "embedded");
    expect(Object.keys(doors).toSorted().join(), Object.keys(freePorts).toSorted().join());
    const url = `http://${doors.http.listen}`;
    await readPage(url);
    npx(["submit", "--url", url, "--queue", "squares", "7"]);
    npx(["work", url, "--queue", "squares", "--idle", "1s", "--", "sh", "-c", "read n; echo $((n * n))"]);
    const [task] = npx(["export", "--url", url, "--queue", "squares", "--results"]).split("\n");
    const { state, result } = JSON.parse(task);
    expect(`${state} ${result.trim()}`, "done 49");
    // The dispatcher itself, not npx, which may end before it.
    process.kill(pid, "SIGTERM");
    const [code] = await exit;
    expect(code, 0);
  } finally {
    if (dispatcher.exitCode === null) dispatcher.kill("SIGKILL");
  }

  function npx(args) {
    const { status, stdout, stderr } = run(folder, nodeFolder, "npx", [
      "--no-install",
      "yardmaster",
      ...args,
    ]);
    if (status !== 0) throw new Error(`yardmaster ${args.join(" ")}: exit ${status}\n${stdout}${stderr}`);
    return stdout.trim();
  }
}

/** The page and every file that it names must be in the package. */
async function readPage(url) {
  const html = await (await fetch(url)).text();
  const files = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path);
  if (files.length === 0) throw new Error(`the page names no files: ${html.slice(0, 200)}`);
  for (const path of files) expect((await fetch(`${url}/${path}`)).status, 200);
}

function expect(found, wanted) {
  if (found !== wanted) throw new Error(`expected ${wanted}, found ${found}`);
}

function run(folder, nodeFolder, command, args) {
  return spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: environment(nodeFolder),
    timeout: 300_000,
  });
}

/** Of the caller's npm settings only those of the user apply, as for a stranger. */
function environment(nodeFolder) {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const path = nodeFolder ? `${nodeFolder}${delimiter}${process.env.PATH}` : process.env.PATH;
  return { ...Object.fromEntries(kept), PATH: path };
}

function bytesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((bytes, entry) => {
    const path = join(folder, entry.name);
    return bytes + (entry.isDirectory() ? bytesIn(path) : statSync(path).size);
  }, 0);
}
