// The files by which it is deployed. Where no container engine runs, they are checked for what goes
// wrong most: names of files, settings and packages that do not exist.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadConfig } from "@yardmaster/server";
import { parse, parseAllDocuments } from "yaml";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const text = (path: string) => readFileSync(join(root, path), "utf8");
const own = "docs/deploy";

interface Named {
  readonly name: string;
}

interface Workspace {
  readonly name: string;
  readonly version: string;
}

const workspaces = ["cli", "core", "dialects", "engines", "sdk", "server", "zmtp"].map(
  (name) => JSON.parse(text(`packages/${name}/package.json`)) as Workspace,
);
const version = workspaces[0]?.version;

test("the container has every package, no root and a health check", () => {
  const file = text(`${own}/Containerfile`);
  const packed = [...file.matchAll(/ -w (\S+)/g)].map(([, name]) => name);
  assert.deepEqual(packed.toSorted(), workspaces.map(({ name }) => name).toSorted());
  const final = file.slice(file.lastIndexOf("\nFROM "));
  assert.match(final, /^FROM node:24-slim$/m);
  for (const word of ["USER node", "HEALTHCHECK", "VOLUME /data", "STOPSIGNAL SIGTERM", "ENTRYPOINT ["]) {
    assert.ok(final.includes(`\n${word}`), word);
  }
  for (const [, copied] of file.matchAll(/^COPY (?!--from)(\S+) /gm))
    assert.ok(existsSync(join(root, copied ?? "")));
  const ignored = text(".dockerignore").split("\n");
  for (const name of [".git", "**/node_modules", "**/dist", "**/yard-token"])
    assert.ok(ignored.includes(name), name);
  // `npm ci` builds every project of tsconfig.json, so each must be in the build's context.
  const { references } = JSON.parse(text("tsconfig.json")) as { references: { path: string }[] };
  for (const { path } of references) {
    const parents = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
    for (const parent of parents) assert.ok(!ignored.includes(parent), `${parent} is built, and ignored`);
  }
});

test("the manifest is one dispatcher, with probes and without root", () => {
  const parts = parseAllDocuments(text(`${own}/kubernetes.yaml`)).map((each) => each.toJS());
  assert.deepEqual(
    parts.map(({ kind }) => kind),
    ["ConfigMap", "Service", "StatefulSet"],
  );
  const { replicas, template, volumeClaimTemplates } = parts[2].spec;
  assert.equal(replicas, 1);
  const [container] = template.spec.containers;
  assert.equal(container.image, `yardmaster:${version}`);
  assert.equal(container.startupProbe.httpGet.path, "/healthz");
  assert.equal(container.livenessProbe.httpGet.path, "/healthz");
  assert.equal(container.readinessProbe.httpGet.path, "/readyz");
  assert.equal(template.spec.securityContext.runAsNonRoot, true);
  const volumes = [...template.spec.volumes, ...volumeClaimTemplates.map(({ metadata }: never) => metadata)];
  const names = volumes.map(({ name }) => name);
  for (const { name } of container.volumeMounts) assert.ok(names.includes(name), name);
  const config = parse(parts[0].data["yardmaster.yaml"]);
  assert.deepEqual(new Set(Object.values(config.doors)), new Set([false]));
});

test("the manifest with Postgres is three dispatchers, of which the service reaches the owner", () => {
  const parts = parseAllDocuments(text(`${own}/kubernetes-postgres.yaml`)).map((each) => each.toJS());
  assert.deepEqual(
    parts.map(({ kind }) => kind),
    ["ConfigMap", "Service", "Service", "StatefulSet"],
  );
  const [configMap, service, nodes, { spec }] = parts;
  assert.equal(spec.replicas, 3);
  // A standby is not ready, so nothing may wait for it.
  assert.equal(spec.podManagementPolicy, "Parallel");
  assert.equal(spec.updateStrategy.type, "OnDelete");
  assert.equal(spec.serviceName, nodes.metadata.name);
  assert.equal(nodes.spec.clusterIP, "None");
  assert.equal(nodes.spec.publishNotReadyAddresses, true);
  assert.equal(service.spec.publishNotReadyAddresses, undefined);

  const [single] = parseAllDocuments(text(`${own}/kubernetes.yaml`))
    .map((each) => each.toJS())
    .filter(({ kind }) => kind === "StatefulSet");
  const { containers, volumes, ...pod } = spec.template.spec;
  const [container] = containers;
  const { env, volumeMounts, readinessProbe, ...rest } = container;
  const {
    volumeMounts: _mounts,
    readinessProbe: alone,
    ...asSingle
  } = single.spec.template.spec.containers[0];
  assert.deepEqual(readinessProbe.httpGet, alone.httpGet);
  assert.deepEqual(rest, asSingle, "probes, limits and rights are those of a single dispatcher");
  assert.deepEqual(pod.securityContext, single.spec.template.spec.securityContext);
  const names = volumes.map(({ name }: Named) => name);
  for (const { name } of volumeMounts) assert.ok(names.includes(name), name);

  // Kubernetes puts the values of $(NAME) in.
  const podName = `${spec.serviceName}-0`;
  const given = Object.fromEntries(
    env.map(({ name, value }: { name: string; value?: string }) => [name, value]),
  );
  const variables = Object.fromEntries(
    Object.entries<string | undefined>(given).map(([name, value]) => [
      name,
      value?.replaceAll("$(POD_NAME)", podName),
    ]),
  );
  assert.ok("PGPASSWORD" in variables);
  const folder = mkdtempSync(join(tmpdir(), "yard-manifest-"));
  try {
    const file = join(folder, "yardmaster.yaml");
    writeFileSync(file, configMap.data["yardmaster.yaml"]);
    const config = loadConfig({ folder, file, variables: { ...variables, YARD_HTTP_LISTEN: "127.0.0.1:0" } });
    assert.equal(config.engine, "postgres");
    assert.equal(config.durability, "replicated");
    assert.equal(config.cluster?.node, podName);
    assert.equal(config.cluster?.advertise, `http://${podName}.${nodes.metadata.name}:7420`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("compose names files that are there", () => {
  const { services, volumes, secrets } = parse(text(`${own}/compose.yaml`));
  assert.equal(services.yardmaster.image, `yardmaster:${version}`);
  const folder = join(root, own);
  const { context, dockerfile } = services.yardmaster.build;
  assert.ok(existsSync(join(folder, context, dockerfile)));
  for (const service of Object.values<{ volumes?: string[]; secrets?: string[] }>(services)) {
    for (const volume of service.volumes ?? []) {
      const [source = ""] = volume.split(":");
      if (source.startsWith(".")) assert.ok(existsSync(join(folder, source)), volume);
      else assert.ok(source in volumes, volume);
    }
    for (const secret of service.secrets ?? []) assert.ok(secret in secrets, secret);
  }
  assert.ok(existsSync(join(folder, dirname(secrets["yard-token"].file))));
  const { scrape_configs: scrapes, rule_files: rules } = parse(text(`${own}/prometheus.yaml`));
  assert.equal(scrapes[0].static_configs[0].targets[0], "yardmaster:7420");
  for (const name of rules) assert.ok(existsSync(join(folder, name)), name);
  // The job that the alert for a dispatcher without an answer names.
  assert.ok(text(`${own}/alerts.yaml`).includes(`up{job="${scrapes[0].job_name}"}`));
});

const withoutPromtool =
  spawnSync("promtool", ["--version"]).status === 0
    ? false
    : "promtool is not installed: rules are not checked";

test("Prometheus reads the alert rules and its configuration", { skip: withoutPromtool }, () => {
  // Without --syntax-only it looks for the token's file.
  for (const args of [
    ["rules", "alerts.yaml"],
    ["config", "--syntax-only", "prometheus.yaml"],
  ]) {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", ...args], {
      cwd: join(root, own),
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout + stderr);
  }
});

test("the workflow runs scripts that there are, on every supported Node", () => {
  const { jobs } = parse(text(".github/workflows/ci.yaml"));
  assert.deepEqual(jobs.test.strategy.matrix.node, [20, 22, 24, 26]);
  const { scripts } = JSON.parse(text("package.json"));
  const runs = Object.values<{ steps: { run?: string }[] }>(jobs).flatMap(({ steps }) => steps);
  for (const { run = "" } of runs) {
    const [, script] = /^npm run (\S+)/.exec(run) ?? [];
    if (script !== undefined) assert.ok(script in scripts, run);
  }
  // The other releases of Node have their own jobs.
  const local = [...text(".ci/run").matchAll(/^npm (?:ci && npm )?(?!run on-node)(.+)$/gm)];
  assert.ok(local.length > 4);
  for (const [, command] of local)
    assert.ok(
      runs.some(({ run }) => run === `npm ${command}`),
      command,
    );
  assert.ok(runs.some(({ run }) => run === "npm run docs"));
  assert.ok(runs.some(({ run }) => run === "npm run release -- --dry-run 20 22 24 26"));
  // As in .ci/run, a test that is skipped for want of a program fails.
  for (const job of ["test", "promises"]) assert.equal(jobs[job].env.YARD_REQUIRE_INTEROP, "1");
});
