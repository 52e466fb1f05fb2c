/** NSD, Knot and BIND as secondaries: their own settings for a test, and below them what a test gives. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, launch, type ReferenceName, waitForAnswers } from './reference-servers.js';

export interface Secondary {
  readonly name: ReferenceName;
  readonly port: number;
  /** Starts it, with this configuration if one is given; resolves when it answers anything. `options`: more options of BIND. */
  start(configuration?: string, options?: string): Promise<void>;
  stop(): Promise<void>;
  /** Its log, for messages of failed tests. */
  log(): string;
}

/** A secondary in a directory of its own. */
export function createSecondary(name: ReferenceName, directory: string, port: number): Secondary {
  const own = join(directory, name);
  const config = join(own, 'config');
  const log = join(own, 'log');
  mkdirSync(own);
  let child: ChildProcess | undefined;
  return {
    name,
    port,
    async start(configuration, options = '') {
      if (configuration !== undefined)
        writeFileSync(config, `${settingsOf(name, own, port, options)}${inDirectory(name, own, configuration)}`);
      child = launch(name, argumentsOf(name, config), log);
      await waitForAnswers(name, port, log);
    },
    async stop() {
      if (child) await endChild(child);
      child = undefined;
    },
    log: () => readFileSync(log, 'utf8'),
  };
}

/** Zone files of templates other than the default one would be in Knot's own directory. */
function inDirectory(name: ReferenceName, own: string, configuration: string): string {
  if (name !== 'knot') return configuration;
  return configuration.replace('template:\n  - id: zoneplane\n', `template:\n  - id: zoneplane\n    storage: ${own}\n`);
}

function argumentsOf(name: ReferenceName, config: string): string[] {
  if (name === 'nsd') return ['-d', '-c', config];
  return name === 'knot' ? ['-c', config] : ['-g', '-n', '1', '-c', config];
}

function settingsOf(name: ReferenceName, own: string, port: number, options: string): string {
  switch (name) {
    case 'nsd':
      return (
        `server:\n  ip-address: 127.0.0.1\n  port: ${port}\n  username: ""\n  zonesdir: "${own}"\n  pidfile: ""\n  database: ""\n` +
        `  xfrdfile: "${own}/xfrd"\n  zonelistfile: "${own}/list"\n  xfrdir: "${own}"\n  rrl-ratelimit: 0\n` +
        `remote-control:\n  control-enable: no\n`
      );
    case 'knot':
      return `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${own}\n  udp-workers: 1\n  tcp-workers: 1\ndatabase:\n  storage: ${own}\ntemplate:\n  - id: default\n    storage: ${own}\nlog:\n  - target: stderr\n    any: info\n`;
    case 'bind':
      return (
        `options { directory "${own}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none;\n` +
        `  empty-zones-enable no; allow-transfer { any; }; min-refresh-time 1; serial-query-rate 1000; ${options} };\ncontrols { };\n`
      );
  }
}
